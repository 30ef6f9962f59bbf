"""PIE: the drop probability is adjusted until the queueing delay is at its target.

The probability P and the old delay are states of the fluid model, see `delay_control`; the gain
K(P) scales alpha and beta down where P is small.

Drops are spaced, see the packet rule: the mean gap between two is 1/P packets and those that have
to sum P up to 0.85, so that the fraction of packets dropped is about P / 1.85.

Not in the fluid: the burst allowance, and that no packet is dropped while fewer than two wait.

Sources:
    R. Pan et al., "PIE: a lightweight control scheme to address the bufferbloat problem", IEEE HPSR
    2013, and RFC 8033, 2017. The fraction dropped: derived for this project, and tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from vegasfluid import smooth
from vegasfluid.aqm.base import AdmissionRule, QueueState
from vegasfluid.aqm.delay_control import DelayControl, DelayControlState
from vegasfluid.aqm.pie.packets import (
    DECAY,
    GAINS,
    LARGEST_STEP,
    LARGEST_STEP_FROM,
    LEAST_SUM,
    LONG_DELAY,
    RULE,
    SAFE_PROBABILITY,
    TUNINGS,
)
from vegasfluid.clock import picoseconds
from vegasfluid.quantities import Delay, PerSecond, Positive, Probability

__all__ = ["Pie"]

WIDTH = 0.2
"""Width, relative to a threshold, over which the fluid model switches (chosen: narrow)."""
LEAST_PROBABILITY = TUNINGS[0][0]
"""Probability below which the fluid's decreases end, so that it stays at least 0 (chosen: where the
smallest gain begins)."""


def above(value: Any, threshold: float) -> Any:
    """A smooth step from 0, if `value` is below `threshold` (same unit), to 1, if it is above.

    The step is centred on the threshold; its width is `WIDTH` times the threshold.
    """
    return smooth.step(value - (1 - WIDTH / 2) * threshold, WIDTH * threshold)


def gain(prob: Any) -> Any:
    """Factor of alpha and beta, from 1/2048 (probability `prob` below 1e-6) to 1 (above 0.1)."""
    factor: Any = 1 / GAINS
    for threshold, growth in TUNINGS:
        factor = factor * (1 + (growth - 1) * above(prob, threshold))
    return factor


def spaced(prob: Any) -> Any:
    """Fraction of packets dropped, 0 to 1, at the probability `prob` before drops are spaced.

    Packets are dropped with the probability P = `prob` once P, added up for each packet since the
    last drop, has reached 0.85. The number of packets for this sum is taken as 0.85/P + 1/2, and
    as 1 where P is at least 0.85.

    >>> round(float(spaced(0.01)), 6), float(spaced(1.0))
    (0.00542, 1.0)
    """
    missing = smooth.positive_part(LEAST_SUM - prob)
    return prob / (1 + missing + smooth.minimum(missing, prob) / 2)


@dataclass(frozen=True)
class Pie(DelayControl):
    """Proportional integral controller enhanced (PIE).

    >>> Pie().target
    0.015
    """

    name: ClassVar[str] = "pie"
    sources: ClassVar[tuple[str, ...]] = (
        "Pan et al., IEEE HPSR 2013",
        "RFC 8033",
        "Linux 6.1, net/sched/sch_pie.c",
    )

    target: Annotated[Delay, Positive] = 0.015
    """Queueing delay that PIE aims at."""
    t_update: Annotated[Delay, Positive] = 0.015
    """Time between two updates of the drop probability."""
    alpha: PerSecond = 0.125
    """Change of the probability in an update for each second of delay above the target."""
    beta: PerSecond = 1.25
    """Change of the probability in an update for each second by which the delay has grown."""
    max_burst: Delay = 0.15
    """Time without random drops once a queue begins to build up."""
    ecn: bool = False
    """Mark ECN-capable packets instead of dropping them, up to `mark_threshold`."""
    mark_threshold: Probability = 0.1
    """With `ecn`: drop probability above which ECN-capable packets are dropped, too."""

    def drop_prob(self, state: QueueState) -> Any:
        """Fraction of arriving packets dropped or marked before the buffer is full, 0 to 1.

        It is less than PIE's probability P (`base_prob` in `state.aqm_state`), as PIE spaces its
        drops (`spaced`). It is 0 where the delay (queue / capacity) is below half the target and P
        is below 0.2.
        """
        prob = state.aqm_state.base_prob
        long = above(state.queue / state.capacity, self.target / 2)
        safe = (1 - long) * (1 - above(prob, SAFE_PROBABILITY))
        return spaced(prob) * (1 - safe)

    def forced_prob(self, state: QueueState) -> Any:
        """Probability, 0 to 1, that an ECN-capable packet is dropped before the buffer is full.

        Without `ecn` it is `drop_prob`. With it, it is 0 up to a probability P of `mark_threshold`,
        as such packets are marked instead, and `drop_prob` above.

        Args:
            state: queue, AQM state, arrival rate, capacity and buffer of the link.
        """
        dropped = self.drop_prob(state)
        if not self.ecn:
            return dropped
        return dropped * smooth.step(state.aqm_state.base_prob - self.mark_threshold, WIDTH / 10)

    def derivative(self, state: QueueState) -> DelayControlState:
        """Time derivative of the probability, 1/s, and of the old delay, s/s.

        The delay is the queue of `state` divided by the capacity. As in the packet rule, an update
        adds at most 0.02 to a probability P of at least 0.1. It adds another 0.02 if the delay is
        above 250 ms, and subtracts P / 64 if the queue is empty.
        """
        prob, delay = state.aqm_state.base_prob, state.queue / state.capacity
        trend, growth = self.trend(state)
        change = gain(prob) * trend
        excess = smooth.positive_part(change - LARGEST_STEP)
        change = change - above(prob, LARGEST_STEP_FROM) * excess
        change = change + LARGEST_STEP * above(delay, LONG_DELAY)
        change = change - DECAY * prob * (1 - smooth.step(state.queue, 1.0))
        falling = smooth.positive_part(-change)
        left = falling * (1 - smooth.minimum(prob / LEAST_PROBABILITY, 1.0))
        return DelayControlState((change + left) / self.t_update, growth / self.t_update)

    @property
    def rule(self) -> AdmissionRule:
        """The packet simulator's rule: admits, marks or drops a packet."""
        return RULE

    def packet_parameters(self) -> dict[str, float]:
        """Parameters that the packet rule reads from the queue's record, by field name.

        `target` is in seconds, gains in 1/s, `ecn` is 0 or 1; `update_interval` (`t_update`) and
        `burst` (`max_burst`) are in picoseconds.
        """
        names = ("target", "alpha", "beta", "mark_threshold")
        values: dict[str, float] = {name: float(getattr(self, name)) for name in names}
        interval = max(picoseconds(self.t_update), 1)
        times = {"update_interval": interval, "burst": picoseconds(self.max_burst)}
        return values | times | {"ecn": int(self.ecn)}
