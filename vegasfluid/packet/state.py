"""State of a run: arrays of records, and the functions by which the engine reads and writes them.

The engine accesses the arrays through these functions only; in machine code,
`vegasfluid.packet.jit.record_access` replaces them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "COUNTS",
    "Simulation",
    "bin_of",
    "change_of",
    "flow_of",
    "flow_sample_of",
    "heap_of",
    "hop_of",
    "initial_of",
    "link_of",
    "link_sample_of",
    "packet_of",
    "slot_of",
    "time_of",
    "waiting_of",
]


class Simulation(NamedTuple):
    """State of a run: arrays of records; slot and waiting counts are powers of two.

    Args:
        flows: (flows,) of FLOW and the rules' fields.
        initial: (flows,) the flows at the start, to which a new connection resets them.
        hops: (flows, hops) of HOP.
        links: (links,) of LINK and the queue disciplines' fields.
        packets: (flows, hops, slots) of PACKET, and SACK_BLOCK where used: packets on their way to
            a hop.
        slots: (flows, slots) of SLOT, the packets of the window.
        waiting: (links, waiting) of WAITING, the packets in each queue.
        changes: (changes,) of CHANGE, the delay events in order of time.
        times: (samples,) of TIME, the sample times in order.
        flow_samples: (samples, flows) of FLOW_SAMPLE and the congestion controls' counters.
        link_samples: (samples, links) of LINK_SAMPLE.
        bins: (bins, links) of BIN, arrivals in equal bins of time.
        heap: (flows,) of HEAP_ENTRY, the schedule.
    """

    flows: np.ndarray
    initial: np.ndarray
    hops: np.ndarray
    links: np.ndarray
    packets: np.ndarray
    slots: np.ndarray
    waiting: np.ndarray
    changes: np.ndarray
    times: np.ndarray
    flow_samples: np.ndarray
    link_samples: np.ndarray
    bins: np.ndarray
    heap: np.ndarray

    @property
    def flow_count(self) -> int:
        """Number of flows."""
        return self.flows.shape[0]

    @property
    def hop_count(self) -> int:
        """Largest number of hops of a flow."""
        return self.hops.shape[1]

    @property
    def link_count(self) -> int:
        """Number of queues, in both directions."""
        return self.links.shape[0]

    @property
    def slot_count(self) -> int:
        """Number of slots of each flow's rings."""
        return self.slots.shape[1]

    @property
    def waiting_count(self) -> int:
        """Number of packets that each queue's ring can hold."""
        return self.waiting.shape[1]

    @property
    def change_count(self) -> int:
        """Number of delay events."""
        return self.changes.shape[0]

    @property
    def sample_count(self) -> int:
        """Number of sample times."""
        return self.times.shape[0]

    @property
    def bin_count(self) -> int:
        """Number of arrival bins."""
        return self.bins.shape[0]


COUNTS = tuple(name for name in vars(Simulation) if name.endswith("_count"))
"""Names of the sizes of the arrays, which are properties of `Simulation`."""


def flow_of(sim: Any, f: int) -> Any:
    """The record of flow `f`."""
    return sim.flows[f]


def initial_of(sim: Any, f: int) -> Any:
    """The record of flow `f` at the start of the run."""
    return sim.initial[f]


def hop_of(sim: Any, f: int, i: int) -> Any:
    """The record of hop `i` of flow `f`."""
    return sim.hops[f, i]


def link_of(sim: Any, index: int) -> Any:
    """The record of the queue with this index."""
    return sim.links[index]


def packet_of(sim: Any, f: int, i: int, position: int) -> Any:
    """The packet at a position of the ring of hop `i` of flow `f`."""
    return sim.packets[f, i, position & (sim.slot_count - 1)]


def slot_of(sim: Any, f: int, seq: int) -> Any:
    """The record of packet `seq` in the window of flow `f`."""
    return sim.slots[f, seq & (sim.slot_count - 1)]


def waiting_of(sim: Any, index: int, position: int) -> Any:
    """The packet at a position of the queue with this index."""
    return sim.waiting[index, position & (sim.waiting_count - 1)]


def change_of(sim: Any, k: int) -> Any:
    """The record of delay event `k`."""
    return sim.changes[k]


def time_of(sim: Any, k: int) -> Any:
    """The record of sample time `k`."""
    return sim.times[k]


def flow_sample_of(sim: Any, k: int, f: int) -> Any:
    """Sample `k` of flow `f`."""
    return sim.flow_samples[k, f]


def link_sample_of(sim: Any, k: int, index: int) -> Any:
    """Sample `k` of the queue with this index."""
    return sim.link_samples[k, index]


def bin_of(sim: Any, k: int, index: int) -> Any:
    """Arrival bin `k` of the queue with this index."""
    return sim.bins[k, index]


def heap_of(sim: Any, position: int) -> Any:
    """The entry of the schedule at a position."""
    return sim.heap[position]
