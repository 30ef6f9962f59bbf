"""CUBIC's window at rest, from all states of the law: a constant times (R / p)^(3/4).

The time since the last loss, its square and K follow from the window. With u = K p W / R, K over
the mean time between losses, what is left is a cubic in u with numbers for coefficients:

    u^3 = 3 g ((1 - u)^2 + v)        W = (C u^3 / (b g))^(1/4) (R / p)^(3/4)        b = 1 - beta

where v is the part of the variance of times that the closure counts, and g what fast convergence
leaves of the plateau. In the Reno-friendly region the window is a constant over sqrt(p).

Sources:
    G. Vardoyan, C. Hollot and D. Towsley, INFOCOM 2018: (C / b)^(1/4) in the one-point closure
    without fast convergence (abstract read). RFC 9438, section 5.1: (C (3 + beta) / (4 b))^(1/4)
    for periodic losses. All derived here from the drift.
"""

from __future__ import annotations

from functools import cache

import sympy as sp

from vegasfluid.analysis.closed_forms.branches import above_zero, at_rest, drift_at_rest
from vegasfluid.analysis.closed_forms.formula import Expression, Formula, quantities, symbol
from vegasfluid.analysis.closed_forms.roots import only_real_root
from vegasfluid.congestion.cubic import Cubic, CubicWindow

__all__ = ["CUBIC", "cubic_crossover", "cubic_window", "reno_friendly_window"]

CUBIC = quantities(("cubic_c", "C_cubic", "packets/s^3", "how steep CUBIC's curve is"))
"""What only CUBIC has; its beta is 1 - b."""

W, R, p = (symbol(name) for name in ("cwnd", "rtt", "drop_prob"))
C, CUT = CUBIC["cubic_c"].symbol, symbol("cut")
K, ELAPSED, SQUARED = sp.symbols("K s m", positive=True)
STATE = CubicWindow(W, K, ELAPSED, SQUARED, sp.Integer(0))
ON_THE_CURVE = {W: 1000, R: 0.1, p: 1e-5, C: 0.4, CUT: 0.3, K: 9, ELAPSED: 9, SQUARED: 162}
"""A point with a long round trip and few losses, where the cubic is the steeper one."""
AS_RENO = {**ON_THE_CURVE, W: 10, R: 0.01, p: 1e-2, K: 0.1, ELAPSED: 0.1, SQUARED: 0.02}
"""A point with a short round trip and many losses."""


def drift_of(
    loss_process: str, gives_way: bool, there: dict[sp.Symbol, float]
) -> dict[str, Expression]:
    """CUBIC's drift on the branch of a point."""
    law = Cubic(C, 1 - CUT, fast_convergence=gives_way)
    branches = drift_at_rest(law, STATE, at_rest(loss_process), there)
    return {name: branch.expression for name, branch in branches.items()}


def solved(drift: Expression, unknown: sp.Symbol) -> Expression:
    """The one value for which a drift is zero."""
    (rest,) = sp.solve(drift, unknown)
    return rest


def balance(loss_process: str, gives_way: bool) -> tuple[Expression, sp.Symbol, Expression]:
    """What is zero at rest as a cubic in u, u itself, and (b g) / C, which is K^3 / W."""
    drift, u = drift_of(loss_process, gives_way, ON_THE_CURVE), sp.Symbol("u", positive=True)
    clock = {ELAPSED: solved(drift["elapsed"], ELAPSED)}
    clock[SQUARED] = solved(drift["squared"].subs(clock), SQUARED)
    steepness = solved(drift["k"], K) ** 3 / W
    at_k = {W: K**3 / steepness, p: u * R * steepness / K**4}  # so that u is K p W / R
    left = drift["cwnd"].subs(clock).subs(at_k, simultaneous=True)
    return sp.numer(sp.together(left)), u, steepness


def root_of(cubic: Expression, u: Expression) -> Expression:
    """The root in u; without a radical where the cubic has a factor of degree one."""
    edge = sp.Symbol("e", positive=True)  # cbrt(1 - b / 4), which periodic losses bring in
    factors = sp.factor_list(cubic.subs(CUT, 4 - 4 * edge**3))[1]
    linear = [of for of, _ in factors if sp.degree(of, gen=u) == 1]
    if linear:
        return solved(linear[0], u).subs(edge, sp.cbrt(1 - CUT / 4))
    return only_real_root(cubic, u)


@cache
def cubic_window(loss_process: str = "meanfield", fast_convergence: bool = False) -> Formula:
    """CUBIC's window where it follows its curve.

    Args:
        loss_process: a name in `LOSS_PROCESSES`.
        fast_convergence: whether the law gives way to newcomers.

    >>> window = cubic_window("periodic")
    >>> f"{window(cubic_c=0.4, cut=0.3, rtt=1.0, drop_prob=1.0):.4f}"
    '1.0538'
    """
    cubic, u, steepness = balance(loss_process, fast_convergence)
    constant = root_of(cubic, u) ** sp.Rational(3, 4) / sp.root(sp.factor(steepness), 4)
    name = "_giving_way" if fast_convergence else ""
    return Formula(
        f"cubic_window_{loss_process}{name}",
        f"window of CUBIC on its curve, {loss_process} losses"
        + (", with fast convergence" if fast_convergence else ""),
        "cwnd",
        constant * (R / p) ** sp.Rational(3, 4),
        "below the crossover, b p W at most 1/2",
        "Vardoyan, Hollot and Towsley 2018 (abstract read), RFC 9438, section 5.1 (periodic); "
        "derived here from the drift of all states",
        tuple(CUBIC.items()),
    )


@cache
def reno_friendly_window(loss_process: str = "meanfield") -> Formula:
    """CUBIC's window where it takes what standard TCP would.

    Args:
        loss_process: a name in `LOSS_PROCESSES`.

    >>> reno_friendly_window("periodic").text()
    'W = sqrt(6)/(2*sqrt(p))'
    """
    drift = drift_of(loss_process, False, AS_RENO)["cwnd"]
    squared = sp.Symbol("w", positive=True)
    rest = solved(drift.subs(W, sp.sqrt(squared)), squared)
    return Formula(
        f"cubic_window_reno_friendly_{loss_process}",
        f"window of CUBIC in its Reno-friendly region, {loss_process} losses",
        "cwnd",
        sp.sqrt(above_zero(rest * p, {CUT: 0.3})) / sp.sqrt(p),
        "above the crossover",
        "RFC 9438, section 4.3; derived here from the drift",
        tuple(CUBIC.items()),
    )


@cache
def cubic_crossover(loss_process: str = "meanfield", fast_convergence: bool = False) -> Formula:
    """The drop probability above which CUBIC takes what standard TCP would.

    Args:
        loss_process: a name in `LOSS_PROCESSES`.
        fast_convergence: whether the law gives way to newcomers.

    >>> edge = cubic_crossover("periodic")
    >>> f"{edge(cubic_c=0.4, cut=0.3, rtt=1.0):.3f}"
    '0.548'
    """
    curve = cubic_window(loss_process, fast_convergence).expression
    reno = reno_friendly_window(loss_process).expression
    both = (curve / reno).subs(p, 1) ** 4  # the ratio goes as p^(-1/4)
    name = "_giving_way" if fast_convergence else ""
    return Formula(
        f"cubic_crossover_{loss_process}{name}",
        f"drop probability at which CUBIC becomes Reno-friendly, {loss_process} losses",
        "drop_prob",
        both,
        "both windows are those of the same losses",
        "derived here from the drift",
        tuple(CUBIC.items()),
    )
