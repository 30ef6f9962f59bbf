"""A link in equilibrium as a function of one number: queue plus overflow, or spare capacity.

The occupancy u of a link goes from -C to B + 1, with C its capacity and B its buffer:

    u < 0     no queue, and the link has a spare capacity of -u packets/s
    u >= 0    a queue q, and a fraction r of the arrivals that find the buffer full; q + r = u

In equilibrium the fluid's overflow is r = s(q) (e + r - e r), where s rises from 0 at q = B - 1 to
1 at B, and e is the early-drop probability; so q = u up to B - 1, and up to B where e is 0. With
r = u - q, the right side minus the left has the slope s' (e + r - e r) + s (e' (1 - r) - (1 - e))
+ 1 >= 0 by q and s (1 - e) - 1 <= 0 by u: it has one root, and q rises with u. So the loss
probability of a link never falls where its occupancy rises.

Sources:
    Derived for this project from `aqm/red/red.py`, `aqm/droptail.py` and the fluid's equations.
"""

from __future__ import annotations

from typing import NamedTuple

from flint import arb

from vegasfluid.analysis.proofs.intervals import (
    ONE,
    ZERO,
    Interval,
    maximum,
    minimum,
    slope_of,
    smooth_step,
    value_of,
    variable,
    with_slope,
)
from vegasfluid.analysis.proofs.problem import RedProfile
from vegasfluid.aqm.red import NO_WAIT

__all__ = ["DropTailLink", "LinkState", "LosslessLink", "RedLink"]

MAX_BISECTIONS = 200
"""Bisection steps for the queue of a full link: more than the 96 bits of precision in use."""
LOWEST_OCCUPANCY = 1.0625
"""Lower end of the search, in units of minus the capacity: below -1 there is no equilibrium."""


class LinkState(NamedTuple):
    """Delay, spare capacity and losses at a link in equilibrium; intervals, with or without slopes.

    Args:
        wait: queueing delay, s.
        spare: spare capacity, packets/s.
        lost: probability that a packet is dropped or marked.
        dropped: probability that a packet is dropped although it may be marked.
    """

    wait: Interval
    spare: Interval
    lost: Interval
    dropped: Interval


class LosslessLink:
    """A link that loses nothing before its buffer is full; from there on losses are unknown.

    Args:
        capacity: capacity, packets/s.
        buffer: buffer, packets.
    """

    def __init__(self, capacity: float, buffer: float) -> None:
        self.capacity, self.buffer = arb(capacity), arb(buffer)
        self.bottom, self.top = -LOWEST_OCCUPANCY * float(capacity), float(buffer)
        self.overflow_start = self.buffer - 1

    def occupancy(self, queue: float, lost: float) -> float:
        """The occupancy of a link from its queue in floating point: the queue itself, packets.

        Args:
            queue: packets.
            lost: probability that a packet is dropped or marked; unused.
        """
        return queue

    def state(self, occupancy: Interval) -> LinkState:
        """Queueing delay, spare capacity and loss probabilities of a link at an occupancy.

        Nothing is lost up to a queue of one packet below the buffer; above it, the loss probability
        is anything from 0 to 1.

        Args:
            occupancy: the queue, packets; if negative, minus the spare capacity, packets/s.
        """
        queue, spare = maximum(occupancy, ZERO), maximum(-occupancy, ZERO)
        if value_of(occupancy) <= self.overflow_start:
            return LinkState(queue / self.capacity, spare, arb(0), arb(0))
        lost: Interval = arb(0).union(arb(1))
        queue = self.overflow_start.union(self.buffer).union(value_of(queue))
        if not isinstance(occupancy, arb):
            queue, lost = (with_slope(value, arb("nan")) for value in (queue, lost))
        return LinkState(queue / self.capacity, spare, lost, lost)


class DropTailLink(LosslessLink):
    """A drop-tail link whose flows all lose packets alike once the buffer is full.

    Args:
        capacity: capacity, packets/s.
        buffer: buffer, packets.
    """

    def __init__(self, capacity: float, buffer: float) -> None:
        super().__init__(capacity, buffer)
        self.top = float(buffer) + 1

    def occupancy(self, queue: float, lost: float) -> float:
        """The occupancy of a link in floating point: queue plus fraction of arrivals lost.

        Args:
            queue: packets.
            lost: fraction of the arriving packets that is lost.
        """
        return queue + lost

    def state(self, occupancy: Interval) -> LinkState:
        """Queueing delay, spare capacity and loss probability of a link at an occupancy.

        Packets are lost only while the queue is equal to the buffer.

        Args:
            occupancy: queue (packets) plus fraction of arrivals lost; if negative, minus the spare
                capacity, packets/s.
        """
        queue = minimum(maximum(occupancy, ZERO), self.buffer)
        overflow = maximum(occupancy - self.buffer, ZERO)
        return LinkState(queue / self.capacity, maximum(-occupancy, ZERO), overflow, overflow)


class RedLink(LosslessLink):
    """A link with RED: early drops or marks by its queue, and overflow near a full buffer.

    Args:
        capacity: capacity, packets/s.
        buffer: buffer, packets.
        red: parameters of RED.
        hard_drop: whether RED that marks packets drops all of them where its curve has reached 1.
    """

    def __init__(
        self, capacity: float, buffer: float, red: RedProfile, *, hard_drop: bool = False
    ) -> None:
        super().__init__(capacity, buffer)
        self.red, self.hard_drop = red, hard_drop
        self.top = float(buffer) + 1
        self.min_thresh, self.max_thresh = arb(red.min_thresh), arb(red.max_thresh)
        self.max_drop = arb(red.max_drop)

    def curve(self, queue: Interval) -> Interval:
        """RED's drop probability per packet (0 to 1) at a constant queue, before drops are spaced.

        Args:
            queue: packets.
        """
        span = self.max_thresh - self.min_thresh
        rise = minimum(maximum((queue - self.min_thresh) / span, ZERO), ONE)
        above = queue - self.max_thresh
        if self.red.gentle:
            upper = minimum(maximum(above / self.max_thresh, ZERO), ONE)
        else:
            upper = smooth_step(above, ONE)
        return self.max_drop * rise + (1 - self.max_drop) * upper

    def early(self, queue: Interval) -> Interval:
        """The fraction of arriving packets (0 to 1) that RED drops or marks at a constant queue.

        The curve is clipped to 0 to 1, as its enclosure over a wide interval may exceed this range.

        Args:
            queue: packets.
        """
        prob = minimum(maximum(self.curve(queue), ZERO), ONE)
        fraction = self.red.gap.dropped(prob)
        return minimum(fraction, ONE) if self.red.gap == NO_WAIT else fraction

    def forced(self, queue: Interval, early: Interval) -> Interval:
        """The fraction (0 to 1) of ECN-capable packets that RED drops at a constant queue.

        If RED does not mark packets, it is `early`. If it does, it is 0; with `hard_drop` it rises
        to 1 over one packet from where the curve ends: `max_thresh`, or twice that if `gentle`.

        Args:
            queue: packets.
            early: the fraction of arriving packets that RED drops or marks.
        """
        if not self.red.marks:
            return early
        if not self.hard_drop:
            return 0 * early
        return smooth_step(queue - (2 if self.red.gentle else 1) * self.max_thresh, ONE)

    def occupancy(self, queue: float, lost: float) -> float:
        """The occupancy of a link in floating point: queue plus fraction of arrivals that overflow.

        Args:
            queue: packets.
            lost: fraction of the arriving packets that is dropped or marked, early or by overflow.
        """
        if queue <= self.overflow_start:
            return queue
        return queue + 1 - (1 - lost) / (1 - float(value_of(self.early(arb(queue)))))

    def state(self, occupancy: Interval) -> LinkState:
        """Queueing delay, spare capacity and loss probabilities of a link at an occupancy.

        Args:
            occupancy: queue (packets) plus fraction of arrivals that finds the buffer full; if
                negative, minus the spare capacity, packets/s.
        """
        queue, spare = maximum(occupancy, ZERO), maximum(-occupancy, ZERO)
        overflow: Interval = ZERO
        if not value_of(occupancy) <= self.overflow_start:
            filled = queue
            queue = self.queue_at(filled)
            overflow = maximum(filled - queue, arb(0))
        early = self.early(queue)
        by_red = early, self.forced(queue, early)
        lost, dropped = (1 - (1 - prob) * (1 - overflow) for prob in by_red)
        return LinkState(queue / self.capacity, spare, lost, dropped)

    def overflow_residual(self, queue: Interval, occupancy: Interval) -> Interval:
        """The fluid's overflow minus occupancy - queue: 0 at the equilibrium queue of an occupancy.

        With e the fraction that RED drops early, r = occupancy - queue the fraction that finds the
        buffer full, and S the smooth step from 0 at one packet below the buffer to 1 at it, it is
        S (e + r - e r) - r, a fraction of the arrivals.

        Args:
            queue: packets.
            occupancy: queue (packets) plus r.
        """
        early, overflow = self.early(queue), occupancy - queue
        full = smooth_step(queue - self.overflow_start, ONE)
        return full * (early + overflow - early * overflow) - overflow

    def queue_at(self, occupancy: Interval) -> Interval:
        """An enclosure of the equilibrium queue, packets; with a slope if the occupancy has one.

        Args:
            occupancy: queue (packets) plus fraction of arrivals that finds the buffer full; not
                negative.
        """
        if not value_of(self.early(self.buffer)) > 0:
            return minimum(occupancy, self.buffer)
        value = value_of(occupancy)
        queue = self.enclose_queue(value.lower()).union(self.enclose_queue(value.upper()))
        if isinstance(occupancy, arb):
            return queue
        by_queue = slope_of(self.overflow_residual(variable(queue), value))
        by_occupancy = slope_of(self.overflow_residual(queue, variable(value)))
        return with_slope(queue, -by_occupancy / by_queue * slope_of(occupancy))

    def enclose_queue(self, occupancy: arb) -> arb:
        """Enclose the equilibrium queue (packets) at one occupancy, by bisection.

        The bisection ends at a queue where the sign of `overflow_residual` is not certain.

        Args:
            occupancy: queue (packets) plus the fraction of arrivals that finds the buffer full; a
                number without an error radius.
        """
        low, high = arb(0), minimum(occupancy, self.buffer)
        for _ in range(MAX_BISECTIONS):
            middle = ((low + high) / 2).mid()
            residual = self.overflow_residual(middle, occupancy)
            if residual < 0:
                low = middle
            elif residual > 0:
                high = middle
            else:
                break
        return low.union(high)
