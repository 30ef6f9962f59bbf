"""The packet engine: a FIFO link, its queue law, and the senders around it, one event a packet.

*Eager evaluation.* In a FIFO link the departure of a packet is known when it is admitted, so the
arrival of its ACK at the sender is known too: the ACK is processed at once, and the packets that
it releases go into their flow's ring of future arrivals. So a flow needs one key in the schedule:
the head of its ring, or its retransmission timer when nothing is under way. Before an ACK, a
timer that is due earlier is fired.

Everything here is plain scalar Python, which `compiler` compiles as it stands. The names
`on_ack`, `on_duplicate_ack`, `on_timeout` and `drops` are bound there to the rules of the laws in
use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vegasfluid.congestion.law import RETRANSMIT, SEND, SEND_ONE
from vegasfluid.congestion.recovery import LARGEST_BACKOFF, sample_round_trip
from vegasfluid.packet.schedule import build, sift_down

__all__ = ["COMPLETED", "RING_FULL", "SELDOM", "run"]

COMPLETED, RING_FULL = 0, 1
"""How a run ends: at its last sample, or because a flow had more in flight than its ring holds."""

on_ack: Callable[..., int]
on_duplicate_ack: Callable[..., int]
on_timeout: Callable[..., None]
drops: Callable[..., int]

NEVER = np.iinfo(np.int64).max

SELDOM = (
    "fire_timer",
    "note_flow",
    "note_link",
    "finish",
    "start",
    "on_timeout",
    "on_duplicate_ack",
)
"""Functions that few packets reach: called, not inlined, which halves the time to compile."""

Records = Any


def transmit(flow: Any, rings: Any, f: int, seq: int, now: int) -> None:
    """Send one packet: over the access link, into the ring of packets under way to the queue."""
    start = max(now, flow.access_free)
    flow.access_free = start + flow.access_service
    mask = rings.arrivals.shape[1] - 1
    arrival = rings.arrivals[f, flow.tail & mask]
    arrival.time = flow.access_free + flow.access_delay
    arrival.seq = seq
    flow.tail += 1
    flow.sent += 1
    if seq < flow.max_seq:
        flow.retransmitted += 1
    else:
        flow.max_seq = seq + 1
        if flow.timed_seq < 0:
            flow.timed_seq = seq
            flow.timed_at = now
    if flow.keeps_send_times:
        rings.sent_at[f, seq & mask] = now
        rings.transmissions[f, seq & mask] += 1


def send_window(flow: Any, rings: Any, f: int, now: int) -> None:
    """Send all that the window allows."""
    limit = flow.una + int(min(flow.cwnd, flow.max_window)) + flow.inflation
    limit = min(limit, flow.una + rings.arrivals.shape[1] - 1)
    while flow.next_seq < limit:
        transmit(flow, rings, f, flow.next_seq, now)
        flow.next_seq += 1


def obey(flow: Any, rings: Any, f: int, action: int, now: int) -> None:
    """Do what a rule asked for."""
    if action & RETRANSMIT:
        flow.timed_seq = -1
        flow.deadline = now + flow.rto * flow.backoff
        transmit(flow, rings, f, flow.una, now)
    if action & SEND:
        send_window(flow, rings, f, now)
    if action & SEND_ONE:
        window = int(min(flow.cwnd, flow.max_window)) + flow.duplicates
        if flow.next_seq < flow.una + window:
            transmit(flow, rings, f, flow.next_seq, now)
            flow.next_seq += 1


def fire_timer(flow: Any, rings: Any, f: int, journal: Any) -> None:
    """The retransmission timer: let the law restart, back off, go back to the oldest packet."""
    now = flow.deadline
    note_flow(flow, f, now, journal)
    flow.timeouts += 1
    on_timeout(flow.law, flow, now)
    flow.next_seq = flow.una
    flow.timed_seq = -1
    flow.backoff = min(2 * flow.backoff, LARGEST_BACKOFF)
    flow.deadline = now + flow.rto * flow.backoff
    send_window(flow, rings, f, now)


def note_send_times(flow: Any, rings: Any, f: int) -> None:
    """Show the rules when the last acknowledged and the oldest packet were sent, how often."""
    mask = rings.arrivals.shape[1] - 1
    flow.acked_sent_at = rings.sent_at[f, (flow.una - 1) & mask]
    flow.acked_transmissions = rings.transmissions[f, (flow.una - 1) & mask]
    flow.oldest_sent_at = rings.sent_at[f, flow.una & mask]
    flow.oldest_transmissions = rings.transmissions[f, flow.una & mask]


def forget_send_times(flow: Any, rings: Any, f: int, first: int) -> None:
    """Free the slots of the packets from `first` that are acknowledged now."""
    mask = rings.arrivals.shape[1] - 1
    for seq in range(first, flow.una):
        rings.transmissions[f, seq & mask] = 0


def acknowledge(flow: Any, rings: Any, f: int, now: int) -> None:
    """The sender receives the ACK of everything below `flow.expected`."""
    first = flow.una
    acked = flow.expected - first
    if acked > 0:
        flow.una = flow.expected
        flow.next_seq = max(flow.next_seq, flow.una)
        if 0 <= flow.timed_seq < flow.una:
            sample_round_trip(flow, now - flow.timed_at)
            flow.timed_seq = -1
        flow.deadline = now + flow.rto * flow.backoff
        if flow.keeps_send_times:
            note_send_times(flow, rings, f)
            forget_send_times(flow, rings, f, first)
        action = on_ack(flow.law, flow, now, acked)
        if first == 0:  # the first packet stands for the handshake: its ACK opens no window
            flow.cwnd = flow.initial_window
    else:
        if flow.keeps_send_times:
            note_send_times(flow, rings, f)
        action = on_duplicate_ack(flow.law, flow, now)
    obey(flow, rings, f, action, now)


def receive(flow: Any, rings: Any, f: int, seq: int) -> None:
    """The receiver takes a packet: count it once, move on over what had come early."""
    mask = rings.arrivals.shape[1] - 1
    if seq < flow.expected or rings.received[f, seq & mask]:
        return
    flow.delivered += 1
    if seq != flow.expected:
        rings.received[f, seq & mask] = 1
        return
    flow.expected += 1
    while rings.received[f, flow.expected & mask]:
        rings.received[f, flow.expected & mask] = 0
        flow.expected += 1


def toss(link: Any, generator: np.ndarray) -> None:
    """A fresh uniform number for the queue law (xorshift128+, Vigna 2017)."""
    a, b = generator[0], generator[1]
    generator[0] = b
    a ^= a << np.uint64(23)
    generator[1] = a ^ b ^ (a >> np.uint64(17)) ^ (b >> np.uint64(26))
    link.coin = float((generator[1] + b) >> np.uint64(11)) / 9007199254740992.0
    link.tossed = 0


def admit(link: Any, generator: np.ndarray, now: int) -> bool:
    """The queue takes or drops the packet that arrives now."""
    backlog = link.free - now
    waiting = 0
    idle_packets = 0.0
    if backlog > 0:
        waiting = (backlog + link.service - 1) // link.service - 1
    else:
        idle_packets = float(-backlog // link.service)
    if link.tossed:
        toss(link, generator)
    if drops(0, link, waiting, idle_packets):
        link.early += 1
        return False
    if waiting >= link.buffer:
        link.full += 1
        link.count = 0
        return False
    link.admitted += 1
    start = max(link.free, now)
    link.waited += start - now
    link.free = start + link.service
    return True


def next_event(flow: Any, rings: Any, f: int) -> int:
    """When the flow's next packet reaches the queue, or its timer fires."""
    if flow.head == flow.tail:
        return flow.deadline
    return rings.arrivals[f, flow.head & (rings.arrivals.shape[1] - 1)].time


def arrive(
    flow: Any, link: Any, rings: Any, f: int, now: int, generator: np.ndarray, journal: Any
) -> None:
    """A packet reaches the queue; if it is admitted, follow it until its ACK is processed."""
    mask = rings.arrivals.shape[1] - 1
    seq = rings.arrivals[f, flow.head & mask].seq
    flow.head += 1
    if not admit(link, generator, now):
        flow.dropped += 1
        return
    flow.exit_free = max(link.free + flow.exit_delay, flow.exit_free) + flow.exit_service
    back = flow.exit_free + flow.return_delay
    while flow.deadline < back:
        fire_timer(flow, rings, f, journal)
    if flow.note_at < back:
        note_flow(flow, f, back, journal)
    receive(flow, rings, f, seq)
    acknowledge(flow, rings, f, back)


def overflows(flow: Any, slots: int) -> bool:
    """Whether the flow needs more slots than its rings have."""
    window = min(flow.cwnd, flow.max_window) + flow.inflation
    return window >= slots - 1 or flow.tail - flow.head >= slots


def note_flow(flow: Any, f: int, now: int, journal: Any) -> None:
    """Write down the sender for all sample times before `now`, on its own clock.

    Its ACKs are processed ahead of the link's time, so the samples are taken as they pass.
    """
    while flow.note_at < now:
        sample = journal.flows[flow.noted, f]
        sample.sent = flow.sent
        sample.delivered = flow.delivered
        sample.dropped = flow.dropped
        sample.retransmitted = flow.retransmitted
        sample.timeouts = flow.timeouts
        sample.cwnd = flow.cwnd
        sample.rtt = float(flow.srtt)
        flow.noted += 1
        flow.note_at = NEVER
        if flow.noted < journal.times.shape[0]:
            flow.note_at = journal.times[flow.noted]


def note_link(link: Any, noted: int, journal: Any) -> None:
    """Write down the link at one sample time."""
    sample, now = journal.link[noted], journal.times[noted]
    sample.admitted = link.admitted
    sample.early = link.early
    sample.full = link.full
    sample.waited = link.waited
    sample.avg_queue = link.avg_queue
    sample.queue = max((link.free - now + link.service - 1) // link.service - 1, 0)


def finish(flows: Records, journal: Any) -> None:
    """Write down the senders that have nothing more to process before the last sample time."""
    for f in range(flows.shape[0]):
        note_flow(flows[f], f, NEVER, journal)


def start(flows: Records, rings: Any, journal: Any, heap: np.ndarray) -> None:
    """Send the first window of every flow, and order the schedule."""
    for f in range(flows.shape[0]):
        flows[f].note_at = journal.times[0]
        note_flow(flows[f], f, flows[f].start, journal)
        send_window(flows[f], rings, f, flows[f].start)
        flows[f].key = next_event(flows[f], rings, f)
    build(heap, flows)


def run(
    flows: Records,
    link: Any,
    rings: Any,
    generator: np.ndarray,
    journal: Any,
    heap: np.ndarray,
) -> int:
    """Run all flows until the last sample time.

    Args:
        flows: (flows,) records of FLOW with the laws' fields.
        link: one record of LINK with the queue law's fields.
        rings: arrays of shape (flows, slots), slots a power of two.
        generator: (2,) state of the random numbers.
        journal: sample times, and the samples, which are written.
        heap: (flows,) the numbers of the flows; the schedule.

    Returns:
        COMPLETED or RING_FULL.
    """
    start(flows, rings, journal, heap)
    noted = 0
    while True:
        f = heap[0]
        flow = flows[f]
        now = flow.key
        while now > journal.times[noted]:
            note_link(link, noted, journal)
            noted += 1
            if noted == journal.times.shape[0]:
                finish(flows, journal)
                return COMPLETED
        if flow.head == flow.tail:
            fire_timer(flow, rings, f, journal)
        else:
            arrive(flow, link, rings, f, now, generator, journal)
        if overflows(flow, rings.arrivals.shape[1]):
            return RING_FULL
        flow.key = next_event(flow, rings, f)
        sift_down(heap, flows, 0)
