"""Verdicts on claims, by comparison with the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple

from scipy.stats import norm, t

from paper_repro.claims import Assumption, Claim, FormerRule, Measured, Rule, Verdict
from paper_repro.experiment import ARITHMETIC, FLUID, LINUX, NS2, PACKETS, Evidence

__all__ = ["Dependence", "Judged", "judge"]

OURS = (ARITHMETIC, PACKETS, FLUID)
"""Our engines; the first one that has the measure of a claim decides on it."""

HOLDS = (Verdict.REPRODUCED, Verdict.IN_SHAPE)
"""Verdicts of claims that hold and are tests."""

CONFIDENCE = 0.95
"""Probability with which the mean of all seeds lies in the interval around ours; chosen."""


class Dependence(NamedTuple):
    """Another reading, definition or estimator, under which a claim has another verdict."""

    name: str
    """Its name in the evidence."""
    verdict: Verdict
    """Verdict under it, of the rule alone."""
    assumption: Assumption | None
    """Assumption that it belongs to; None for another definition of the claim's measure."""


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
    margin: Measured
    """Half the width of the 95 % interval of the deciding value, or of each value of a series."""
    disagreeing: tuple[str, ...]
    """Second engines under which the claim does not hold, whatever the verdict is; of one that
    holds in shape only, not even in shape."""
    outside: tuple[str, ...]
    """Second engines whose values are outside the rule, but not the whole of their intervals."""
    other_errors: Mapping[str, Measured]
    """Standard errors of the values of second engines that have one."""
    former: tuple[tuple[FormerRule, Verdict | None], ...]
    """Earlier rules of the claim, with the verdict of the same evidence under each; None: the
    measure is no longer taken."""
    depends: tuple[Dependence, ...] = ()
    """Readings, definitions and estimators that give another verdict."""
    chose: tuple[Assumption, ...] = ()
    """Assumptions that the claim's value chose."""
    follows: tuple[Assumption, ...] = ()
    """Assumptions from which the claim follows, and which values of others chose."""
    untested: tuple[Assumption, ...] = ()
    """Assumptions that values chose, under another reading of which the measure of a claim that
    holds was not run, although it might change it."""

    @property
    def undecided(self) -> tuple[Verdict, ...]:
        """Other verdicts that a value in the 95 % interval around the deciding one gives.

        They are those of the rule alone: a claim that fails is *not reproduced*.
        """
        own = plain_verdict(self.claim, self.found[self.source])
        possible = possible_verdicts(self.claim, self.found[self.source], self.margin)
        return tuple(verdict for verdict in possible if verdict is not own)

    @property
    def in_shape(self) -> bool:
        """Whether the deciding value agrees in shape only, whatever the verdict is called."""
        return plain_verdict(self.claim, self.found[self.source]) is Verdict.IN_SHAPE

    @property
    def mismatch(self) -> str | None:
        """What in the claim's entry does not match the verdicts; None if all of it does.

        A claim has a reason if its rule does not hold, and none otherwise; the verdict stated for
        an earlier rule is the one of the evidence; and there is evidence for each alternative.
        """
        tails = {name.partition(", ")[2] for name in self.found}
        if missing := [name for name in self.claim.alternatives if name not in tails]:
            return f"its alternative {missing[0]!r} has no value"
        if self.claim.own_numbers is not None and self.verdict is not Verdict.CONTRADICTED:
            return f"it is {self.verdict.value}, and its entry gives numbers against it"
        plain = plain_verdict(self.claim, self.found[self.source])
        if (plain is not Verdict.REPRODUCED) != (self.claim.reason is not None):
            given = "no reason" if self.claim.reason is None else "a reason"
            return f"it is {self.verdict.value}, and its entry gives {given}"
        for rule, now in self.former:
            if now not in (None, rule.verdict):
                stated = f"under the rule replaced on {rule.replaced} it is {now.value}"
                return f"{stated}, and its entry states {rule.verdict.value}"
        return None


def judge(
    claim: Claim, evidence: Evidence, assumptions: Sequence[Assumption] = ()
) -> Judged | None:
    """Compare a claim with the evidence; None if none of our engines has its measure.

    A claim that fails is *contradicted* if the paper's own numbers are against it; otherwise it is
    *not reproduced*. One that holds is *calibrated* if its value chose a reading or it follows from
    one that values chose, and *in shape* if its measure is indirect.

    Args:
        claim: the claim.
        evidence: values of its measure.
        assumptions: those of its paper.
    """
    found = found_for(claim, evidence)
    source = decisive(found)
    if source is None:
        return None
    margins = margins_for(claim, evidence)
    errors = errors_for(claim, evidence)
    others = second_engines(found, source)
    shape = plain_verdict(claim, found[source]) is Verdict.IN_SHAPE
    disagreeing = [
        name for name in others if fails(claim, found[name], margins.get(name, 0.0), shape=shape)
    ]
    outside = [
        name
        for name in others
        if name not in disagreeing and fails(claim, found[name], shape=shape)
    ]
    chose = tuple(item for item in assumptions if claim.id in item.chosen_by)
    depends = dependences(claim, found, source, assumptions)
    follows = tuple(item for item in assumptions if follows_from(claim, depends, item))
    verdict = rule_verdict(claim, found[source], source)
    if (chose or follows) and verdict in (Verdict.REPRODUCED, Verdict.IN_SHAPE):
        verdict = Verdict.CALIBRATED
    tests = verdict in HOLDS and claim.role == "statement"
    return Judged(
        claim,
        verdict,
        source,
        found,
        errors.get(source),
        margins.get(source, 0.0),
        tuple(disagreeing),
        tuple(outside),
        {name: errors[name] for name in others if name in errors},
        tuple((rule, former_verdict(rule, evidence)) for rule in claim.changed),
        tuple(depends),
        chose,
        follows,
        untested_readings(claim, found, source, assumptions) if tests else (),
    )


def untested_readings(
    claim: Claim, found: Mapping[str, Measured], source: str, assumptions: Sequence[Assumption]
) -> tuple[Assumption, ...]:
    """Assumptions that values chose, and under another reading of which a claim was not run.

    Sums of printed numbers do not depend on readings, but for those that were computed so.
    """
    tails = [name.partition(", ")[2] for name in found]
    return tuple(
        item
        for item in assumptions
        if item.chosen_by
        and source != ARITHMETIC
        and not item.leaves(claim)
        and not any(other in tail for tail in tails for other in item.sources)
    )


def rule_verdict(rule: Rule, found: Measured, source: str) -> Verdict:
    """Verdict of a rule with what else it says of its measure and of the paper's numbers."""
    verdict = plain_verdict(rule, found)
    if verdict is Verdict.NOT_REPRODUCED and rule.own_numbers and source == ARITHMETIC:
        return Verdict.CONTRADICTED
    if verdict is Verdict.REPRODUCED and rule.indirect is not None:
        return Verdict.IN_SHAPE
    return verdict


def dependences(
    claim: Claim, found: Mapping[str, Measured], source: str, assumptions: Sequence[Assumption]
) -> list[Dependence]:
    """Alternatives under which a claim's rule gives another verdict.

    One that only a second engine ran counts if it turns that engine's verdict, too: otherwise the
    engine may be the reason. Two at once count if neither of them gives that verdict alone.
    """
    owners: dict[str, Assumption | None] = dict.fromkeys(claim.alternatives)
    owners |= {name: item for item in assumptions for name in item.sources}
    verdicts = {name: plain_verdict(claim, value) for name, value in found.items()}
    ours = {tail for name in found for engine, _, tail in [name.partition(", ")] if engine in OURS}
    others = []
    for name, verdict in verdicts.items():
        engine, _, tail = name.partition(", ")
        if tail not in owners or verdict is verdicts[source]:
            continue
        if engine in OURS:
            others.append(Dependence(tail, verdict, owners[tail]))
        elif tail not in ours and verdict is not verdicts.get(engine):
            others.append(Dependence(f"{tail}, by {engine}", verdict, owners[tail]))
    return others + combinations(verdicts, owners, source)


def combinations(
    verdicts: Mapping[str, Verdict], owners: Mapping[str, Assumption | None], source: str
) -> list[Dependence]:
    """Pairs of alternatives of our engines that give another verdict than each of them alone.

    Args:
        verdicts: verdicts by source.
        owners: alternatives, and the assumptions to which they belong.
        source: the deciding source.
    """
    others = []
    for first, second in product(owners, owners):
        for engine in OURS:
            verdict = verdicts.get(f"{engine}, {first}, {second}")
            alone = [verdicts.get(name) for name in (source, f"{engine}, {first}",
                                                     f"{engine}, {second}")]  # fmt: skip
            if verdict is not None and verdict not in alone:
                others.append(Dependence(f"{first}, {second}", verdict, owners[second]))
    return others


def follows_from(claim: Claim, depends: Sequence[Dependence], item: Assumption) -> bool:
    """Whether a claim that holds follows from an assumption that values of others chose.

    It does if it does not hold under another reading that we ran, or if the assumption names it.
    """
    turned = any(
        other.assumption is item and other.verdict is Verdict.NOT_REPRODUCED for other in depends
    )
    chosen = bool(item.chosen_by) and claim.id not in item.chosen_by
    return claim.id in item.implies or (chosen and turned)


def found_for(rule: Rule, evidence: Evidence) -> dict[str, Measured]:
    """Values of a rule's measure by source."""
    return {
        source: measures[rule.measure]
        for source, measures in evidence.found.items()
        if rule.measure in measures
    }


def margins_for(rule: Rule, evidence: Evidence) -> dict[str, Measured]:
    """Half widths of the 95 % intervals of a rule's measure by source, where it has an error."""
    return {
        source: margin_of(error, evidence.runs.get(source, {}).get(rule.measure))
        for source, error in errors_for(rule, evidence).items()
    }


def errors_for(rule: Rule, evidence: Evidence) -> dict[str, Measured]:
    """Standard errors of a rule's measure by source, where it has one."""
    return {
        source: errors[rule.measure]
        for source, errors in evidence.spread.items()
        if rule.measure in errors
    }


def decisive(found: Mapping[str, Measured]) -> str | None:
    """The first of our engines that has a value."""
    return next((name for name in OURS if name in found), None)


def second_engines(found: Mapping[str, Measured], source: str) -> list[str]:
    """The engines that have a value, besides the one that decides."""
    return [name for name in (PACKETS, FLUID, NS2, LINUX) if name in found and name != source]


def former_verdict(rule: FormerRule, evidence: Evidence) -> Verdict | None:
    """Verdict of the evidence under an earlier rule; None if its measure is not in it.

    A stated *contradicted* stays where the rule fails: that word once needed no numbers of the
    paper's own.
    """
    found = found_for(rule, evidence)
    source = decisive(found)
    if source is None:
        return None
    verdict = rule_verdict(rule, found[source], source)
    contradicted = rule.verdict is Verdict.CONTRADICTED and verdict is Verdict.NOT_REPRODUCED
    return rule.verdict if contradicted else verdict


def plain_verdict(rule: Rule, found: Measured) -> Verdict:
    """Verdict of a rule alone on a value or a series."""
    return possible_verdicts(rule, found, 0.0)[0]


def fails(rule: Rule, found: Measured, margin: Measured = 0.0, *, shape: bool = False) -> bool:
    """Whether a value contradicts a claim anywhere within a margin.

    Args:
        rule: the claim's rule.
        found: value of its measure, or a series.
        margin: largest deviation of the value, or of each value of the series.
        shape: whether a value that agrees in shape does not contradict it.
    """
    possible = possible_verdicts(rule, found, margin)
    return Verdict.REPRODUCED not in possible and not (shape and Verdict.IN_SHAPE in possible)


@cache
def quantile(runs: int | None) -> float:
    """Half width of the 95 % interval in standard errors: Student's t for the number of runs.

    >>> round(quantile(3), 2), round(quantile(20), 2), round(quantile(None), 2)
    (4.3, 2.09, 1.96)
    """
    share = (1 + CONFIDENCE) / 2
    return float(norm.ppf(share) if runs is None else t.ppf(share, runs - 1))


def margin_of(error: Measured, runs: int | None) -> Measured:
    """Half width of the 95 % interval of a value, or of each value of a series.

    Args:
        error: standard error, or one for each value.
        runs: number of independent runs behind it; None: so many that it is exact.
    """
    factor = quantile(runs)
    return [factor * part for part in error] if isinstance(error, Sequence) else factor * error


def possible_verdicts(rule: Rule, found: Measured, margin: Measured) -> list[Verdict]:
    """Verdicts of a rule alone on the values within a margin.

    Args:
        rule: the claim's rule.
        found: value of its measure, or a series.
        margin: largest deviation of the value, or of each value of the series.
    """
    met = rule.expect.met_within(found, margin)
    in_shape = rule.in_shape.met_within(found, margin) if rule.in_shape is not None else False
    possible = {
        Verdict.REPRODUCED: met is not False,
        Verdict.IN_SHAPE: met is not True and in_shape is not False,
        Verdict.NOT_REPRODUCED: met is not True and in_shape is not True,
    }
    return [verdict for verdict, can_be in possible.items() if can_be]
