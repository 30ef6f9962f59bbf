"""What a paper claims, as `claims.toml` has it: checked when it is read, judged elsewhere."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vegasfluid.errors import InvalidInput

__all__ = ["Assumption", "Claim", "Expectation", "Measured", "Paper", "load_paper"]

Measured = float | Sequence[float]
"""What an experiment found: a number, or several in the order of an axis."""
Text = Annotated[str, Field(min_length=1)]


class Strict(BaseModel):
    """Unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Expectation(Strict):
    """What a measure must be for a statement to hold; all that is given must be so.

    Of a series each value must be so, beside its order.

    >>> Expectation(equals=25833, within=1).met(25833.3), Expectation(above=1).met([2.0, 0.5])
    (True, False)
    >>> Expectation(order="rising").met([1, 2, 5])
    True
    """

    equals: float | list[float] | None = None
    """The value, or the values of a series."""
    within: float | None = Field(default=None, ge=0)
    """How far from it, in its unit; 0 where neither this nor the next is given."""
    within_share: float | None = Field(default=None, ge=0)
    """How far from it, as a share of it."""
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None
    order: Literal["rising", "falling"] | None = None
    """Of a series: each value beyond the one before it."""

    @model_validator(mode="after")
    def _check(self) -> Expectation:
        given = self.model_fields_set
        if not given - {"within", "within_share"}:
            raise ValueError("an expectation needs equals, a bound or an order")
        if given & {"within", "within_share"} and "equals" not in given:
            raise ValueError("within and within_share need equals")
        return self

    def met(self, found: Measured) -> bool:
        """Whether the statement holds of what was found; nothing holds of NaN."""
        values = list(found) if isinstance(found, Sequence) else [found]
        return (
            bool(values)
            and self._near(values)
            and all(self._inside(value) for value in values)
            and self._ordered(values)
        )

    def _near(self, values: Sequence[float]) -> bool:
        if self.equals is None:
            return True
        wanted = self.equals if isinstance(self.equals, list) else [self.equals] * len(values)
        return len(wanted) == len(values) and all(
            abs(value - aim) <= (self.within or 0) + (self.within_share or 0) * abs(aim)
            for value, aim in zip(values, wanted, strict=True)
        )

    def _inside(self, value: float) -> bool:
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def _ordered(self, values: Sequence[float]) -> bool:
        if self.order is None:
            return True
        sign = 1 if self.order == "rising" else -1
        steps = [later - earlier for earlier, later in pairwise(values)]
        return bool(steps) and all(sign * step > 0 for step in steps)

    def text(self) -> str:
        """The expectation in words, for a table.

        >>> Expectation(equals=3.0, within_share=0.1).text()
        '3 ± 10 %'
        """
        parts = []
        if self.equals is not None:
            parts.append(spelled(self.equals) + self._tolerance())
        words = {"at_least": "≥ ", "at_most": "≤ ", "above": "> ", "below": "< "}
        parts += [
            word + spelled(bound)
            for name, word in words.items()
            if (bound := getattr(self, name)) is not None
        ]
        return ", ".join(parts + ([self.order] if self.order else []))

    def _tolerance(self) -> str:
        parts = [f"{self.within:g}"] if self.within else []
        parts += [f"{100 * self.within_share:g} %"] if self.within_share else []
        return f" ± {' ± '.join(parts)}" if parts else ""


def spelled(value: Measured) -> str:
    """A number, or several, to five digits.

    >>> spelled(25833.33), spelled([1, 0.25])
    ('25833', '1, 0.25')
    """
    values = value if isinstance(value, Sequence) else [value]
    return ", ".join(f"{part:.5g}" if abs(part) < 1e5 else f"{part:,.0f}" for part in values)


class Claim(Strict):
    """One checkable statement of a paper."""

    id: Text
    """Its name, one of a kind in the paper: lower-case words with hyphens."""
    where: Text
    """Section, figure or table."""
    figure: int | None = None
    """The figure that shows it, for `--figure`."""
    says: Text
    """The statement, near the paper's words."""
    measure: Text
    """What it speaks of: the name of an experiment, a dot, and a name of its own."""
    expect: Expectation
    """The statement as something that holds or does not."""
    tolerance: Text
    """Why it is expected so exactly, and no more so."""
    in_shape: Expectation | None = None
    """A weaker statement: the trend or the order of magnitude, where the number is missed."""
    reason: Text | None = None
    """Why it is not reproduced, where it is not."""

    @property
    def experiment(self) -> str:
        """The experiment that it is judged by."""
        return self.measure.partition(".")[0]


class Assumption(Strict):
    """A detail that the paper leaves out."""

    detail: Text
    """What is left out."""
    taken: Text
    """What we took instead, and why."""
    tried: str = ""
    """Which other readings were run, and what hangs on them."""


class Paper(Strict):
    """A paper, its claims, and what it leaves out."""

    title: Text
    authors: Text
    year: int
    source: Text
    """Report number, journal or conference, or address."""
    assumptions: list[Assumption] = Field(default_factory=list, alias="assumption")
    claims: list[Claim] = Field(alias="claim")

    @model_validator(mode="after")
    def _check(self) -> Paper:
        names = [claim.id for claim in self.claims]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"ids that come twice: {', '.join(sorted(twice))}")
        return self


def load_paper(folder: Path) -> Paper:
    """Read `claims.toml` of a paper's folder.

    Raises:
        InvalidInput: for what is not TOML, or a claim that is not whole.
    """
    file = folder / "claims.toml"
    try:
        return Paper.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as wrong:
        raise InvalidInput(str(file), "the file", "TOML", str(wrong)) from None
    except ValidationError as wrong:
        first = wrong.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InvalidInput(str(file), place, first["msg"], first["input"]) from None
