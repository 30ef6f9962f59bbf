"""A formula: a named quantity as an expression of others, with its validity and its source.

One table, `SYMBOLS`, names every quantity that a formula may contain, with its unit, so that a
symbol means the same on every page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import sympy as sp

from vegasfluid.errors import InvalidInput, Words

__all__ = ["SYMBOLS", "Expression", "Formula", "Quantity", "quantities", "symbol"]

Expression = Any
"""A `sympy.Expr`; SymPy's own annotations are too wide for type checkers."""

DIGITS = 17
"""Significant digits of the numbers in a compiled formula: enough to identify a double. (The
integers of a rational may be too large for arrays.)"""


class Quantity(NamedTuple):
    """A quantity that formulas contain.

    Args:
        symbol: its SymPy symbol, positive.
        unit: unit of its values in all formulas; empty for a pure number.
        meaning: what it is.
    """

    symbol: Any
    unit: str
    meaning: str


def quantities(*rows: tuple[str, str, str, str]) -> dict[str, Quantity]:
    """A table of quantities by name.

    Args:
        rows: name, notation of the symbol, unit (empty for a pure number) and meaning of each.

    >>> quantities(("share", "s", "", "share of the link"))["share"].symbol
    s
    """
    return {
        name: Quantity(sp.Symbol(notation, positive=True), unit, meaning)
        for name, notation, unit, meaning in rows
    }


SYMBOLS = quantities(
    ("cwnd", "W", "packets", "congestion window"),
    ("rate", "x", "packets/s", "rate of a flow"),
    ("rtt", "R", "s", "round-trip time"),
    ("base_rtt", "T", "s", "round-trip time with an empty queue"),
    ("drop_prob", "p", "", "probability that a packet is dropped or marked"),
    ("capacity", "C", "packets/s", "capacity of the link"),
    ("queue", "q", "packets", "equilibrium queue"),
    ("buffer", "B", "packets", "buffer"),
    ("count", "N", "", "number of flows"),
    ("competitors", "N_r", "", "flows that compete with Vegas"),
    ("tuned", "N_v", "", "Vegas flows"),
    ("ratio", "r", "", "rate of a Vegas flow over that of a competitor"),
    ("alpha", "alpha", "packets", "equilibrium backlog of a Vegas flow"),
    ("backlog", "d", "packets", "own packets of a flow in the queue"),
    ("cut", "b", "", "fraction of the window that a loss takes"),
    ("loss_constant", "c", "", "c in W = c / sqrt(p) of the competitor"),
    ("loss_factor", "phi", "", "correction factor for losses, relative to the one-point closure"),
    ("min_thresh", "q_min", "packets", "RED's lower threshold"),
    ("max_thresh", "q_max", "packets", "RED's upper threshold"),
    ("max_drop", "p_max", "", "RED's curve at the upper threshold"),
    ("slope", "L", "1/packets", "slope of the drop probability over the average queue"),
)
"""All quantities by name; a formula adds the parameters that only it needs."""


def symbol(name: str) -> Any:
    """The SymPy symbol of a quantity in `SYMBOLS`.

    >>> symbol("rtt")
    R
    """
    return SYMBOLS[name].symbol


@dataclass(frozen=True)
class Formula:
    """One closed form: a named quantity as a SymPy expression of others, with validity and source.

    >>> reno = Formula("reno_window", "Reno's window", "cwnd", sp.sqrt(2 / symbol("drop_prob")))
    >>> reno.text(), reno.arguments, f"{reno(drop_prob=0.02):.4f}"
    ('W = sqrt(2)/sqrt(p)', ('drop_prob',), '10.0000')
    """

    name: str
    """Its unique name, such as `reno_window`."""
    description: str
    """Description in one line."""
    quantity: str
    """Name of the quantity on the left-hand side, in `SYMBOLS` or `extra`."""
    expression: Expression
    """The right-hand side, in symbols of `SYMBOLS` and `extra`."""
    validity: str = ""
    """Conditions under which it is valid."""
    source: str = ""
    """Where it was published, or from what it is derived."""
    extra: tuple[tuple[str, Quantity], ...] = ()
    """Quantities that only this formula has, such as CUBIC's C, by name."""

    @property
    def known(self) -> dict[str, Quantity]:
        """All quantities that the formula may contain, with symbol, unit and meaning, by name."""
        return SYMBOLS | dict(self.extra)

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """Names of the quantities on the right-hand side, in the order of `known`."""
        free = self.expression.free_symbols
        return tuple(name for name, quantity in self.known.items() if quantity.symbol in free)

    @property
    def lhs(self) -> sp.Symbol:
        """The SymPy symbol of the quantity on the left-hand side."""
        return self.known[self.quantity].symbol

    @property
    def unit(self) -> str:
        """Unit of the quantity on the left-hand side; empty for a pure number."""
        return self.known[self.quantity].unit

    def text(self) -> str:
        """The formula as a line of text, such as `W = sqrt(2)/sqrt(p)`."""
        return f"{self.lhs} = {self.expression}"

    def latex(self) -> str:
        """The formula as LaTeX, without dollar signs."""
        return sp.latex(sp.Eq(self.lhs, self.expression, evaluate=False))

    def _repr_latex_(self) -> str:
        """The formula as LaTeX between dollar signs, which notebooks typeset."""
        return f"$\\displaystyle {self.latex()}$"

    def compiled(self, module: str = "numpy") -> Callable[..., Any]:
        """The right-hand side as a function of the quantities in `arguments`, in that order.

        Args:
            module: numpy, jax or any other module that `sympy.lambdify` supports.

        Returns:
            A function of positional numbers or arrays, in the units of `known`, which are not
            checked.
        """
        symbols = [self.known[name].symbol for name in self.arguments]
        return sp.lambdify(symbols, sp.N(self.expression, DIGITS), module)

    @cached_property
    def _on_numbers(self) -> Callable[..., Any]:
        """The right-hand side as a NumPy function of `arguments`, in that order."""
        return self.compiled()

    def __call__(self, **values: Any) -> Any:
        """The value of the formula, in its `unit`, for numbers or NumPy arrays that broadcast.

        Args:
            values: all quantities in `arguments`, by name, in the units of `known`.

        Raises:
            InvalidInput: for a missing or an unknown name, or a plain number that is not above 0;
                elements of arrays are not checked.
        """
        require_names(self, values)
        for name, value in values.items():
            if isinstance(value, int | float) and not value > 0:
                raise InvalidInput(self.name, name, "above 0", value)
        return self._on_numbers(*(values[name] for name in self.arguments))

    def evaluate(self, known: Mapping[str, Any]) -> Any:
        """The value of the formula, in its `unit`, from a table of quantities.

        Args:
            known: quantities by name, in the units of `Formula.known`; those that the formula does
                not take are ignored.

        Raises:
            InvalidInput: for a missing quantity, or a plain number that is not above 0; elements of
                arrays are not checked.
        """
        return self(**{name: known[name] for name in self.arguments if name in known})


def require_names(formula: Formula, given: Iterable[str]) -> None:
    """Raise InvalidInput unless the given names are those in `formula.arguments`.

    The message names the first one that the formula does not take, or else the first missing one.
    """
    wanted = "given as " + ", ".join(formula.arguments)
    for name in given:
        if name not in formula.arguments:
            raise InvalidInput(formula.name, "values", wanted, name)
    for name in formula.arguments:
        if name not in given:
            raise InvalidInput(formula.name, name, "given", Words("missing"))
