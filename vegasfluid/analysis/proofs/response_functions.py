"""Windows at rest as powers of the drop probability and the round-trip time.

A law's drift is zero where W = K p^-a R^b, in each of its regions; where regions meet, the larger
or the smaller of two such windows counts. So every rate W/R falls as p and R rise, if only a is
not below 0 and b is below 1.

    Reno            W = sqrt(2 / (phi p))
    CUBIC, cubic    W = (C h u^3 / c)^(1/4) (R / p)^(3/4), u the root of
                    h u^3 = 3 (1 - u)^2 + 3 v, in which c = 1 - beta, h = 1 / (1 - g / 2), g the
                    part by which it gives way, v the part of the variance that counts
    CUBIC, friendly W = sqrt(rise / (c p)), if that is larger
    CUBIC, steepest W = 1 / (2 c p), if that is smaller

u is K over the mean time since a loss; the equation has one root, as the left side less the right
has the slope 3 h u^2 - 6 u + 6 > 0 for h >= 1.

Sources:
    Derived for this project from `congestion/reno.py` and `congestion/cubic.py`, and held against
    their drifts in the tests. Decimals in those files are taken as they are written.
"""

from __future__ import annotations

from typing import NamedTuple

from flint import arb, fmpq

from vegasfluid.analysis.proofs.intervals import Number, enclosed_root, larger, lesser
from vegasfluid.analysis.proofs.problem import Competitor, CubicCompetitor
from vegasfluid.congestion.cubic import GIVING_WAY, KEEPING, STEEPEST

__all__ = ["Branch", "WindowAtRest", "loss_factor", "window_at_rest"]

LARGEST_ROOT = 4
"""u is below: there the left side is at least 64, the right 27 and three parts of a variance."""


class Branch(NamedTuple):
    """W = factor p^-loss_power R^rtt_power, packets.

    Args:
        factor: K.
        loss_power: a, at least 0.
        rtt_power: b, below 1.
    """

    factor: arb
    loss_power: fmpq
    rtt_power: fmpq

    def __call__(self, prob: Number, rtt: Number) -> Number:
        """The window, packets."""
        grown = self.factor if self.rtt_power == 0 else self.factor * rtt ** arb(self.rtt_power)
        return grown * prob ** arb(-self.loss_power)


class WindowAtRest(NamedTuple):
    """The largest of some branches, but at most another.

    Args:
        of: branches of which the largest counts.
        at_most: a branch that limits them, or None.
    """

    of: tuple[Branch, ...]
    at_most: Branch | None = None

    def __call__(self, prob: Number, rtt: Number) -> Number:
        """The window, packets.

        Args:
            prob: of a packet to be dropped or marked.
            rtt: s.
        """
        window = self.of[0](prob, rtt)
        for branch in self.of[1:]:
            window = larger(window, branch(prob, rtt))
        return window if self.at_most is None else lesser(window, self.at_most(prob, rtt))

    @property
    def branches(self) -> tuple[Branch, ...]:
        """All of them."""
        return self.of if self.at_most is None else (*self.of, self.at_most)


def written(decimal: float) -> arb:
    """A constant of the program's text, as it is written there."""
    return arb(repr(decimal))


def loss_factor(process: str, cut: fmpq) -> fmpq:
    """The phi of additive increase with a cut: the law's `aimd_loss_factor`, exactly.

    >>> loss_factor("iid", fmpq(1, 2))
    7/6
    """
    if process == "meanfield":
        return fmpq(1)
    periodic = 2 / (2 - cut)
    return periodic if process == "periodic" else periodic * (1 - cut / 4)


def window_at_rest(group: Competitor, process: str) -> WindowAtRest:
    """The window of a competitor at rest, at the present precision.

    Args:
        group: the class.
        process: how losses come.
    """
    if isinstance(group, CubicCompetitor):
        return cubic_window(group, process)
    factor = (2 / arb(loss_factor(process, fmpq(1, 2)))).sqrt()
    return WindowAtRest((Branch(factor, fmpq(1, 2), fmpq(0)),))


def cubic_window(group: CubicCompetitor, process: str) -> WindowAtRest:
    """The regions of CUBIC."""
    cut = 1 - arb(group.beta)
    part, rise = spread(group, process)
    falls = group.fast_convergence and process != "periodic"
    gives_way = written(0.70) - written(0.24) * cut if falls else arb(0)
    height = 1 / (1 - gives_way / 2)
    age = plateau_age(height, part)
    factor = (arb(group.C) * height * age**3 / cut) ** (arb(1) / 4)
    regions = (Branch(factor, fmpq(3, 4), fmpq(3, 4)),)
    if group.friendly:
        regions += (Branch((rise / cut).sqrt(), fmpq(1, 2), fmpq(0)),)
    steepest = Branch((written(STEEPEST) - 1) / cut, fmpq(1), fmpq(0))
    return WindowAtRest(regions, steepest)


def spread(group: CubicCompetitor, process: str) -> tuple[arb, arb]:
    """The law's `Cubic.spread` in balls: the part of the variance, and packets a round trip."""
    beta = arb(group.beta)
    cut = 1 - beta
    if process == "meanfield":
        return arb(1) / 3, 3 * cut / (1 + beta)
    if process == "periodic":
        plateau = (3 + beta) / 4
        return plateau / 3 - (1 - plateau ** (arb(1) / 3)) ** 2, 3 * cut / 2
    fitted = GIVING_WAY if group.fast_convergence else KEEPING
    flat, slope, bend = (written(number) for number in fitted)
    return flat + slope * cut + bend * cut**2, written(0.19) + written(1.34) * cut


def plateau_age(height: arb, part: arb) -> arb:
    """u: the time to the plateau in units of the mean time since a loss, by bisection."""
    return enclosed_root(
        lambda u: 3 * (1 - u) ** 2 + 3 * part - height * u**3, arb(0), arb(LARGEST_ROOT)
    )
