"""Random early detection: the drop probability follows an average of the queue.

The average queue gives the probability p_b of RED's drop curve. RED spaces drops, so packets are
dropped at another rate, which follows from the mean gap between drops: in ns-2 the gap is uniform
over 1..1/p_b - 1 packets (`wait` false) or over 1/p_b..2/p_b - 1 (`wait` true), in Linux over
1..1/p_b. So the fraction of packets dropped is 2 p_b (at most 1), 2 p_b / (3 - p_b) or
2 p_b / (1 + p_b). (Fluid papers assume independent drops, so p_b itself.)

Sources:
    S. Floyd and V. Jacobson, "Random early detection gateways for congestion avoidance",
    IEEE/ACM ToN 1(4), 1993, sections 4 and 7 (the average, the curve, the spacing).
    Implementations: ns-2.35 and Linux 6.1, see the packet rule of each.
    Marks: RFC 3168, section 7 (a mark instead of a random drop). Where drops are certain it
    recommends drops, as ns-2.35 does; Linux 6.1, net/sched/sch_red.c, marks there, too, unless
    `harddrop` is set. With max_thresh just above min_thresh, that marks from one queue length on,
    as data centres do (M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1).
    `adaptive`: S. Floyd, R. Gummadi and S. Shenker, "Adaptive RED", 2001, section 3.
    The fraction of packets dropped: derived for this project from the mean gap, and tested.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple

from annotated_types import Lt

from vegasfluid import smooth
from vegasfluid.aqm.base import AdmissionRule, Average, QueueDiscipline, QueueState
from vegasfluid.aqm.red import linux, ns2
from vegasfluid.aqm.red.average import (
    ADAPTATION_INTERVAL,
    DECREASE_FACTOR,
    LARGEST_INCREASE,
    LARGEST_MAX_DROP,
    SMALLEST_MAX_DROP,
    TARGET_HIGH,
    TARGET_LOW,
)
from vegasfluid.aqm.red.tc_weight import USUAL_PACKET, usual_weight
from vegasfluid.errors import InvalidInput
from vegasfluid.quantities import (
    Packets,
    Positive,
    Probability,
    is_concrete,
    require_one_of,
    require_ordered,
)

__all__ = ["IMPLEMENTATIONS", "NO_WAIT", "AdaptedAverage", "Gap", "Red", "gap_of"]

IMPLEMENTATIONS: Mapping[str, AdmissionRule] = {"ns2": ns2.RULE, "linux": linux.RULE}
"""Packet rule of each implementation, by its name in model files."""
NS2_WEIGHT = 0.002
"""Weight of a sample in the average of ns-2 (tcl/lib/ns-default.tcl: q_weight_)."""
TRANSITION_WIDTH = 0.01
"""Width over which the fluid model switches adaptation on, in the units of what is compared: a
fraction of the distance between the thresholds, or a drop probability (chosen: narrow)."""
SMALLEST_MAX_DROP_WIDTH = 1e-3
"""Width, a probability, over which decreases of `max_drop` end above `SMALLEST_MAX_DROP`: a tenth
of that (chosen: narrow)."""


class Gap(NamedTuple):
    """Mean gap between two drops, (first / p_b + second) / 2 packets, at the probability p_b.

    Args:
        first: coefficient of 1/p_b in twice the mean gap, packets.
        second: term of twice the mean gap that does not depend on p_b, packets.

    >>> Gap(3, -1).dropped(0.5), Gap(1, 0).dropped(0.25), Gap(1, 1).dropped(0.25)
    (0.4, 0.5, 0.4)
    """

    first: int
    second: int

    def dropped(self, prob: Any) -> Any:
        """Fraction of packets dropped where RED's curve gives the probability `prob` (0 to 1).

        It is 1 / gap, so 2 p_b / (first + second p_b). It is not limited to 1, which `NO_WAIT`
        exceeds for a p_b above one half.
        """
        return 2 * prob / (self.first + self.second * prob)

    def elasticity(self, prob: Any) -> Any:
        """Derivative d log(fraction dropped) / d log(prob), no unit; `prob` is RED's curve p_b."""
        return self.first / (self.first + self.second * prob)


class AdaptedAverage(NamedTuple):
    """State of an adaptive RED in the fluid model.

    Args:
        avg_queue: average queue, packets.
        max_drop: adapted drop probability p_b at `max_thresh`.
    """

    avg_queue: Any
    max_drop: Any


NO_WAIT = Gap(1, 0)
"""Gaps of ns-2 without `wait`: every packet is dropped where p_b is above one half."""


def gap_of(implementation: str, wait: bool | None) -> Gap:
    """Mean gap between two drops, for an implementation (ns2 or linux) and its `wait`.

    A `wait` of None counts as True; Linux's RED ignores it.

    >>> gap_of("ns2", True), gap_of("linux", None)
    (Gap(first=3, second=-1), Gap(first=1, second=1))
    """
    if implementation == "linux":
        return Gap(1, 1)
    return NO_WAIT if wait is False else Gap(3, -1)


@dataclass(frozen=True)
class Red(QueueDiscipline):
    """Random early detection.

    >>> Red(min_thresh=20, max_thresh=80).max_drop
    0.1
    """

    name: ClassVar[str] = "red"
    sets_queue: ClassVar[tuple[str, ...]] = ("min_thresh", "max_thresh", "max_drop")
    sources: ClassVar[tuple[str, ...]] = (
        "Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993",
        "ns-2.35, queue/red.cc",
        "Linux 6.1, include/net/red.h, net/sched/sch_red.c",
    )

    min_thresh: Packets
    """Average queue above which packets are dropped at random."""
    max_thresh: Packets
    """Average queue at which the drop probability reaches `max_drop`."""
    max_drop: Annotated[Probability, Positive] = 0.1
    """Drop probability at `max_thresh`, before drops are spaced."""
    weight: Annotated[Probability, Positive, Lt(1)] | None = None
    """Weight of a new sample in the average; there is one sample per arriving packet. None: as the
    implementation does (0.002 in ns-2; in Linux what tc chooses for the thresholds)."""
    gentle: bool = False
    """Above `max_thresh`, raise the probability to 1 at twice `max_thresh`, not at once."""
    wait: bool | None = None
    """ns-2: space drops evenly (at least 1/p_b packets apart) instead of 1/p_b at most; None: yes.
    Linux has no such choice."""
    ecn: bool = False
    """Mark ECN-capable packets instead of dropping them."""
    hard_drop: bool = False
    """With `ecn`: where drops are certain, drop ECN-capable packets, as ns-2 does, instead of
    marking them, as Linux does."""
    adaptive: bool = False
    """Adapt `max_drop` so that the average stays midway between the thresholds."""
    in_bytes: bool | None = None
    """Measure queue and buffer in bytes; in ns-2, drop small packets less often. None: as the
    implementation does (Linux in bytes, ns-2 in packets)."""
    implementation: str | None = None
    """Whose RED it is: ns2, or linux (tc red); None: linux if all hosts of the network are Linux's
    and neither `wait` nor `gentle` is given, else ns2."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ordered(self, "min_thresh", "max_thresh", strict=True)
        if self.implementation is not None:
            require_one_of(self, "implementation", IMPLEMENTATIONS)
        if self.is_linux:
            for name, usual in (("wait", None), ("gentle", False)):
                if getattr(self, name) is not usual:
                    allowed = "left out with implementation linux, which has no such choice"
                    raise InvalidInput("Red", name, allowed, getattr(self, name))

    def beside(self, hosts: Collection[str], packet_bytes: int) -> Red:
        """Copy with `implementation` and `weight` chosen for a network of these hosts.

        Values that are set do not change. An `implementation` of None becomes linux if all hosts
        are Linux's, `wait` is None and `gentle` is False, else ns2. A `weight` of None becomes what
        tc chooses for the thresholds (linux) or 0.002 (ns2).

        Args:
            hosts: names of the kinds of hosts in the network, such as {"linux"}.
            packet_bytes: size of a data packet, bytes.

        >>> red = Red(20, 80).beside({"linux"}, 1500)
        >>> red.implementation, red.weight, Red(20, 80).beside({"linux", "ns2"}, 1500).weight
        ('linux', 0.03125, 0.002)
        """
        chosen = self.implementation
        if chosen is None:
            usual = set(hosts) == {"linux"} and self.wait is None and not self.gentle
            chosen = "linux" if usual else "ns2"
        if chosen == self.implementation and self.weight is not None:
            return self
        complete = replace(self, implementation=chosen)
        return replace(complete, weight=complete.weight_in_packets_of(packet_bytes))

    def weight_in_packets_of(self, packet_bytes: int) -> Any:
        """Weight of a sample in the average: `weight`, or what the implementation chooses.

        Args:
            packet_bytes: size of a data packet, bytes.
        """
        if self.weight is not None:
            return self.weight
        if self.is_linux:
            chosen = usual_weight(self.min_thresh, self.max_thresh, packet_bytes)
            return float(chosen) if is_concrete(chosen) else chosen
        return NS2_WEIGHT

    @property
    def chosen_implementation(self) -> str:
        """Whose RED it is (`implementation`); outside a network ns-2's by default."""
        return self.implementation or "ns2"

    @property
    def is_linux(self) -> bool:
        """Whether it is Linux's RED."""
        return self.chosen_implementation == "linux"

    @property
    def waits(self) -> bool:
        """Whether drops are at least 1/p_b packets apart, as with `wait` of ns-2."""
        return not self.is_linux and self.wait is not False

    @property
    def gap(self) -> Gap:
        """Mean gap between two drops, as a function of p_b, with the implementation's spacing."""
        return gap_of(self.chosen_implementation, self.wait)

    @property
    def average_weight(self) -> Any:
        """Weight of one arriving packet's sample in the average queue, 0 to 1.

        It is `weight`, or what the implementation chooses with packets of 1500 bytes.
        """
        return self.weight_in_packets_of(USUAL_PACKET)

    @property
    def upper_threshold(self) -> Any:
        """Average queue, packets, at which RED's first slope ends: `max_thresh`."""
        return self.max_thresh

    @property
    def marks(self) -> bool:
        """Whether ECN-capable packets are marked instead of dropped (`ecn`)."""
        return self.ecn

    @property
    def counts_bytes(self) -> bool:
        """Whether queue and buffer are measured in bytes: `in_bytes`; if None, for Linux's RED."""
        return self.is_linux if self.in_bytes is None else self.in_bytes

    @property
    def drops_by_size(self) -> bool:
        """Whether a packet's drop probability is in proportion to its size.

        It is only in ns-2's RED, and only if the queue is measured in bytes.
        """
        return self.counts_bytes and not self.is_linux

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

        It follows from the average queue in `state.aqm_state` by RED's curve p_b, and the mean gap
        between drops: 2 p_b / (3 - p_b) in ns-2 with `wait`, without it 2 p_b (at most 1), and
        2 p_b / (1 + p_b) in Linux.
        """
        fraction = self.gap.dropped(self.curve(state.aqm_state))
        return smooth.minimum(fraction, 1.0) if self.gap == NO_WAIT else fraction

    def forced_prob(self, state: QueueState) -> Any:
        """Probability, 0 to 1, that an ECN-capable packet is dropped before the buffer is full.

        Without `ecn` it is `drop_prob`. With `ecn` and `hard_drop` it is 1 where the average queue
        is so long that drops are certain, else 0; with `ecn` alone it is 0.

        Args:
            state: queue, AQM state, arrival rate, capacity and buffer of the link.
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
        rate = -smooth.log1p(-self.average_weight) * state.capacity
        average = rate * (state.queue - state.aqm_state.avg_queue)
        if not self.adaptive:
            return Average(average)
        return AdaptedAverage(average, self.max_drop_derivative(state.aqm_state))

    def clip(self, aqm_state: Average | AdaptedAverage, buffer: Any) -> Average | AdaptedAverage:
        """AQM state with the average queue clipped to 0 to `buffer` and `max_drop` to 0 to 1.

        Args:
            aqm_state: the state; only with `adaptive` it has the field `max_drop`.
            buffer: size of the buffer, packets.
        """
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
        """The packet simulator's rule of the implementation: admits, marks or drops a packet."""
        return IMPLEMENTATIONS[self.chosen_implementation]

    def packet_parameters(self) -> dict[str, float]:
        """Parameters that the packet rule reads from the queue's record, by field name.

        Thresholds are in packets, `max_drop` and `weight` fractions, switches 0 or 1.
        """
        numbers = ("min_thresh", "max_thresh", "max_drop")
        switches = {"wait": self.waits, "in_bytes": self.counts_bytes}
        for name in ("gentle", "ecn", "hard_drop", "adaptive"):
            switches[name] = getattr(self, name)
        values = {name: float(getattr(self, name)) for name in numbers}
        values["weight"] = float(self.average_weight)
        return values | {name: int(value) for name, value in switches.items()}
