"""The drift of a congestion control as a SymPy expression on one smooth branch.

SymPy evaluates the code that the fluid model integrates. A congestion control compares values with
`smooth.maximum` and `smooth.minimum`, so its drift in symbols contains Max and Min. Each of them is
replaced by the argument that is largest or smallest at a witness point, and the conditions for that
are recorded. Floats become the rationals that they approximate.

Sources:
    Derived for this project.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import sympy as sp

from vegasfluid.analysis.closed_forms.formula import Expression, symbol
from vegasfluid.congestion.base import CongestionControl, Signals
from vegasfluid.errors import InvalidInput, Words

__all__ = ["Branch", "above_zero", "branch_at", "equilibrium_drift", "equilibrium_signals", "exact"]

Witness = Mapping[Any, Any]
"""The witness point: a number for each symbol."""

FAR = sp.Integer(10) ** 9
"""Slow-start threshold, packets: far from any window, so that slow start plays no part."""


class Branch(NamedTuple):
    """One smooth branch of an expression.

    Args:
        expression: the expression without Max and Min.
        conditions: expressions that are positive exactly on the branch; empty if it is the only
            one.
    """

    expression: Expression
    conditions: tuple[Expression, ...]


def exact(value: Any) -> Expression:
    """A number or SymPy expression with its floats replaced by the rationals that they approximate.

    >>> exact(0.7), exact(1 - 0.7), exact(1 / 3)
    (7/10, 3/10, 1/3)
    """
    expression = sp.sympify(value)
    return expression.xreplace({part: rational(part) for part in expression.atoms(sp.Float)})


@cache
def rational(number: sp.Float) -> sp.Rational:
    """The rational that a float approximates; kept, as SymPy takes milliseconds to find it."""
    return sp.nsimplify(number, rational=True)


def branch_at(expression: Any, witness: Witness) -> Branch:
    """The branch of an expression on which a witness point lies.

    Args:
        expression: may contain Max, Min and floats.
        witness: a number for each of its symbols.

    Returns:
        The expression with each Max and Min replaced by the argument that is active at the witness
        and floats by rationals; and the expressions that must be positive for it, without those
        that SymPy knows to be positive.

    Raises:
        InvalidInput: where two different arguments are equal at the witness, or have no value.

    >>> x, y = sp.symbols("x y", positive=True)
    >>> branch_at(sp.Max(x, y) + 0.25 * sp.Min(x, 3), {x: 1, y: 2})
    Branch(expression=x/4 + y, conditions=(3 - x, -x + y))
    """
    conditions: dict[Expression, None] = {}

    def active(kind: type[sp.Max | sp.Min], arguments: list[Expression]) -> Expression:
        """The argument of a Max or Min that is largest or smallest at the witness.

        Differences to the others, positive on the branch, are added to `conditions`.
        """
        sign = 1 if kind is sp.Max else -1
        values: dict[Any, Any] = {
            argument: sign * sp.N(argument.subs(dict(witness))) for argument in arguments
        }
        first = max(require_numbers(kind, values), key=lambda argument: values[argument])
        for other in values:
            if other != first:
                require_apart(kind, values, first, other)
                conditions[sign * (first - other)] = None
        return first

    def smooth(part: Expression) -> Expression:
        """A part of the expression on the branch; builds no Max or Min, as that takes long."""
        if not part.args:
            return exact(part)
        arguments = [smooth(argument) for argument in part.args]
        if isinstance(part, sp.Max | sp.Min):
            return active(type(part), arguments)
        return part if arguments == list(part.args) else part.func(*arguments)

    branch = smooth(sp.sympify(expression))
    unknown = (condition for condition in conditions if not condition.is_positive)
    return Branch(branch, tuple(sorted(unknown, key=sp.default_sort_key)))


def require_numbers(
    kind: type[sp.Max | sp.Min], values: Mapping[Expression, Any]
) -> Mapping[Expression, Any]:
    """Return `values`; raise InvalidInput unless all are numbers.

    Args:
        kind: Max or Min, for the message.
        values: its arguments with their values at the witness.
    """
    for value in values.values():
        if not value.is_number:
            allowed = f"a number for all symbols of {kind(*values)}"
            raise InvalidInput("branch_at", "witness", allowed, value)
    return values


def require_apart(
    kind: type[sp.Max | sp.Min], values: Mapping[Expression, Any], first: Any, other: Any
) -> None:
    """Raise InvalidInput unless one argument of a Max or Min is above another at the witness.

    Args:
        kind: Max or Min, for the message.
        values: its arguments with their values at the witness (for Min, with the opposite sign).
        first: the active argument.
        other: another argument.
    """
    if not values[first] > values[other]:
        raise InvalidInput(
            "branch_at",
            "witness",
            f"a point at which the arguments of {kind(*values)} differ",
            Words("one at which two are equal"),
        )


def above_zero(ratio: Expression, witness: Witness) -> Expression:
    """Rewrite a ratio of polynomials so that its denominator is positive at a witness point.

    Numerator and denominator are expanded; the value stays the same.

    Args:
        ratio: a ratio of two polynomials.
        witness: a number for each symbol of the denominator.

    >>> b = sp.Symbol("b", positive=True)
    >>> above_zero(-2 / (b - 2), {b: 0.5})
    2/(2 - b)
    """
    top, bottom = sp.fraction(sp.factor(ratio))
    sign = 1 if bottom.subs(dict(witness)) > 0 else -1
    return sp.expand(sign * top) / sp.expand(sign * bottom)


def equilibrium_signals(loss_process: str = "meanfield") -> Signals:
    """The signals of a sender in equilibrium, in SymPy symbols, for one flow.

    `rtt` is R (s), `ack_rate` W/R (packets/s), `loss_rate` p W/R (1/s), and `initial_ssthresh` 1e9
    packets. The other signals have their defaults.

    Args:
        loss_process: how losses arrive, a name in `LOSS_PROCESSES`.

    >>> equilibrium_signals().ack_rate, equilibrium_signals().loss_rate
    (W/R, W*p/R)
    """
    rate = symbol("cwnd") / symbol("rtt")
    loss_rate = symbol("drop_prob") * rate
    return Signals(symbol("rtt"), rate, loss_rate, FAR, loss_process=loss_process)


def equilibrium_drift(
    law: CongestionControl, window: Any, seen: Signals, witness: Witness
) -> dict[str, Branch]:
    """The drift of a congestion control in symbols, for each of its state variables by name.

    Args:
        law: the congestion control, with numbers or symbols for its parameters.
        window: its state, in symbols.
        seen: the signals of its sender, in symbols.
        witness: a number for each symbol; it selects the argument of each Max and Min.

    Returns:
        The rate of change of each state, in its unit per second (`cwnd` in packets/s), on the
        branch of the witness.

    Raises:
        InvalidInput: if two compared arguments are equal at the witness, or one has no number.

    >>> from vegasfluid.congestion.base import Window
    >>> from vegasfluid.congestion.reno import Reno
    >>> W, R, p = (symbol(name) for name in ("cwnd", "rtt", "drop_prob"))
    >>> window, witness = Window(W, sp.Integer(0)), {W: 10, R: 1, p: 0.02}
    >>> drift = equilibrium_drift(Reno(), window, equilibrium_signals(), witness)
    >>> drift["cwnd"].expression
    -W**2*p/(2*R) + 1/R
    """
    rates = law.drift(window, seen)
    return {name: branch_at(rate, witness) for name, rate in rates._asdict().items()}
