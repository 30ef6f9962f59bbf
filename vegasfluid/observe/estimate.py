"""Estimates of a network from a measurement: links, flows and competitors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vegasfluid.observe.base_rtt import BaseRtts, base_rtts
from vegasfluid.observe.bottleneck_queue import (
    Discipline,
    QueueShape,
    buffer_of,
    discipline,
    early_drop_curve,
    queue_shape,
)
from vegasfluid.observe.capacity import Capacity, capacity
from vegasfluid.observe.competitors import (
    Competitors,
    competitors_from_rates,
    competitors_from_share,
)
from vegasfluid.observe.estimated import Estimated, unknown
from vegasfluid.observe.flow_classes import MeasuredClass, measured_classes
from vegasfluid.observe.link_counters import LinkCounters, link_counters
from vegasfluid.observe.measurement import Measurement
from vegasfluid.observe.time_grid import TimeGrid, time_grid

__all__ = ["NetworkEstimate", "estimate", "estimate_grid"]

ALL_SEEN = 0.97
"""Fraction of the link's packets that measured flows have if there are no others."""
BUSY = 0.9
"""Fraction of the time with a queue from which on a link whose rate is set counts as full, so that
what the measured flows do not get has others (chosen)."""


@dataclass(frozen=True)
class NetworkEstimate:
    """Estimates of a network from a measurement. Rates are in packets/s, delays in s.

    Intervals contain the true value with a probability of 90 %.
    """

    packet_bytes: int
    """Size of a full packet on the wire, bytes."""
    span: float
    """Length of the measurement without its beginning, which is left out, s."""
    capacity: Estimated
    """Capacity of the bottleneck, packets/s; not known: the lower bound is the largest rate."""
    busy: float
    """Fraction of the time in which the queue was not empty."""
    queueing_delay: float
    """Median queueing delay, s."""
    loss_fraction: float | None
    """Packets sent again, relative to packets delivered; None if they were not measured."""
    discipline: Discipline
    """Discipline of the bottleneck's queue."""
    buffer: Estimated
    """Buffer of the bottleneck, packets."""
    early_drops: tuple[float, float, float] | None
    """Thresholds, packets, and largest drop probability of the RED that fits the losses best; None
    for drop-tail or an unknown discipline."""
    classes: tuple[MeasuredClass, ...]
    """Classes of the measured flows."""
    competitors: Competitors | None
    """Flows that share the link and were not measured; None: there are none that can be seen."""

    @property
    def has_one_path(self) -> bool:
        """Whether all measured flows have the same sender and receiver, and so one base RTT."""
        return len({each.path for each in self.classes}) == 1 and self.classes[0].path != ""

    @property
    def is_full(self) -> bool:
        """Whether the link was full: its capacity is known, or other flows share it."""
        return self.capacity.is_known or self.competitors is not None

    def document(self) -> dict[str, Any]:
        """JSON entries, with the units in their names.

        Keys: `packet_bytes`, `measured_s`, `capacity_packets_per_s`, `capacity_mbps`, `busy`,
        `queueing_delay_s`, `retransmit_share`, `queue`, `buffer_packets`, `classes`, `competitors`.
        """
        competitors = self.competitors
        return {
            "packet_bytes": self.packet_bytes,
            "measured_s": self.span,
            "capacity_packets_per_s": self.capacity.document(),
            "capacity_mbps": self.capacity.scaled(self.packet_bytes * 8e-6).document(),
            "busy": self.busy,
            "queueing_delay_s": self.queueing_delay,
            "retransmit_share": self.loss_fraction,
            "queue": {"name": self.discipline.name or None, "how": self.discipline.how},
            "buffer_packets": self.buffer.document(),
            "classes": {each.name: _class_document(each) for each in self.classes},
            "competitors": None
            if competitors is None
            else {
                "count": competitors.count.document(),
                "goodput_packets_per_s": competitors.rate.document(),
                "control": competitors.control or None,
            },
        }


def _class_document(each: MeasuredClass) -> dict[str, Any]:
    """JSON entries of a class of measured flows."""
    document: dict[str, Any] = {
        "count": len(each.flows),
        "control": each.control or None,
        "base_rtt_s": each.base_rtt.document(),
        "goodput_packets_per_s": each.goodput,
        "cwnd_packets": each.window,
        "rtt_s": each.rtt,
    }
    if each.vegas is not None:
        document["alpha_packets"] = each.vegas.alpha.document()
        document["beta_packets"] = each.vegas.beta.document()
    return document


def estimate(measurement: Measurement) -> NetworkEstimate:
    """Estimate a network from a measurement.

    Base RTTs are smallest RTTs, corrected by those of other flows. The capacity is the rate while
    the queue is not empty. The buffer is the queueing delay at which packets are lost, times the
    capacity. Counters of the bottleneck's queue replace what they show directly.

    Args:
        measurement: samples of flows at their senders, and of the bottleneck's queue if it was
            measured, too.

    Raises:
        InvalidInput: if no flow has enough packets and samples.
    """
    grid = time_grid(measurement)
    link = link_counters(measurement.queues, grid.packet_bytes, grid.mean_rate)
    return estimate_grid(grid, link, base_rtts(grid, link and link.waits))


def estimate_grid(grid: TimeGrid, link: LinkCounters | None, base: BaseRtts) -> NetworkEstimate:
    """Estimate a network from samples of its flows.

    Args:
        grid: samples of all measured flows at common times.
        link: counters of the bottleneck's queue; None: not measured.
        base: base RTTs and queueing delay of the flows.
    """
    rates = capacity(grid, base.delay)
    shape = queue_shape(grid, base.delay)
    others = _competitors(grid, rates, link)
    if others is not None and (link is None or link.waits is None):
        base = base.with_standing_queue()
    found = _capacity(grid, rates, others, link)
    queue = link.discipline if link and link.discipline else discipline(shape)
    early = None
    if found.value and queue.name not in ("", "droptail"):
        early = early_drop_curve(grid, base.delay, found.value)
    return NetworkEstimate(
        packet_bytes=grid.packet_bytes,
        span=grid.span,
        capacity=found,
        busy=rates.busy,
        queueing_delay=float(np.median(base.delay)),
        loss_fraction=_loss_fraction(grid),
        discipline=queue,
        buffer=_buffer(shape, queue, found, link),
        early_drops=early,
        classes=measured_classes(grid, base.flows),
        competitors=others,
    )


def _loss_fraction(grid: TimeGrid) -> float | None:
    """Packets sent again, relative to packets delivered by the flows that count them."""
    if not grid.has_repeated.any():
        return None
    lost, sent = grid.loss_counts[:, -1] - grid.loss_counts[:, 0]
    return float(lost / max(sent, 1.0))


def _competitors(grid: TimeGrid, rates: Capacity, link: LinkCounters | None) -> Competitors | None:
    """Competitors of the measured flows; None where there are none that can be seen."""
    if link is not None and link.capacity is not None:
        if grid.mean_rate >= ALL_SEEN * float(link.capacity.value or 0):
            return None
        if link.was_full or rates.busy >= BUSY:
            return competitors_from_share(grid, link.capacity, link.drops)
    if rates.all_seen or not np.isfinite(rates.variation):
        return None
    return competitors_from_rates(grid)


def _capacity(
    grid: TimeGrid, rates: Capacity, others: Competitors | None, link: LinkCounters | None
) -> Estimated:
    """Capacity, packets/s: of the link's counters, of the flows, or of flows and competitors."""
    if link is not None and link.capacity is not None:
        return link.capacity
    if others is None or not others.rate.is_known:
        return rates.packets_per_s
    least = rates.packets_per_s.low
    ends = [max(grid.mean_rate + end, least) for end in (others.rate.low, others.rate.high)]
    value = max(grid.mean_rate + float(others.rate.value or 0), least)
    how = "rate of the measured flows, and of as many others as their correlation shows"
    return Estimated(value, ends[0], ends[1], how)


def _buffer(
    shape: QueueShape, queue: Discipline, found: Estimated, link: LinkCounters | None
) -> Estimated:
    """Buffer, packets: the limit that tc shows, else from delays; unknown without a capacity."""
    if link is not None and link.limit is not None:
        return Estimated(link.limit, link.limit, link.limit, "limit that tc shows")
    if not found.value:
        return unknown("unknown, as the capacity is not known")
    return buffer_of(shape, queue, found.value)
