"""The equilibrium rate of a flow as a function of loss probability and round-trip time.

Rates fall, or stay, where losses or round-trip times rise. For loss-based flows the window is
K p^-a R^b with a > 0 and b < 1 in each region (`response_functions`), so W / R falls. The
equilibrium window of a Vegas flow solves

    h(W) = grow - shrink - phi b p W^2 = 0

(with fewer than three packets Linux grows as Reno does). The backlog rises with W and R, so h falls
with W, p and R; with x = W / R fixed, h falls with R, too. So both W and x fall. Where nothing is
lost, h may be 0 between alpha and beta: then the largest and the smallest root are taken. Windows
are between two packets and `max_window`; an access link limits the rate to its own, because beyond
it the round-trip time grows with the window.

Sources:
    Derived for this project from `congestion/vegas/fluid.py` and `fluid/vector_field.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from flint import arb, arb_series, fmpq
from scipy.optimize import root_scalar

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
from vegasfluid.analysis.proofs.problem import FlowGroup, LossBasedFlows, VegasFlows
from vegasfluid.analysis.proofs.response_functions import loss_factor, response_function
from vegasfluid.congestion.loss_recovery import SMALLEST_SSTHRESH
from vegasfluid.congestion.vegas import DIALECTS

__all__ = ["LossBasedSender", "RateSlopes", "Route", "Sender", "VegasBalance", "VegasSender"]

SMALLEST_LOSS = arb("1e-60")
"""Loss probabilities below this are replaced by it, so that their negative powers are finite."""
ROOT_MARGINS = (1e-13, 1e-11, 1e-8, 1e-4)
"""Relative distances from an approximate root at which a sign is proven, tried in this order."""
ROOT_RTOL = 1e-14
"""Relative tolerance of the approximate root of h."""
BISECTIONS = 60
"""Bisection steps to the end of a range of windows where h is 0: more than the bits of a double."""


class Route(NamedTuple):
    """How the flows of a sender go through the network.

    Args:
        path: indices of the links that they cross, in order.
        ecn: whether their packets may be marked.
    """

    path: tuple[int, ...] = (0,)
    ecn: bool = False


class RateSlopes(NamedTuple):
    """A flow's rate and its partial derivatives, enclosed for a box of losses and round-trip times.

    Args:
        rate: packets/s.
        by_lost: derivative by the loss probability, packets/s.
        by_rtt: derivative by the round-trip time, packets/s^2.
    """

    rate: arb
    by_lost: arb
    by_rtt: arb

    def along(self, lost: Interval, rtt: Interval) -> arb_series:
        """A flow's rate (packets/s) as a series whose slope follows by the chain rule.

        Args:
            lost: loss probability, with or without a slope.
            rtt: round-trip time (s), with or without a slope.
        """
        return with_slope(self.rate, self.by_lost * slope_of(lost) + self.by_rtt * slope_of(rtt))


class Sender(ABC):
    """One flow of a group in equilibrium.

    Args:
        group: the flows.
        route: their path through the network.
    """

    def __init__(self, group: FlowGroup, route: Route) -> None:
        self.group, self.route = group, route
        self.base_rtt = arb(group.base_rtt)

    @abstractmethod
    def rate(self, lost: arb, rtt: arb) -> arb:
        """The equilibrium rate of one flow, packets/s.

        Args:
            lost: probability that a packet is lost or marked.
            rtt: round-trip time, s.
        """

    @abstractmethod
    def slopes(self, lost: arb, rtt: arb) -> RateSlopes:
        """A flow's equilibrium rate, packets/s, with its derivatives by loss probability and RTT.

        Args:
            lost: interval of probabilities that a packet is lost or marked.
            rtt: interval of round-trip times, s.
        """

    def highest_rate(self, lost: arb, rtt: arb) -> arb:
        """An upper bound of a flow's equilibrium rate, packets/s: that at the lowest loss
        probability and the lowest round-trip time (s) of two intervals.
        """
        return self.rate(maximum(lost.lower(), ZERO), rtt.lower()).upper()

    def lowest_rate(self, lost: arb, rtt: arb) -> arb:
        """A lower bound of a flow's equilibrium rate, packets/s: that at the highest loss
        probability and the highest round-trip time (s) of two intervals.
        """
        return self.rate(lost.upper(), rtt.upper()).lower()

    def limited(self, window: Interval, rtt: Interval) -> Interval:
        """The rate window / rtt, packets/s, at most that of the access link.

        Args:
            window: packets; clipped to between two packets and `max_window`.
            rtt: round-trip time, s.
        """
        window = minimum(maximum(window, arb(SMALLEST_SSTHRESH)), arb(self.group.max_window))
        access = self.group.access
        return window / rtt if access is None else minimum(window / rtt, arb(access))


class LossBasedSender(Sender):
    """A flow whose window depends on losses and the round-trip time only, not on delay signals.

    Args:
        group: the flows.
        route: their path through the network.
        loss_process: how losses arrive: meanfield, periodic or iid.
    """

    def __init__(self, group: LossBasedFlows, route: Route, loss_process: str) -> None:
        super().__init__(group, route)
        self.window = response_function(group, loss_process)

    def rate(self, lost: arb, rtt: arb) -> arb:
        """A flow's equilibrium rate, packets/s, for a loss probability and round-trip time (s)."""
        return value_of(self.limited_rate(lost, rtt))

    def slopes(self, lost: arb, rtt: arb) -> RateSlopes:
        """A flow's rate in equilibrium, packets/s, and derivatives by loss probability and RTT."""
        by_lost = slope_of(self.limited_rate(variable(lost), rtt))
        by_rtt = slope_of(self.limited_rate(lost, variable(rtt)))
        return RateSlopes(self.rate(lost, rtt), by_lost, by_rtt)

    def limited_rate(self, lost: Interval, rtt: Interval) -> Interval:
        """A flow's equilibrium rate within the limits of windows and access link, packets/s, for a
        loss probability and a round-trip time (s); with a slope if one of them has a slope.
        """
        return self.limited(self.window(maximum(lost, SMALLEST_LOSS), rtt), rtt)


class VegasBalance:
    """The terms of Vegas' equilibrium equation: backlog, its spread over flows, and losses.

    Args:
        group: the flows.
        loss_process: how losses arrive: meanfield, periodic or iid.
    """

    def __init__(self, group: VegasFlows, loss_process: str) -> None:
        self.implementation = DIALECTS[group.dialect]
        self.base_rtt, self.softness = arb(group.base_rtt), arb(group.softness)
        cut = fmpq(*self.implementation.loss_cut.as_integer_ratio())
        self.cut = arb(cut)
        self.loss_weight = arb(cut * loss_factor(loss_process, cut))

    def backlog(self, window: Interval, rtt: Interval) -> Interval:
        """The backlog that a flow estimates, packets: window (packets) times (rtt - base RTT) /
        rtt, or over the base RTT with Linux; times in s.
        """
        divisor = self.base_rtt if self.implementation.divides_by_base_rtt else rtt
        return window * (rtt - self.base_rtt) / divisor

    def width(self, backlog: Interval) -> Interval:
        """The range over which flows' backlogs are spread after losses, packets: half of the mean
        backlog (packets) times the fraction that a loss takes of the window, at least `softness`.
        """
        return maximum(self.cut * backlog / 2, self.softness)

    def loss_per_rtt(self, window: Interval, lost: Interval) -> Interval:
        """Packets that losses take from a window W per round trip: phi b p W^2.

        A loss takes the fraction b of a window; phi corrects for the loss process (`loss_factor`).
        In equilibrium this is the fraction of flows whose windows grow back after a loss.

        Args:
            window: W, packets.
            lost: probability p that a packet is lost or marked.
        """
        return self.loss_weight * lost * window * window

    def growth_threshold(self, backlog: Interval, growth: Interval) -> Interval:
        """The backlog (packets) below which windows grow, if their mean growth is as given.

        It is alpha plus the dialect's offset.

        Args:
            backlog: mean backlog of the flows, packets.
            growth: mean growth of their windows, packets per round trip; below 1, else the result
                is not finite.
        """
        return backlog - self.width(backlog) * (1 - growth).log()


class VegasSender(Sender):
    """A Vegas flow with given alpha and beta.

    Args:
        group: the flows.
        route: their path through the network.
        loss_process: how losses arrive: meanfield, periodic or iid.
        thresholds: backlogs below which the window grows and above which it shrinks, packets.
    """

    def __init__(
        self, group: VegasFlows, route: Route, loss_process: str, thresholds: tuple[float, float]
    ) -> None:
        super().__init__(group, route)
        self.balance = VegasBalance(group, loss_process)
        self.min_samples = self.balance.implementation.min_samples
        self.grows_below, self.shrinks_above = (arb(backlog) for backlog in thresholds)

    @property
    def has_dead_band(self) -> bool:
        """Whether some backlogs make the window neither grow nor shrink (beta is above alpha)."""
        return bool(self.shrinks_above > self.grows_below)

    def net_growth(self, window: Interval, lost: Interval, rtt: Interval) -> Interval:
        """Growth of the mean window minus what losses take, packets per round trip.

        It is 0 in equilibrium.

        Args:
            window: mean window of a flow, packets.
            lost: probability that a packet is lost or marked.
            rtt: round-trip time, s.
        """
        backlog, shrink = self.backlog_and_shrink(window, rtt)
        below = maximum(self.grows_below - backlog, ZERO)
        growth = 1 - (-below / self.balance.width(backlog)).exp() - shrink
        if self.min_samples:
            as_reno = smooth_step(self.min_samples - window, ONE)
            growth = as_reno + (1 - as_reno) * growth
        return growth - self.balance.loss_per_rtt(window, lost)

    def threshold_residual(self, window: Interval, lost: Interval, rtt: Interval) -> Interval:
        """The growth threshold with which a window is in equilibrium minus the flow's own, packets.

        Zero in equilibrium, as is `net_growth`, which has a kink where the backlog is alpha; this
        function has none. The window is in packets, the round-trip time in s.
        """
        backlog, shrink = self.backlog_and_shrink(window, rtt)
        growth = self.balance.loss_per_rtt(window, lost) + shrink
        return self.balance.growth_threshold(backlog, growth) - self.grows_below

    def backlog_and_shrink(self, window: Interval, rtt: Interval) -> tuple[Interval, Interval]:
        """The estimated backlog (packets) at a window (packets) and RTT (s), and the mean shrinkage
        of windows for it, 0 to 1 packet per round trip.
        """
        backlog = self.balance.backlog(window, rtt)
        return backlog, smooth_step(backlog - self.shrinks_above, self.balance.softness)

    def window(self, lost: arb, rtt: arb) -> arb:
        """An interval that contains all equilibrium windows, packets, for intervals of loss
        probability and of round-trip time (s).
        """
        low = self.smallest_window(lost.upper(), rtt.upper())
        return low.union(self.largest_window(lost.lower(), rtt.lower()))

    def rate(self, lost: arb, rtt: arb) -> arb:
        """An enclosure of a flow's equilibrium rates, packets/s, for intervals of loss probability
        and of round-trip time (s).
        """
        return value_of(self.limited(self.window(lost, rtt), rtt))

    def slopes(self, lost: arb, rtt: arb) -> RateSlopes:
        """A flow's rate in equilibrium, packets/s, and derivatives by loss probability and RTT."""
        window = self.window(lost, rtt)
        by_lost, by_rtt = self.window_slopes(window, lost, rtt)
        rates = (
            self.limited(with_slope(window, by_lost), rtt),
            self.limited(with_slope(window, by_rtt), variable(rtt)),
        )
        return RateSlopes(value_of(rates[0]), slope_of(rates[0]), slope_of(rates[1]))

    def window_slopes(self, window: arb, lost: arb, rtt: arb) -> list[arb]:
        """Derivatives of the equilibrium window by loss probability (packets) and RTT (packets/s).

        `threshold_residual` is smooth where the backlog is alpha, near which most windows are in
        equilibrium. It cannot be used in the dead band, where nothing is lost.

        Args:
            window: enclosure of the equilibrium windows, packets.
            lost: interval of probabilities that a packet is lost or marked.
            rtt: interval of round-trip times, s.
        """
        smooth = (lost > 0 or not self.has_dead_band) and window > self.min_samples
        for residual in (
            (self.threshold_residual, self.net_growth) if smooth else (self.net_growth,)
        ):
            by_window = slope_of(residual(variable(window), lost, rtt))
            changes = residual(window, variable(lost), rtt), residual(window, lost, variable(rtt))
            slopes = [-slope_of(change) / by_window for change in changes]
            if all(slope.is_finite() for slope in slopes):
                break
        return slopes

    def highest_rate(self, lost: arb, rtt: arb) -> arb:
        """An upper bound of a flow's equilibrium rate, packets/s: that at the lowest loss
        probability and the lowest round-trip time (s) of two intervals.
        """
        lost, rtt = maximum(lost.lower(), ZERO), rtt.lower()
        return value_of(self.limited(self.largest_window(lost, rtt), rtt)).upper()

    def lowest_rate(self, lost: arb, rtt: arb) -> arb:
        """A lower bound of a flow's equilibrium rate, packets/s: that at the highest loss
        probability and the highest round-trip time (s) of two intervals.
        """
        lost, rtt = lost.upper(), rtt.upper()
        return value_of(self.limited(self.smallest_window(lost, rtt), rtt)).lower()

    def largest_window(self, lost: arb, rtt: arb) -> arb:
        """A proven upper bound of all equilibrium windows, packets, for a loss probability and a
        round-trip time (s); `max_window` where none is proven.
        """
        lost = maximum(lost, ZERO)
        root = self.approximate_root(lost, rtt, lambda growth: growth >= 0)
        for margin in ROOT_MARGINS:
            window = arb(root * (1 + margin))
            if self.net_growth(window, lost, rtt) < 0:
                return window
        return arb(self.group.max_window)

    def smallest_window(self, lost: arb, rtt: arb) -> arb:
        """A proven lower bound of all equilibrium windows, packets, for a loss probability and a
        round-trip time (s); 2, the smallest window, where none is proven.
        """
        root = self.approximate_root(lost, rtt, lambda growth: growth > 0)
        for margin in ROOT_MARGINS:
            window = arb(root * (1 - margin))
            if self.net_growth(window, lost, rtt) > 0:
                return window
        return arb(SMALLEST_SSTHRESH)

    def approximate_root(self, lost: arb, rtt: arb, below: Callable[[float], bool]) -> float:
        """Window, packets, up to which net growth satisfies a condition; in floating point.

        Args:
            lost: probability that a packet is lost or marked.
            rtt: round-trip time, s.
            below: the condition on net growth that holds for windows below the root.

        Returns:
            The root; 2 if the condition fails for a window of 2, `max_window` if it holds for that.
        """

        def growth(window: float) -> float:
            return float(self.net_growth(arb(window), lost, rtt))

        low, high = SMALLEST_SSTHRESH, float(self.group.max_window)
        if not below(growth(low)):
            return low
        if below(growth(high)):
            return high
        if lost > 0 or not self.has_dead_band:
            return float(root_scalar(growth, bracket=(low, high), rtol=ROOT_RTOL).root)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            low, high = (middle, high) if below(growth(middle)) else (low, middle)
        return (low + high) / 2
