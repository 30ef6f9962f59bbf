"""The bottleneck's own counters, from `tc -s qdisc` on its router: the surest source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vegasfluid.observe.bottleneck_queue import DROP_TAIL, Discipline
from vegasfluid.observe.estimated import Estimated
from vegasfluid.observe.measurement import QueueSamples
from vegasfluid.observe.shaped_rate import (
    TOKEN_BUCKET,
    bucket_limit,
    contains_another,
    shaped_rate,
)

__all__ = ["LinkCounters", "QueueDrops", "QueueWaits", "capacity_of_counters", "link_counters"]

FIRST_IN_FIRST_OUT = ("pfifo", "bfifo", "pfifo_fast", TOKEN_BUCKET)
"""Disciplines of Linux that are drop-tail."""
IN_BYTES = ("bfifo", "red", TOKEN_BUCKET)
"""Disciplines whose limits tc shows in bytes."""
LENGTHS = ("limit", "min", "max")
"""Parameters that are lengths of the queue."""
CONTAINERS = ("htb", "hfsc", "mq", "prio", "noqueue", "clsact", "ingress")
"""Disciplines whose counters are not used: packets wait in other disciplines, or do not wait. The
same holds for a token bucket (`tbf`) that contains another discipline."""
ONE_QUEUE = (*FIRST_IN_FIRST_OUT, "red", "codel", "pie")
"""Disciplines in which packets leave in the order of their arrival, whatever their flow."""
HEAD_DROPS = ("codel",)
"""Those of them that drop packets when they leave, not when they arrive."""
HALF_SENT = 0.5
"""Part of the first packet in the queue that is sent already, on average."""
LINK_HEADER_BYTES = 14
"""Bytes of an Ethernet header, which tc counts and model files do not."""
LEAST_SAMPLES = 4
"""Smallest number of intervals between samples with a queue from which a capacity is estimated."""
SAME_SIZE = 0.03
"""Relative difference from full packets up to which all packets count as full."""
FULL = 0.9
"""Quantile of the rates that is the capacity where the queue empties between samples."""
ROUNDING = 1e-3
"""Relative uncertainty of counters that are read at times known to a millisecond."""
HEADERS = 0.02
"""Relative uncertainty of a rate that is set, because disciplines count different headers."""


class QueueWaits(NamedTuple):
    """Waiting times in a queue that all flows share.

    They are the packets in the queue, of which the first is half sent, over the rate at which
    packets pass it (J. D. C. Little, "A proof for the queuing formula: L = lambda W", Operations
    Research 9(3), 1961).

    Args:
        time: times, s; (sample,).
        seconds: waiting times, s; (sample,).
        packet: transmission time of a packet, s.
    """

    time: np.ndarray
    seconds: np.ndarray
    packet: float


class QueueDrops(NamedTuple):
    """Packets that a queue which all flows share has dropped.

    Args:
        time: times, s; (sample,).
        packets: packets dropped so far; (sample,).
    """

    time: np.ndarray
    packets: np.ndarray


class LinkCounters(NamedTuple):
    """Estimates from the counters of the bottleneck's queue.

    Args:
        discipline: its discipline; None: not known.
        limit: its limit, packets; None: not shown.
        capacity: capacity, packets/s; None: counters are missing, or the queue was rarely filled,
            and no rate is set.
        waits: waiting times; None: not known, or each flow has its own queue.
        was_full: whether the capacity is the rate of packets that were counted while the queue was
            not empty; otherwise it is the rate that is set.
        drops: packets dropped; None: not known, or each flow has its own queue.
    """

    discipline: Discipline | None
    limit: float | None
    capacity: Estimated | None
    waits: QueueWaits | None = None
    was_full: bool = True
    drops: QueueDrops | None = None


def link_counters(
    queues: Sequence[QueueSamples], packet_bytes: int, rate: float = 0.0
) -> LinkCounters | None:
    """Estimates from counters of the bottleneck: the queue with most drops, then most packets.

    Drops in the time of the measurement count first: counters begin when a discipline is set up,
    and an earlier overload, of a queue that is not used now, says nothing.

    Args:
        queues: queues that were measured.
        packet_bytes: size of a full packet, bytes.
        rate: mean rate of all measured flows, packets/s; a smaller rate that is set for a queue is
            not that of their link.

    Returns:
        The bottleneck, or None if no queue was measured in which packets wait.
    """
    waiting = [
        queue
        for queue in queues
        if queue.kind not in CONTAINERS
        and not (queue.kind == TOKEN_BUCKET and contains_another(queue, queues))
    ]
    if not waiting:
        return None
    queue = max(waiting, key=_bottleneck_rank)
    scale = 1 / (packet_bytes + LINK_HEADER_BYTES) if queue.kind in IN_BYTES else 1.0
    numbers = {
        name: float(value) * scale
        for name, value in queue.parameters.items()
        if name in LENGTHS and not isinstance(value, str)
    }
    probability = queue.parameters.get("probability")
    if isinstance(probability, float):
        numbers["probability"] = probability
    limit = numbers.pop("limit", 0.0)
    if queue.kind == TOKEN_BUCKET:
        limit = (bucket_limit(queue) or 0.0) * scale
    name = DROP_TAIL if queue.kind in FIRST_IN_FIRST_OUT else queue.kind
    found = Discipline(name, True, f"tc shows {queue.kind}", numbers) if name else None
    counted = _counted(queue, packet_bytes)
    capacity = counted or _shaped(queue, queues, packet_bytes, rate)
    waits = _waits(queue, capacity)
    is_full, drops = counted is not None, _drops(queue)
    return LinkCounters(found, limit or None, capacity, waits, is_full, drops)


def _shaped(
    queue: QueueSamples, queues: Sequence[QueueSamples], packet_bytes: int, rate: float
) -> Estimated | None:
    """Capacity, packets/s, that is set for a queue; None if none is, or not that of the bottleneck.

    A queue that is always empty and drops nothing is not the bottleneck, whatever its rate, and
    neither is one that is slower than all flows together, which have `rate`, packets/s.
    """
    bytes_per_s = shaped_rate(queue, queues)
    signs = (queue.backlog_packets, queue.dropped_packets, queue.marked_packets)
    if bytes_per_s is None or not any(sign is not None and (sign > 0).any() for sign in signs):
        return None
    value = bytes_per_s / (packet_bytes + LINK_HEADER_BYTES)
    how = "rate that tc shows; the queue was not measured while it was filled"
    found = Estimated(value, value * (1 - HEADERS), value * (1 + HEADERS), how)
    return found if found.high >= rate else None


def _waits(queue: QueueSamples, capacity: Estimated | None) -> QueueWaits | None:
    """Waiting times in a queue with a capacity in packets/s; None: they are not known.

    CoDel drops packets at the head of the queue, so that they wait, too, and pass it.
    """
    backlog = queue.backlog_packets
    if queue.kind not in ONE_QUEUE or backlog is None or capacity is None or not capacity.value:
        return None
    known = np.isfinite(backlog)
    if known.sum() < LEAST_SAMPLES:
        return None
    rate = capacity.value
    if queue.kind in HEAD_DROPS:
        (sent, _), (dropped, _) = map(
            _increase_and_last, (queue.sent_packets, queue.dropped_packets)
        )
        rate *= 1 + dropped / max(sent, 1.0)
    waiting = np.maximum(backlog[known] - HALF_SENT, 0.0)
    return QueueWaits(queue.time_s[known], waiting / rate, 1 / capacity.value)


def _drops(queue: QueueSamples) -> QueueDrops | None:
    """Packets that a queue dropped; None: they were not counted, or each flow has its own queue."""
    counter = queue.dropped_packets
    if queue.kind not in ONE_QUEUE or counter is None:
        return None
    known = np.isfinite(counter)
    return QueueDrops(queue.time_s[known], counter[known]) if known.any() else None


def _bottleneck_rank(queue: QueueSamples) -> tuple[float, ...]:
    """Numbers by which the bottleneck is chosen, the most important one first."""
    new_drops, drops = _increase_and_last(queue.dropped_packets)
    new_packets, packets = _increase_and_last(queue.sent_packets)
    return (new_drops, float(new_packets > 0), drops, new_packets, packets)


def _increase_and_last(counter: np.ndarray | None) -> tuple[float, float]:
    """Increase of a counter over the measurement, and its last known value; 0 if not measured."""
    known = np.zeros(1) if counter is None else counter[np.isfinite(counter)]
    return (float(known[-1] - known[0]), float(known[-1])) if len(known) else (0.0, 0.0)


def _counted(queue: QueueSamples, packet_bytes: int) -> Estimated | None:
    """Capacity, packets/s, of a queue's counters.

    None if a counter of bytes, packets or backlog is missing, or the queue was rarely filled.
    """
    series = (queue.sent_bytes, queue.sent_packets, queue.backlog_packets)
    sent, packets, backlog = series
    if sent is None or packets is None or backlog is None:
        return None
    known = np.isfinite(sent) & np.isfinite(packets) & np.isfinite(backlog)
    time = queue.time_s[known]
    return capacity_of_counters(time, sent[known], packets[known], backlog[known], packet_bytes)


def capacity_of_counters(
    time: np.ndarray,
    sent_bytes: np.ndarray,
    sent_packets: np.ndarray,
    backlog: np.ndarray,
    packet_bytes: int,
) -> Estimated | None:
    """Capacity, packets/s, from the packets that the link sent while its queue was not empty.

    If the mean size differs by more than 3 % from a full packet, bytes are counted as full packets.
    Where rates differ by more than a packet an interval, the queue was empty between samples, and
    the largest rates (their 90 % quantile) are the capacity.

    Args:
        time: times of the samples, s; (sample,).
        sent_bytes: bytes sent so far, with link headers; (sample,).
        sent_packets: packets sent so far; (sample,).
        backlog: packets in the queue; (sample,).
        packet_bytes: size of a full packet, bytes.

    Returns:
        The capacity; None if fewer than four intervals have a queue at both of their samples.
    """
    busy = (backlog[1:] > 0) & (backlog[:-1] > 0)
    seconds = np.diff(time)[busy]
    if busy.sum() < LEAST_SAMPLES or seconds.sum() <= 0:
        return None
    full = packet_bytes + LINK_HEADER_BYTES
    packets = np.diff(sent_packets)[busy]
    mean_bytes = float(np.diff(sent_bytes)[busy].sum()) / max(float(packets.sum()), 1.0)
    if abs(mean_bytes / full - 1) > SAME_SIZE:
        packets = packets * mean_bytes / full
    value, one = float(packets.sum() / seconds.sum()), float(1 / np.median(seconds))
    full_rate = float(np.quantile(packets / seconds, FULL))
    if full_rate - value > one:
        value = full_rate
        how = "largest rates that tc counted; between samples the queue was empty at times"
        return Estimated(value, value - one - value * ROUNDING, value + one + value * ROUNDING, how)
    reach = value * ROUNDING + 1 / float(seconds.sum())
    how = "packets that tc counted while the queue was not empty"
    return Estimated(value, value - reach, value + reach, how)
