"""The records that the packet simulator works on: flows, their stages, links, and what is noted.

A record has the fields that every sender (or queue) has, and those that its laws add. Times are
integer picoseconds, so that two correct engines agree to the last event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from vegasfluid.traffic.base import NEVER

__all__ = [
    "BIN",
    "CHANGE",
    "DICE",
    "ENTRY",
    "FLOW",
    "FLOW_SAMPLE",
    "LINK",
    "LINK_SAMPLE",
    "NEVER",
    "PACKET",
    "PICOSECONDS",
    "PLACE",
    "REPORT",
    "SLOT",
    "STAGE",
    "TIME",
    "picoseconds",
    "with_fields",
]

PICOSECONDS = 10**12
"""Picoseconds in a second."""


def _fields(whole: str, real: str = "") -> dict[str, type]:
    """Fields of whole numbers and of real ones."""
    wholes: dict[str, type] = dict.fromkeys(whole.split(), np.int64)
    return wholes | dict.fromkeys(real.split(), np.float64)


DICE: dict[str, type] = {"dice_a": np.uint64, "dice_b": np.uint64}
"""The fields of a source of random numbers."""


FLOW = DICE | _fields(
    whole="where full turn stages group law traffic start"
    " access_service access_free access_delay exit_service exit_free ack_service return_delay"
    " overhead ready_at"
    " una next_seq max_seq offered opened duplicates inflation recover in_recovery"
    " keeps_send_times recovery reliable window_limited"
    " deadline srtt rttvar rto min_rto backoff timed_seq timed_at app_at"
    " acked_sent_at acked_transmissions oldest_sent_at oldest_transmissions"
    " sacked fack edge rexmit holes reordering known_low known_high"
    " acked_at resent_at least_rtt"
    " expected held_at ack_delay quick_acks block_low block_high"
    " echo answer_seen reduced_at ect"
    " sent delivered dropped acks_dropped retransmitted timeouts finished"
    " noted note_at received_noted received_note_at",
    real="cwnd ssthresh max_window initial_window undo_cwnd undo_ssthresh",
)
"""Fields of a flow; those that every packet needs lie side by side, near those of the laws.

Path, ps: `access_service` and `exit_service` (sending a packet on the access links of the sender
and of the receiver), `ack_service` (an ACK), `access_delay` (propagation of each of them),
`..._free` (when that one is idle again), `return_delay` (of an ACK whose way has no queue),
`overhead` (largest random delay of a sending), `ready_at` (when the latest of them is over). Its
stages: data from 0 to below `turn`, ACKs from there to below `stages`; `group` is the number of its
class.

Sender, packets: `una` (oldest not acknowledged), `next_seq`, `max_seq` (sent so far), `offered`
(by the application), `opened` (first of this connection), `cwnd`, `ssthresh`, `max_window`,
`inflation` (duplicate ACKs counted as window), `recover` (`max_seq` at the last loss), `recovery`
(how losses are repaired), `window_limited` (whether the window held the last packet back, not the
application), `app_at` (when the application does something next, ps).

Scoreboard of selective ACKs (RFC 6675), packets: `sacked` (how many), `fack` (after the highest),
`edge` (what is below and not acknowledged counts as lost), `rexmit` (next to be resent), `holes`
(lost ones from there), `reordering` (packets that may overtake before one counts as lost),
`known_low` and `known_high` (the last block that was reported). To take back an answer to a loss
that was none: `acked_at` (when the last ACK came), `resent_at`, `least_rtt` (all ps), `undo_cwnd`,
`undo_ssthresh`.

Receiver: `expected`, `quick_acks` (packets whose ACKs are not held back), `held_at` (when a
delayed ACK is sent at the latest, ps), `block_low` and `block_high` (the block that holds the
latest packet out of order), `echo` (whether it echoes a mark), `reduced_at` (`max_seq` when the
sender last answered a mark) and `answer_seen` (the latest of these that a packet has told of).

Engine: `where` (the stage with the next packet), `full` (whether a ring had no slot left).
Journal: `noted` (samples so far) and `note_at` (the time of the next, ps), for the sender and for
the receiver.
"""

STAGE = _fields(whole="key head tail link service onward last jitter reorders", real="worth")
"""Fields of a stage, the place where packets of one flow wait to reach one queue: `key` (when
the first one does, ps), `head` and `tail` of its ring, `link` (-1: no queue, only an order),
`service` (ps a packet), `worth` (data packets), `onward` (propagation of that link, ps), `jitter`
(largest random delay, ps), `last` (when the latest one went on, ps)."""

LINK = DICE | _fields(
    whole="service free buffer law head tail in_bytes"
    " admitted early forced full marked uniform_used ect now bin_width",
    real="waited work waiting_size relative_size avg_queue uniform count",
)
"""Fields of a link: `service` (ps a data packet), `free` (when it is idle again, ps), `buffer`
(packets), `head` and `tail` of the ring of waiting packets, counters of packets admitted, marked
and dropped (early, by force, at a full buffer), `waited` (the sum of waiting times, ps), `work`
(size of admitted packets, in data packets), and for the queue discipline `waiting_size` (size of
the packets that wait, in data packets; kept where `in_bytes` is set), `relative_size` (of the
arriving packet, in data packets), `ect` (whether it may be marked), `now` (ps), `avg_queue`
(packets), `count` (packets since the last drop), `uniform` (a fresh uniform variate) and
`uniform_used` (whether the discipline used it). `in_bytes`: the buffer is measured in
`waiting_size`, not in packets; `bin_width` is that of the bins of arrivals (ps)."""

PACKET = _fields("time word")
"""A packet under way to a queue: when it comes, and 2 seq + mark (an ACK: 2 upto + echo)."""

REPORT = _fields("low high")
"""What an ACK says beside its number: the block that the receiver has got last."""

SLOT = np.dtype(
    [
        ("sent_at", np.int64),
        ("transmissions", np.int32),
        ("received", np.uint8),
        ("sacked", np.uint8),
    ],
    align=True,
)
"""A packet by its place in the window: when it was last sent (ps), how often, whether it came
before an earlier one, and whether the sender knows that."""

PLACE = np.dtype([("begin", np.int64)])
"""A waiting packet: when it begins to be sent (ps)."""

CHANGE = np.dtype(
    [(name, np.int64) for name in ("at", "link", "group", "delay")],
    align=True,
)
"""A change of delay: when (ps), of which link (-1: access) of which class, the new one (ps)."""

FLOW_SAMPLE: dict[str, type] = _fields(
    whole="sent delivered dropped retransmitted timeouts rtt", real="cwnd ssthresh"
)
"""What is noted of a flow at a sample time: counters so far, window, smoothed RTT (ps)."""

LINK_SAMPLE = np.dtype(
    [(name, np.int64) for name in ("admitted", "early", "forced", "full", "marked", "queue")]
    + [(name, np.float64) for name in ("waited", "work", "backlog", "avg_queue")],
    align=True,
)
"""What is noted of a link at a sample time; `backlog` is the work that it has yet to do."""


TIME = np.dtype([("at", np.int64)])
"""A sample time, ps."""

BIN = np.dtype([("count", np.int64)])
"""Packets of data that arrived in a bin."""

ENTRY = np.dtype([("key", np.int64), ("flow", np.int64)])
"""An entry of the schedule: when a flow's next event is (ps), and its number."""


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
