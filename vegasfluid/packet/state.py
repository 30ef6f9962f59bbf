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
    "queue_of",
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
        queues: (queues,) records as those of links: a queue of one flow, at a link that has such.
        heap: (entries,) of HEAP_ENTRY, the schedule: of flows, and of links with queues of flows.
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
    queues: np.ndarray
    heap: np.ndarray

    @property
    def flow_count(self) -> int:
        """Number of flows."""
        return self.flows.shape[0]

    @property
    def hop_count(self) -> int:
        """Largest number of hops (queues on the path of data and ACKs) of any flow."""
        return self.hops.shape[1]

    @property
    def link_count(self) -> int:
        """Number of queues, in both directions."""
        return self.links.shape[0]

    @property
    def slot_count(self) -> int:
        """Number of packets that each ring of a flow can hold, a power of two."""
        return self.slots.shape[1]

    @property
    def waiting_count(self) -> int:
        """Number of packets that the ring of each queue can hold, a power of two."""
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

    @property
    def queue_count(self) -> int:
        """Number of queues that hold packets of one flow only."""
        return self.queues.shape[0]

    @property
    def entry_count(self) -> int:
        """Number of entries of the schedule."""
        return self.heap.shape[0]


COUNTS = tuple(name for name in vars(Simulation) if name.endswith("_count"))
"""Names of the sizes of the arrays, which are properties of `Simulation`."""


def flow_of(sim: Any, f: int) -> Any:
    """Record of flow `f`, which the caller may change; fields: `records.FLOW`."""
    return sim.flows[f]


def initial_of(sim: Any, f: int) -> Any:
    """Record of flow `f` as at the start of the run; fields: `records.FLOW`."""
    return sim.initial[f]


def hop_of(sim: Any, f: int, i: int) -> Any:
    """Record of hop `i` of flow `f`, which the caller may change; fields: `records.HOP`."""
    return sim.hops[f, i]


def link_of(sim: Any, index: int) -> Any:
    """Record of the queue with an index, which the caller may change; fields: `records.LINK`."""
    return sim.links[index]


def packet_of(sim: Any, f: int, i: int, position: int) -> Any:
    """Record of the packet at a position, modulo its length, of the ring of a flow's hop.

    `f` is the index of the flow, `i` of the hop; fields: `records.PACKET`.
    """
    return sim.packets[f, i, position & (sim.slot_count - 1)]


def slot_of(sim: Any, f: int, seq: int) -> Any:
    """Record of packet `seq` in the window of flow `f`; fields: `records.SLOT`."""
    return sim.slots[f, seq & (sim.slot_count - 1)]


def waiting_of(sim: Any, index: int, position: int) -> Any:
    """Record of the packet at a position, modulo its length, of the ring of a queue.

    Its field `start` is the start of its transmission, ps.
    """
    return sim.waiting[index, position & (sim.waiting_count - 1)]


def change_of(sim: Any, k: int) -> Any:
    """Record of delay event `k`, in order of time; fields: `records.CHANGE`."""
    return sim.changes[k]


def time_of(sim: Any, k: int) -> Any:
    """Record of sample time `k`; its field `at` is the time, ps."""
    return sim.times[k]


def flow_sample_of(sim: Any, k: int, f: int) -> Any:
    """Record of sample `k` of flow `f`; fields: `records.FLOW_SAMPLE`."""
    return sim.flow_samples[k, f]


def link_sample_of(sim: Any, k: int, index: int) -> Any:
    """Record of sample `k` of the queue with an index; fields: `records.LINK_SAMPLE`."""
    return sim.link_samples[k, index]


def bin_of(sim: Any, k: int, index: int) -> Any:
    """Record of bin of time `k` of the queue with an index; `count`: packets that arrived."""
    return sim.bins[k, index]


def queue_of(sim: Any, index: int) -> Any:
    """Record of the queue of one flow with an index; fields: `records.LINK`, `FLOW_QUEUE`."""
    return sim.queues[index]


def heap_of(sim: Any, position: int) -> Any:
    """Entry of the schedule at a position: `records.HEAP_ENTRY`."""
    return sim.heap[position]
