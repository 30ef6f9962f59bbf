"""PI2: a controller of the queueing delay whose drop probability is the square of its output.

The output P changes linearly with the delay, see `delay_control`, and a packet is dropped, or
marked, with the probability P^2. A window of Reno is proportional to 1/sqrt(p) = 1/P, so that the
loop has about the same gain at any load, and needs none of PIE's scaling of alpha and beta by the
probability.

The rule is the one for Classic traffic (RFC 9332, appendix A): a DualPI2 queue without L4S traffic
is a PI2 queue. Packets of DCTCP and of Reno or CUBIC with ECN are Classic here, as ECT(0) is. From
`mark_threshold` on the queue is overloaded, and drops ECN-capable packets, too. No packet is
dropped while fewer than two wait; in the fluid model there is no such limit.

Differences from Linux: Linux drops at the departure of a packet, and takes the waiting time of the
packet at the head of the queue as the delay. Both have the same mean, and Linux's delay is older by
itself. Not modelled: the queue for L4S traffic and its coupling.

Sources:
    K. De Schepper, O. Bondarenko, I. Tsang, B. Briscoe, "PI2: A linearized AQM for both Classic and
    Scalable TCP", ACM CoNEXT 2016. RFC 9332, appendix A (target 15 ms, updates every 16 ms). Linux
    6.17, net/sched/sch_dualpi2.c (defaults of alpha and beta, least two packets; no code copied).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from vegasfluid import smooth
from vegasfluid.aqm.base import ADMIT, EARLY, MARK, AdmissionRule, QueueState
from vegasfluid.aqm.delay_control import DelayControl, DelayControlState, queueing_delay, trend
from vegasfluid.clock import picoseconds
from vegasfluid.quantities import Delay, PerSecond, Positive, Probability

__all__ = ["Pi2"]

LEAST_WAITING = 2
"""Packets waiting below which none is dropped (Linux)."""
MARGIN = 1e-3
"""Distance of P from 0 and 1 within which the fluid's changes towards them end, so that it stays
between (chosen: P^2 is then a packet in a million)."""
OVERLOAD_WIDTH = 0.02
"""Width of P^2 over which the fluid model goes from marks to drops (chosen: narrow)."""


def update(queue: Any, at: int) -> None:
    """Update the output P and the old delay in a queue's record.

    Args:
        queue: record of the queue, changed in place.
        at: time of the update, ps.
    """
    delay = queueing_delay(queue, at)
    queue.drop_prob = min(max(queue.drop_prob + trend(queue, delay), 0.0), 1.0)
    queue.old_delay = delay


def decide(queue: Any, waiting: int, idle_packets: float) -> int:
    """Decide on a packet that arrives at a PI2 queue, after the updates that are due.

    Args:
        queue: record of the queue, changed in place.
        waiting: packets in the queue, without the one in transmission.
        idle_packets: not used.

    Returns:
        ADMIT, EARLY (dropped at random) or MARK.
    """
    while queue.update_at <= queue.now:
        update(queue, queue.update_at)
        queue.update_at += queue.update_interval
    if waiting < LEAST_WAITING or queue.drop_prob == 0.0:
        return ADMIT
    queue.uniform_used = 1
    prob = queue.drop_prob * queue.drop_prob
    if queue.uniform >= prob:
        return ADMIT
    if queue.ecn and queue.ect and prob <= queue.mark_threshold:
        return MARK
    return EARLY


RULE = AdmissionRule(decide, state={"drop_prob": 0.0, "old_delay": 0.0, "update_at": 0})
"""Admission rule of PI2, with initial values of the fields that it keeps in the record."""


@dataclass(frozen=True)
class Pi2(DelayControl):
    """Proportional integral controller improved with a square (PI2), for Classic traffic.

    >>> Pi2().target
    0.015
    """

    name: ClassVar[str] = "pi2"
    sources: ClassVar[tuple[str, ...]] = (
        "De Schepper et al., CoNEXT 2016",
        "RFC 9332",
        "Linux 6.17, net/sched/sch_dualpi2.c",
    )

    target: Annotated[Delay, Positive] = 0.015
    """Queueing delay that PI2 aims at."""
    t_update: Annotated[Delay, Positive] = 0.016
    """Time between two updates of the probability."""
    alpha: PerSecond = 0.16
    """Change of P in an update for each second of delay above the target."""
    beta: PerSecond = 3.2
    """Change of P in an update for each second by which the delay has grown."""
    ecn: bool = False
    """Mark ECN-capable packets instead of dropping them, up to `mark_threshold`."""
    mark_threshold: Probability = 0.25
    """With `ecn`: drop probability above which ECN-capable packets are dropped, too."""

    def drop_prob(self, state: QueueState) -> Any:
        """Fraction of arriving packets dropped or marked before the buffer is full, 0 to 1.

        It is the square of the output P, `base_prob` in `state.aqm_state`.
        """
        return state.aqm_state.base_prob**2

    def forced_prob(self, state: QueueState) -> Any:
        """Probability, 0 to 1, that an ECN-capable packet is dropped before the buffer is full.

        Without `ecn` it is `drop_prob`, P^2. With it, it is 0 up to a P^2 of `mark_threshold`, as
        such packets are marked instead, and P^2 above.

        Args:
            state: queue, AQM state, arrival rate, capacity and buffer of the link.
        """
        dropped = self.drop_prob(state)
        if not self.ecn:
            return dropped
        return dropped * smooth.step(dropped - self.mark_threshold, OVERLOAD_WIDTH)

    def derivative(self, state: QueueState) -> DelayControlState:
        """Time derivative of the output P, 1/s, and of the old delay, s/s.

        The delay is the queue of `state` divided by the capacity.
        """
        prob = state.aqm_state.base_prob
        change, growth = self.trend(state)
        rising, falling = smooth.positive_part(change), smooth.positive_part(-change)
        rising = rising * smooth.minimum((1 - prob) / MARGIN, 1.0)
        falling = falling * smooth.minimum(prob / MARGIN, 1.0)
        return DelayControlState((rising - falling) / self.t_update, growth / self.t_update)

    @property
    def rule(self) -> AdmissionRule:
        """The packet simulator's rule: admits, marks or drops a packet."""
        return RULE

    def packet_parameters(self) -> dict[str, float]:
        """Parameters that the packet rule reads from the queue's record, by field name.

        `target` is in seconds, gains in 1/s, `ecn` is 0 or 1; `update_interval` (`t_update`) is in
        picoseconds.
        """
        names = ("target", "alpha", "beta", "mark_threshold")
        values: dict[str, float] = {name: float(getattr(self, name)) for name in names}
        interval = max(picoseconds(self.t_update), 1)
        return values | {"update_interval": interval, "ecn": int(self.ecn)}
