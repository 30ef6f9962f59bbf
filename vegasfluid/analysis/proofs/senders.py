"""The rate of a flow at rest, for a share of losses and a round-trip time, in balls.

Rates fall, or stay, where losses or round-trip times rise. Of laws that see losses only, a window
at rest is K p^-a R^b with a > 0 and b < 1 in each of its regions (`certificate.windows`), and W / R
falls. A Vegas window is at rest where

    h(W) = grow - shrink - phi b p W^2 = 0

(with fewer than three packets Linux steps as Reno does); as the backlog rises with W and R, h falls
with W, p and R, and with x = W / R held it falls with R, too. So both W and x fall. Where nothing
is lost h may be 0 between alpha and beta: then the largest and the smallest root are taken. Windows
have two packets at least, and at most what is allowed; an access link makes of a rate at most its
own, because beyond it a round trip grows with the window.

Sources:
    Derived for this project from `congestion/vegas/vegas.py` and `fluid/equations.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from flint import arb, arb_series, fmpq
from scipy.optimize import root_scalar

from vegasfluid.analysis.proofs.intervals import (
    Number,
    larger,
    lesser,
    slope_of,
    value_of,
    variable,
)
from vegasfluid.analysis.proofs.links import step
from vegasfluid.analysis.proofs.response_functions import WindowAtRest, loss_factor
from vegasfluid.congestion.base import SMALLEST_SSTHRESH
from vegasfluid.congestion.vegas import Vegas

__all__ = ["Crowd", "LossBased", "ReducedSender", "ReducedVegas", "Slopes"]

FEWEST_LOSSES = arb("1e-60")
"""Fewer are taken for so many, so that powers of them are finite."""
WIDER = (1e-13, 1e-11, 1e-8, 1e-4)
"""Relative: by so much around a root signs are looked at, until they are certain."""
BISECTIONS = 60
TERMS = 2
ZERO, ONE = arb(0), arb(1)


@dataclass(frozen=True)
class Crowd:
    """Flows that are alike.

    Args:
        count: how many.
        base_rtt: s.
        path: numbers of the links.
        capable: whether their packets may be marked.
        max_window: packets.
        access: packets/s; None: no limit.
    """

    count: int
    base_rtt: float
    path: tuple[int, ...]
    capable: bool
    max_window: float
    access: float | None


class Slopes(NamedTuple):
    """A rate with its slopes, in a box of losses and round-trip times.

    Args:
        rate: packets/s.
        by_lost: packets/s.
        by_rtt: packets/s^2.
    """

    rate: arb
    by_lost: arb
    by_rtt: arb

    def follow(self, lost: Number, rtt: Number) -> arb_series:
        """The rate where losses and the round-trip time move."""
        moved = self.by_lost * slope_of(lost) + self.by_rtt * slope_of(rtt)
        return arb_series([self.rate, moved], TERMS)


class ReducedSender(ABC):
    """A flow that does as its law says at rest.

    Args:
        crowd: whose flow it is.
    """

    def __init__(self, crowd: Crowd) -> None:
        self.crowd = crowd
        self.base_rtt = arb(crowd.base_rtt)

    @abstractmethod
    def rate(self, lost: arb, rtt: arb) -> arb:
        """Packets/s.

        Args:
            lost: the share of packets lost or marked.
            rtt: s.
        """

    @abstractmethod
    def slopes(self, lost: arb, rtt: arb) -> Slopes:
        """The rate with its slopes."""

    def highest(self, lost: arb, rtt: arb) -> arb:
        """The rate, at most."""
        return self.rate(larger(lost.lower(), ZERO), rtt.lower()).upper()

    def lowest(self, lost: arb, rtt: arb) -> arb:
        """The rate, at least."""
        return self.rate(lost.upper(), rtt.upper()).lower()

    def limited(self, window: Number, rtt: Number) -> Number:
        """The rate of a window, within its limits."""
        window = lesser(larger(window, arb(SMALLEST_SSTHRESH)), arb(self.crowd.max_window))
        access = self.crowd.access
        return window / rtt if access is None else lesser(window / rtt, arb(access))


class LossBased(ReducedSender):
    """A flow that sees losses only.

    Args:
        crowd: whose flow it is.
        window: at rest.
    """

    def __init__(self, crowd: Crowd, window: WindowAtRest) -> None:
        super().__init__(crowd)
        self.window = window

    def rate(self, lost: arb, rtt: arb) -> arb:
        """Packets/s."""
        return value_of(self.moving(lost, rtt))

    def slopes(self, lost: arb, rtt: arb) -> Slopes:
        """The rate with its slopes."""
        by_lost = slope_of(self.moving(variable(lost), rtt))
        return Slopes(self.rate(lost, rtt), by_lost, slope_of(self.moving(lost, variable(rtt))))

    def moving(self, lost: Number, rtt: Number) -> Number:
        """The rate, with the slope of what has one."""
        return self.limited(self.window(larger(lost, FEWEST_LOSSES), rtt), rtt)


class ReducedVegas(ReducedSender):
    """A Vegas flow.

    Args:
        crowd: whose flow it is.
        law: its law, of a dialect without a threshold that losses keep.
        loss_process: how losses come.
    """

    def __init__(self, crowd: Crowd, law: Vegas, loss_process: str) -> None:
        super().__init__(crowd)
        cut = fmpq(*law.implementation.loss_cut.as_integer_ratio())
        self.law, self.cut = law, arb(cut)
        self.weight = arb(cut * loss_factor(loss_process, cut))
        self.alpha, self.beta = (arb(place) for place in law.equilibrium_backlogs)
        self.softness = arb(law.softness)

    @property
    def idles(self) -> bool:
        """Whether there are windows between alpha and beta that nothing moves."""
        return bool(self.beta > self.alpha)

    def balance(self, window: Number, lost: Number, rtt: Number) -> Number:
        """h: packets that a round trip adds, less what losses take."""
        backlog, width, shrink = self.place(window, rtt)
        below = larger(self.alpha - backlog, ZERO)
        steps = 1 - (-below / width).exp() - shrink
        if self.law.implementation.min_samples:
            as_reno = step(self.law.implementation.min_samples - window, ONE)
            steps = as_reno + (1 - as_reno) * steps
        return steps - self.weight * lost * window * window

    def depth(self, window: Number, lost: Number, rtt: Number) -> Number:
        """How far d - width ln(1 - phi b p W^2 - shrink) is above alpha: 0 at rest."""
        backlog, width, shrink = self.place(window, rtt)
        left = 1 - self.weight * lost * window * window - shrink
        return backlog - width * left.log() - self.alpha

    def place(self, window: Number, rtt: Number) -> tuple[Number, Number, Number]:
        """The backlog d, the width over which it tells who climbs, packets; and who shrinks."""
        divisor = self.base_rtt if self.law.implementation.divides_by_base_rtt else rtt
        backlog = window * (rtt - self.base_rtt) / divisor
        width = larger(self.cut * backlog / 2, self.softness)
        return backlog, width, step(backlog - self.beta, self.softness)

    def window(self, lost: arb, rtt: arb) -> arb:
        """All windows at rest, packets."""
        return self.least(lost.upper(), rtt.upper()).union(self.most(lost.lower(), rtt.lower()))

    def rate(self, lost: arb, rtt: arb) -> arb:
        """Packets/s."""
        return value_of(self.limited(self.window(lost, rtt), rtt))

    def slopes(self, lost: arb, rtt: arb) -> Slopes:
        """The rate with its slopes."""
        window = self.window(lost, rtt)
        by_lost, by_rtt = self.window_slopes(window, lost, rtt)
        rates = (
            self.limited(arb_series([window, by_lost], TERMS), rtt),
            self.limited(arb_series([window, by_rtt], TERMS), variable(rtt)),
        )
        return Slopes(value_of(rates[0]), slope_of(rates[0]), slope_of(rates[1]))

    def window_slopes(self, window: arb, lost: arb, rtt: arb) -> list[arb]:
        """Slopes of the window by losses and by the round-trip time.

        `depth` has no corner where the backlog is alpha, near which most windows rest; but it says
        nothing of windows above, which idle where nothing is lost.
        """
        samples = self.law.implementation.min_samples
        smooth = (lost > 0 or not self.idles) and window > samples
        for told in (self.depth, self.balance) if smooth else (self.balance,):
            by_window = slope_of(told(variable(window), lost, rtt))
            moved = told(window, variable(lost), rtt), told(window, lost, variable(rtt))
            found = [-slope_of(of) / by_window for of in moved]
            if all(of.is_finite() for of in found):
                break
        return found

    def highest(self, lost: arb, rtt: arb) -> arb:
        """The rate, at most."""
        lost, rtt = larger(lost.lower(), ZERO), rtt.lower()
        return value_of(self.limited(self.most(lost, rtt), rtt)).upper()

    def lowest(self, lost: arb, rtt: arb) -> arb:
        """The rate, at least."""
        lost, rtt = lost.upper(), rtt.upper()
        return value_of(self.limited(self.least(lost, rtt), rtt)).lower()

    def most(self, lost: arb, rtt: arb) -> arb:
        """What no root is above, packets."""
        lost = larger(lost, ZERO)
        found = self.near_root(lost, rtt, lambda steps: steps >= 0)
        for wider in WIDER:
            window = arb(found * (1 + wider))
            if self.balance(window, lost, rtt) < 0:
                return window
        return arb(self.crowd.max_window)

    def least(self, lost: arb, rtt: arb) -> arb:
        """What no root is below, packets."""
        found = self.near_root(lost, rtt, lambda steps: steps > 0)
        for wider in WIDER:
            window = arb(found * (1 - wider))
            if self.balance(window, lost, rtt) > 0:
                return window
        return arb(SMALLEST_SSTHRESH)

    def near_root(self, lost: arb, rtt: arb, before: Callable[[float], bool]) -> float:
        """About where steps cease to be as they are for small windows, packets."""

        def steps(window: float) -> float:
            return float(self.balance(arb(window), lost, rtt))

        low, high = SMALLEST_SSTHRESH, float(self.crowd.max_window)
        if not before(steps(low)):
            return low
        if before(steps(high)):
            return high
        if lost > 0 or not self.idles:
            return float(root_scalar(steps, bracket=(low, high), rtol=1e-14).root)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            low, high = (middle, high) if before(steps(middle)) else (low, middle)
        return (low + high) / 2
