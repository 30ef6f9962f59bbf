"""Transmission of one packet by a sender, over its access link."""

from __future__ import annotations

from typing import Any

from vegasfluid.clock import NEVER
from vegasfluid.packet.features import APP_LIMITED, SEND_OVERHEAD
from vegasfluid.packet.ring import ACCESS, current_delay, push
from vegasfluid.packet.rng import uniform
from vegasfluid.packet.state import flow_of, slot_of

__all__ = ["transmit"]

FAR = 2**61
"""Time after the end of any run, ps (2.3e6 s). Packets that would wait longer for an access link
are put off to it, so that times stay 64-bit integers."""


def transmit(sim: Any, f: int, seq: int, now: int) -> None:
    """Send packet `seq` of flow `f` at `now` (ps) over the access link towards the first queue."""
    flow = flow_of(sim, f)
    ready = now
    if SEND_OVERHEAD and flow.overhead > 0:
        if flow.ready_at <= now:  # one random time for a burst, as ns-2's `overhead_` does it
            flow.ready_at = now + int(uniform(flow) * flow.overhead)
        ready = flow.ready_at
    start = min(max(ready, flow.access_free), FAR)
    flow.access_free = start + flow.access_service
    delay = current_delay(sim, ACCESS, flow.flow_class, flow.access_delay, start)
    push(sim, f, 0, flow.access_free + delay, 2 * seq, 0, 0)
    flow.sent += 1
    if seq < flow.max_seq:
        flow.retransmitted += 1
    else:
        flow.max_seq = seq + 1
        if flow.max_seq - flow.una >= sim.slot_count - 1:
            flow.full = 1
        if flow.timed_seq < 0:
            flow.timed_seq = seq
            flow.timed_at = ready
    if flow.keeps_send_times:
        slot = slot_of(sim, f, seq)
        slot.sent_at = ready
        slot.transmissions += 1
    if APP_LIMITED and flow.deadline == NEVER and flow.reliable:
        flow.deadline = now + flow.rto * flow.backoff
