"""A drift as an expression on one smooth branch: SymPy reads the lines that are integrated.

A law compares by `smooth.maximum` and `smooth.minimum`, so that its drift on symbols keeps Max and
Min. Each of them is replaced by the argument that is largest or smallest at a witness point, and
what must stay above zero for it to remain so is noted. Floats become the rationals that they stand
for.

Sources:
    Derived for this project.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import sympy as sp

from vegasfluid.analysis.closed_forms.formula import Expression, symbol
from vegasfluid.congestion.base import CongestionControl, Signals
from vegasfluid.errors import InvalidInput

__all__ = ["Branch", "above_zero", "at_rest", "branch_at", "drift_at_rest", "exact"]

Witness = Mapping[Any, Any]
"""A number for each symbol."""

FAR = sp.Integer(10) ** 9
"""Packets: no window is at the threshold of a slow start that is long over."""


class Branch(NamedTuple):
    """One smooth branch of an expression.

    Args:
        expression: without Max and Min.
        conditions: what is above 0 on it.
    """

    expression: Expression
    conditions: tuple[Expression, ...]


def exact(value: Any) -> Expression:
    """A number, or an expression with numbers in it, with rationals in place of floats.

    >>> exact(0.7), exact(1 - 0.7), exact(1 / 3)
    (7/10, 3/10, 1/3)
    """
    return sp.nsimplify(sp.sympify(value), rational=True)


def branch_at(expression: Any, witness: Witness) -> Branch:
    """The branch of an expression on which a witness point lies.

    Args:
        expression: with Max and Min in it, and perhaps floats.
        witness: a number for each of its symbols.

    Raises:
        InvalidInput: where two arguments that differ are equal at the witness, or have no value.

    >>> x, y = sp.symbols("x y", positive=True)
    >>> branch_at(sp.Max(x, y) + 0.25 * sp.Min(x, 3), {x: 1, y: 2})
    Branch(expression=x/4 + y, conditions=(3 - x, -x + y))
    """
    conditions: dict[Expression, None] = {}

    def active(of: Any) -> Expression:
        sign = 1 if isinstance(of, sp.Max) else -1
        values: dict[Any, Any] = {
            argument: sign * sp.N(argument.subs(dict(witness))) for argument in of.args
        }
        require_numbers(of, values.values())
        first = max(values, key=lambda argument: values[argument])
        for other in of.args:
            if other != first:
                require_apart(of, values[first], values[other])
                conditions[sign * (first - other)] = None
        return first

    smooth = exact(expression).replace(lambda part: isinstance(part, sp.Max | sp.Min), active)
    unknown = (of for of in conditions if not of.is_positive)
    return Branch(smooth, tuple(sorted(unknown, key=sp.default_sort_key)))


def require_numbers(of: Expression, values: Iterable[Any]) -> None:
    """Hold a witness to the symbols of what is compared."""
    for value in values:
        if not value.is_number:
            raise InvalidInput("branch_at", "witness", f"a number for all symbols of {of}", value)


def require_apart(of: Expression, first: Any, other: Any) -> None:
    """Hold a witness off the edge between two branches."""
    if not first > other:
        raise InvalidInput("branch_at", "witness", f"off the edge of {of}", "on it")


def above_zero(ratio: Expression, witness: Witness) -> Expression:
    """A ratio written with a denominator that is above zero at a witness point.

    Args:
        ratio: of two polynomials.
        witness: a number for each symbol of the denominator.

    >>> b = sp.Symbol("b", positive=True)
    >>> above_zero(-2 / (b - 2), {b: 0.5})
    2/(2 - b)
    """
    top, bottom = sp.fraction(sp.factor(ratio))
    sign = 1 if bottom.subs(dict(witness)) > 0 else -1
    return sp.expand(sign * top) / sp.expand(sign * bottom)


def at_rest(loss_process: str = "meanfield") -> Signals:
    """What a sender sees at rest, in symbols: ACKs at W/R, and p of the packets lost.

    Args:
        loss_process: how losses come, a name in `LOSS_PROCESSES`.

    >>> at_rest().ack_rate, at_rest().loss_rate
    (W/R, W*p/R)
    """
    rate = symbol("cwnd") / symbol("rtt")
    loss_rate = symbol("drop_prob") * rate
    return Signals(symbol("rtt"), rate, loss_rate, FAR, loss_process=loss_process)


def drift_at_rest(
    law: CongestionControl, window: Any, seen: Signals, witness: Witness
) -> dict[str, Branch]:
    """A law's drift, field by field, on the branch of a witness.

    Args:
        law: with numbers or symbols for its parameters.
        window: its state, in symbols.
        seen: what its sender sees, in symbols.
        witness: a number for each symbol.

    >>> from vegasfluid.congestion.base import Window
    >>> from vegasfluid.congestion.reno import Reno
    >>> W, R, p = (symbol(name) for name in ("cwnd", "rtt", "drop_prob"))
    >>> there = drift_at_rest(Reno(), Window(W, sp.Integer(0)), at_rest(), {W: 10, R: 1, p: 0.02})
    >>> there["cwnd"].expression
    -W**2*p/(2*R) + 1/R
    """
    rates = law.drift(window, seen)
    return {name: branch_at(rate, witness) for name, rate in rates._asdict().items()}
