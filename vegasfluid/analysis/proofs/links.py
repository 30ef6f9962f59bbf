"""A link at rest, told by one number: how full it is, or how far from busy.

The place u of a link goes from -C to B + 1, with C its capacity and B its buffer:

    u < 0     no queue, and the link could carry -u packets/s more
    u >= 0    a queue q, and a share r of what comes that finds the buffer full; q + r = u

At rest the fluid's overflow says r = s(q) (e + r - e r), in which s rises from 0 at q = B - 1 to 1
at B, and e is what the queue law drops early; so up to B - 1, q is u, and up to B where e is 0.
With r = u - q the right side less the left has by q the slope s' (e + r - e r) + s (e' (1 - r) -
(1 - e)) + 1 >= 0, and by u the slope s (1 - e) - 1 <= 0: it has one root, and q rises with u. So
what packets lose at a link never falls where its place rises.

Sources:
    Derived for this project from `aqm/red.py`, `aqm/droptail.py` and `fluid/stations.py`.
"""

from __future__ import annotations

from typing import NamedTuple

from flint import arb, arb_series

from vegasfluid.analysis.proofs.intervals import (
    Number,
    larger,
    lesser,
    slope_of,
    value_of,
    variable,
)
from vegasfluid.aqm.red import Red
from vegasfluid.network import Link

__all__ = ["Met", "ReducedQueue", "ReducedRed", "ReducedTail", "step"]

BISECTIONS = 200
BELOW = 1.0625
"""Times the capacity: the lowest place is below any rest."""
TERMS = 2
ZERO, ONE = arb(0), arb(1)


class Met(NamedTuple):
    """What packets meet at a link.

    Args:
        wait: s.
        spare: packets/s that the link could carry more.
        lost: the share of packets whose loss or mark their sender learns of.
        dropped: the share that is dropped even where packets may be marked.
    """

    wait: Number
    spare: Number
    lost: Number
    dropped: Number


def step(excess: Number, width: arb) -> Number:
    """`smooth.step` of balls, and of balls with slopes."""
    rise = lesser(larger(excess / width, ZERO), ONE)
    return rise * rise * (3 - 2 * rise)


class ReducedQueue:
    """A link that loses nothing before the last packet fits in; then nothing is known of losses.

    Args:
        link: the link.
    """

    def __init__(self, link: Link) -> None:
        self.capacity, self.buffer = arb(link.capacity), arb(link.buffer)
        self.bottom, self.top = -BELOW * float(link.capacity), float(link.buffer)
        self.room = self.buffer - 1

    def filled(self, queue: float, lost: float) -> float:
        """About the place of a queue that loses a share of what comes."""
        return queue

    def met(self, place: Number) -> Met:
        """What packets meet.

        Args:
            place: u; a ball, or a ball with slopes.
        """
        queue, spare = larger(place, ZERO), larger(-place, ZERO)
        if value_of(place) <= self.room:
            return Met(queue / self.capacity, spare, arb(0), arb(0))
        lost: Number = arb(0).union(arb(1))
        queue = self.room.union(self.buffer).union(value_of(queue))
        if not isinstance(place, arb):
            queue, lost = (arb_series([of, arb("nan")], TERMS) for of in (queue, lost))
        return Met(queue / self.capacity, spare, lost, lost)


class ReducedTail(ReducedQueue):
    """A drop-tail link that flows of one kind cross: when it is full it loses from all alike.

    Args:
        link: the link.
    """

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self.top = float(link.buffer) + 1

    def filled(self, queue: float, lost: float) -> float:
        """About the place of a queue that loses a share of what comes."""
        return queue + lost

    def met(self, place: Number) -> Met:
        """What packets meet: the buffer is full before anything is lost.

        Args:
            place: u; a ball, or a ball with slopes.
        """
        queue = lesser(larger(place, ZERO), self.buffer)
        refused = larger(place - self.buffer, ZERO)
        return Met(queue / self.capacity, larger(-place, ZERO), refused, refused)


class ReducedRed(ReducedQueue):
    """A link with RED.

    Args:
        link: the link.
        red: its law.
    """

    def __init__(self, link: Link, red: Red) -> None:
        super().__init__(link)
        self.red, self.top = red, float(link.buffer) + 1
        self.low, self.high = arb(red.min_thresh), arb(red.max_thresh)
        self.max_drop = arb(red.max_drop)

    def early(self, queue: Number) -> Number:
        """The share of packets that RED drops or marks."""
        rise = lesser(larger((queue - self.low) / (self.high - self.low), arb(0)), arb(1))
        above = queue - self.high
        if self.red.gentle:
            last = lesser(larger(above / self.high, arb(0)), arb(1))
        else:
            last = step(above, ONE)
        prob = self.max_drop * rise + (1 - self.max_drop) * last
        return 2 * prob / (3 - prob) if self.red.wait else lesser(2 * prob, arb(1))

    def forced(self, queue: Number, early: Number) -> Number:
        """The share that is dropped even where packets may be marked."""
        if not self.red.ecn:
            return early
        if not self.red.hard_drop:
            return 0 * early
        return step(queue - (2 if self.red.gentle else 1) * self.high, ONE)

    def filled(self, queue: float, lost: float) -> float:
        """About the place of a queue that loses a share of what comes."""
        if queue <= self.room:
            return queue
        return queue + 1 - (1 - lost) / (1 - float(value_of(self.early(arb(queue)))))

    def met(self, place: Number) -> Met:
        """What packets meet.

        Args:
            place: u; a ball, or a ball with slopes.
        """
        queue, spare = larger(place, ZERO), larger(-place, ZERO)
        refused: Number = ZERO
        if not value_of(place) <= self.room:
            filled = queue
            queue = self.queue_at(filled)
            refused = larger(filled - queue, arb(0))
        early = self.early(queue)
        shares = early, self.forced(queue, early)
        lost, dropped = (1 - (1 - share) * (1 - refused) for share in shares)
        return Met(queue / self.capacity, spare, lost, dropped)

    def overflow(self, queue: Number, place: Number) -> Number:
        """How far s (e + r - e r) is above r: 0 at rest."""
        early, refused = self.early(queue), place - queue
        full = step(queue - self.room, ONE)
        return full * (early + refused - early * refused) - refused

    def queue_at(self, place: Number) -> Number:
        """The queue that belongs to a place of 0 or more, packets."""
        if not value_of(self.early(self.buffer)) > 0:
            return lesser(place, self.buffer)
        at = value_of(place)
        queue = self.root(at.lower()).union(self.root(at.upper()))
        if isinstance(place, arb):
            return queue
        by_queue = slope_of(self.overflow(variable(queue), at))
        by_place = slope_of(self.overflow(queue, variable(at)))
        return arb_series([queue, -by_place / by_queue * slope_of(place)], TERMS)

    def root(self, place: arb) -> arb:
        """The queue that belongs to an exact place; nothing is left out where signs are open."""
        low, high = arb(0), lesser(place, self.buffer)
        for _ in range(BISECTIONS):
            middle = ((low + high) / 2).mid()
            excess = self.overflow(middle, place)
            if excess < 0:
                low = middle
            elif excess > 0:
                high = middle
            else:
                break
        return low.union(high)
