"""Claims of a paper, read and validated from `claims.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from datetime import date
from enum import Enum
from fnmatch import fnmatch
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vegasfluid.errors import InvalidInput

__all__ = [
    "Assumption",
    "Claim",
    "Expectation",
    "FormerReading",
    "FormerRule",
    "Measured",
    "Paper",
    "Reading",
    "Role",
    "Verdict",
    "Withdrawn",
    "load_paper",
]

Measured = float | Sequence[float]
"""Value of a measure: a number, or a series."""
Text = Annotated[str, Field(min_length=1)]
Role = Literal["statement", "open question", "definition", "question of ours"]
"""What a claim is: a statement of the paper, which counts; a question that the paper leaves open; a
definition, which is a printed input, a rule of an algorithm or a law of mathematics, so that only a
fault of ours or a slip of the sentence could make it fail; or a question that only we ask. Only
statements count."""


class Verdict(Enum):
    """Result of the comparison of a claim with the evidence."""

    REPRODUCED = "reproduced"
    IN_SHAPE = "reproduced in shape"
    CALIBRATED = "calibrated"
    """It agrees, but its value chose how we read the paper, or it follows from such a reading."""
    NOT_REPRODUCED = "not reproduced"
    CONTRADICTED = "contradicted"


class Strict(BaseModel):
    """Immutable model that rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Expectation(Strict):
    """Conditions on a measure under which a claim holds; all given ones must hold.

    For a series the bounds apply to each value.

    >>> Expectation(equals=25833, within=1).met(25833.3), Expectation(above=1).met([2.0, 0.5])
    (True, False)
    >>> Expectation(order="rising").met([1, 2, 5])
    True
    """

    equals: float | list[float] | None = None
    """The value, or the values of a series."""
    within: float | None = Field(default=None, ge=0)
    """Absolute tolerance of `equals`; added to the relative one."""
    within_share: float | None = Field(default=None, ge=0)
    """Relative tolerance of `equals`."""
    at_least: float | None = None
    """Smallest value."""
    at_most: float | None = None
    """Largest value."""
    above: float | None = None
    """Lower bound that the value must exceed."""
    below: float | None = None
    """Upper bound that the value must stay below."""
    order: Literal["rising", "falling"] | None = None
    """Whether a series must increase or decrease at every step."""

    @model_validator(mode="after")
    def _check(self) -> Expectation:
        """Check that there is a condition, and no tolerance without a value."""
        given = self.model_fields_set
        if not given - {"within", "within_share"}:
            raise ValueError("an expectation needs equals, a bound or an order")
        if given & {"within", "within_share"} and "equals" not in given:
            raise ValueError("within and within_share need equals")
        return self

    def met(self, found: Measured) -> bool:
        """Whether all conditions hold for a value or a series; none holds for NaN."""
        return self.met_within(found, 0.0) is True

    def met_within(self, found: Measured, margin: Measured) -> bool | None:
        """Whether all conditions hold for all values within a margin of a value or a series.

        >>> bound = Expectation(above=1)
        >>> bound.met_within(1.2, 0.1), bound.met_within(1.2, 0.3), bound.met_within(0.8, 0.1)
        (True, None, False)

        Args:
            found: the value, or the series.
            margin: largest deviation of the value, or of each value of the series.

        Returns:
            True for all of them, False for none, None for some: undecided.
        """
        values = list(found) if isinstance(found, Sequence) else [found]
        margins = margin if isinstance(margin, Sequence) else [margin] * len(values)
        aims = self.equals if isinstance(self.equals, list) else [self.equals] * len(values)
        if not values or len(aims) != len(values):
            return False
        lows = [value - part for value, part in zip(values, margins, strict=True)]
        highs = [value + part for value, part in zip(values, margins, strict=True)]
        ordered, can_be_ordered = self._ordered(lows, highs)
        ends = list(zip(lows, highs, aims, strict=True))
        if all(self._high_enough(x, aim) and self._low_enough(y, aim) for x, y, aim in ends):
            return True if ordered else None if can_be_ordered else False
        possible = all(
            self._high_enough(high, aim) and self._low_enough(low, aim) for low, high, aim in ends
        )
        return None if possible and can_be_ordered else False

    def _high_enough(self, value: float, aim: float | None) -> bool:
        """Whether a value meets all lower bounds, and is not too far below what it should equal."""
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (aim is None or value - aim >= -self._distance(aim))
        )

    def _low_enough(self, value: float, aim: float | None) -> bool:
        """Whether a value meets all upper bounds, and is not too far above what it should equal."""
        return (
            (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
            and (aim is None or value - aim <= self._distance(aim))
        )

    def _distance(self, aim: float) -> float:
        """Largest distance from what a value should equal."""
        return (self.within or 0) + (self.within_share or 0) * abs(aim)

    def _ordered(self, lows: list[float], highs: list[float]) -> tuple[bool, bool]:
        """Whether all series between two have the expected order, and whether any has it."""
        if self.order is None:
            return True, True
        if self.order == "falling":
            lows, highs = [-high for high in highs], [-low for low in lows]
        reached = accumulate(lows, max)
        can_rise = all(high > low for low, high in zip(reached, highs[1:], strict=False))
        rises = all(low > high for high, low in zip(highs, lows[1:], strict=False))
        return rises and len(lows) > 1, can_rise and len(lows) > 1

    def text(self) -> str:
        """The conditions as text for a table.

        >>> Expectation(equals=3.0, within_share=0.1).text()
        '3 ± 10 %'
        """
        parts = []
        if self.equals is not None:
            parts.append(number_text(self.equals) + self._tolerance())
        words = {"at_least": "≥ ", "at_most": "≤ ", "above": "> ", "below": "< "}
        parts += [
            word + number_text(bound)
            for name, word in words.items()
            if (bound := getattr(self, name)) is not None
        ]
        return ", ".join(parts + ([self.order] if self.order else []))

    def _tolerance(self) -> str:
        """The tolerances of `equals` as text."""
        parts = [f"{self.within:g}"] if self.within else []
        parts += [f"{100 * self.within_share:g} %"] if self.within_share else []
        return f" ± {' ± '.join(parts)}" if parts else ""


def number_text(value: Measured) -> str:
    """A number or a series as text with five digits.

    >>> number_text(25833.33), number_text([1, 0.25])
    ('25833', '1, 0.25')
    """
    values = value if isinstance(value, Sequence) else [value]
    return ", ".join(f"{part:.5g}" if abs(part) < 1e5 else f"{part:,.0f}" for part in values)


class Rule(Strict):
    """What is measured for a claim, what must come out, and what else its verdict depends on."""

    measure: Text
    """Name of the measure that tests it: an experiment, a dot, and a name in the experiment."""
    expect: Expectation
    """Conditions on the measure under which the statement holds."""
    in_shape: Expectation | None = None
    """Weaker conditions on trend or order of magnitude, for *reproduced in shape*."""
    role: Role = "statement"
    """Whether it counts as a statement of the paper, or what it is else."""
    own_numbers: Text | None = None
    """Numbers of the paper that are against the statement; only with them it is contradicted."""
    alternatives: list[Text] = Field(default_factory=list)
    """Other definitions of the measure or estimators: the names of their sources after the comma.

    Those of the paper's assumptions count for each claim without being listed.
    """
    indirect: Text | None = None
    """Why the measure shows no more than the shape of the statement, even where the rule holds."""

    @property
    def experiment(self) -> str:
        """Name of the experiment that tests the claim."""
        return self.measure.partition(".")[0]


def deciding(rule: Rule) -> tuple[object, ...]:
    """What of a rule the verdict on a value depends on."""
    return rule.measure, rule.expect, rule.in_shape, rule.own_numbers, rule.indirect


class FormerRule(Rule):
    """A rule, or the wording of its statement, that was replaced after its result was known."""

    replaced: date
    """Day of the change."""
    says: Text | None = None
    """The statement as it was worded then; None: it is not recorded, as before 30 November 2026."""
    why: Text
    """Reason for the change."""
    verdict: Verdict
    """Verdict under this rule, or on what the statement then said."""


class Claim(Rule):
    """A testable statement of a paper."""

    id: Text
    """Name, unique in the paper: lower-case words with hyphens."""
    where: Text
    """Section, figure or table of the paper."""
    figure: int | None = None
    """Number of the figure that shows it, for `--figure`."""
    says: Text
    """The statement, close to the paper's words."""
    tolerance: Text
    """Reason for the tolerance or the bound."""
    reason: Text | None = None
    """Reason why the claim is not reproduced; None for a reproduced claim."""
    known: Text | None = None
    """Why the value was known before the present rule, if it was, so that the rule proves less."""
    since: Text | None = None
    """Reason why the verdict is no longer that in `earlier_verdicts.json`; None if it is, or if a
    changed rule is the reason."""
    changed: list[FormerRule] = Field(default_factory=list)
    """Rules by which the claim was judged before, the oldest first."""

    @property
    def decisive_changes(self) -> list[FormerRule]:
        """Former rules that could give another verdict than the next: not only other words."""
        nexts: list[Rule] = [*self.changed[1:], self]
        pairs = zip(self.changed, nexts, strict=False)
        return [former for former, after in pairs if deciding(former) != deciding(after)]


class Reading(Strict):
    """How a detail that the paper does not give is taken."""

    detail: Text
    """The missing detail."""
    taken: Text
    """Our choice, with a reason."""
    tried: str = ""
    """Other choices that were run, and their effect."""
    sources: list[Text] = Field(default_factory=list)
    """Sources that ran another choice: their names after the engine's and a comma."""
    chosen_by: list[Text] = Field(default_factory=list)
    """Claims whose value chose this reading, so that it does not test them."""
    implies: list[Text] = Field(default_factory=list)
    """Claims that could not hold under another reading than one that was so chosen, so that they
    are no tests either, and whose measures were not run under it: where they were, one that does
    not hold under it follows without being listed."""


class FormerReading(Reading):
    """A reading that was replaced after results had been seen."""

    replaced: date
    """Day of the change."""
    why: Text
    """Reason for the change."""
    claims: Text
    """What the claims were under this reading."""


class Assumption(Reading):
    """A detail that the paper does not give."""

    id: Text
    """Name, unique in the paper: lower-case words with hyphens."""
    changed: list[FormerReading] = Field(default_factory=list)
    """Readings that were taken before, the oldest first."""
    unaffected: dict[Text, Text] = Field(default_factory=dict)
    """Why another reading cannot change what is measured: reasons by experiment, or by claim (with
    `*` for several)."""

    def leaves(self, claim: Claim) -> bool:
        """Whether another reading cannot change what is measured for a claim."""
        names = claim.id, claim.experiment
        return any(fnmatch(name, pattern) for name in names for pattern in self.unaffected)


class Withdrawn(Strict):
    """A claim that is no longer tested under its name."""

    id: Text
    """Its name."""
    says: Text
    """Its statement."""
    day: date
    """Day of the withdrawal."""
    found: Text
    """Last value of its measure, or why there is none."""
    verdict: Verdict | None = None
    """Last verdict, by its own rule; None if its result was never reported."""
    why: Text
    """Reason, with the name of the claim that took its place, if any."""


class Paper(Strict):
    """A paper with its claims and missing details."""

    title: Text
    authors: Text
    year: int
    source: Text
    """Report number, journal or conference, or address."""
    assumptions: list[Assumption] = Field(default_factory=list, alias="assumption")
    claims: list[Claim] = Field(alias="claim")
    withdrawn: list[Withdrawn] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check(self) -> Paper:
        """Check that the names of claims and of assumptions are unique, and known."""
        names = [claim.id for claim in self.claims]
        for group in (names, [assumption.id for assumption in self.assumptions]):
            if duplicates := {name for name in group if group.count(name) > 1}:
                raise ValueError(f"duplicate ids: {', '.join(sorted(duplicates))}")
        for key in ("chosen_by", "implies"):
            used = {name for assumption in self.assumptions for name in getattr(assumption, key)}
            if unknown := used - set(names):
                raise ValueError(f"{key} names no claim: {', '.join(sorted(unknown))}")
        if idle := [item.id for item in self.assumptions if item.implies and not item.chosen_by]:
            raise ValueError(f"no claim's value chose what implies others: {', '.join(idle)}")
        known = {*names, *(claim.experiment for claim in self.claims)}
        for pattern in {pattern for item in self.assumptions for pattern in item.unaffected}:
            if not any(fnmatch(name, pattern) for name in known):
                raise ValueError(f"unaffected names no claim: {pattern}")
        return self


def load_paper(folder: Path) -> Paper:
    """Read the claims of a paper from `claims.toml` in its folder.

    Raises:
        InvalidInput: if the file is not TOML, or a claim is incomplete.
    """
    file = folder / "claims.toml"
    try:
        return Paper.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(str(file), "the file", "TOML", str(error)) from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InvalidInput(str(file), key, first["msg"], first["input"]) from None
