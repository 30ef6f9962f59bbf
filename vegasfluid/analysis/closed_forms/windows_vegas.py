"""Vegas in equilibrium: its window without losses, and the alpha of a window with losses.

Without losses a growing window stops where the backlog is alpha (every backlog up to beta is an
equilibrium). With losses the equilibrium is below that: the growth of flows that recover from a
loss compensates for the losses of others. Then alpha is an explicit function of the window, but not
the reverse, and beta plays no part. `alpha` means the equilibrium backlog; a dialect's parameter is
smaller by its offset.

With f = phi b p W^2, the fraction of flows that recover from a loss, and d = W (R - T) / R the
backlog:

    alpha = d - (b d / 2) ln(1 - f)        f < 1

so f = 1, W = 1 / sqrt(phi b p), is the saturated window, which no alpha reaches: additive increase
at all times. If all flows had the same backlog, the window would be the smaller of the saturated
one and the one without losses, the law of the minimum.

Sources:
    S. Low, L. Peterson and L. Wang, SIGMETRICS 2001 (equilibrium without losses; abstract read).
    C. Samios and M. Vernon, SIGMETRICS 2003, have throughput with losses (abstract read; not
    compared). All derived here from the drift.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import sympy as sp

from vegasfluid.analysis.closed_forms.branches import equilibrium_drift, equilibrium_signals, exact
from vegasfluid.analysis.closed_forms.formula import Expression, Formula, quantities, symbol
from vegasfluid.analysis.closed_forms.roots import only_solution
from vegasfluid.congestion.vegas import Vegas, VegasWindow
from vegasfluid.congestion.vegas.implementation import VegasImplementation
from vegasfluid.errors import InvalidInput

__all__ = [
    "ANY",
    "VEGAS",
    "law_of_the_minimum",
    "name_with_dialect",
    "offset_of",
    "vegas_alpha",
    "vegas_alpha_at_saturation",
    "vegas_alpha_of_share",
    "vegas_lossless_rate",
    "vegas_lossless_window",
    "vegas_saturated_window",
    "vegas_small_alpha",
]

VEGAS = quantities(
    ("softness", "epsilon", "packets", "width of the smoothing in the fluid model"),
    ("share", "s", "", "window over the saturated window"),
)
"""Quantities of the formulas for Vegas."""

W, R, T, p = (symbol(name) for name in ("cwnd", "rtt", "base_rtt", "drop_prob"))
"""Symbols of window (packets), round-trip time and base RTT (s), and drop probability."""
ALPHA, CUT, PHI = (symbol(name) for name in ("alpha", "cut", "loss_factor"))
"""Symbols of alpha (packets), the fraction of the window that a loss takes, the loss factor."""
SOFTNESS, SHARE = (quantity.symbol for quantity in VEGAS.values())
"""Symbols of the softness (packets), and of the fraction of the saturated window."""
STATE = VegasWindow(W, sp.Integer(0), T, sp.Integer(0))
"""The state of Vegas after slow start with the correct base RTT, in symbols."""
HOLDS = "W at least 3, the equilibrium backlog of alpha at most that of beta"
"""Conditions of all formulas with losses, in words."""
DERIVED = "derived here from the drift"
"""Source of the formulas, in words."""

GROWING = {W: 300, R: 0.11, T: 0.1, p: 1e-6, ALPHA: 33, SOFTNESS: 0.25, CUT: 0.25, PHI: 1}
"""A witness at which some flows grow: a backlog near 30 packets, below alpha in every dialect."""
SMALL = {**GROWING, W: 30, R: 0.101, ALPHA: 1}
"""A witness with a backlog so small that the softness is the width."""


@dataclass(frozen=True)
class AnyVegas(Vegas):
    """Vegas with symbols for the constants of its dialect."""

    @property
    def implementation(self) -> VegasImplementation:
        """The implementation, with symbol b for its cut and no offsets to alpha and beta."""
        return replace(super().implementation, loss_cut=CUT, alpha_offset=0, beta_offset=0)


ANY = AnyVegas()
"""Represents every dialect: b, phi and the equilibrium backlog are symbols."""


def growing_drift(law: Vegas, witness: dict[sp.Symbol, float] = GROWING) -> Expression:
    """The drift of a growing window of Vegas in symbols, packets/s.

    Loss events come at the rate phi p W / R (1/s): correction factor phi, loss probability p,
    window W (packets) and round-trip time R (s).

    Args:
        law: a Vegas of the implementation; its alpha, beta and softness become symbols.
        witness: a number for each symbol; where the drift has cases, these numbers select one.
    """
    beta = sp.Dummy(positive=True)
    symbolic_law = replace(law, alpha=ALPHA, beta=beta, softness=SOFTNESS)
    seen = equilibrium_signals()._replace(loss_rate=PHI * p * W / R)
    return equilibrium_drift(symbolic_law, STATE, seen, {**witness, beta: 100})["cwnd"].expression


def alpha_of(drift: Expression) -> Expression:
    """The alpha (packets), in symbols, for which a drift of Vegas is zero.

    Args:
        drift: in symbols; alpha is in the exponent of its only exponential.
    """
    (exponential,), unknown = drift.atoms(sp.exp), sp.Dummy(positive=True)
    value = only_solution(drift.subs(exponential, unknown), unknown)
    return only_solution(exponential.args[0] - sp.log(sp.expand(value)), ALPHA)


@cache
def equilibrium_alpha(law_type: type[Vegas], dialect: str) -> Expression:
    """The alpha (packets), in symbols, with which a window W is in equilibrium with losses.

    The loss probability is p, times the correction phi.

    Args:
        law_type: `Vegas`, or its subclass with symbols for the dialect's constants.
        dialect: name of the dialect.
    """
    return alpha_of(growing_drift(law_type(dialect=dialect)))


@cache
def lossless_window(law_type: type[Vegas], dialect: str) -> Expression:
    """The equilibrium window of Vegas without losses (packets), in symbols, from alpha, R and T.

    Args:
        law_type: `Vegas`, or its subclass with symbols for the dialect's constants.
        dialect: name of the dialect.
    """
    return sp.factor(only_solution(equilibrium_alpha(law_type, dialect).subs(p, 0) - ALPHA, W))


def name_with_dialect(formula: str, law: Vegas) -> str:
    """The name of a formula, with the dialect of `law` as a suffix; without one for `ANY`."""
    return formula if isinstance(law, AnyVegas) else f"{formula}_{law.dialect}"


def offset_of(law: Vegas) -> Expression:
    """The equilibrium backlog of a growing window minus the dialect's parameter alpha, packets."""
    return exact(law.implementation.alpha_offset)


def require_no_kept_threshold(law: Vegas) -> None:
    """Raise InvalidInput for a dialect that keeps its slow-start threshold at a loss."""
    if law.implementation.keeps_ssthresh:
        kept = "of a dialect that does not keep its slow-start threshold at a loss"
        raise InvalidInput("vegas_alpha", "law", kept, law.dialect)


def vegas_lossless_window(law: Vegas = ANY) -> Formula:
    """Smallest equilibrium window of Vegas without losses, packets: a growing window stops at it.

    The formula takes `rtt` R, `base_rtt` T (s) and `alpha` (packets).

    Args:
        law: any Vegas of the dialect whose parameter is alpha; its own parameters are ignored. If
            omitted, alpha is the equilibrium backlog.

    >>> vegas_lossless_window().text()
    'W = R*alpha/(R - T)'
    >>> vegas_lossless_window(Vegas(dialect="linux")).text()
    'W = T*(2*alpha + 1)/(2*(R - T))'
    """
    return Formula(
        name_with_dialect("vegas_lossless_window", law),
        "window of Vegas without losses",
        "cwnd",
        lossless_window(type(law), law.dialect),
        "no losses; larger windows, up to that of beta, are equilibria too",
        f"Low, Peterson and Wang 2001 (abstract read); {DERIVED}",
    )


def vegas_lossless_rate(law: Vegas = ANY) -> Formula:
    """Smallest equilibrium rate of Vegas without losses, packets/s: a growing flow stops at it.

    The formula takes `capacity` C (packets/s), `queue` q and `alpha` (packets); for Linux also
    `base_rtt` (s).

    Args:
        law: any Vegas of the dialect whose parameter is alpha; its own parameters are ignored. If
            omitted, alpha is the equilibrium backlog.

    >>> vegas_lossless_rate().text()
    'x = C*alpha/q'
    """
    window = vegas_lossless_window(law).expression
    capacity, queue = symbol("capacity"), symbol("queue")
    return Formula(
        name_with_dialect("vegas_lossless_rate", law),
        "rate of Vegas without losses",
        "rate",
        sp.factor((window / R).subs(R, T + queue / capacity)),
        "no losses, one queue",
        f"Low, Peterson and Wang 2001 (abstract read); {DERIVED}",
    )


def vegas_alpha(law: Vegas = ANY, loss_process: str = "meanfield") -> Formula:
    """The alpha with which a Vegas window is in equilibrium with losses, packets.

    The formula takes `cwnd` W (packets), `rtt`, `base_rtt` (s) and `drop_prob` p. If `law` is
    omitted, it also takes the fraction b of the window that a loss takes (`cut`) and the correction
    phi (`loss_factor`). The value is NaN for phi b p W^2 above 1, and infinite at 1.

    Args:
        law: any Vegas of the dialect whose parameter is alpha; its own parameters are ignored. If
            omitted, alpha is the equilibrium backlog.
        loss_process: a name in `LOSS_PROCESSES`; ignored if `law` is omitted.

    Raises:
        InvalidInput: for a dialect that keeps its slow-start threshold at a loss (ns-3).

    >>> vegas_alpha().text()
    'alpha = -W*(R - T)*(b*log(-W**2*b*p*phi + 1) - 2)/(2*R)'
    """
    require_no_kept_threshold(law)
    alpha, offset = equilibrium_alpha(type(law), law.dialect), offset_of(law)
    if not isinstance(law, AnyVegas):
        alpha = alpha.subs(PHI, exact(law.loss_factor(loss_process, STATE)))
    return Formula(
        name_with_dialect("vegas_alpha", law),
        "alpha of Vegas with losses",
        "alpha",
        sp.factor(alpha + offset) - offset,
        f"phi b p W^2 below 1, b d / 2 above the law's softness, {HOLDS}",
        DERIVED,
    )


@cache
def vegas_small_alpha() -> Formula:
    """The alpha (packets) with which a Vegas window with a small backlog is in equilibrium.

    The backlog is so small that the `softness` (packets, width of the smoothing in the fluid model)
    exceeds the spread of backlogs after losses. The formula takes `softness`, `cwnd` (packets),
    `rtt`, `base_rtt` (s), `drop_prob`, the fraction b of the window that a loss takes (`cut`) and
    the correction phi (`loss_factor`).

    >>> vegas_small_alpha().text()
    'alpha = W - epsilon*log(-W**2*b*p*phi + 1) - T*W/R'
    """
    return Formula(
        "vegas_small_alpha",
        "alpha of Vegas with losses, small backlog",
        "alpha",
        sp.expand(alpha_of(growing_drift(ANY, SMALL))),
        f"phi b p W^2 below 1, b d / 2 below the law's softness, {HOLDS}",
        DERIVED,
        tuple(VEGAS.items()),
    )


@cache
def vegas_saturated_window() -> Formula:
    """The window of Vegas in the limit of large alpha, packets: additive increase at all times.

    The formula takes `drop_prob` p, the fraction b of the window that a loss takes (`cut`) and the
    correction phi (`loss_factor`).

    >>> vegas_saturated_window().text()
    'W = 1/(sqrt(b)*sqrt(p)*sqrt(phi))'
    """
    delay = sp.Symbol("delta", positive=True)
    limit = sp.limit(growing_drift(ANY).subs(R, T + delay), ALPHA, sp.oo)
    return Formula(
        "vegas_saturated_window",
        "saturated window of Vegas",
        "cwnd",
        only_solution(limit, W),
        "the limit of a large alpha",
        DERIVED,
    )


@cache
def law_of_the_minimum() -> Formula:
    """Formula of Vegas's equilibrium window with losses if all flows had the same backlog, packets.

    It is the smaller of two windows: that without losses, and the limit of a large alpha, where
    only losses limit the window. The formula takes `rtt`, `base_rtt` (s), `drop_prob`, `alpha`
    (packets), `cut` b (the fraction of the window that a loss takes) and `loss_factor` phi (which
    corrects the loss rate p W/R).

    >>> law_of_the_minimum().text()
    'W = Min(R*alpha/(R - T), 1/(sqrt(b)*sqrt(p)*sqrt(phi)))'
    """
    alpha = sp.limit(vegas_small_alpha().expression, SOFTNESS, 0)
    return Formula(
        "law_of_the_minimum",
        "window of Vegas with losses, if all flows had the same backlog",
        "cwnd",
        sp.Min(sp.factor(only_solution(alpha - ALPHA, W)), vegas_saturated_window().expression),
        "equal backlogs; the windows of the fluid model are smaller",
        f"{DERIVED}, with both widths tending to 0",
    )


@cache
def vegas_alpha_at_saturation() -> Formula:
    """The alpha (packets) at which the law of the minimum reaches its largest window.

    The formula takes `rtt`, `base_rtt` (s), `drop_prob`, the fraction b of the window that a loss
    takes (`cut`) and the correction phi (`loss_factor`). In the fluid model no alpha saturates:
    with this alpha the window is a fraction s of the saturated window, with
    s (1 - (b / 2) ln(1 - s^2)) = 1: 0.80 for b = 1/2 and 0.86 for b = 1/4.

    >>> vegas_alpha_at_saturation().text()
    'alpha = (R - T)/(R*sqrt(b)*sqrt(p)*sqrt(phi))'
    """
    lossless, saturated = law_of_the_minimum().expression.args
    (alpha,) = sp.solve(lossless - saturated, ALPHA)
    return Formula(
        "vegas_alpha_at_saturation",
        "alpha at which the law of the minimum saturates",
        "alpha",
        sp.factor(alpha),
        "equal backlogs; in the fluid model it is the backlog of the saturated window",
        f"{DERIVED}, with both widths tending to 0",
    )


@cache
def vegas_alpha_of_share() -> Formula:
    """The alpha (packets) that gives a Vegas flow a fraction of its largest possible window.

    That is the saturated window, the limit of large alpha, where only losses limit the window. The
    formula takes the fraction `share` (0 to 1), `rtt` and `base_rtt` (s), `drop_prob`, the fraction
    `cut` b that a loss takes from the window, and its correction `loss_factor` phi.

    >>> formula = vegas_alpha_of_share()
    >>> f"{formula(share=0.99, rtt=0.2, base_rtt=0.1, drop_prob=1e-3, cut=0.5, loss_factor=1):.1f}"
    '43.8'
    """
    saturated = vegas_saturated_window().expression
    return Formula(
        "vegas_alpha_of_share",
        "alpha of Vegas for a fraction of the saturated window",
        "alpha",
        sp.factor(vegas_alpha().expression.subs(W, SHARE * saturated)),
        "s below 1, b d / 2 above the law's softness",
        DERIVED,
        tuple(VEGAS.items()),
    )
