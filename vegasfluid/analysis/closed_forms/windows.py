"""The window at rest of a law as it stands, with its own parameters in the formula.

Sources:
    As the formulas of `windows_loss_based`, `windows_cubic` and `windows_vegas` say.
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
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.congestion.unresponsive import Unresponsive
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.congestion.vegas_rerouting import VegasRerouting
from vegasfluid.errors import InvalidInput

__all__ = ["loss_constant", "window_at_rest"]


def window_at_rest(law: CongestionControl, loss_process: str = "meanfield") -> Formula:
    """The window at which a law comes to rest, of R and p; of Vegas without losses, of R and T.

    Args:
        law: with numbers or symbols for its parameters.
        loss_process: how losses come, a name in `LOSS_PROCESSES`.

    Raises:
        InvalidInput: for a law without a closed form, or an unknown loss process.

    >>> from vegasfluid.congestion.newreno import NewReno
    >>> window_at_rest(NewReno(), "periodic").text()
    'W = sqrt(6)/(2*sqrt(p))'
    >>> window_at_rest(Vegas(alpha=2, dialect="ns2")).text()
    'W = 2*R/(R - T)'
    """
    if loss_process not in LOSS_PROCESSES:
        allowed = "one of " + ", ".join(LOSS_PROCESSES)
        raise InvalidInput("window_at_rest", "loss_process", allowed, loss_process)
    for kind, window in KINDS.items():
        if isinstance(law, kind):
            found = window(law, loss_process)
            return replace(found, name=f"{law.name}_window", extra=found.extra + own_symbols(law))
    why = "one with a window that losses and delays move"
    raise InvalidInput(
        "window_at_rest", "law", why if isinstance(law, Unresponsive) else KNOWN, law.name
    )


def own_symbols(law: CongestionControl) -> tuple[tuple[str, Quantity], ...]:
    """The symbols that a law has for parameters, as quantities."""
    known = {of.symbol for of in SYMBOLS.values()}
    values = (
        sp.sympify(value) for value in law.parameters().values() if not isinstance(value, str)
    )
    free = sorted(set[Any]().union(*(value.free_symbols for value in values)) - known, key=str)
    return tuple((str(own), Quantity(own, "", f"of {law.name}")) for own in free)


def put(formula: Formula, values: dict[sp.Symbol, Any]) -> Formula:
    """A formula with numbers for some of its symbols."""
    numbers = {of: exact(value) for of, value in values.items()}
    return replace(formula, expression=formula.expression.subs(numbers, simultaneous=True))


def of_reno(law: Reno, loss_process: str) -> Formula:
    """Reno's, with the law's own factor."""
    return put(
        reno_window(), {symbol("loss_factor"): law.loss_factor(loss_process, OUT_OF_SLOW_START)}
    )


def of_scalable(law: Scalable, loss_process: str) -> Formula:
    """That above the legacy window."""
    values = {SCALABLE["increase"].symbol: law.increase, symbol("cut"): law.decrease}
    return put(scalable_window(loss_process), values)


def of_cubic(law: Cubic, loss_process: str) -> Formula:
    """The larger of both regions' windows."""
    values = {CUBIC["cubic_c"].symbol: law.C, symbol("cut"): 1 - law.beta}
    curve = put(cubic_window(loss_process, law.fast_convergence), values)
    if not law.friendly:
        return curve
    reno = put(reno_friendly_window(loss_process), values)
    return replace(
        curve,
        says=f"window of CUBIC, {loss_process} losses{constants_of(curve, reno)}",
        holds="on its curve and in its Reno-friendly region; b p W at most 1/2",
        expression=sp.Max(curve.expression, reno.expression),
    )


def constants_of(curve: Formula, reno: Formula) -> str:
    """The constants of both windows in figures, where they have no symbols in them."""
    one = dict.fromkeys((symbol("rtt"), symbol("drop_prob")), 1)
    first, second = (window.expression.subs(one) for window in (curve, reno))
    if (first + second).free_symbols:
        return ""
    return f": {first:.4f} (R/p)^(3/4) or {second:.4f}/sqrt(p)"


def of_highspeed(law: HighSpeed, loss_process: str) -> Formula:
    """That of the RFC, where losses are periodic; others leave logarithms beside powers."""
    if loss_process != "periodic":
        why = "one with a closed form, which highspeed has for periodic losses only (its step and"
        raise InvalidInput("window_at_rest", "law", f"{why} its cut are logarithms)", law.name)
    return put(
        highspeed_window(), {of.symbol: getattr(law, name) for name, of in HIGHSPEED.items()}
    )


def of_vegas(law: Vegas, loss_process: str) -> Formula:
    """That without losses; with losses there is no such form (see `vegas_alpha`)."""
    return put(vegas_lossless_window(law), {symbol("alpha"): law.alpha})


def of_rerouting(law: VegasRerouting, loss_process: str) -> Formula:
    """That of its plain Vegas."""
    return of_vegas(law.plain, loss_process)


KINDS: dict[type[CongestionControl], Callable[[Any, str], Formula]] = {
    Reno: of_reno,
    Scalable: of_scalable,
    Cubic: of_cubic,
    HighSpeed: of_highspeed,
    Vegas: of_vegas,
    VegasRerouting: of_rerouting,
}
"""How each kind of law has its window."""

KNOWN = "one of " + ", ".join(kind.name for kind in KINDS)


def loss_constant(law: CongestionControl, loss_process: str = "meanfield") -> Expression:
    """C of a law whose window at rest is c / sqrt(p), whatever the round-trip time is.

    Args:
        law: Reno or NewReno.
        loss_process: a name in `LOSS_PROCESSES`.

    Raises:
        InvalidInput: for a law whose window is another function of p.

    >>> loss_constant(Reno()), float(loss_constant(Reno(), "periodic"))
    (sqrt(2), 1.224744871391589)
    """
    window, prob = window_at_rest(law, loss_process), symbol("drop_prob")
    constant = window.expression * sp.sqrt(prob)
    if window.takes == ("drop_prob",) and not (simple := sp.simplify(constant)).has(prob):
        return simple
    raise InvalidInput("loss_constant", "law", "one whose window is c / sqrt(p)", law.name)
