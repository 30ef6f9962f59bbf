"""A link with a queue for each flow, served in turn by deficit round robin (DRR).

A packet that arrives waits in the queue of its flow. When the link has sent a packet it takes the
next one from the first queue of its lists: of new queues, then of old ones. A queue that has used
up its credit gets a quantum and goes to the end of the old ones. Which packet is sent next is not
known before, so here, unlike at a first-in, first-out link, the end of a transmission is an event.

The waiting packets of a flow are those of its ring at the hop that the ring's head has passed:
from `hop.first` to below `hop.head`, with a gap (NONE) for each that found no space.

Plain scalar Python on the records; `jit` compiles it and binds `decide` and `on_empty` to the rules
of the queue disciplines in use.

Sources:
    M. Shreedhar and G. Varghese, "Efficient fair queueing using deficit round robin", SIGCOMM 1995.
    RFC 8290, sections 4.1 and 4.2 (new and old queues, drops at the limit). Behaviour of Linux 6.1,
    net/sched/sch_fq.c and sch_fq_codel.c (credit of a queue that comes back; no code copied).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vegasfluid.aqm.base import EARLY, FORCED, MARK
from vegasfluid.clock import NEVER
from vegasfluid.packet.features import ECN
from vegasfluid.packet.rng import uniform
from vegasfluid.packet.state import flow_of, hop_of, link_of, packet_of, queue_of

__all__ = ["NONE", "arrive", "count_drop", "next_packet"]

decide: Callable[..., int]
"""`(i, queue, waiting, idle_packets)`: decision of the i-th queue discipline on a packet that is to
leave a flow's queue: ADMIT, EARLY, FORCED or MARK."""
on_empty: Callable[..., None]
"""`(i, queue)`: what the i-th queue discipline does when it finds a flow's queue empty."""

NONE = -1
"""Index that stands for no queue, and header of a packet that found no space."""
NEITHER, NEW, OLD = 0, 1, 2
"""Values of `queue.listed`: a queue is in no list of its link, or among its new or old queues."""
MOST_DROPPED = 64
"""Largest number of packets dropped at once from the longest queue (RFC 8290, section 4.1)."""


def drop_taken(sim: Any, link: Any, queue: Any, position: int, now: int) -> None:
    """Count the packet at a position in a flow's ring as dropped at `now` (ps), after its wait."""
    link.lost_waited += now - packet_of(sim, queue.flow, queue.hop, position).time
    count_drop(flow_of(sim, queue.flow), queue.hop)


def count_drop(flow: Any, i: int) -> None:
    """Count a packet that the queue at a flow's hop `i` dropped: in `dropped` or `acks_dropped`."""
    if i < flow.data_hops:
        flow.dropped += 1
    else:
        flow.acks_dropped += 1


def append(sim: Any, link: Any, q: int, which: int) -> None:
    """Put queue `q` at the end of a link's list of NEW or OLD queues (`which`)."""
    queue = queue_of(sim, q)
    queue.listed = which
    queue.next = NONE
    last = link.last_new if which == NEW else link.last_old
    if last != NONE:
        queue_of(sim, last).next = q
    elif which == NEW:
        link.first_new = q
    else:
        link.first_old = q
    if which == NEW:
        link.last_new = q
    else:
        link.last_old = q


def remove_first(sim: Any, link: Any, which: int) -> None:
    """Take the first queue off a link's list of NEW or OLD queues (`which`)."""
    if which == NEW:
        link.first_new = queue_of(sim, link.first_new).next
        if link.first_new == NONE:
            link.last_new = NONE
    else:
        link.first_old = queue_of(sim, link.first_old).next
        if link.first_old == NONE:
            link.last_old = NONE


def arrive(sim: Any, f: int, i: int, now: int) -> None:
    """Put the packet of flow `f` that has just come to hop `i`, at `now` (ps), into its queue.

    If the link's buffer or the flow's limit is full, the packet is dropped. Where `drops_longest`
    is set, packets at the head of the longest queue are dropped instead, at a full buffer only.
    If the link is idle, `link.wake` becomes `now`, and `flow.wakes` 1 + the link's index.
    """
    flow, hop = flow_of(sim, f), hop_of(sim, f, i)
    link, queue = link_of(sim, hop.link), queue_of(sim, hop.queue)
    full = link.waiting >= link.buffer or queue.waiting >= link.flow_limit
    if full and not link.drops_longest:
        link.full += 1
        count_drop(flow, i)
        packet_of(sim, f, i, hop.head - 1).header = NONE
        if queue.waiting == 0:
            hop.first = hop.head
        return
    queue.waiting += 1
    link.waiting += 1
    if queue.listed == NEITHER:
        if now >= queue.left_at + link.refill_delay:
            queue.credit = max(queue.credit, link.quantum)
        append(sim, link, hop.queue, NEW)
    if link.waiting > link.buffer:
        drop_longest(sim, link, now)
    if link.wake == NEVER:
        link.wake = now
        flow.wakes = hop.link + 1


def take(sim: Any, link: Any, queue: Any, now: int) -> int:
    """Take the first packet out of a flow's queue at `now` (ps), to be sent or dropped.

    The time for which the packet has waited is added to `link.waited`.

    Returns:
        Its position in the ring of the flow's hop.
    """
    f, i = queue.flow, queue.hop
    hop = hop_of(sim, f, i)
    while packet_of(sim, f, i, hop.first).header == NONE:
        hop.first += 1
    position = hop.first
    hop.first += 1
    queue.waiting -= 1
    link.waiting -= 1
    link.waited += now - packet_of(sim, f, i, position).time
    if queue.waiting == 0:
        hop.first = hop.head
    return position


def drop_longest(sim: Any, link: Any, now: int) -> None:
    """Drop half of the packets, rounded up and at most 64, from the head of a link's longest queue.

    The longest queue has the largest total size of packets.
    """
    longest, most = link.first_queue, -1.0
    for q in range(link.first_queue, link.end_queue):
        queue = queue_of(sim, q)
        size = queue.waiting * hop_of(sim, queue.flow, queue.hop).relative_size
        if size > most:
            longest, most = q, size
    queue = queue_of(sim, longest)
    for _ in range(min((queue.waiting + 1) // 2, MOST_DROPPED)):
        link.full += 1
        drop_taken(sim, link, queue, take(sim, link, queue, now), now)


def judged(sim: Any, link: Any, queue: Any, position: int, now: int) -> int:
    """Decision of the queue discipline on the packet that leaves a flow's queue at `now` (ps).

    `position` is the packet's position in the ring of its hop.

    Returns:
        ADMIT, EARLY, FORCED or MARK.
    """
    f, i = queue.flow, queue.hop
    if queue.uniform_used:
        queue.uniform = uniform(link)
        queue.uniform_used = 0
    queue.now = packet_of(sim, f, i, position).time
    queue.free = now
    queue.relative_size = hop_of(sim, f, i).relative_size
    if ECN:
        flow = flow_of(sim, f)
        queue.ect = flow.ect and i < flow.data_hops
    return decide(link.law, queue, link.waiting, 0.0)


def next_packet(sim: Any, number: int, now: int) -> int:
    """Choose the packet that link `number` sends from `now` (ps) on, by deficit round robin.

    The queue discipline may drop packets until it admits one. The position of the chosen packet in
    its ring is stored in `queue.taken`, and whether it is marked in `queue.mark`.

    Returns:
        Index of the flow's queue from which it is taken; NONE if no packet waits.
    """
    link = link_of(sim, number)
    while link.first_new != NONE or link.first_old != NONE:
        which = NEW if link.first_new != NONE else OLD
        q = link.first_new if which == NEW else link.first_old
        queue = queue_of(sim, q)
        if queue.credit <= 0:
            queue.credit += link.quantum
            remove_first(sim, link, which)
            append(sim, link, q, OLD)
            continue
        if queue.waiting == 0:
            on_empty(link.law, queue)
            remove_first(sim, link, which)
            queue.listed = NEITHER
            queue.left_at = now
            if which == NEW and link.first_old != NONE:  # so that new queues do not starve old ones
                append(sim, link, q, OLD)
            continue
        position = take(sim, link, queue, now)
        decision = judged(sim, link, queue, position, now)
        if decision in (EARLY, FORCED):
            link.early += decision == EARLY
            link.forced += decision == FORCED
            drop_taken(sim, link, queue, position, now)
            continue
        size = hop_of(sim, queue.flow, queue.hop).relative_size
        queue.credit -= size
        queue.taken = position
        queue.mark = decision == MARK
        link.marked += decision == MARK
        link.admitted += 1
        link.work += size
        return q
    return NONE
