"""Verdicts on claims, by comparison with the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from paper_repro.claims import Claim, Measured
from paper_repro.experiment import ARITHMETIC, FLUID, LINUX, NS2, PACKETS, Evidence

__all__ = ["Judged", "Verdict", "judge"]

OURS = (ARITHMETIC, PACKETS, FLUID)
"""Our engines; the first one that has the measure of a claim decides on it."""

STANDARD_ERRORS = 2.0
"""Half the width of the interval for the mean of a second opinion, in standard errors; chosen."""


class Verdict(Enum):
    """Result of the comparison of a claim with the evidence."""

    REPRODUCED = "reproduced"
    IN_SHAPE = "reproduced in shape"
    NOT_REPRODUCED = "not reproduced"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict."""

    claim: Claim
    verdict: Verdict
    source: str
    """Source that decided."""
    found: Mapping[str, Measured]
    """Value of the measure by source."""
    error: float | None
    """Standard error of the deciding value; None if it is not a mean over seeds."""

    @property
    def explained(self) -> bool:
        """Whether the claim has a reason if it is not reproduced, and none otherwise."""
        needs_reason = self.verdict is not Verdict.REPRODUCED
        return needs_reason == (self.claim.reason is not None)


def judge(claim: Claim, evidence: Evidence) -> Judged | None:
    """Compare a claim with the evidence; None if none of our engines has its measure.

    A claim that fails is *contradicted* if all other engines fail it too, or if the paper's own
    arithmetic does; otherwise it is *not reproduced*.
    """
    found = {
        source: measures[claim.measure]
        for source, measures in evidence.found.items()
        if claim.measure in measures
    }
    source = next((name for name in OURS if name in found), None)
    if source is None:
        return None
    errors = {
        name: measures[claim.measure]
        for name, measures in evidence.spread.items()
        if claim.measure in measures
    }
    verdict = verdict_of(claim, source, found, errors)
    return Judged(claim, verdict, source, found, errors.get(source))


def verdict_of(
    claim: Claim, source: str, found: Mapping[str, Measured], errors: Mapping[str, float]
) -> Verdict:
    """Verdict by the value of the deciding source and, if that fails, by the other sources."""
    if claim.expect.met(found[source]):
        return Verdict.REPRODUCED
    if claim.in_shape is not None and claim.in_shape.met(found[source]):
        return Verdict.IN_SHAPE
    others = [name for name in (PACKETS, FLUID, NS2, LINUX) if name in found and name != source]
    disagree = [name for name in others if fails(claim, found[name], errors.get(name, 0.0))]
    if source == ARITHMETIC or (others and disagree == others):
        return Verdict.CONTRADICTED
    return Verdict.NOT_REPRODUCED


def fails(claim: Claim, found: Measured, error: float) -> bool:
    """Whether a value contradicts a claim anywhere within two standard errors.

    Args:
        claim: the claim.
        found: value of its measure, or a series.
        error: standard error of the value; 0 if it is not a mean.
    """
    if isinstance(found, Sequence):
        return not claim.expect.met(found)
    low, high = found - STANDARD_ERRORS * error, found + STANDARD_ERRORS * error
    bounds = (claim.expect.equals, claim.expect.at_least, claim.expect.at_most)
    inside = [bound for bound in bounds if isinstance(bound, float) and low <= bound <= high]
    return not any(claim.expect.met(value) for value in (low, found, high, *inside))
