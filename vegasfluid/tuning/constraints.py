"""What a setting must keep to, whatever its goal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from vegasfluid.errors import InvalidInput

__all__ = ["FEASIBILITY_TOLERANCE", "NO_CONSTRAINTS", "Constraint", "Constraints"]

FEASIBILITY_TOLERANCE = 0.02
"""A limit that a measured mean breaks by less, in logarithms, is kept to."""


class Constraint(NamedTuple):
    """A bound on one number.

    Args:
        of: the number's name in the results.
        bound: its bound, in the unit of the number.
        largest: whether the bound is from above.
    """

    of: str
    bound: float
    largest: bool

    @property
    def field(self) -> str:
        """Its name among `Constraints`."""
        return self.of.removesuffix("_s")

    def room(self, value: Any) -> float:
        """Log of how many times the value may still grow (or shrink); below 0 it is broken."""
        if self.largest:
            return math.inf if value <= 0 else math.log(self.bound / value)
        return -math.inf if value <= 0 else math.log(value / self.bound)

    def slope(self, value: Any, slope: Any) -> Any:
        """The derivative of `room` by what the value has this slope in."""
        return (-slope if self.largest else slope) / value

    @property
    def text(self) -> str:
        """In words, such as `queueing delay at most 0.02 s`."""
        words, unit = WORDS[self.of]
        return f"{words} at {'most' if self.largest else 'least'} {self.bound:.4g}{unit}"


WORDS = {
    "queueing_delay_s": ("queueing delay", " s"),
    "drop_share": ("drop share", ""),
    "utilisation": ("utilisation", ""),
    "gain_margin": ("gain margin", ""),
}
FROM_ABOVE = ("queueing_delay_s", "drop_share")


@dataclass(frozen=True)
class Constraints:
    """Bounds on what a setting does; None: no bound.

    Args:
        queueing_delay: at most, s, mean over packets.
        drop_share: of packets, at most, above 0 and below 1.
        utilisation: of the link, at least, above 0 and at most 1.
        gain_margin: of the rest, at least: how many times larger the loop's gain may become before
            it is unstable; above 0.

    Raises:
        InvalidInput: for a bound that makes no sense.

    >>> [of.text for of in Constraints(queueing_delay=0.02, utilisation=0.9).each]
    ['queueing delay at most 0.02 s', 'utilisation at least 0.9']
    """

    queueing_delay: float | None = None
    drop_share: float | None = None
    utilisation: float | None = None
    gain_margin: float | None = None

    def __post_init__(self) -> None:
        tops = {"drop_share": 1.0, "utilisation": 1.0}
        for field in fields(self):
            bound, top = getattr(self, field.name), tops.get(field.name, math.inf)
            if bound is None or (0 < bound <= top and math.isfinite(bound)):
                continue
            allowed = "above 0" + (f", and at most {top:g}" if math.isfinite(top) else "")
            raise InvalidInput("limits", field.name, allowed, bound)

    @property
    def each(self) -> tuple[Constraint, ...]:
        """The bounds that there are."""
        given = {
            "queueing_delay_s": self.queueing_delay,
            "drop_share": self.drop_share,
            "utilisation": self.utilisation,
            "gain_margin": self.gain_margin,
        }
        return tuple(
            Constraint(name, bound, name in FROM_ABOVE)
            for name, bound in given.items()
            if bound is not None
        )

    def broken(self, values: Mapping[str, float], slack: float = 0.0) -> list[Constraint]:
        """The bounds that some numbers do not keep to.

        Args:
            values: by their names in the results.
            slack: by how much they may be off, in logarithms.
        """
        return [limit for limit in self.each if limit.room(values[limit.of]) < -slack]


NO_CONSTRAINTS = Constraints()
