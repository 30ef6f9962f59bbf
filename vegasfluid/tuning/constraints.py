"""Constraints on a setting: bounds on delay, drops, utilisation and gain margin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from vegasfluid.errors import InvalidInput

__all__ = ["FEASIBILITY_TOLERANCE", "NO_CONSTRAINTS", "Constraint", "Constraints", "violation_text"]

FEASIBILITY_TOLERANCE = 0.02
"""Log of the factor by which a measured mean may violate an upper or lower bound (2 %)."""
UTILISATION_KEPT = 0.99
"""Where a queue is tuned, the utilisation may fall to this fraction of what it was."""
QUANTITIES = {
    "queueing_delay_s": ("queueing delay", 1e3, " ms"),
    "drop_share": ("loss ratio", 1.0, ""),
    "utilisation": ("utilisation", 1.0, ""),
    "gain_margin": ("gain margin", 1.0, ""),
}
"""For each quantity that can be bounded: its name in words, the factor by which its value is
multiplied for printing, and the unit that is then printed."""
UPPER_BOUNDS = ("queueing_delay_s", "drop_share")
"""Quantities that are bounded from above."""


class Constraint(NamedTuple):
    """A bound on one measured quantity of a setting.

    Args:
        quantity: its name in the results: `queueing_delay_s`, `drop_share`, `utilisation` or
            `gain_margin`.
        bound: in s for `queueing_delay_s`; else a number without unit.
        is_upper: True if the quantity must be at most `bound`, False if at least.
    """

    quantity: str
    bound: float
    is_upper: bool

    @property
    def field(self) -> str:
        """Name of the field of `Constraints` with this bound: the quantity without `_s`."""
        return self.quantity.removesuffix("_s")

    def margin(self, value: Any) -> float:
        """log(bound / value) for an upper bound, log(value / bound) for a lower one.

        The value has the unit of the bound. The margin is negative where the bound is violated; for
        a value of 0 or less it is inf (upper bound) or -inf.
        """
        if self.is_upper:
            return math.inf if value <= 0 else math.log(self.bound / value)
        return -math.inf if value <= 0 else math.log(value / self.bound)

    def margin_slope(self, value: Any, slope: Any) -> Any:
        """Derivative of `margin` by any variable: slope / value, with a minus for an upper bound.

        Args:
            value: of the bounded quantity, in its unit, above 0.
            slope: derivative of the value by that variable; may be an array.
        """
        return (-slope if self.is_upper else slope) / value

    @property
    def text(self) -> str:
        """The bound in words, such as `queueing delay at most 20 ms`."""
        name, _, _ = QUANTITIES[self.quantity]
        return f"{name} at {'most' if self.is_upper else 'least'} {self.printed(self.bound)}"

    def text_with(self, means: Mapping[str, float]) -> str:
        """The bound in words, followed by the value in `means` if that has the quantity.

        Args:
            means: measured values by result name, in the units of the bounds.
        """
        if self.quantity not in means:
            return self.text
        return f"{self.text}; measured: {self.printed(means[self.quantity])}"

    def printed(self, value: float) -> str:
        """A value of the quantity (in the unit of the bound) as text, with its unit."""
        _, factor, unit = QUANTITIES[self.quantity]
        return f"{factor * value:.4g}{unit}"


@dataclass(frozen=True)
class Constraints:
    """Bounds that a setting must satisfy; None: no bound.

    Args:
        queueing_delay: largest mean queueing delay of a packet on the path, s; above 0.
        drop_share: largest fraction of the packets dropped on the path; above 0, at most 1.
        utilisation: smallest used fraction of the capacity of the path's most used link; above 0,
            at most 1.
        gain_margin: smallest factor by which the loop gain may grow before the equilibrium becomes
            unstable; above 0.

    The path is that of the tuned class; of several tuned classes, the first one's.

    Raises:
        InvalidInput: for a bound outside its range.

    >>> [constraint.text for constraint in Constraints(queueing_delay=0.02, utilisation=0.9).each]
    ['queueing delay at most 20 ms', 'utilisation at least 0.9']
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
            raise InvalidInput("Constraints", field.name, allowed, bound)

    @property
    def each(self) -> tuple[Constraint, ...]:
        """The bounds that are not None, in the order of the fields.

        The bound on the queueing delay is in s; the others have no unit.
        """
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

    def with_utilisation_kept(self, before: float) -> Constraints:
        """These bounds, with one on the utilisation if they have none: 99 % of what it was.

        Args:
            before: mean utilisation with the given parameters, above 0 and at most 1.
        """
        if self.utilisation is not None:
            return self
        return replace(self, utilisation=UTILISATION_KEPT * before)

    def violated(self, values: Mapping[str, float], tolerance: float = 0.0) -> list[Constraint]:
        """The bounds that given values violate; empty if none.

        Args:
            values: must have each bounded quantity, by its name in the results, such as
                `queueing_delay_s` (s), `drop_share` and `utilisation` (fractions).
            tolerance: log of the factor by which a value may violate its bound and still be
                accepted.
        """
        return [one for one in self.each if one.margin(values[one.quantity]) < -tolerance]


NO_CONSTRAINTS = Constraints()
"""No bounds at all."""


def violation_text(values: Mapping[str, float], violated: Sequence[Constraint]) -> str:
    """A phrase that names the violated constraints and the values that violate them."""
    bounds = " and ".join(
        f"{one.text} (it is {one.printed(values[one.quantity])})" for one in violated
    )
    return f"no setting that was tried meets the constraints: {bounds}"
