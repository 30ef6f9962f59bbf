"""Constraints on a setting: bounds on delay, drops, utilisation and gain margin."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from vegasfluid.errors import InvalidInput

__all__ = ["FEASIBILITY_TOLERANCE", "NO_CONSTRAINTS", "Constraint", "Constraints"]

FEASIBILITY_TOLERANCE = 0.02
"""A measured mean may violate a bound by this much, in logarithms (2 %)."""
QUANTITIES = {
    "queueing_delay_s": ("queueing delay", " s"),
    "drop_share": ("drop share", ""),
    "utilisation": ("utilisation", ""),
    "gain_margin": ("gain margin", ""),
}
"""Name in words, and unit, of each quantity that can be bounded."""
UPPER_BOUNDS = ("queueing_delay_s", "drop_share")
"""Quantities that are bounded from above."""


class Constraint(NamedTuple):
    """A bound on one quantity.

    Args:
        quantity: its name in the results.
        bound: in the unit of the quantity.
        is_upper: whether the bound is from above.
    """

    quantity: str
    bound: float
    is_upper: bool

    @property
    def field(self) -> str:
        """Its name among `Constraints`."""
        return self.quantity.removesuffix("_s")

    def margin(self, value: Any) -> float:
        """Log of the factor between a value and its bound; negative where it is violated."""
        if self.is_upper:
            return math.inf if value <= 0 else math.log(self.bound / value)
        return -math.inf if value <= 0 else math.log(value / self.bound)

    def margin_slope(self, value: Any, slope: Any) -> Any:
        """Derivative of the margin, from the derivative of the value."""
        return (-slope if self.is_upper else slope) / value

    @property
    def text(self) -> str:
        """In words, such as `queueing delay at most 0.02 s`."""
        name, unit = QUANTITIES[self.quantity]
        return f"{name} at {'most' if self.is_upper else 'least'} {self.bound:.4g}{unit}"


@dataclass(frozen=True)
class Constraints:
    """Bounds that a setting must satisfy; None: no bound.

    Args:
        queueing_delay: at most, s, mean over packets.
        drop_share: fraction of packets dropped, at most, above 0 and at most 1.
        utilisation: of the link, at least, above 0 and at most 1.
        gain_margin: at least: by which factor the loop gain may grow before the equilibrium becomes
            unstable; above 0.

    Raises:
        InvalidInput: for a bound outside its range.

    >>> [constraint.text for constraint in Constraints(queueing_delay=0.02, utilisation=0.9).each]
    ['queueing delay at most 0.02 s', 'utilisation at least 0.9']
    """

    queueing_delay: float | None = None
    drop_share: float | None = None
    utilisation: float | None = None
    gain_margin: float | None = None

    def __post_init__(self) -> None:
        largest = {"drop_share": 1.0, "utilisation": 1.0}
        for field in fields(self):
            bound, top = getattr(self, field.name), largest.get(field.name, math.inf)
            if bound is None or (0 < bound <= top and math.isfinite(bound)):
                continue
            allowed = "above 0" + (f", and at most {top:g}" if math.isfinite(top) else "")
            raise InvalidInput("limits", field.name, allowed, bound)

    @property
    def each(self) -> tuple[Constraint, ...]:
        """The bounds that were given."""
        bounds = {
            "queueing_delay_s": self.queueing_delay,
            "drop_share": self.drop_share,
            "utilisation": self.utilisation,
            "gain_margin": self.gain_margin,
        }
        return tuple(
            Constraint(name, bound, name in UPPER_BOUNDS)
            for name, bound in bounds.items()
            if bound is not None
        )

    def violated(self, values: Mapping[str, float], tolerance: float = 0.0) -> list[Constraint]:
        """The bounds that some values violate.

        Args:
            values: by their names in the results.
            tolerance: violation that is still accepted, in logarithms.
        """
        return [one for one in self.each if one.margin(values[one.quantity]) < -tolerance]


NO_CONSTRAINTS = Constraints()
"""No bounds at all."""
