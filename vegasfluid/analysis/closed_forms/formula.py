"""A formula: what it gives, as an expression of named quantities, where it holds, and from where.

One `SYMBOLS` table names every quantity that a formula may speak of, with its unit, so that a
symbol means the same on every page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import sympy as sp

from vegasfluid.errors import InvalidInput

__all__ = ["SYMBOLS", "Expression", "Formula", "Quantity", "quantities", "symbol"]

Expression = Any
"""A `sympy.Expr`; what SymPy annotates its functions with is too wide for type checkers."""


DIGITS = 17
"""So many tell a float from every other. (A rational's integers may be too large for arrays.)"""


class Quantity(NamedTuple):
    """What a symbol stands for.

    Args:
        symbol: as formulas write it, positive.
        unit: inside the program; empty where it is a number.
        meaning: in the field's words.
    """

    symbol: Any
    unit: str
    meaning: str


def quantities(*rows: tuple[str, str, str, str]) -> dict[str, Quantity]:
    """Quantities by name, from rows of name, notation, unit and meaning.

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
    ("base_rtt", "T", "s", "round-trip time with nothing in the queue"),
    ("drop_prob", "p", "", "probability that a packet is dropped or marked"),
    ("capacity", "C", "packets/s", "capacity of the link"),
    ("queue", "q", "packets", "queue at rest"),
    ("buffer", "B", "packets", "buffer"),
    ("count", "N", "", "flows in all"),
    ("competitors", "N_r", "", "flows that compete with Vegas"),
    ("tuned", "N_v", "", "Vegas flows"),
    ("ratio", "r", "", "rate of a Vegas flow over that of a competitor"),
    ("alpha", "alpha", "packets", "backlog at which a Vegas window comes to rest"),
    ("backlog", "d", "packets", "own packets of a flow in the queue"),
    ("cut", "b", "", "share of the window that a loss takes"),
    ("loss_constant", "c", "", "c in W = c / sqrt(p) of the competitor"),
    ("loss_factor", "phi", "", "by how much losses weigh more than in the one-point closure"),
    ("min_thresh", "q_min", "packets", "RED's lower threshold"),
    ("max_thresh", "q_max", "packets", "RED's upper threshold"),
    ("max_drop", "p_max", "", "RED's curve at the upper threshold"),
    ("slope", "L", "1/packets", "slope of the drop probability over the average queue"),
)
"""Every quantity by its name; a law's own parameters are added by the formula that needs them."""


def symbol(name: str) -> Any:
    """The symbol of a quantity: a `sympy.Symbol`, whose arithmetic type checkers do not follow.

    >>> symbol("rtt")
    R
    """
    return SYMBOLS[name].symbol


@dataclass(frozen=True)
class Formula:
    """One closed form.

    >>> reno = Formula("reno_window", "Reno's window", "cwnd", sp.sqrt(2 / symbol("drop_prob")))
    >>> reno.text(), reno.takes, f"{reno(drop_prob=0.02):.4f}"
    ('W = sqrt(2)/sqrt(p)', ('drop_prob',), '10.0000')
    """

    name: str
    """By which it is found, such as `reno_window`."""
    says: str
    """What it is, in a line."""
    gives: str
    """The name of the quantity on its left, in `SYMBOLS`."""
    expression: Expression
    """Of symbols in `SYMBOLS`, and in `extra`."""
    holds: str = ""
    """Where it holds."""
    source: str = ""
    """Who found it, or from what it is derived."""
    extra: tuple[tuple[str, Quantity], ...] = ()
    """Quantities that only this formula has, such as CUBIC's C, by name."""

    @property
    def known(self) -> dict[str, Quantity]:
        """All quantities that it may speak of, by name."""
        return SYMBOLS | dict(self.extra)

    @cached_property
    def takes(self) -> tuple[str, ...]:
        """The names of the quantities on its right, in the order of the table."""
        free = self.expression.free_symbols
        return tuple(name for name, of in self.known.items() if of.symbol in free)

    @property
    def left(self) -> sp.Symbol:
        """The symbol on its left."""
        return self.known[self.gives].symbol

    @property
    def unit(self) -> str:
        """Of what it gives."""
        return self.known[self.gives].unit

    def text(self) -> str:
        """As a line of text."""
        return f"{self.left} = {self.expression}"

    def latex(self) -> str:
        """As LaTeX, without dollar signs."""
        return sp.latex(sp.Eq(self.left, self.expression, evaluate=False))

    def _repr_latex_(self) -> str:
        """As notebooks show it: set as a formula."""
        return f"$\\displaystyle {self.latex()}$"

    def compiled(self, module: str = "numpy") -> Callable[..., Any]:
        """It as a function of what it takes, in that order; its numbers are floats.

        Args:
            module: numpy, jax or any other that `sympy.lambdify` knows.
        """
        arguments = [self.known[name].symbol for name in self.takes]
        return sp.lambdify(arguments, sp.N(self.expression, DIGITS), module)

    @cached_property
    def _on_numbers(self) -> Callable[..., Any]:
        return self.compiled()

    def __call__(self, **values: Any) -> Any:
        """Its value, of numbers or of NumPy arrays that broadcast; for JAX see `compiled`.

        Args:
            values: of all that it takes, by name, in the table's units.

        Raises:
            InvalidInput: for a missing or an unknown name, or a number that is not above 0.
        """
        require_names(self, values)
        for name, value in values.items():
            if isinstance(value, int | float) and not value > 0:
                raise InvalidInput(self.name, name, "above 0", value)
        return self._on_numbers(*(values[name] for name in self.takes))

    def of(self, known: Mapping[str, Any]) -> Any:
        """Its value where more may be known than it takes; errors as those of a call."""
        return self(**{name: known[name] for name in self.takes if name in known})


def require_names(formula: Formula, given: Iterable[str]) -> None:
    """Hold the names given to a formula against those that it takes."""
    wanted = "given as " + ", ".join(formula.takes)
    for name in given:
        if name not in formula.takes:
            raise InvalidInput(formula.name, "values", wanted, name)
    for name in formula.takes:
        if name not in given:
            raise InvalidInput(formula.name, name, "given", "missing")
