"""Verdicts: a claim, and what was found, make one of four words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from paper_repro.claims import Claim, Measured
from paper_repro.experiment import ARITHMETIC, FLUID, LINUX, NS2, PACKETS, Evidence

__all__ = ["Judged", "Verdict", "judge"]

OURS = (ARITHMETIC, PACKETS, FLUID)
"""A claim is judged by the first of these that speaks of it; the others are second opinions."""

SURE = 2.0
"""So many standard errors on either side a mean over seeds may be."""


class Verdict(Enum):
    """What became of a claim."""

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
    """What it was judged by."""
    found: Mapping[str, Measured]
    """What each source says."""
    error: float | None
    """Standard error of what it was judged by, where it is a mean over seeds."""

    @property
    def explained(self) -> bool:
        """Whether a reason stands where one is due, and nowhere else."""
        due = self.verdict is not Verdict.REPRODUCED
        return due == (self.claim.reason is not None)


def judge(claim: Claim, evidence: Evidence) -> Judged | None:
    """The verdict on a claim; None where nothing of ours speaks of it.

    A statement that fails is *contradicted* where a second, independent engine fails it too, or
    where it is the paper's own arithmetic; otherwise it is *not reproduced*.
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
    """The verdict by what `source` found, and by what the others say where it fails."""
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
    """Whether a second opinion is against a statement, whatever its seeds happened to be.

    Args:
        claim: the statement.
        found: what the other engine says.
        error: the standard error of its mean; 0 where it has none.
    """
    if isinstance(found, Sequence):
        return not claim.expect.met(found)
    low, high = found - SURE * error, found + SURE * error
    wanted = (claim.expect.equals, claim.expect.at_least, claim.expect.at_most)
    inside = [of for of in wanted if isinstance(of, float) and low <= of <= high]
    return not any(claim.expect.met(value) for value in (low, found, high, *inside))
