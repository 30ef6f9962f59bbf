"""Vegas at rest: where its backlog holds it, and what alpha it takes where packets are lost.

Without losses a growing window comes to rest where the backlog is alpha (anything up to beta is
rest too). With losses it rests below that, where the flows that climb back make up for those that
were hit: alpha is then an explicit function of the window, and the window of alpha is not. Beta
drops out. `alpha` is here the place of rest; a dialect's parameter is that less its `rise`.

With f = phi b p W^2, the share of the flows that climb, and d = W (R - T) / R the backlog:

    alpha = d - (b d / 2) ln(1 - f)        f < 1

so that f = 1, W = 1 / sqrt(phi b p), is a window that no alpha reaches: Vegas saturated, additive
increase at all times. A sharp edge (no width) gives the law of the minimum of the two.

Sources:
    S. Low, L. Peterson and L. Wang, SIGMETRICS 2001 (rest without losses; abstract read). C. Samios
    and M. Vernon, SIGMETRICS 2003, have throughput with losses (abstract read; not compared). All
    derived here from the drift.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import sympy as sp

from vegasfluid.analysis.closed_forms.branches import at_rest, drift_at_rest, exact
from vegasfluid.analysis.closed_forms.formula import Expression, Formula, quantities, symbol
from vegasfluid.congestion.vegas import Vegas, VegasWindow
from vegasfluid.congestion.vegas.implementation import VegasImplementation
from vegasfluid.errors import InvalidInput

__all__ = [
    "ANY",
    "VEGAS",
    "law_of_the_minimum",
    "named",
    "rise_of",
    "vegas_alpha",
    "vegas_alpha_at_saturation",
    "vegas_alpha_of_share",
    "vegas_lossless_rate",
    "vegas_lossless_window",
    "vegas_saturated_window",
    "vegas_small_alpha",
]

VEGAS = quantities(
    ("softness", "epsilon", "packets", "width of backlog over which the fluid is blurred"),
    ("share", "s", "", "window over the saturated window"),
)
"""What only Vegas has."""

W, R, T, p = (symbol(name) for name in ("cwnd", "rtt", "base_rtt", "drop_prob"))
ALPHA, CUT, PHI = (symbol(name) for name in ("alpha", "cut", "loss_factor"))
SOFTNESS, SHARE = (of.symbol for of in VEGAS.values())
STATE = VegasWindow(W, sp.Integer(0), T, sp.Integer(0))
HOLDS = "W at least 3, alpha + rise at most beta + fall"
DERIVED = "derived here from the drift"

CLIMBING = {W: 300, R: 0.11, T: 0.1, p: 1e-6, ALPHA: 33, SOFTNESS: 0.25, CUT: 0.25, PHI: 1}
"""A point where some flows climb: a backlog of some 30 packets, below alpha in every dialect."""
SMALL = {**CLIMBING, W: 30, R: 0.101, ALPHA: 1}
"""A point with a backlog so small that the softness is the width."""


@dataclass(frozen=True)
class AnyVegas(Vegas):
    """A Vegas with symbols for what its dialect says in numbers."""

    @property
    def implementation(self) -> VegasImplementation:
        """The dialect, with b for its cut, and at rest at alpha and at beta."""
        return replace(super().implementation, loss_cut=CUT, alpha_offset=0, beta_offset=0)


ANY = AnyVegas()
"""Stands for every dialect: b, phi and the place of rest are symbols."""


def climbing_drift(law: Vegas, there: dict[sp.Symbol, float] = CLIMBING) -> Expression:
    """The window's drift where it climbs, with alpha for the law's alpha and phi p lost."""
    beta = sp.Dummy(positive=True)
    asked = replace(law, alpha=ALPHA, beta=beta, softness=SOFTNESS)
    seen = at_rest()._replace(loss_rate=PHI * p * W / R)
    return drift_at_rest(asked, STATE, seen, {**there, beta: 100})["cwnd"].expression


def solved(drift: Expression, unknown: sp.Symbol) -> Expression:
    """The one value for which a drift is zero."""
    (rest,) = sp.solve(drift, unknown)
    return rest


def alpha_of(drift: Expression) -> Expression:
    """The alpha for which a drift is zero: it stands in the exponent of the one exponential."""
    (power,), left = drift.atoms(sp.exp), sp.Dummy(positive=True)
    resting = solved(drift.subs(power, left), left)
    return solved(power.args[0] - sp.log(sp.expand(resting)), ALPHA)


@cache
def resting_alpha(kind: type[Vegas], dialect: str) -> Expression:
    """The alpha with which a window is at rest, of the window and of phi p."""
    return alpha_of(climbing_drift(kind(dialect=dialect)))


@cache
def resting_window(kind: type[Vegas], dialect: str) -> Expression:
    """The window that has come to rest without losses, of alpha."""
    return sp.factor(solved(resting_alpha(kind, dialect).subs(p, 0) - ALPHA, W))


def named(formula: str, law: Vegas) -> str:
    """The name of a formula, with the dialect of the law whose parameter it is in."""
    return formula if isinstance(law, AnyVegas) else f"{formula}_{law.dialect}"


def rise_of(law: Vegas) -> Expression:
    """Where a dialect rests above alpha, packets."""
    return exact(law.implementation.alpha_offset)


def require_no_threshold(law: Vegas) -> None:
    """Refuse a dialect whose losses leave what they left before."""
    if law.implementation.keeps_ssthresh:
        kept = "of a dialect without a threshold that losses keep"
        raise InvalidInput("vegas_alpha", "law", kept, law.dialect)


def vegas_lossless_window(law: Vegas = ANY) -> Formula:
    """The window at which a growing Vegas comes to rest where nothing is lost.

    Args:
        law: whose dialect counts; alpha is its parameter. Without one, alpha is the place of rest.

    >>> vegas_lossless_window().text()
    'W = R*alpha/(R - T)'
    >>> vegas_lossless_window(Vegas(dialect="linux")).text()
    'W = T*(2*alpha + 1)/(2*(R - T))'
    """
    return Formula(
        named("vegas_lossless_window", law),
        "window of Vegas without losses",
        "cwnd",
        resting_window(type(law), law.dialect),
        "no losses; windows up to that of beta are at rest too",
        f"Low, Peterson and Wang 2001 (abstract read); {DERIVED}",
    )


def vegas_lossless_rate(law: Vegas = ANY) -> Formula:
    """The rate of such a window, over a queue.

    Args:
        law: whose dialect counts.

    >>> vegas_lossless_rate().text()
    'x = C*alpha/q'
    """
    window = vegas_lossless_window(law).expression
    capacity, queue = symbol("capacity"), symbol("queue")
    return Formula(
        named("vegas_lossless_rate", law),
        "rate of Vegas without losses",
        "rate",
        sp.factor((window / R).subs(R, T + queue / capacity)),
        "no losses, one queue",
        f"Low, Peterson and Wang 2001 (abstract read); {DERIVED}",
    )


def vegas_alpha(law: Vegas = ANY, loss_process: str = "meanfield") -> Formula:
    """The alpha with which a window is at rest in spite of losses.

    Args:
        law: whose dialect counts; it gives that law's parameter. Without one, b and phi are
            symbols, and it gives the place of rest.
        loss_process: a name in `LOSS_PROCESSES`, where a law is given.

    Raises:
        InvalidInput: for a dialect whose losses leave what they left before (ns-3).

    >>> vegas_alpha().text()
    'alpha = -W*(R - T)*(b*log(-W**2*b*p*phi + 1) - 2)/(2*R)'
    """
    require_no_threshold(law)
    rest, rise = resting_alpha(type(law), law.dialect), rise_of(law)
    if not isinstance(law, AnyVegas):
        rest = rest.subs(PHI, exact(law.loss_factor(loss_process, STATE)))
    return Formula(
        named("vegas_alpha", law),
        "alpha of Vegas where packets are lost",
        "alpha",
        sp.factor(rest + rise) - rise,
        f"phi b p W^2 below 1, b d / 2 above the law's softness, {HOLDS}",
        DERIVED,
    )


@cache
def vegas_small_alpha() -> Formula:
    """The same where the backlog is so small that the law's softness blurs more than losses.

    >>> vegas_small_alpha().text()
    'alpha = W - epsilon*log(-W**2*b*p*phi + 1) - T*W/R'
    """
    return Formula(
        "vegas_small_alpha",
        "alpha of Vegas where packets are lost, small backlog",
        "alpha",
        sp.expand(alpha_of(climbing_drift(ANY, SMALL))),
        f"phi b p W^2 below 1, b d / 2 below the law's softness, {HOLDS}",
        DERIVED,
        tuple(VEGAS.items()),
    )


@cache
def vegas_saturated_window() -> Formula:
    """The window that Vegas nears as alpha grows: additive increase at all times.

    >>> vegas_saturated_window().text()
    'W = 1/(sqrt(b)*sqrt(p)*sqrt(phi))'
    """
    delay = sp.Symbol("delta", positive=True)
    endless = sp.limit(climbing_drift(ANY).subs(R, T + delay), ALPHA, sp.oo)
    return Formula(
        "vegas_saturated_window",
        "window of Vegas saturated",
        "cwnd",
        solved(endless, W),
        "the limit of a large alpha",
        DERIVED,
    )


@cache
def law_of_the_minimum() -> Formula:
    """Vegas's window where flows that climb are no further from alpha than others: a sharp edge.

    >>> law_of_the_minimum().text()
    'W = Min(R*alpha/(R - T), 1/(sqrt(b)*sqrt(p)*sqrt(phi)))'
    """
    sharp = sp.limit(vegas_small_alpha().expression, SOFTNESS, 0)
    return Formula(
        "law_of_the_minimum",
        "window of Vegas where packets are lost, sharp edge",
        "cwnd",
        sp.Min(sp.factor(solved(sharp - ALPHA, W)), vegas_saturated_window().expression),
        "the limit of no width, which our drift does not take: its windows are below",
        f"{DERIVED}, with both widths let go to 0",
    )


@cache
def vegas_alpha_at_saturation() -> Formula:
    """The alpha at which the law of the minimum saturates.

    In our drift no alpha saturates: with this one the window is the share s of the saturated one
    that solves s (1 - (b / 2) ln(1 - s^2)) = 1, which is 0.80 for b = 1/2 and 0.86 for b = 1/4.

    >>> vegas_alpha_at_saturation().text()
    'alpha = (R - T)/(R*sqrt(b)*sqrt(p)*sqrt(phi))'
    """
    line, flat = law_of_the_minimum().expression.args
    (edge,) = sp.solve(line - flat, ALPHA)
    return Formula(
        "vegas_alpha_at_saturation",
        "alpha at which the law of the minimum saturates",
        "alpha",
        sp.factor(edge),
        "sharp edge; in our drift it is the backlog of the saturated window",
        f"{DERIVED}, with both widths let go to 0",
    )


@cache
def vegas_alpha_of_share() -> Formula:
    """The alpha with which the window is a share of the saturated one.

    >>> formula = vegas_alpha_of_share()
    >>> f"{formula(share=0.99, rtt=0.2, base_rtt=0.1, drop_prob=1e-3, cut=0.5, loss_factor=1):.1f}"
    '43.8'
    """
    full = vegas_saturated_window().expression
    return Formula(
        "vegas_alpha_of_share",
        "alpha of Vegas for a share of the saturated window",
        "alpha",
        sp.factor(vegas_alpha().expression.subs(W, SHARE * full)),
        "s below 1, b d / 2 above the law's softness",
        DERIVED,
        tuple(VEGAS.items()),
    )
