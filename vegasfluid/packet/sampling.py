"""Sampling of flows and links at the sample times of a run.

Senders and receivers are simulated ahead of the links' time, so each is sampled when its own time
passes a sample time. `jit` sets `sample_counters` for the congestion controls in use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vegasfluid.clock import NEVER
from vegasfluid.packet.link import backlog, packets_waiting
from vegasfluid.packet.state import flow_of, flow_sample_of, link_of, link_sample_of, time_of

__all__ = ["finish_samples", "sample_links", "sample_receiver", "sample_sender"]

sample_counters: Callable[..., None]
"""`(sample, flow)`: copies the counters of the congestion controls from a flow to its sample."""


def sample_sender(sim: Any, f: int, now: int) -> None:
    """Store window, RTT and counters of the sender of flow `f` for all sample times before `now`.

    `now` is in ps; windows are in packets, the smoothed RTT in ps.
    """
    flow = flow_of(sim, f)
    while flow.sample_at < now:
        sample = flow_sample_of(sim, flow.sampled, f)
        sample.sent = flow.sent
        sample.retransmitted = flow.retransmitted
        sample.timeouts = flow.timeouts
        sample.cwnd = flow.cwnd
        sample.ssthresh = flow.ssthresh
        sample.rtt = flow.srtt
        sample_counters(sample, flow)
        flow.sampled += 1
        flow.sample_at = NEVER
        if flow.sampled < sim.sample_count:
            flow.sample_at = time_of(sim, flow.sampled).at


def sample_receiver(sim: Any, f: int, now: int) -> None:
    """Store the packets delivered to flow `f` for all sample times before `now` (ps)."""
    flow = flow_of(sim, f)
    while flow.received_sample_at < now:
        flow_sample_of(sim, flow.received_sampled, f).delivered = flow.delivered
        flow.received_sampled += 1
        flow.received_sample_at = NEVER
        if flow.received_sampled < sim.sample_count:
            flow.received_sample_at = time_of(sim, flow.received_sampled).at


def sample_links(sim: Any, sampled: int) -> None:
    """Store counters and queues of all links, and drops of all flows, at one sample time.

    `sampled` is its index. Queues are in packets, waiting times in ps.
    """
    now = time_of(sim, sampled).at
    for f in range(sim.flow_count):
        flow_sample_of(sim, sampled, f).dropped = flow_of(sim, f).dropped
    for number in range(sim.link_count):
        link, sample = link_of(sim, number), link_sample_of(sim, sampled, number)
        sample.admitted = link.admitted
        sample.early = link.early
        sample.forced = link.forced
        sample.full = link.full
        sample.marked = link.marked
        sample.waited = link.waited
        sample.lost_waited = link.lost_waited
        sample.work = link.work
        sample.backlog = backlog(link, now)
        sample.avg_queue = link.avg_queue
        sample.queue = packets_waiting(sim, number, now)


def finish_samples(sim: Any) -> None:
    """Store the samples of all senders and receivers at the sample times after their last event.

    Called at the end of the run; until then an event of a flow stores its earlier samples.
    """
    for f in range(sim.flow_count):
        sample_sender(sim, f, NEVER)
        sample_receiver(sim, f, NEVER)
