"""The equilibrium window of a congestion control, with its parameters in the formula.

Sources:
    Those of the formulas in `windows_loss_based`, `windows_cubic` and `windows_vegas`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import sympy as sp

from vegasfluid.analysis.closed_forms.branches import exact
from vegasfluid.analysis.closed_forms.formula import SYMBOLS, Expression, Formula, Quantity, symbol
from vegasfluid.analysis.closed_forms.windows_cubic import (
    CUBIC,
    cubic_window,
    reno_friendly_window,
)
from vegasfluid.analysis.closed_forms.windows_loss_based import (
    HIGHSPEED,
    OUT_OF_SLOW_START,
    SCALABLE,
    highspeed_window,
    reno_window,
    scalable_window,
)
from vegasfluid.analysis.closed_forms.windows_vegas import vegas_lossless_window
from vegasfluid.congestion.base import LOSS_PROCESSES, CongestionControl
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.dctcp import Dctcp, DctcpWindow
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.congestion.unresponsive import Unresponsive
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.congestion.vegas_rerouting import VegasRerouting
from vegasfluid.errors import InvalidInput

__all__ = ["equilibrium_window", "loss_constant"]


def equilibrium_window(law: CongestionControl, loss_process: str = "meanfield") -> Formula:
    """The equilibrium window of a congestion control, packets, as a formula with its parameters.

    The formula takes the drop probability p (`drop_prob`), and for CUBIC also the round-trip time R
    (`rtt`, s). For Vegas it is the window without losses; it takes `rtt` and the base RTT T
    (`base_rtt`, s). Parameters given as symbols are further arguments, by the symbols' names.

    Args:
        law: the congestion control, with numbers or symbols for its parameters.
        loss_process: how losses arrive, a name in `LOSS_PROCESSES`; Vegas ignores it.

    Raises:
        InvalidInput: for a law without a closed form (HighSpeed TCP has one for `periodic` only),
            or an unknown loss process.

    >>> from vegasfluid.congestion.newreno import NewReno
    >>> equilibrium_window(NewReno(), "periodic").text()
    'W = sqrt(6)/(2*sqrt(p))'
    >>> equilibrium_window(Vegas(alpha=2, dialect="ns2")).text()
    'W = 2*R/(R - T)'
    """
    if loss_process not in LOSS_PROCESSES:
        allowed = "one of " + ", ".join(LOSS_PROCESSES)
        raise InvalidInput("equilibrium_window", "loss_process", allowed, loss_process)
    for law_type, derive in WINDOWS.items():
        if isinstance(law, law_type):
            formula = derive(law, loss_process)
            extra = formula.extra + parameter_symbols(law)
            return replace(formula, name=f"{law.name}_window", extra=extra)
    allowed = "one with a window that responds to losses or delays"
    raise InvalidInput(
        "equilibrium_window", "law", allowed if isinstance(law, Unresponsive) else KNOWN, law.name
    )


def parameter_symbols(law: CongestionControl) -> tuple[tuple[str, Quantity], ...]:
    """The SymPy symbols in a congestion control's parameters, as (name, quantity), sorted by name.

    Symbols of `SYMBOLS` are left out. Units are empty, as they are not known.
    """
    known = {quantity.symbol for quantity in SYMBOLS.values()}
    given = law.parameters().values()
    values = (sp.sympify(value) for value in given if not isinstance(value, str | None))
    free = sorted(set[Any]().union(*(value.free_symbols for value in values)) - known, key=str)
    return tuple((str(name), Quantity(name, "", f"of {law.name}")) for name in free)


def substitute(formula: Formula, values: dict[sp.Symbol, Any]) -> Formula:
    """A formula with numbers in the place of some of its symbols.

    Args:
        formula: the formula.
        values: the number for each symbol; floats become rationals.
    """
    numbers = {name: exact(value) for name, value in values.items()}
    return replace(formula, expression=formula.expression.subs(numbers, simultaneous=True))


def reno_equilibrium_window(law: Reno, loss_process: str) -> Formula:
    """The equilibrium window of Reno or NewReno, packets, as a formula in the drop probability p.

    `loss_process` is a name in `LOSS_PROCESSES`.
    """
    return substitute(
        reno_window(), {symbol("loss_factor"): law.loss_factor(loss_process, OUT_OF_SLOW_START)}
    )


def scalable_equilibrium_window(law: Scalable, loss_process: str) -> Formula:
    """The equilibrium window of Scalable TCP above its legacy window, packets.

    It is a formula in the probability of a loss p. `loss_process` is `iid`, `periodic` or
    `meanfield`.
    """
    values = {SCALABLE["increase"].symbol: law.increase, symbol("cut"): law.decrease}
    return substitute(scalable_window(loss_process), values)


def dctcp_equilibrium_window(law: Dctcp, loss_process: str) -> Formula:
    """DCTCP's equilibrium window under random marks, packets, as a formula in p.

    p is the probability of a mark, which DCTCP's alpha equals; each mark is a separate signal.
    `loss_process` is a name in `LOSS_PROCESSES`. The drift is zero where
    (1 - p) = phi p W (p W / 2), in Linux where 1 = phi p W (p W - 1) / 2.
    """
    prob = symbol("drop_prob")
    state = DctcpWindow(symbol("cwnd"), sp.Integer(0), prob)
    factor = exact(law.loss_factor(loss_process, state))
    marks = sp.sqrt(2 * (1 - prob) / factor)
    if law.recovery == "rack":
        marks = (1 + sp.sqrt(1 + 8 / factor)) / 2
    return Formula(
        "dctcp_window",
        "window of DCTCP under random marks",
        "cwnd",
        marks / prob,
        "congestion avoidance, marks without losses, and a response to each mark",
        "derived here from the drift",
    )


def cubic_equilibrium_window(law: Cubic, loss_process: str) -> Formula:
    """CUBIC's equilibrium window, packets, as a formula in the RTT R (s) and drop probability p.

    It is the larger of the cubic and the Reno-friendly window; without `law.friendly` the cubic
    one. `loss_process` is a name in `LOSS_PROCESSES`.
    """
    values = {CUBIC["cubic_c"].symbol: law.C, symbol("cut"): 1 - law.beta}
    curve = substitute(cubic_window(loss_process, law.fast_convergence), values)
    if not law.friendly:
        return curve
    reno = substitute(reno_friendly_window(loss_process), values)
    if not law.catches_up or law.friendly_increase is not None:
        increase = law.closure(loss_process)[1]
        squared = exact(increase) / exact(1 - law.beta) / symbol("drop_prob")
        reno = replace(reno, expression=sp.sqrt(squared))
    return replace(
        curve,
        description=f"window of CUBIC, {loss_process} losses{constants_as_text(curve, reno)}",
        validity="in the cubic and the Reno-friendly region; b p W at most 1/2",
        expression=sp.Max(curve.expression, reno.expression),
    )


def constants_as_text(curve: Formula, reno: Formula) -> str:
    """The constants of CUBIC's windows over (R/p)^(3/4) and 1/sqrt(p) as text; empty for symbols.

    Args:
        curve: the window in the cubic region.
        reno: the window in the Reno-friendly region.
    """
    one = dict.fromkeys((symbol("rtt"), symbol("drop_prob")), 1)
    first, second = (window.expression.subs(one) for window in (curve, reno))
    if (first + second).free_symbols:
        return ""
    return f": {first:.4f} (R/p)^(3/4) or {second:.4f}/sqrt(p)"


def highspeed_equilibrium_window(law: HighSpeed, loss_process: str) -> Formula:
    """HighSpeed TCP's equilibrium window, packets, as a formula in the drop probability p.

    It is the response function of RFC 3649, for `loss_process` `periodic`.

    Raises:
        InvalidInput: for any other loss process.
    """
    if loss_process != "periodic":
        allowed = "one with a closed form; highspeed has one for periodic losses only"
        raise InvalidInput("equilibrium_window", "law", allowed, law.name)
    return substitute(
        highspeed_window(),
        {quantity.symbol: getattr(law, name) for name, quantity in HIGHSPEED.items()},
    )


def vegas_equilibrium_window(law: Vegas, loss_process: str) -> Formula:
    """The equilibrium window of Vegas without losses, packets, as a formula of R and T (s).

    `loss_process` is not used. With losses only alpha has a closed form (`vegas_alpha`).
    """
    return substitute(vegas_lossless_window(law), {symbol("alpha"): law.alpha})


def rerouting_equilibrium_window(law: VegasRerouting, loss_process: str) -> Formula:
    """The equilibrium window of Vegas with rerouting detection, packets, as a formula of R, T (s).

    It is the window of plain Vegas without losses; `loss_process` is not used.
    """
    return vegas_equilibrium_window(law.plain, loss_process)


WINDOWS: dict[type[CongestionControl], Callable[[Any, str], Formula]] = {
    Reno: reno_equilibrium_window,
    Scalable: scalable_equilibrium_window,
    Cubic: cubic_equilibrium_window,
    Dctcp: dctcp_equilibrium_window,
    HighSpeed: highspeed_equilibrium_window,
    Vegas: vegas_equilibrium_window,
    VegasRerouting: rerouting_equilibrium_window,
}
"""For each class of congestion control the function of (law, loss process) that returns the formula
for its equilibrium window."""

KNOWN = "one of " + ", ".join(law_type.name for law_type in WINDOWS)
"""Allowed congestion controls, as a message words them."""


def loss_constant(law: CongestionControl, loss_process: str = "meanfield") -> Expression:
    """The constant c of an equilibrium window of c / sqrt(p) packets, p the drop probability.

    Args:
        law: a congestion control with such a window: Reno or NewReno.
        loss_process: how losses arrive, a name in `LOSS_PROCESSES`.

    Returns:
        An exact SymPy number, such as sqrt(2).

    Raises:
        InvalidInput: for a law whose window is another function of p, or an unknown loss process.

    >>> loss_constant(Reno()), float(loss_constant(Reno(), "periodic"))
    (sqrt(2), 1.224744871391589)
    """
    window, prob = equilibrium_window(law, loss_process), symbol("drop_prob")
    constant = window.expression * sp.sqrt(prob)
    if window.arguments == ("drop_prob",) and not (simple := sp.simplify(constant)).has(prob):
        return simple
    raise InvalidInput("loss_constant", "law", "one whose window is c / sqrt(p)", law.name)
