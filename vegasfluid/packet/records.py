"""Record types of the packet simulator: flows, hops, links, and samples.

A record has the fields that every flow (or queue) has, and those that packet rules add. Times are
integer picoseconds (see `vegasfluid.clock`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

__all__ = [
    "BIN",
    "CHANGE",
    "FLOW",
    "FLOW_QUEUE",
    "FLOW_SAMPLE",
    "HEAP_ENTRY",
    "HOP",
    "LINK",
    "LINK_SAMPLE",
    "PACKET",
    "RNG",
    "SACK_BLOCK",
    "SLOT",
    "TIME",
    "WAITING",
    "with_fields",
]


def _fields(integers: str, floats: str = "") -> dict[str, type]:
    """Types int64 and float64 of fields by name, from names separated by spaces."""
    types: dict[str, type] = dict.fromkeys(integers.split(), np.int64)
    return types | dict.fromkeys(floats.split(), np.float64)


RNG: dict[str, type] = {"rng_a": np.uint64, "rng_b": np.uint64}
"""Fields of a random number generator (see `vegasfluid.packet.rng`)."""


FLOW = RNG | _fields(
    integers="next_hop full data_hops hops flow_class law traffic start"
    " access_service access_free access_delay egress_service egress_free ack_service return_delay"
    " overhead ready_at"
    " una next_seq max_seq offered opened duplicates inflation recover in_recovery"
    " keeps_send_times recovery reliable window_limited"
    " deadline srtt rttvar rto min_rto backoff timed_seq timed_at app_at"
    " acked_sent_at acked_transmissions oldest_sent_at oldest_transmissions"
    " sacked fack lost_below high_rxt holes reordering known_low known_high"
    " acked_at resent_at least_rtt"
    " expected delack_deadline ack_delay quick_acks block_low block_high"
    " ece answer_seen reduced_at ect exact_echo"
    " sent delivered dropped acks_dropped retransmitted timeouts finished"
    " sampled sample_at received_sampled received_sample_at place wakes",
    floats="cwnd ssthresh max_window initial_window undo_cwnd undo_ssthresh",
)
"""Fields of a flow; those used for every packet come first. Times are in ps.

Path: `access_service` and `egress_service` (transmission time on the access link of the sender and
of the receiver), `ack_service` (of an ACK), `access_delay` (propagation of each access link),
`..._free` (when the link becomes idle), `return_delay` (of an ACK that waits in no queue),
`overhead` (maximum random delay of a burst), `ready_at` (end of the latest such delay). Hops:
data from 0 to below `data_hops`, ACKs from there to below `hops`. `flow_class` is the index of the
class; `law` and `traffic` are the indices of its packet rules; `start` is the flow's start time.

Sender, packets: `una` (oldest unacknowledged), `next_seq`, `max_seq` (sent so far), `offered` (by
the application), `opened` (first of this connection), `cwnd`, `ssthresh`, `max_window`,
`inflation` (duplicate ACKs added to the window), `recover` (`max_seq` at the last loss), `recovery`
(the recovery scheme), `window_limited` (whether the window limited sending, not the application),
`app_at` (time of the application's next action), `reliable` (whether lost packets are sent again).

Timer: `deadline` (when it expires), `srtt` and `rttvar` (smoothed RTT and its variation), `rto`
(timeout before it is multiplied by `backoff`), `min_rto`, `timed_seq` (packet whose RTT is being
measured, -1: none) and `timed_at` (when it was sent).

Scoreboard of selective ACKs (RFC 6675), packets: `sacked` (how many), `fack` (one above the
highest), `lost_below` (unacknowledged packets below it count as lost), `high_rxt` (next to be
retransmitted), `holes` (lost ones from there), `reordering` (later packets that must arrive before
one counts as lost), `known_low` and `known_high` (the latest SACK block). To undo the response to a
spurious loss: `acked_at` (time of the latest ACK), `resent_at`, `least_rtt`, `undo_cwnd`,
`undo_ssthresh`.

Receiver: `expected`, `quick_acks` (packets to be acknowledged at once), `delack_deadline` (when a
delayed ACK is sent at the latest), `block_low` and `block_high` (the SACK block around the latest
packet out of order), `ece` (whether it echoes a mark), `exact_echo` (whether it echoes the marks of
all packets, as for DCTCP), `reduced_at` (`max_seq` when the sender
last responded to a mark) and `answer_seen` (the latest of these known from a packet).

Engine: `next_hop` (the hop with the next packet), `full` (whether a ring had no slot left), and
beside links with queues of flows `place` (position in the schedule) and `wakes` (1 + index of the
idle link at which its packet has just arrived, or 0).
Sampling: `sampled` (samples so far) and `sample_at` (time of the next), for the sender and for the
receiver. Counters, packets: `sent`, `delivered`, `dropped` (data), `acks_dropped`, `retransmitted`;
also `timeouts` and `finished` (transfers that have ended).
"""

HOP = _fields(
    integers="next_arrival head tail link service propagation last_arrival jitter reorders"
    " queue first",
    floats="relative_size",
)
"""Fields of a hop, where packets of one flow travel to one queue: `next_arrival` (of the first
packet, ps), `head` and `tail` of its ring, `link` (-1: no queue), `service` (transmission time of a
packet, ps), `relative_size` (of a packet, in data packets: the quotient of their transmission
times, so that the work admitted is what the link transmits), `propagation` (of the link, ps),
`jitter` (maximum random delay, ps), `reorders` (whether jitter may change the order of packets),
`last_arrival` (of the packet before, kept where it may not, ps), `queue` (index of
the flow's own queue, -1: none) and `first` (the ring's first packet, which may wait there)."""

LINK = RNG | _fields(
    integers="service free buffer law head tail in_bytes"
    " admitted early forced full marked uniform_used ect now bin_width",
    floats="waited lost_waited work waiting_size relative_size avg_queue uniform count",
)
"""Fields of a link: `service` (ps a data packet), `free` (when it becomes idle, ps), `buffer`
(packets), `head` and `tail` of the ring of waiting packets, counters of packets admitted, marked
and dropped (early, by force, at a full buffer), `waited` (the sum of waiting times, ps) and
`lost_waited` (that of the packets dropped after they had waited, ps), `work`
(size of admitted packets, in data packets), and for the queue discipline `waiting_size` (size of
the packets that wait, in data packets; kept where `in_bytes` is set), `relative_size` (of the
arriving packet, in data packets), `ect` (whether it may be marked), `now` (ps), `avg_queue`
(packets), `count` (what it counts since the last drop, such as packets), `uniform` (a fresh uniform
variate) and `uniform_used` (whether the discipline used it). `in_bytes`: the buffer is measured in
`waiting_size`, not in packets; `bin_width` is that of the bins of arrivals (ps)."""

FLOW_QUEUE = _fields(
    integers="waiting flow_limit drops_longest refill_delay wake place first_queue end_queue"
    " first_new last_new first_old last_old flow hop listed next left_at taken mark",
    floats="quantum credit",
)
"""Fields that links and queues have besides where a link has a queue for each flow.

A link: `waiting` (packets), `flow_limit` (packets a flow), `drops_longest` (whether the longest
queue loses packets at the limit, and not the one that arrives), `quantum` (data packets),
`refill_delay` (time after which a queue that comes back gets a new quantum, ps), `wake` (time of
its next event, ps), `place` (position in the schedule), `first_queue` to below `end_queue` (its
queues), and the ends of its lists of new and old queues (-1: empty).

A queue: `flow`, `hop`, `waiting` (packets), `credit` (data packets that it may still send in its
turn), `listed` (in which list), `next` (the queue that follows there), `left_at` (when it left,
ps), `taken` and `mark` (position in its ring of the packet that left last, and its mark). When the
queue discipline decides on a packet that leaves, `now` is the time when it arrived and `free` the
time when it leaves."""

PACKET = _fields("time header")
"""Fields of a packet on its way to a hop: arrival time (ps), and 2 seq + CE mark, or for an ACK
2 ack_number + ECE."""

SACK_BLOCK = _fields("low high")
"""Fields of an ACK besides its number: the SACK block, from `low` to below `high`."""

SLOT: list[tuple[str, type]] = [
    ("sent_at", np.int64),
    ("transmissions", np.int32),
    ("received", np.uint8),
    ("sacked", np.uint8),
]
"""Fields of a packet in the window: when it was last sent (ps), how often it was sent, whether it
arrived out of order, and whether a SACK block has reported that to the sender."""

WAITING = np.dtype([("start", np.int64)])
"""Field of a packet in a queue: start of its transmission (ps)."""

CHANGE = np.dtype(
    [(name, np.int64) for name in ("at", "link", "flow_class", "delay")],
    align=True,
)
"""Fields of a delay event: time (ps), index of the queue (-1: access links), index of the class,
new delay (ps)."""

FLOW_SAMPLE: dict[str, type] = _fields(
    integers="sent delivered dropped retransmitted timeouts rtt", floats="cwnd ssthresh"
)
"""Fields of a sample of a flow: counters since the start (packets; timeouts), smoothed RTT (ps),
window and slow-start threshold (packets)."""

LINK_SAMPLE = np.dtype(
    [(name, np.int64) for name in ("admitted", "early", "forced", "full", "marked", "queue")]
    + [(name, np.float64) for name in ("waited", "lost_waited", "work", "backlog", "avg_queue")],
    align=True,
)
"""Fields of a sample of a queue: counters since the start, `queue` and `avg_queue` (packets),
`waited` (sum of waiting times, ps), `lost_waited` (that of the packets dropped afterwards, ps),
`work` (size of the packets admitted, in data packets) and `backlog` (size of those yet to be
transmitted, in data packets)."""


TIME = np.dtype([("at", np.int64)])
"""Field of a sample time: `at` (ps)."""

BIN = np.dtype([("count", np.int64)])
"""Field of a bin of time: number of data packets that arrived at a queue."""

HEAP_ENTRY = np.dtype([("time", np.int64), ("flow", np.int64)])
"""Fields of an entry of the schedule: time of the next event of a flow or link (ps), and the flow's
index; -1 minus the index for a link that has queues of flows."""


def with_fields(common: Mapping[str, type], added: Iterable[Mapping[str, object]]) -> np.dtype:
    """Record type with common fields and those that packet rules add.

    Args:
        common: types of the fields that every record has, by name.
        added: fields of each set of rules, with initial values; an int makes an integer field, any
            other value a float field.

    Returns:
        An aligned NumPy dtype.
    """
    fields = dict(common)
    for values in added:
        for name, value in values.items():
            fields.setdefault(name, np.int64 if isinstance(value, int) else np.float64)
    return np.dtype(list(fields.items()), align=True)
