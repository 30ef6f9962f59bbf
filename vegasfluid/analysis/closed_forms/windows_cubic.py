"""CUBIC's equilibrium window, a constant times (R / p)^(3/4), from all its state variables.

The time since the last loss, its square and K follow from the window. With u = K p W / R, K over
the mean time between losses, a cubic in u with constant coefficients remains:

    u^3 = 3 g ((1 - u)^2 + v)        W = (C u^3 / (b g))^(1/4) (R / p)^(3/4)        b = 1 - beta

where v is the fraction of the variance of times that the closure counts, and g the fraction of the
plateau that fast convergence leaves. In the Reno-friendly region the window is a constant over
sqrt(p).

Sources:
    G. Vardoyan, C. Hollot and D. Towsley, INFOCOM 2018, section 4.2: (C / b)^(1/4) in the one-point
    closure without fast convergence (read in the longer version). RFC 9438, section 5.1:
    (C (3 + beta) / (4 b))^(1/4) for periodic losses. All derived here from the drift.
"""

from __future__ import annotations

from functools import cache

import sympy as sp

from vegasfluid.analysis.closed_forms.branches import (
    above_zero,
    equilibrium_drift,
    equilibrium_signals,
)
from vegasfluid.analysis.closed_forms.formula import Expression, Formula, quantities, symbol
from vegasfluid.analysis.closed_forms.roots import only_real_root, only_solution
from vegasfluid.congestion.cubic import Cubic, CubicWindow

__all__ = ["CUBIC", "cubic_crossover", "cubic_window", "reno_friendly_window"]

CUBIC = quantities(("cubic_c", "C_cubic", "packets/s^3", "scaling factor of CUBIC's curve"))
"""Quantities of the formulas for CUBIC; its beta is 1 - b."""

W, R, p = (symbol(name) for name in ("cwnd", "rtt", "drop_prob"))
"""Symbols of window (packets), round-trip time (s) and drop probability."""
C, CUT = CUBIC["cubic_c"].symbol, symbol("cut")
"""Symbols of CUBIC's C (packets/s^3), and of the fraction of the window that a loss takes."""
K, ELAPSED, SQUARED = sp.symbols("K s m", positive=True)
"""Symbols of the mean time from a loss to the plateau (s), since the loss (s), and its square."""
STATE = CubicWindow(W, K, ELAPSED, SQUARED, sp.Integer(0))
"""CUBIC's state after slow start, in symbols."""
CUBIC_REGION = {W: 1000, R: 0.1, p: 1e-5, C: 0.4, CUT: 0.3, K: 9, ELAPSED: 9, SQUARED: 162}
"""A witness in the cubic region: a long round-trip time and few losses."""
RENO_FRIENDLY = {**CUBIC_REGION, W: 10, R: 0.01, p: 1e-2, K: 0.1, ELAPSED: 0.1, SQUARED: 0.02}
"""A witness in the Reno-friendly region: a short round-trip time and many losses."""


def drift_of(
    loss_process: str, fast_convergence: bool, witness: dict[sp.Symbol, float]
) -> dict[str, Expression]:
    """CUBIC's drift in symbols, in the region in which a witness lies, by state variable.

    `cwnd` is in packets/s.

    Args:
        loss_process: a name in `LOSS_PROCESSES`.
        fast_convergence: whether fast convergence is on.
        witness: a number for each symbol.
    """
    law = Cubic(C, 1 - CUT, fast_convergence=fast_convergence)
    branches = equilibrium_drift(law, STATE, equilibrium_signals(loss_process), witness)
    return {name: branch.expression for name, branch in branches.items()}


def cubic_equation(
    loss_process: str, fast_convergence: bool
) -> tuple[Expression, sp.Symbol, Expression]:
    """CUBIC's equilibrium equation in its cubic region, with all states expressed by u = K p W / R.

    Returns:
        A cubic that is zero in equilibrium, the symbol u, and K^3 / W in symbols, s^3/packet.
    """
    drift, u = drift_of(loss_process, fast_convergence, CUBIC_REGION), sp.Symbol("u", positive=True)
    times = {ELAPSED: only_solution(drift["elapsed"], ELAPSED)}
    times[SQUARED] = only_solution(drift["squared"].subs(times), SQUARED)
    steepness = only_solution(drift["k"], K) ** 3 / W
    at_k = {W: K**3 / steepness, p: u * R * steepness / K**4}  # so that u is K p W / R
    left = drift["cwnd"].subs(times).subs(at_k, simultaneous=True)
    return sp.numer(sp.together(left)), u, steepness


def root_of(cubic: Expression, u: Expression) -> Expression:
    """The root of a cubic in u, in symbols; without a radical if the cubic has a linear factor.

    Args:
        cubic: a polynomial in u, with coefficients in the cut b.
        u: the symbol to solve for.
    """
    e = sp.Symbol("e", positive=True)  # cbrt(1 - b / 4), which occurs for periodic losses
    factors = sp.factor_list(cubic.subs(CUT, 4 - 4 * e**3))[1]
    linear = [factor for factor, _ in factors if sp.degree(factor, gen=u) == 1]
    if linear:
        return only_solution(linear[0], u).subs(e, sp.cbrt(1 - CUT / 4))
    return only_real_root(cubic, u)


@cache
def cubic_window(loss_process: str = "meanfield", fast_convergence: bool = False) -> Formula:
    """CUBIC's equilibrium window in its cubic region, packets: a constant times (R / p)^(3/4).

    The formula takes `rtt` R (s), `drop_prob` p, `cut` (1 - beta) and `cubic_c` (packets/s^3).

    Args:
        loss_process: a name in `LOSS_PROCESSES`.
        fast_convergence: whether fast convergence is on.

    >>> window = cubic_window("periodic")
    >>> f"{window(cubic_c=0.4, cut=0.3, rtt=1.0, drop_prob=1.0):.4f}"
    '1.0538'
    """
    cubic, u, steepness = cubic_equation(loss_process, fast_convergence)
    constant = root_of(cubic, u) ** sp.Rational(3, 4) / sp.root(sp.factor(steepness), 4)
    name = "_fast_convergence" if fast_convergence else ""
    return Formula(
        f"cubic_window_{loss_process}{name}",
        f"window of CUBIC in its cubic region, {loss_process} losses"
        + (", with fast convergence" if fast_convergence else ""),
        "cwnd",
        constant * (R / p) ** sp.Rational(3, 4),
        "below the crossover, b p W at most 1/2",
        "Vardoyan, Hollot and Towsley 2018, section 4.2; RFC 9438, section 5.1 (periodic); "
        "derived here from the drift of all states",
        tuple(CUBIC.items()),
    )


@cache
def reno_friendly_window(loss_process: str = "meanfield") -> Formula:
    """CUBIC's equilibrium window in its Reno-friendly region, packets: a constant over sqrt(p).

    The formula takes `drop_prob` p and, unless losses are periodic, `cut` (1 - beta).

    Args:
        loss_process: a name in `LOSS_PROCESSES`.

    >>> reno_friendly_window("periodic").text()
    'W = sqrt(6)/(2*sqrt(p))'
    """
    drift = drift_of(loss_process, False, RENO_FRIENDLY)["cwnd"]
    squared = sp.Symbol("w", positive=True)
    window_squared = only_solution(drift.subs(W, sp.sqrt(squared)), squared)
    return Formula(
        f"cubic_window_reno_friendly_{loss_process}",
        f"window of CUBIC in its Reno-friendly region, {loss_process} losses",
        "cwnd",
        sp.sqrt(above_zero(window_squared * p, {CUT: 0.3})) / sp.sqrt(p),
        "above the crossover",
        "RFC 9438, section 4.3; derived here from the drift",
        tuple(CUBIC.items()),
    )


@cache
def cubic_crossover(loss_process: str = "meanfield", fast_convergence: bool = False) -> Formula:
    """The drop probability above which CUBIC is in its Reno-friendly region.

    Values above 1 mean that it never is. The formula takes `rtt` (s), `cut` (1 - beta) and
    `cubic_c` (packets/s^3).

    Args:
        loss_process: a name in `LOSS_PROCESSES`.
        fast_convergence: whether fast convergence is on.

    >>> crossover = cubic_crossover("periodic")
    >>> f"{crossover(cubic_c=0.4, cut=0.3, rtt=1.0):.3f}"
    '0.548'
    """
    cubic = cubic_window(loss_process, fast_convergence).expression
    reno = reno_friendly_window(loss_process).expression
    crossover = (cubic / reno).subs(p, 1) ** 4  # the ratio is proportional to p^(-1/4)
    name = "_fast_convergence" if fast_convergence else ""
    return Formula(
        f"cubic_crossover_{loss_process}{name}",
        f"drop probability at which CUBIC becomes Reno-friendly, {loss_process} losses",
        "drop_prob",
        crossover,
        "both windows at the same losses",
        "derived here from the drift",
        tuple(CUBIC.items()),
    )
