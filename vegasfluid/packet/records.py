"""The records that the packet simulator works on: one a flow, one for the link.

A record has the fields that every sender (or queue) has, and those that its laws add. Times are
integer picoseconds, so that two correct engines agree to the last event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

__all__ = [
    "ARRIVAL",
    "FLOW",
    "FLOW_SAMPLE",
    "LINK",
    "LINK_SAMPLE",
    "PICOSECONDS",
    "Journal",
    "Rings",
    "make_rings",
    "picoseconds",
    "with_fields",
]

PICOSECONDS = 10**12
"""Picoseconds in a second."""


def _fields(whole: str, real: str) -> dict[str, type]:
    """Fields of whole numbers and of real ones."""
    wholes: dict[str, type] = dict.fromkeys(whole.split(), np.int64)
    return wholes | dict.fromkeys(real.split(), np.float64)


FLOW = _fields(
    whole="key head tail"
    " access_service access_free access_delay exit_delay exit_service exit_free return_delay start"
    " una next_seq max_seq duplicates inflation recover in_recovery law keeps_send_times"
    " deadline srtt rttvar rto min_rto backoff timed_seq timed_at"
    " acked_sent_at acked_transmissions oldest_sent_at oldest_transmissions expected"
    " sent delivered dropped retransmitted timeouts noted note_at",
    real="cwnd ssthresh max_window initial_window",
)
"""Fields of a flow.

Path, in ps: `access_service` (sending a packet on the access link), `access_delay` (to the
queue), `exit_delay` (from the link to the last hop), `return_delay` (of the ACK), `..._free` (when
that hop is idle again). Sender, in packets: `una` (oldest not acknowledged), `next_seq`,
`max_seq` (sent so far), `cwnd`, `ssthresh`, `max_window`, `inflation` (duplicate ACKs counted as
window), `recover` (`max_seq` at the last loss). Receiver: `expected`. Schedule: `key` (the next
event), `head` and `tail` of the ring of packets under way to the queue. Journal: `noted` (samples
so far) and `note_at` (the time of the next, ps).
"""

LINK = _fields(
    whole="service free buffer admitted early full count above tossed",
    real="waited avg_queue coin",
)
"""Fields of a link: `service` (ps a packet), `free` (when it is idle again, ps), `buffer`
(packets), counters of packets admitted and dropped early or at a full buffer, `waited` (the sum
of waiting times, ps), and for the queue law `avg_queue` (packets), `count` (packets since the
last drop), `above`, `coin` (a fresh uniform number) and `tossed` (whether it was used)."""


class Journal(NamedTuple):
    """Where a run is written down.

    Args:
        times: (samples,) increasing sample times, ps.
        flows: (samples, flows) records of FLOW_SAMPLE.
        link: (samples,) records of LINK_SAMPLE.
    """

    times: np.ndarray
    flows: np.ndarray
    link: np.ndarray


class Rings(NamedTuple):
    """Each flow's packets, by place in its window; slots are a power of two.

    Args:
        arrivals: (flows, slots) of ARRIVAL, packets under way to the queue.
        sent_at: (flows, slots) when the packet was last sent, ps.
        transmissions: (flows, slots) how often.
        received: (flows, slots) whether it came before an earlier one.
    """

    arrivals: np.ndarray
    sent_at: np.ndarray
    transmissions: np.ndarray
    received: np.ndarray


def make_rings(flows: int, slots: int) -> Rings:
    """Empty rings."""
    return Rings(
        np.zeros((flows, slots), ARRIVAL).view(np.recarray),
        np.zeros((flows, slots), np.int64),
        np.zeros((flows, slots), np.int32),
        np.zeros((flows, slots), np.uint8),
    )


ARRIVAL = np.dtype([("time", np.int64), ("seq", np.int64)], align=True)
"""A packet under way to the queue."""

FLOW_SAMPLE = np.dtype(
    [(name, np.int64) for name in ("sent", "delivered", "dropped", "retransmitted", "timeouts")]
    + [("cwnd", np.float64), ("rtt", np.float64)],
    align=True,
)
"""What is noted of a flow at a sample time: counters so far, window, smoothed RTT (ps)."""

LINK_SAMPLE = np.dtype(
    [(name, np.int64) for name in ("admitted", "early", "full", "queue")]
    + [("waited", np.float64), ("avg_queue", np.float64)],
    align=True,
)
"""What is noted of the link at a sample time."""


def picoseconds(seconds: float) -> int:
    """Seconds as whole picoseconds.

    >>> picoseconds(1.5e-3)
    1500000000
    """
    return round(seconds * PICOSECONDS)


def with_fields(common: Mapping[str, type], added: Iterable[Mapping[str, object]]) -> np.dtype:
    """A record type with the common fields and those that laws add.

    Args:
        common: fields that every record has.
        added: for each law, its fields with a value whose type they take.
    """
    fields = dict(common)
    for law in added:
        for name, value in law.items():
            fields.setdefault(name, np.int64 if isinstance(value, int) else np.float64)
    return np.dtype(list(fields.items()), align=True)
