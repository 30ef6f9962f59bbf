"""Response functions: equilibrium windows as functions of drop probability p and RTT R.

The drift of a loss-based congestion control is zero where W = K p^-a R^b, with constants that
differ from region to region; where regions meet, the larger or the smaller of two such windows
counts. Every rate W/R falls as p and R rise, provided that a >= 0 and b < 1.

    Reno            W = sqrt(2 / (phi p))
    CUBIC, cubic    W = (C h u^3 / c)^(1/4) (R / p)^(3/4), with u the root of
                    h u^3 = 3 (1 - u)^2 + 3 v, where c = 1 - beta, h = 1 / (1 - g / 2), g the
                    fraction given up by fast convergence, v the fraction of the variance that
                    counts
    CUBIC, friendly W = sqrt(s / (c p)) with s packets of growth per RTT, if that is larger
    CUBIC, steepest W = 1 / (2 c p), if that is smaller

u is CUBIC's K over the mean time since a loss. The equation has one root, because the left side
minus the right has the slope 3 h u^2 - 6 u + 6 > 0 for h >= 1.

Sources:
    Derived for this project from `congestion/reno.py` and `congestion/cubic/`, and compared with
    their drifts in the tests. Decimals in those files are taken as they are written.
"""

from __future__ import annotations

from typing import NamedTuple

from flint import arb, fmpq

from vegasfluid.analysis.proofs.intervals import Interval, enclose_root, maximum, minimum
from vegasfluid.analysis.proofs.problem import CubicFlows, LossBasedFlows
from vegasfluid.congestion.cubic import STEEPEST, VARIANCE_FAST_CONVERGENCE, VARIANCE_PLAIN
from vegasfluid.congestion.cubic.ns2 import FRIENDLY_EIGHTHS

__all__ = ["PowerLaw", "ResponseFunction", "loss_factor", "response_function"]

LARGEST_ROOT = 4
"""Upper bound of the root u of `plateau_age`: at 4 the left side of the equation is at least 64,
the right side 27 + 3 v."""


class PowerLaw(NamedTuple):
    """The window W = K p^-a R^b of one region, packets.

    Args:
        factor: K.
        loss_power: a, at least 0.
        rtt_power: b, below 1.
    """

    factor: arb
    loss_power: fmpq
    rtt_power: fmpq

    def __call__(self, prob: Interval, rtt: Interval) -> Interval:
        """The window K p^-a R^b, packets.

        Args:
            prob: drop probability p.
            rtt: round-trip time R, s.
        """
        scaled = self.factor if self.rtt_power == 0 else self.factor * rtt ** arb(self.rtt_power)
        return scaled * prob ** arb(-self.loss_power)


class ResponseFunction(NamedTuple):
    """The equilibrium window of a loss-based flow: the largest of some power laws, with a limit.

    Args:
        regions: power laws, of which the one with the largest window counts.
        at_most: a power law that limits the window; None: no limit.
    """

    regions: tuple[PowerLaw, ...]
    at_most: PowerLaw | None = None

    def __call__(self, prob: Interval, rtt: Interval) -> Interval:
        """The equilibrium window, packets.

        Args:
            prob: probability that a packet is dropped or marked.
            rtt: round-trip time, s.
        """
        window = self.regions[0](prob, rtt)
        for region in self.regions[1:]:
            window = maximum(window, region(prob, rtt))
        return window if self.at_most is None else minimum(window, self.at_most(prob, rtt))

    @property
    def branches(self) -> tuple[PowerLaw, ...]:
        """All power laws whose values the window can have: those of the regions, and the limit."""
        return self.regions if self.at_most is None else (*self.regions, self.at_most)


def exact_decimal(constant: float) -> arb:
    """An enclosure of a constant's decimal as it is written, not of its nearest double."""
    return arb(repr(constant))


def loss_factor(process: str, cut: fmpq) -> fmpq:
    """The factor phi on the loss rate of additive increase that corrects for the loss process.

    It is an exact fraction: 1 for meanfield, 2 / (2 - cut) for periodic, and for iid this times
    1 - cut / 4.

    Args:
        process: how losses arrive: meanfield, periodic or iid.
        cut: fraction of the window that a loss takes.

    >>> loss_factor("iid", fmpq(1, 2))
    7/6
    """
    if process == "meanfield":
        return fmpq(1)
    periodic = 2 / (2 - cut)
    return periodic if process == "periodic" else periodic * (1 - cut / 4)


def response_function(group: LossBasedFlows, process: str) -> ResponseFunction:
    """A loss-based flow's equilibrium window (packets) as a function of drop probability and RTT.

    Its constants are enclosed at the current precision.

    Args:
        group: the flows.
        process: how losses arrive: meanfield, periodic or iid.
    """
    if isinstance(group, CubicFlows):
        return cubic_response(group, process)
    factor = (2 / arb(loss_factor(process, fmpq(1, 2)))).sqrt()
    return ResponseFunction((PowerLaw(factor, fmpq(1, 2), fmpq(0)),))


def cubic_response(group: CubicFlows, process: str) -> ResponseFunction:
    """CUBIC's equilibrium window (packets) as a function of drop probability and round-trip time.

    It is the larger of the cubic and the Reno-friendly window, limited by the steepest growth.

    Args:
        group: the flows.
        process: how losses arrive: meanfield, periodic or iid.
    """
    cut = 1 - arb(group.beta)
    variance_fraction, reno_growth = loss_statistics(group, process)
    converges = group.fast_convergence and process != "periodic"
    given_up = exact_decimal(0.70) - exact_decimal(0.24) * cut if converges else arb(0)
    height = 1 / (1 - given_up / 2)
    age = plateau_age(height, variance_fraction)
    factor = (arb(group.C) * height * age**3 / cut) ** (arb(1) / 4)
    regions = (PowerLaw(factor, fmpq(3, 4), fmpq(3, 4)),)
    if group.friendly:
        regions += (PowerLaw((reno_growth / cut).sqrt(), fmpq(1, 2), fmpq(0)),)
    steepest = PowerLaw((exact_decimal(STEEPEST) - 1) / cut, fmpq(1), fmpq(0))
    return ResponseFunction(regions, steepest)


def loss_statistics(group: CubicFlows, process: str) -> tuple[arb, arb]:
    """Two constants of CUBIC's equilibrium: `Cubic.closure` in interval arithmetic.

    Args:
        group: the flows.
        process: how losses arrive: meanfield, periodic or iid.

    Returns:
        The fraction of the variance of the times since the last loss that counts in the mean slope
        of the cubic, and the Reno-friendly growth, packets per round trip.
    """
    beta = arb(group.beta)
    cut = 1 - beta
    increase = 3 * cut / (1 + beta)
    if group.implementation == "ns2":
        increase = arb(8) / FRIENDLY_EIGHTHS
    if process == "meanfield":
        return arb(1) / 3, increase
    additive = increase * (2 - cut) / 2
    if process == "periodic":
        plateau = (3 + beta) / 4
        return plateau / 3 - (1 - plateau ** (arb(1) / 3)) ** 2, additive
    coefficients = VARIANCE_FAST_CONVERGENCE if group.fast_convergence else VARIANCE_PLAIN
    flat, slope, bend = (exact_decimal(number) for number in coefficients)
    growth = exact_decimal(0.19) + exact_decimal(1.34) * cut
    if group.implementation != "rfc9438":
        growth = additive / (1 - cut / 4)
    return flat + slope * cut + bend * cut**2, growth


def plateau_age(height: arb, variance_fraction: arb) -> arb:
    """CUBIC's K over the mean time since a loss: the root u of h u^3 = 3 (1 - u)^2 + 3 v.

    Args:
        height: h, at least 1; exactly 1 without fast convergence.
        variance_fraction: v, the fraction of the variance of these times that counts.
    """
    return enclose_root(
        lambda u: 3 * (1 - u) ** 2 + 3 * variance_fraction - height * u**3,
        arb(0),
        arb(LARGEST_ROOT),
    )
