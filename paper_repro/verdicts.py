"""Verdicts on claims, by comparison with the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paper_repro.claims import Claim, FormerRule, Measured, Rule, Verdict
from paper_repro.experiment import ARITHMETIC, FLUID, LINUX, NS2, PACKETS, Evidence

__all__ = ["Judged", "judge"]

OURS = (ARITHMETIC, PACKETS, FLUID)
"""Our engines; the first one that has the measure of a claim decides on it."""

STANDARD_ERRORS = 2.0
"""Half the width of the interval in which the mean of all seeds is taken to lie, in standard
errors of ours; chosen."""


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict."""

    claim: Claim
    verdict: Verdict
    source: str
    """Source that decided."""
    found: Mapping[str, Measured]
    """Value of the measure by source."""
    error: Measured | None
    """Standard error of the deciding value, or of each value of a series; None if it does not
    follow from several seeds."""
    disagreeing: tuple[str, ...]
    """Second engines under which the claim does not hold, whatever the verdict is."""
    former: tuple[tuple[FormerRule, Verdict | None], ...]
    """Earlier rules of the claim, with the verdict of the same evidence under each; None: the
    measure is no longer taken."""

    @property
    def undecided(self) -> tuple[Verdict, ...]:
        """Other verdicts that a value within two standard errors of the deciding one gives.

        They are those of the rule alone: a claim that fails is *not reproduced*.
        """
        own = Verdict.NOT_REPRODUCED if self.verdict is Verdict.CONTRADICTED else self.verdict
        possible = possible_verdicts(self.claim, self.found[self.source], self.error or 0.0)
        return tuple(verdict for verdict in possible if verdict is not own)

    @property
    def mismatch(self) -> str | None:
        """What in the claim's entry does not match the verdicts; None if all of it does.

        A claim has a reason if it is not reproduced, and none otherwise; the verdict stated for an
        earlier rule is the one of the evidence.
        """
        if (self.verdict is not Verdict.REPRODUCED) != (self.claim.reason is not None):
            given = "no reason" if self.claim.reason is None else "a reason"
            return f"it is {self.verdict.value}, and its entry gives {given}"
        for rule, now in self.former:
            if now not in (None, rule.verdict):
                stated = f"under the rule replaced on {rule.replaced} it is {now.value}"
                return f"{stated}, and its entry states {rule.verdict.value}"
        return None


def judge(claim: Claim, evidence: Evidence) -> Judged | None:
    """Compare a claim with the evidence; None if none of our engines has its measure.

    A claim that fails is *contradicted* if all other engines fail it too, all by more than two
    standard errors, or if the paper's own arithmetic does; otherwise it is *not reproduced*.
    """
    found = found_for(claim, evidence)
    source = decisive(found)
    if source is None:
        return None
    errors = errors_for(claim, evidence)
    others = second_engines(found, source)
    former = tuple((rule, former_verdict(rule, evidence)) for rule in claim.changed)
    return Judged(
        claim,
        verdict_of(claim, source, found, errors),
        source,
        found,
        errors.get(source),
        tuple(name for name in others if fails(claim, found[name], errors.get(name, 0.0))),
        former,
    )


def found_for(rule: Rule, evidence: Evidence) -> dict[str, Measured]:
    """Values of a rule's measure by source."""
    return {
        source: measures[rule.measure]
        for source, measures in evidence.found.items()
        if rule.measure in measures
    }


def errors_for(rule: Rule, evidence: Evidence) -> dict[str, Measured]:
    """Standard errors of a rule's measure by source, where it follows from several seeds."""
    return {
        source: measures[rule.measure]
        for source, measures in evidence.spread.items()
        if rule.measure in measures
    }


def decisive(found: Mapping[str, Measured]) -> str | None:
    """The first of our engines that has a value."""
    return next((name for name in OURS if name in found), None)


def second_engines(found: Mapping[str, Measured], source: str) -> list[str]:
    """The engines that have a value, besides the one that decides."""
    return [name for name in (PACKETS, FLUID, NS2, LINUX) if name in found and name != source]


def former_verdict(rule: FormerRule, evidence: Evidence) -> Verdict | None:
    """Verdict of the evidence under an earlier rule; None if its measure is not in it."""
    found = found_for(rule, evidence)
    source = decisive(found)
    if source is None:
        return None
    return verdict_of(rule, source, found, errors_for(rule, evidence))


def verdict_of(
    rule: Rule, source: str, found: Mapping[str, Measured], errors: Mapping[str, Measured]
) -> Verdict:
    """Verdict by the value of the deciding source and, if that fails, by the other sources."""
    if rule.expect.met(found[source]):
        return Verdict.REPRODUCED
    if rule.in_shape is not None and rule.in_shape.met(found[source]):
        return Verdict.IN_SHAPE
    others = second_engines(found, source)
    all_fail = all(fails(rule, found[name], errors.get(name, 0.0)) for name in (source, *others))
    if source == ARITHMETIC or (others and all_fail):
        return Verdict.CONTRADICTED
    return Verdict.NOT_REPRODUCED


def fails(rule: Rule, found: Measured, error: Measured) -> bool:
    """Whether a value contradicts a claim anywhere within two standard errors."""
    return rule.expect.met_within(found, margin_of(error)) is False


def margin_of(error: Measured) -> Measured:
    """Two standard errors of a value, or of each value of a series."""
    if isinstance(error, Sequence):
        return [STANDARD_ERRORS * part for part in error]
    return STANDARD_ERRORS * error


def possible_verdicts(rule: Rule, found: Measured, error: Measured) -> list[Verdict]:
    """Verdicts of a rule alone on the values within two standard errors.

    Args:
        rule: the claim's rule.
        found: value of its measure, or a series.
        error: its standard error, or one for each value; 0 if it does not follow from seeds.
    """
    margin = margin_of(error)
    met = rule.expect.met_within(found, margin)
    in_shape = rule.in_shape.met_within(found, margin) if rule.in_shape is not None else False
    possible = {
        Verdict.REPRODUCED: met is not False,
        Verdict.IN_SHAPE: met is not True and in_shape is not False,
        Verdict.NOT_REPRODUCED: met is not True and in_shape is not True,
    }
    return [verdict for verdict, can_be in possible.items() if can_be]
