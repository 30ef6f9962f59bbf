"""Verdicts of an earlier run of all papers, with which the report compares its verdicts."""

from __future__ import annotations

import json
from datetime import date
from functools import cache
from pathlib import Path
from typing import NamedTuple

from paper_repro.claims import Claim, Verdict

__all__ = ["ChangedVerdict", "Earlier", "earlier"]

RECORD = Path(__file__).parent / "earlier_verdicts.json"
"""Day of the earlier run, and its verdicts by paper and claim."""

MEANINGS = {
    (Verdict.CONTRADICTED, Verdict.NOT_REPRODUCED): "Since 30 November 2026 only numbers of the "
    "paper's own contradict a statement: two simulators that share our assumptions may both lack "
    "what the paper's had.",
    (Verdict.REPRODUCED, Verdict.CALIBRATED): "Since 30 November 2026 a claim whose value chose a "
    "reading of the paper, or that follows from a reading so chosen, is not a test of it.",
    (Verdict.IN_SHAPE, Verdict.CALIBRATED): "As for those that were reproduced and are calibrated.",
}
"""Reasons for changes from one verdict to another that follow from what the verdicts mean."""


class ChangedVerdict(NamedTuple):
    """A claim whose verdict is no longer that of the earlier run.

    Args:
        claim: the claim.
        before: verdict of the earlier run.
        now: verdict of this run.
    """

    claim: Claim
    before: Verdict
    now: Verdict


class Earlier(NamedTuple):
    """Verdicts of an earlier run.

    Args:
        day: day of the run.
        verdicts: by paper and claim.
    """

    day: date
    verdicts: dict[str, dict[str, Verdict]]

    def why(self, change: ChangedVerdict) -> str | None:
        """Reason why a verdict changed: `since`, a rule changed since then, or the meanings."""
        claim = change.claim
        rules = [rule.why for rule in claim.decisive_changes if rule.replaced > self.day]
        meaning = MEANINGS.get((change.before, change.now))
        if change.now is Verdict.CALIBRATED and meaning is not None:
            return meaning
        return claim.since or (rules[-1] if rules else None) or claim.indirect or meaning

    def changed(self, paper: str, claim: Claim, now: Verdict) -> ChangedVerdict | None:
        """The change of a claim's verdict; None if it is that of the earlier run, or is new."""
        before = self.verdicts.get(paper, {}).get(claim.id)
        return None if before in (None, now) else ChangedVerdict(claim, before, now)

    def mismatch(self, paper: str, claim: Claim, now: Verdict) -> str | None:
        """What in a claim's entry does not match the change of its verdict; None if all does."""
        change = self.changed(paper, claim, now)
        if change is not None and self.why(change) is None:
            before = f"it was {change.before.value} on {self.day} and is {now.value}"
            return f"{before}, and its entry gives no reason"
        if change is None and claim.since is not None:
            return f"it is {now.value} as on {self.day}, and its entry gives a reason for a change"
        return None


@cache
def earlier() -> Earlier:
    """The recorded verdicts."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    verdicts = {
        paper: {claim: Verdict(value) for claim, value in claims.items()}
        for paper, claims in record["verdicts"].items()
    }
    return Earlier(date.fromisoformat(record["day"]), verdicts)
