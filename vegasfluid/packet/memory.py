"""Where the records of a run lie, and how the engine reaches them.

In Python a run is a `Simulation`, a tuple of arrays. In machine code it is one record (`TABLE`) of
their addresses and sizes, so that a call hands on one pointer instead of a hundred numbers, which
halves the time to compile. The functions here are the only ones that know: `addresses` has the
same ones for machine code.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "PLACES",
    "TABLE",
    "Simulation",
    "bin_of",
    "change_of",
    "flow_of",
    "flow_sample_of",
    "fresh_of",
    "heap_of",
    "link_of",
    "link_sample_of",
    "packet_of",
    "place_of",
    "slot_of",
    "stage_of",
    "table_of",
    "time_of",
]


class Simulation(NamedTuple):
    """All that a run works on; slots and places are powers of two.

    Args:
        flows: (flows,) of FLOW and the laws' fields.
        fresh: (flows,) the flows as they start, for a new connection.
        stages: (flows, stages) of STAGE.
        links: (links,) of LINK and the queue laws' fields.
        packets: (flows, stages, slots) of PACKET, and REPORT where somebody reads it: what waits
            to reach a queue.
        slots: (flows, slots) of SLOT, the packets of the window.
        places: (links, places) of PLACE, the packets that wait.
        changes: (changes,) of CHANGE, in order of time.
        times: (samples,) of TIME, increasing.
        flow_samples: (samples, flows) of FLOW_SAMPLE and the laws' counters.
        link_samples: (samples, links) of LINK_SAMPLE.
        bins: (bins, links) of BIN.
        heap: (flows,) of ENTRY, the schedule.
    """

    flows: np.ndarray
    fresh: np.ndarray
    stages: np.ndarray
    links: np.ndarray
    packets: np.ndarray
    slots: np.ndarray
    places: np.ndarray
    changes: np.ndarray
    times: np.ndarray
    flow_samples: np.ndarray
    link_samples: np.ndarray
    bins: np.ndarray
    heap: np.ndarray

    @property
    def flow_count(self) -> int:
        """Flows."""
        return self.flows.shape[0]

    @property
    def stage_count(self) -> int:
        """Stages of a flow, at most."""
        return self.stages.shape[1]

    @property
    def link_count(self) -> int:
        """Links."""
        return self.links.shape[0]

    @property
    def slot_count(self) -> int:
        """Slots of a ring."""
        return self.slots.shape[1]

    @property
    def place_count(self) -> int:
        """Places of a queue."""
        return self.places.shape[1]

    @property
    def change_count(self) -> int:
        """Changes of delay."""
        return self.changes.shape[0]

    @property
    def sample_count(self) -> int:
        """Sample times."""
        return self.times.shape[0]

    @property
    def bin_count(self) -> int:
        """Bins of arrivals."""
        return self.bins.shape[0]


COUNTS = tuple(name for name in vars(Simulation) if name.endswith("_count"))

TABLE = np.dtype([(name, np.int64) for name in (*Simulation._fields, *COUNTS)], align=True)
"""A simulation as machine code sees it: an address for each array, and the sizes."""

PLACES: dict[str, tuple[str, tuple[str, ...], bool]] = {
    "flow_of": ("flows", ("flow_count",), False),
    "fresh_of": ("fresh", ("flow_count",), False),
    "stage_of": ("stages", ("flow_count", "stage_count"), False),
    "link_of": ("links", ("link_count",), False),
    "packet_of": ("packets", ("flow_count", "stage_count", "slot_count"), True),
    "slot_of": ("slots", ("flow_count", "slot_count"), True),
    "place_of": ("places", ("link_count", "place_count"), True),
    "change_of": ("changes", ("change_count",), False),
    "time_of": ("times", ("sample_count",), False),
    "flow_sample_of": ("flow_samples", ("sample_count", "flow_count"), False),
    "link_sample_of": ("link_samples", ("sample_count", "link_count"), False),
    "bin_of": ("bins", ("bin_count", "link_count"), False),
    "heap_of": ("heap", ("flow_count",), False),
}
"""For each function: its array, the sizes of that, and whether the last argument goes round."""


def table_of(sim: Simulation) -> Any:
    """The record that stands for a simulation in machine code; `sim` must outlive it."""
    table = np.zeros(1, TABLE)
    for name, array in zip(Simulation._fields, sim, strict=True):
        table[name] = array.ctypes.data
    for name in COUNTS:
        table[name] = getattr(sim, name)
    return table.view(np.recarray)[0]


def flow_of(sim: Any, f: int) -> Any:
    """Flow `f`."""
    return sim.flows[f]


def fresh_of(sim: Any, f: int) -> Any:
    """Flow `f` as it was at the start."""
    return sim.fresh[f]


def stage_of(sim: Any, f: int, i: int) -> Any:
    """Stage `i` of flow `f`."""
    return sim.stages[f, i]


def link_of(sim: Any, number: int) -> Any:
    """A link."""
    return sim.links[number]


def packet_of(sim: Any, f: int, i: int, place: int) -> Any:
    """The packet at a place of the ring of a stage."""
    return sim.packets[f, i, place & (sim.slot_count - 1)]


def slot_of(sim: Any, f: int, seq: int) -> Any:
    """Packet `seq` in the window of a flow."""
    return sim.slots[f, seq & (sim.slot_count - 1)]


def place_of(sim: Any, number: int, place: int) -> Any:
    """The packet at a place of a link's queue."""
    return sim.places[number, place & (sim.place_count - 1)]


def change_of(sim: Any, k: int) -> Any:
    """Change `k` of a delay."""
    return sim.changes[k]


def time_of(sim: Any, k: int) -> Any:
    """Sample time `k`."""
    return sim.times[k]


def flow_sample_of(sim: Any, k: int, f: int) -> Any:
    """Sample `k` of flow `f`."""
    return sim.flow_samples[k, f]


def link_sample_of(sim: Any, k: int, number: int) -> Any:
    """Sample `k` of a link."""
    return sim.link_samples[k, number]


def bin_of(sim: Any, k: int, number: int) -> Any:
    """Bin `k` of a link's arrivals."""
    return sim.bins[k, number]


def heap_of(sim: Any, place: int) -> Any:
    """An entry of the schedule."""
    return sim.heap[place]
