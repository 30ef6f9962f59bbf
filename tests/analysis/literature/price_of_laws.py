"""Prices of congestion controls, derived from their drifts.

If the window is the only state variable the drift is linear in p, and no special case is needed.

Sources:
    Derived for this project, from the drifts. For periodic losses they are the response functions
    of RFC 3649, section 5, and RFC 9438, section 5.1 (both read; their tables are in the tests).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, singledispatch
from typing import Any, cast

import sympy as sp

from vegasfluid.analysis.closed_forms.branches import (
    Witness,
    equilibrium_drift,
    equilibrium_signals,
    exact,
)
from vegasfluid.analysis.closed_forms.formula import Formula, quantities, symbol
from vegasfluid.analysis.closed_forms.roots import only_solution
from vegasfluid.congestion.base import CongestionControl, Window
from vegasfluid.congestion.cubic import Cubic, CubicWindow
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.congestion.vegas import Vegas, VegasWindow
from vegasfluid.congestion.vegas_rerouting import VegasRerouting
from vegasfluid.errors import InvalidInput

DELAY = quantities(("queueing_delay", "D", "s", "time that a packet waits in queues"))
"""The price of a delay-based congestion control."""

W, R, T, p, x = (symbol(name) for name in ("cwnd", "rtt", "base_rtt", "drop_prob", "rate"))
WAIT = DELAY["queueing_delay"].symbol
RARE = 1e-6
"""Drop probability of a witness; any small one selects the same branch."""
NOW = sp.Integer(0)
"""Zero: the fraction of flows in slow start, or the loss rate."""


@singledispatch
def formula_of(law: CongestionControl, loss_process: str, there: Witness) -> Formula:
    """The price of a congestion control on the branch of a witness.

    Args:
        law: the congestion control, with numbers for its parameters.
        loss_process: how losses arrive, a name in `LOSS_PROCESSES`.
        there: the witness, values of W (packets) and R (s).

    Raises:
        InvalidInput: for a control that responds to no signal, or has unknown state variables.

    >>> from vegasfluid.congestion.reno import Reno
    >>> formula_of(Reno(), "meanfield", {W: 10.0, R: 0.1}).text()
    'p = 2/(R**2*x**2)'
    """
    if not isinstance(law.init(1.0, 1.0), Window):
        raise InvalidInput("price_of", "law", "one whose states are known here", law.name)
    return of_losses(law, loss_process, sp.simplify(one_state(law, loss_process, there)))


def one_state(law: CongestionControl, loss_process: str, there: Witness) -> sp.Expr:
    """The price of a control whose only state variable is the window."""
    state, seen = Window(W, NOW), equilibrium_signals(loss_process)
    drift = equilibrium_drift(law, state, seen, {**there, p: RARE})["cwnd"].expression
    loss = sp.diff(drift, p)
    if loss == 0:
        raise InvalidInput("price_of", "law", "one that answers losses or delays", law.name)
    return -drift.subs(p, 0) / loss


@formula_of.register(Scalable)
def of_share(law: Scalable, loss_process: str, there: Witness) -> Formula:
    """The price of Scalable TCP, with rationals for its parameters to keep logarithms exact."""
    names = ("increase", "decrease", "legacy_window")
    exactly = replace(law, **{name: exact(getattr(law, name)) for name in names})
    return of_losses(law, loss_process, sp.simplify(one_state(exactly, loss_process, there)))


@formula_of.register(HighSpeed)
def of_logarithm(law: HighSpeed, loss_process: str, there: Witness) -> Formula:
    """The price of HighSpeed TCP, simplified in t = ln(W / low_window), numbers inserted last."""
    names = ("low_window", "high_window", "low_prob", "high_prob", "high_decrease")
    numbers: dict[Any, Any] = {
        sp.Symbol(name, positive=True): sp.Float(getattr(law, name), 17) for name in names
    }
    low, t = next(iter(numbers)), sp.Symbol("t", real=True)
    price = one_state(HighSpeed(*numbers), loss_process, {**there, **numbers})
    short = sp.expand_log(sp.simplify(price.subs(W, low * sp.exp(t))), force=True)
    over_window = short.replace(sp.exp, lambda power: (W / low) ** sp.diff(power, t))
    return of_losses(law, loss_process, over_window.subs(t, sp.log(W / low)).subs(numbers))


def of_losses(law: CongestionControl, loss_process: str, price: sp.Expr) -> Formula:
    """A drop probability in W and R as a price formula in x and R."""
    return Formula(
        f"price_{law.name}",
        f"drop probability of {law.name} in equilibrium at a rate, {loss_process} losses",
        "drop_prob",
        price.subs(W, x * R),
        "congestion avoidance, few timeouts",
        "derived here from the drift",
    )


@formula_of.register(Cubic)
def curve_or_reno(law: Cubic, loss_process: str, there: Witness) -> Formula:
    """The price of CUBIC: the larger of its cubic and Reno-friendly prices.

    Losses reduce the window in proportion to p and growth does not depend on p, so the larger of
    two growth rates is balanced by the larger of the two prices.
    """
    prices = [on_the_curve(replace(law, friendly=False), loss_process)]
    if law.friendly:
        prices.append(as_reno(law, loss_process))
    return of_losses(law, loss_process, max(prices, key=lambda price: price.subs(dict(there))))


K, ELAPSED, SQUARED = sp.symbols("K s m", positive=True)
CUBIC_STATE = CubicWindow(W, K, ELAPSED, SQUARED, NOW)


def cubic_drift(law: Cubic, loss_process: str) -> dict[str, sp.Expr]:
    """CUBIC's drift in its Reno-friendly region; in the cubic region without `friendly`."""
    there = {W: 10**6, R: 1e-3, p: RARE, K: 1e-2, ELAPSED: 1e-2, SQUARED: 2e-4}
    branches = equilibrium_drift(law, CUBIC_STATE, equilibrium_signals(loss_process), there)
    return {name: branch.expression for name, branch in branches.items()}


@cache
def as_reno(law: Cubic, loss_process: str) -> sp.Expr:
    """The price of CUBIC in its Reno-friendly region, in W and R."""
    return only_solution(cubic_drift(law, loss_process)["cwnd"], p)


@cache
def on_the_curve(law: Cubic, loss_process: str) -> sp.Expr:
    """The price of CUBIC in its cubic region, in W and R.

    Times follow from the loss rate and K from the window. What remains is a cubic with constant
    coefficients in u, K over the mean time between losses. It is the same for all windows, and is
    evaluated for K = 1 s.
    """
    drift = cubic_drift(law, loss_process)
    times = {ELAPSED: only_solution(drift["elapsed"], ELAPSED)}
    times[SQUARED] = only_solution(drift["squared"].subs(times), SQUARED)
    plateau, u = only_solution(drift["k"], K), sp.Symbol("u", positive=True)
    left = drift["cwnd"].subs(times).subs(p, u * R / (K * W)).subs({W: W / plateau**3, K: 1})
    roots: Any = sp.real_roots(sp.Poly(sp.numer(sp.together(left)), u))
    (root,) = (candidate for candidate in roots if candidate > 0)
    number = root if root.is_rational else sp.Float(root.evalf(17))
    return cast(sp.Expr, sp.powdenest(number * R / (plateau * W), force=True))


@formula_of.register(VegasRerouting)
def as_plain_vegas(law: VegasRerouting, loss_process: str, there: Witness) -> Formula:
    """The price of Vegas with rerouting detection: that of ns-2's Vegas on a constant route."""
    return formula_of(law.plain, loss_process, there)


@formula_of.register(Vegas)
def of_delay(law: Vegas, loss_process: str, there: Witness) -> Formula:
    """The price of Vegas: the equilibrium queueing delay of a growing window without losses."""
    fewest = law.implementation.min_samples
    if there[W] < fewest:
        raise InvalidInput("price_of", "cwnd", f"at least {fewest:g}, to mind delays", there[W])
    return Formula(
        f"price_{law.name}",
        f"queueing delay of {law.name} ({law.dialect}) in equilibrium at a rate",
        "queueing_delay",
        equilibrium_delay(law),
        "the base RTT is the true one, losses are rare, alpha and beta are one or it climbed",
        "derived here from the drift",
        tuple(DELAY.items()),
    )


@cache
def equilibrium_delay(law: Vegas) -> sp.Expr:
    """The equilibrium queueing delay of Vegas in x and T, where no flow grows any more."""
    rtt, window = T + WAIT, 1000
    backlog = min(law.equilibrium_backlogs[0], law.softness) / 1000  # climbing, by the softness
    near = {W: window, T: 0.1, WAIT: backlog * 0.1 / window}
    seen = equilibrium_signals()._replace(rtt=rtt, ack_rate=W / rtt, loss_rate=NOW)
    drift = equilibrium_drift(law, VegasWindow(W, NOW, T, NOW), seen, near)["cwnd"].expression
    (recovering,) = drift.atoms(sp.exp)
    delays = sp.solve(recovering.args[0].subs(W, x * rtt), WAIT)
    (delay,) = (found for found in delays if found.subs({x: 1, T: 1}) > 0)
    return sp.simplify(delay)
