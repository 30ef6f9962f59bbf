"""Random early detection: the drop probability follows an average of the queue.

The average queue gives the probability p_b of RED's drop curve. RED spaces drops, so packets are
dropped at another rate: the gap between drops is uniform over 1..1/p_b - 1 packets (`wait` false)
or over 1/p_b..2/p_b - 1 (`wait` true). From the mean gap, the fraction of packets dropped is 2 p_b
(at most 1) or 2 p_b / (3 - p_b). (Fluid papers assume independent drops, so p_b itself.)

Sources:
    S. Floyd and V. Jacobson, "Random early detection gateways for congestion avoidance",
    IEEE/ACM ToN 1(4), 1993, sections 4 and 7 (the average, the curve, the spacing).
    `wait`, `gentle`, `in_bytes`: the behaviour of ns-2.35, queue/red.cc (no code copied).
    Marks: RFC 3168, section 7 (a mark instead of a random drop). Where drops are certain it
    recommends drops, as ns-2.35 does; Linux 6.1, net/sched/sch_red.c, marks there, too, unless
    `harddrop` is set. With max_thresh just above min_thresh, that marks from one queue length on,
    as data centres do (M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1).
    `adaptive`: S. Floyd, R. Gummadi and S. Shenker, "Adaptive RED", 2001, section 3.
    The fraction of packets dropped: derived for this project from the mean gap, and tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from annotated_types import Lt

from vegasfluid import smooth
from vegasfluid.aqm.base import (
    ADMIT,
    EARLY,
    FORCED,
    MARK,
    AdmissionRule,
    Average,
    QueueDiscipline,
    QueueState,
)
from vegasfluid.quantities import Packets, Positive, Probability, require_ordered

__all__ = ["Red"]

ADAPTATION_INTERVAL = 500_000_000_000
"""Time between two adaptations of `max_drop`, ps: 0.5 s (Floyd, Gummadi and Shenker)."""
TARGET_LOW, TARGET_HIGH = 0.4, 0.6
"""Target range of the average queue, as fractions of the distance between the thresholds (Floyd,
Gummadi and Shenker)."""
SMALLEST_MAX_DROP, LARGEST_MAX_DROP = 0.01, 0.5
"""Bounds between which `max_drop` is adapted (Floyd, Gummadi and Shenker)."""
LARGEST_INCREASE, DECREASE_FACTOR = 0.01, 0.9
"""Largest increase of `max_drop` in one adaptation, and the factor of a decrease (Adaptive RED)."""
TRANSITION_WIDTH = 0.01
"""Width over which the fluid model switches adaptation on, in the units of what is compared: a
fraction of the distance between the thresholds, or a drop probability (chosen: narrow)."""
SMALLEST_MAX_DROP_WIDTH = 1e-3
"""Width, a probability, over which decreases of `max_drop` end above `SMALLEST_MAX_DROP`: a tenth
of that (chosen: narrow)."""


def update_average(queue: Any, load: float, idle_packets: float) -> None:
    """Update the moving average queue in a queue's record by one sample, at a packet's arrival.

    Args:
        queue: record of the queue; `avg_queue` (packets) is changed in place.
        load: packets waiting now, or their total size in data packets.
        idle_packets: packets that the link could have sent while idle, by which the average first
            decays.
    """
    if idle_packets > 0.0:
        queue.avg_queue *= (1.0 - queue.weight) ** idle_packets
    queue.avg_queue += queue.weight * (load - queue.avg_queue)


def adapt(queue: Any) -> None:
    """Twice a second, adapt `max_drop` of a queue's record towards an average in its target range.

    The range is the middle fifth between the thresholds: `max_drop` rises by up to 0.01 for an
    average queue above it, and falls by 10 % below it.
    """
    if queue.now < queue.adapted_at + ADAPTATION_INTERVAL:
        return
    queue.adapted_at = queue.now
    position = (queue.avg_queue - queue.min_thresh) / (queue.max_thresh - queue.min_thresh)
    if position > TARGET_HIGH and queue.max_drop <= LARGEST_MAX_DROP:
        queue.max_drop += min(LARGEST_INCREASE, queue.max_drop / 4)
    elif position < TARGET_LOW and queue.max_drop >= SMALLEST_MAX_DROP:
        queue.max_drop *= DECREASE_FACTOR


def curve(queue: Any) -> float:
    """Drop probability p_b, 0 to 1, at the average queue of a queue's record.

    It is that of RED's curve, before drops are spaced.
    """
    average = queue.avg_queue
    if average < queue.max_thresh:
        position = (average - queue.min_thresh) / (queue.max_thresh - queue.min_thresh)
        return queue.max_drop * position
    if queue.gentle:
        position = average / queue.max_thresh - 1.0
        return min(queue.max_drop + (1.0 - queue.max_drop) * position, 1.0)
    return 1.0


def spaced(prob: float, count: float, wait: float) -> float:
    """Drop probability of one packet, 0 to 1, with RED's spacing of drops.

    Args:
        prob: p_b, the probability by RED's curve.
        count: packets since the last drop, including this one.
        wait: 1: drops are at least 1/p_b packets apart; 0: at most.
    """
    progress = count * prob
    if wait:
        if progress < 1.0:
            return 0.0
        return prob / (2.0 - progress) if progress < 2.0 else 1.0
    return prob / (1.0 - progress) if progress < 1.0 else 1.0


def decide(queue: Any, waiting: int, idle_packets: float) -> int:
    """Decide on a packet that arrives at a RED queue, after updating the average queue.

    Args:
        queue: record of the queue, changed in place.
        waiting: packets in the queue, without the one in transmission.
        idle_packets: packets that the link could have sent while it was idle just before.

    Returns:
        ADMIT, EARLY (dropped at random), FORCED (dropped as the average is too long) or MARK.
    """
    update_average(queue, queue.waiting_size if queue.in_bytes else float(waiting), idle_packets)
    if queue.adaptive:
        adapt(queue)
    if queue.avg_queue < queue.min_thresh or waiting <= 1:
        queue.above = 0
        return ADMIT
    size = queue.relative_size if queue.in_bytes else 1.0
    certain = 1.0 if queue.gentle == 0 else 2.0
    queue.count += size
    if queue.avg_queue >= certain * queue.max_thresh:
        queue.count = 0.0
        return FORCED if queue.hard_drop or not (queue.ecn and queue.ect) else MARK
    if queue.above == 0:
        queue.above = 1
        queue.count = size
        return ADMIT
    queue.uniform_used = 1
    if queue.uniform <= size * spaced(curve(queue), queue.count, queue.wait):
        queue.count = 0.0
        return MARK if queue.ecn and queue.ect else EARLY
    return ADMIT


class AdaptedAverage(NamedTuple):
    """State of an adaptive RED in the fluid model.

    Args:
        avg_queue: average queue, packets.
        max_drop: adapted drop probability p_b at `max_thresh`.
    """

    avg_queue: Any
    max_drop: Any


@dataclass(frozen=True)
class Red(QueueDiscipline):
    """Random early detection.

    >>> Red(min_thresh=20, max_thresh=80).max_drop
    0.1
    """

    name: ClassVar[str] = "red"
    sources: ClassVar[tuple[str, ...]] = (
        "Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993",
        "ns-2.35, queue/red.cc (wait, gentle)",
    )

    min_thresh: Packets
    """Average queue above which packets are dropped at random."""
    max_thresh: Packets
    """Average queue at which the drop probability reaches `max_drop`."""
    max_drop: Annotated[Probability, Positive] = 0.1
    """Drop probability at `max_thresh`, before drops are spaced."""
    weight: Annotated[Probability, Positive, Lt(1)] = 0.002
    """Weight of a new sample in the average; there is one sample per arriving packet."""
    gentle: bool = False
    """Above `max_thresh`, raise the probability to 1 at twice `max_thresh`, not at once."""
    wait: bool = True
    """Space drops evenly (at least 1/p_b packets apart) instead of 1/p_b at most."""
    ecn: bool = False
    """Mark ECN-capable packets instead of dropping them."""
    hard_drop: bool = False
    """With `ecn`: drop packets where drops are certain (ns-2) instead of marking them (Linux)."""
    adaptive: bool = False
    """Adapt `max_drop` so that the average stays midway between the thresholds."""
    in_bytes: bool = False
    """Measure queue and buffer in bytes, and drop small packets less often."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ordered(self, "min_thresh", "max_thresh", strict=True)

    @property
    def average_weight(self) -> Any:
        """Weight of one arriving packet's sample in the average queue (`weight`), 0 to 1."""
        return self.weight

    @property
    def upper_threshold(self) -> Any:
        """Average queue above which drops are no longer random (`max_thresh`), packets."""
        return self.max_thresh

    @property
    def marks(self) -> bool:
        """Whether ECN-capable packets are marked instead of dropped (`ecn`)."""
        return self.ecn

    @property
    def counts_bytes(self) -> bool:
        """Whether queue and buffer are measured in bytes (`in_bytes`)."""
        return self.in_bytes

    @property
    def adapts(self) -> bool:
        """Whether `max_drop` is adjusted all the time, so that no equilibrium exists."""
        return self.adaptive

    def init(self) -> Average | AdaptedAverage:
        """State in the fluid model for an empty queue: an average queue of 0 packets.

        With `adaptive`, the state also has the adapted drop probability, first `max_drop`.
        """
        return AdaptedAverage(0.0, self.max_drop) if self.adaptive else Average(0.0)

    def present_max_drop(self, aqm_state: Average | AdaptedAverage) -> Any:
        """Drop probability p_b at `max_thresh`, 0 to 1: adapted in the state, or `max_drop`."""
        return aqm_state.max_drop if isinstance(aqm_state, AdaptedAverage) else self.max_drop

    def curve(self, aqm_state: Average | AdaptedAverage) -> Any:
        """Drop probability p_b, 0 to 1, by RED's curve, at the average queue of an AQM state.

        Drops are spaced afterwards, which `drop_prob` includes.
        """
        average, max_drop = aqm_state.avg_queue, self.present_max_drop(aqm_state)
        position = (average - self.min_thresh) / (self.max_thresh - self.min_thresh)
        early = max_drop * smooth.clip(position, 0.0, 1.0)
        above = average - self.max_thresh
        if self.gentle:
            return early + (1 - max_drop) * smooth.clip(above / self.max_thresh, 0.0, 1.0)
        return early + (1 - max_drop) * smooth.step(above, 1.0)

    def drop_prob(self, state: QueueState) -> Any:
        """Fraction of arriving packets dropped or marked before the buffer is full, 0 to 1.

        It follows from the average queue in `state.aqm_state` by RED's curve p_b, and the spacing
        of
        drops: 2 p_b / (3 - p_b) with `wait`, else 2 p_b, at most 1.
        """
        prob = self.curve(state.aqm_state)
        return 2 * prob / (3 - prob) if self.wait else smooth.minimum(2 * prob, 1.0)

    def forced_prob(self, state: QueueState) -> Any:
        """Probability, 0 to 1, that an ECN-capable packet is dropped before the buffer is full.

        Without `ecn`: as any packet. With `ecn` and `hard_drop`: 1 where the average queue is so
        long that drops are certain, else 0. With `ecn` alone: 0.
        """
        if not self.ecn:
            return self.drop_prob(state)
        if not self.hard_drop:
            return 0 * state.aqm_state.avg_queue
        certain = (2 if self.gentle else 1) * self.max_thresh
        return smooth.step(state.aqm_state.avg_queue - certain, 1.0)

    def derivative(self, state: QueueState) -> Average | AdaptedAverage:
        """Time derivative of the average queue, packets/s; with `adaptive` of `max_drop`, too, 1/s.

        The average approaches the queue of `state` at the rate -C ln(1 - weight): one sample per
        packet time of the link with capacity C.
        """
        rate = -smooth.log1p(-self.weight) * state.capacity
        average = rate * (state.queue - state.aqm_state.avg_queue)
        if not self.adaptive:
            return Average(average)
        return AdaptedAverage(average, self.max_drop_derivative(state.aqm_state))

    def clip(self, aqm_state: Average | AdaptedAverage, buffer: Any) -> Average | AdaptedAverage:
        """`aqm_state` clipped: average from 0 to `buffer` (packets), adapted `max_drop` 0 to 1."""
        clipped = super().clip(aqm_state, buffer)
        if isinstance(clipped, AdaptedAverage):
            return clipped._replace(max_drop=smooth.clip(clipped.max_drop, 0.0, 1.0))
        return clipped

    def max_drop_derivative(self, aqm_state: AdaptedAverage) -> Any:
        """Time derivative of the adapted `max_drop`, 1/s, at the average queue of an AQM state.

        The packet rule's adaptation every 0.5 s is spread evenly over that time.
        """
        span = self.max_thresh - self.min_thresh
        position = (aqm_state.avg_queue - self.min_thresh) / span
        max_drop, width = aqm_state.max_drop, TRANSITION_WIDTH
        high = smooth.step(position - TARGET_HIGH, width)
        high = high * smooth.step(LARGEST_MAX_DROP - max_drop, width)
        low = smooth.step(TARGET_LOW - position, width)
        low = low * smooth.step(max_drop - SMALLEST_MAX_DROP, SMALLEST_MAX_DROP_WIDTH)
        increase = high * smooth.minimum(LARGEST_INCREASE, max_drop / 4)
        decrease = low * (1 - DECREASE_FACTOR) * max_drop
        return (increase - decrease) / (ADAPTATION_INTERVAL * 1e-12)

    @property
    def rule(self) -> AdmissionRule:
        """The packet simulator's rule of ns-2.35, which admits, marks or drops a packet."""
        return AdmissionRule(decide, state={"above": 0, "adapted_at": 0})

    def packet_parameters(self) -> dict[str, float]:
        """Parameters that the packet rule reads from the queue's record, by field name.

        Thresholds are in packets, `max_drop` and `weight` fractions, switches 0 or 1.
        """
        switches = ("gentle", "wait", "ecn", "hard_drop", "adaptive", "in_bytes")
        whole = {name: int(getattr(self, name)) for name in switches}
        return {name: float(value) for name, value in self.parameters().items()} | whole
