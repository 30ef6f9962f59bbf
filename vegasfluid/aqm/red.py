"""Random early detection: drop with a probability that follows an average of the queue.

The probability that packets *see* is not the curve between the thresholds, because drops are
spaced: with p_b from the curve, the gaps between drops are uniform over 1..1/p_b - 1 (`wait`
false) or over 1/p_b..2/p_b - 1 (`wait` true). The mean gap gives the share of packets dropped:
2 p_b (at most 1) and 2 p_b / (3 - p_b), about 2 and 2/3 times the curve. (Fluid papers assume
independent drops, factor 1.)

Sources:
    S. Floyd and V. Jacobson, "Random early detection gateways for congestion avoidance",
    IEEE/ACM ToN 1(4), 1993, sections 4 and 7 (the average, the curve, the spacing).
    `wait`, `gentle`, `in_bytes`: ns-2.35, queue/red.cc (behaviour read there, told anew here).
    Marks: RFC 3168, section 7 (a mark in place of an early drop). Above the range of chance it
    recommends drops, as ns-2.35 does; Linux 6.1, net/sched/sch_red.c, marks there, too, unless
    `harddrop` is set, so that max_thresh just above min_thresh marks from one queue length on, as
    data centres do (M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1).
    `adaptive`: S. Floyd, R. Gummadi and S. Shenker, "Adaptive RED", 2001, section 3.
    The share of packets dropped: derived for this project from the mean gap, and tested.
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
"""0.5 s in ps: how often `adaptive` looks at the average."""
TARGET_LOW, TARGET_HIGH = 0.4, 0.6
"""Where between the thresholds `adaptive` holds the average."""
SMALLEST_MAX_DROP, LARGEST_MAX_DROP = 0.01, 0.5
LARGEST_RISE, FALL = 0.01, 0.9
EDGE = 0.01
"""For the fluid: over which share of the thresholds' distance the adaptation sets in."""


def update_average(queue: Any, load: float, idle_packets: float) -> None:
    """The moving average, decayed first for the packets that an idle link could have sent."""
    if idle_packets > 0.0:
        queue.avg_queue *= (1.0 - queue.weight) ** idle_packets
    queue.avg_queue += queue.weight * (load - queue.avg_queue)


def adapt(queue: Any) -> None:
    """Twice a second: raise max_drop in small steps or let it fall, to hold the average."""
    if queue.now < queue.adapted_at + ADAPTATION_INTERVAL:
        return
    queue.adapted_at = queue.now
    place = (queue.avg_queue - queue.min_thresh) / (queue.max_thresh - queue.min_thresh)
    if place > TARGET_HIGH and queue.max_drop <= LARGEST_MAX_DROP:
        queue.max_drop += min(LARGEST_RISE, queue.max_drop / 4)
    elif place < TARGET_LOW and queue.max_drop >= SMALLEST_MAX_DROP:
        queue.max_drop *= FALL


def curve(queue: Any) -> float:
    """The drop probability at the present average, before drops are spaced."""
    average = queue.avg_queue
    if average < queue.max_thresh:
        rise = (average - queue.min_thresh) / (queue.max_thresh - queue.min_thresh)
        return queue.max_drop * rise
    if queue.gentle:
        rise = average / queue.max_thresh - 1.0
        return min(queue.max_drop + (1.0 - queue.max_drop) * rise, 1.0)
    return 1.0


def spaced(prob: float, count: float, wait: float) -> float:
    """The probability for the `count`-th packet since the last drop."""
    progress = count * prob
    if wait:
        if progress < 1.0:
            return 0.0
        return prob / (2.0 - progress) if progress < 2.0 else 1.0
    return prob / (1.0 - progress) if progress < 1.0 else 1.0


def decide(queue: Any, waiting: int, idle_packets: float) -> int:
    """Update the average and decide on the arriving packet."""
    update_average(queue, queue.waiting_size if queue.in_bytes else float(waiting), idle_packets)
    if queue.adaptive:
        adapt(queue)
    if queue.avg_queue < queue.min_thresh or waiting <= 1:
        queue.above = 0
        return ADMIT
    worth = queue.relative_size if queue.in_bytes else 1.0
    certain = 1.0 if queue.gentle == 0 else 2.0
    queue.count += worth
    if queue.avg_queue >= certain * queue.max_thresh:
        queue.count = 0.0
        return FORCED if queue.hard_drop or not (queue.ecn and queue.ect) else MARK
    if queue.above == 0:
        queue.above = 1
        queue.count = worth
        return ADMIT
    queue.uniform_used = 1
    if queue.uniform <= worth * spaced(curve(queue), queue.count, queue.wait):
        queue.count = 0.0
        return MARK if queue.ecn and queue.ect else EARLY
    return ADMIT


class AdaptedAverage(NamedTuple):
    """What an adaptive RED keeps.

    Args:
        avg_queue: the average of the queue, packets.
        max_drop: the drop probability at `max_thresh`, as adapted.
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
    """Average queue at which early drops begin."""
    max_thresh: Packets
    """Average queue at which the curve reaches `max_drop`."""
    max_drop: Annotated[Probability, Positive] = 0.1
    """Drop probability at `max_thresh`."""
    weight: Annotated[Probability, Positive, Lt(1)] = 0.002
    """Weight of a new sample in the average, for each arriving packet."""
    gentle: bool = False
    """Above `max_thresh`: rise to 1 at twice `max_thresh` instead of dropping everything."""
    wait: bool = True
    """Space drops evenly (at least 1/p_b packets apart) instead of 1/p_b at most."""
    ecn: bool = False
    """Mark packets of flows that understand it instead of dropping them."""
    hard_drop: bool = False
    """With `ecn`: drop above the range of chance, as ns-2, and do not mark there, as Linux."""
    adaptive: bool = False
    """Move `max_drop` so that the average stays in the middle between the thresholds."""
    in_bytes: bool = False
    """Measure the queue and the buffer in bytes, and drop small packets less often."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ordered(self, "min_thresh", "max_thresh", strict=True)

    @property
    def average_weight(self) -> Any:
        """`weight`."""
        return self.weight

    @property
    def upper_threshold(self) -> Any:
        """`max_thresh`, packets."""
        return self.max_thresh

    @property
    def marks(self) -> bool:
        """`ecn`."""
        return self.ecn

    @property
    def counts_bytes(self) -> bool:
        """`in_bytes`."""
        return self.in_bytes

    @property
    def adapts(self) -> bool:
        """`adaptive`."""
        return self.adaptive

    def init(self) -> Average | AdaptedAverage:
        """An empty queue; with `adaptive`, the maximum too is a state."""
        return AdaptedAverage(0.0, self.max_drop) if self.adaptive else Average(0.0)

    def top(self, memory: Average | AdaptedAverage) -> Any:
        """The drop probability at `max_thresh`, as it is now."""
        return memory.max_drop if isinstance(memory, AdaptedAverage) else self.max_drop

    def curve(self, memory: Average | AdaptedAverage) -> Any:
        """The drop probability before drops are spaced."""
        average, top = memory.avg_queue, self.top(memory)
        rise = (average - self.min_thresh) / (self.max_thresh - self.min_thresh)
        early = top * smooth.clip(rise, 0.0, 1.0)
        above = average - self.max_thresh
        if self.gentle:
            return early + (1 - top) * smooth.clip(above / self.max_thresh, 0.0, 1.0)
        return early + (1 - top) * smooth.step(above, 1.0)

    def drop_prob(self, seen: QueueState) -> Any:
        """The share of packets dropped at the present average: the curve, with its spacing."""
        prob = self.curve(seen.memory)
        return 2 * prob / (3 - prob) if self.wait else smooth.minimum(2 * prob, 1.0)

    def forced_prob(self, seen: QueueState) -> Any:
        """All; with `ecn` what is above the range of chance, or nothing without `hard_drop`."""
        if not self.ecn:
            return self.drop_prob(seen)
        if not self.hard_drop:
            return 0 * seen.memory.avg_queue
        last = (2 if self.gentle else 1) * self.max_thresh
        return smooth.step(seen.memory.avg_queue - last, 1.0)

    def derivative(self, seen: QueueState) -> Average | AdaptedAverage:
        """A sample for each packet time of the link, idle or busy: rate -C ln(1 - weight)."""
        rate = -smooth.log1p(-self.weight) * seen.capacity
        average = rate * (seen.queue - seen.memory.avg_queue)
        if not self.adaptive:
            return Average(average)
        return AdaptedAverage(average, self.adapting(seen.memory))

    def clip(self, memory: Average | AdaptedAverage, buffer: Any) -> Average | AdaptedAverage:
        """The average held in the buffer, and an adapted maximum between 0 and 1."""
        held = super().clip(memory, buffer)
        if isinstance(held, AdaptedAverage):
            return held._replace(max_drop=smooth.clip(held.max_drop, 0.0, 1.0))
        return held

    def adapting(self, memory: AdaptedAverage) -> Any:
        """d(max_drop)/dt: the steps of `adapt`, spread over their interval."""
        span = self.max_thresh - self.min_thresh
        place = (memory.avg_queue - self.min_thresh) / span
        top = memory.max_drop
        high = smooth.step(place - TARGET_HIGH, EDGE) * smooth.step(LARGEST_MAX_DROP - top, EDGE)
        low = smooth.step(TARGET_LOW - place, EDGE) * smooth.step(top - SMALLEST_MAX_DROP, 1e-3)
        rise = high * smooth.minimum(LARGEST_RISE, top / 4)
        return (rise - low * (1 - FALL) * top) / (ADAPTATION_INTERVAL * 1e-12)

    @property
    def rule(self) -> AdmissionRule:
        """The rule of ns-2.35 for packets of equal size."""
        return AdmissionRule(decide, state={"above": 0, "adapted_at": 0})

    def packet_parameters(self) -> dict[str, float]:
        """Thresholds, probability, weight and the switches."""
        switches = ("gentle", "wait", "ecn", "hard_drop", "adaptive", "in_bytes")
        whole = {name: int(getattr(self, name)) for name in switches}
        return {name: float(value) for name, value in self.parameters().items()} | whole
