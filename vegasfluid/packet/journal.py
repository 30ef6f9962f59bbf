"""What is written down of a run: flows and links at the sample times.

Senders and receivers are ahead of the links' time, so each is noted on its own clock, as its
sample times pass. `note_counters` is bound by `compiler` to the counters of the laws in use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vegasfluid.packet.link import backlog, packets_waiting
from vegasfluid.packet.memory import flow_of, flow_sample_of, link_of, link_sample_of, time_of
from vegasfluid.packet.records import NEVER

__all__ = ["finish", "note_links", "note_receiver", "note_sender"]

note_counters: Callable[..., None]


def note_sender(sim: Any, f: int, now: int) -> None:
    """Write down a sender for all sample times before `now`."""
    flow = flow_of(sim, f)
    while flow.note_at < now:
        sample = flow_sample_of(sim, flow.noted, f)
        sample.sent = flow.sent
        sample.retransmitted = flow.retransmitted
        sample.timeouts = flow.timeouts
        sample.cwnd = flow.cwnd
        sample.ssthresh = flow.ssthresh
        sample.rtt = flow.srtt
        note_counters(sample, flow)
        flow.noted += 1
        flow.note_at = NEVER
        if flow.noted < sim.sample_count:
            flow.note_at = time_of(sim, flow.noted).at


def note_receiver(sim: Any, f: int, now: int) -> None:
    """Write down a receiver for all sample times before `now`."""
    flow = flow_of(sim, f)
    while flow.received_note_at < now:
        flow_sample_of(sim, flow.received_noted, f).delivered = flow.delivered
        flow.received_noted += 1
        flow.received_note_at = NEVER
        if flow.received_noted < sim.sample_count:
            flow.received_note_at = time_of(sim, flow.received_noted).at


def note_links(sim: Any, noted: int) -> None:
    """Write down all links at one sample time, and whose packets they have dropped."""
    now = time_of(sim, noted).at
    for f in range(sim.flow_count):
        flow_sample_of(sim, noted, f).dropped = flow_of(sim, f).dropped
    for number in range(sim.link_count):
        link, sample = link_of(sim, number), link_sample_of(sim, noted, number)
        sample.admitted = link.admitted
        sample.early = link.early
        sample.forced = link.forced
        sample.full = link.full
        sample.marked = link.marked
        sample.waited = link.waited
        sample.work = link.work
        sample.backlog = backlog(link, now)
        sample.avg_queue = link.avg_queue
        sample.queue = packets_waiting(sim, number, now)


def finish(sim: Any) -> None:
    """Write down who has nothing more to do before the last sample time."""
    for f in range(sim.flow_count):
        note_sender(sim, f, NEVER)
        note_receiver(sim, f, NEVER)
