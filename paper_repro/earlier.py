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

    def why(self, claim: Claim) -> str | None:
        """Reason why a claim's verdict changed: `since`, or that of a rule changed since then."""
        rules = [rule.why for rule in claim.changed if rule.replaced > self.day]
        return claim.since or (rules[-1] if rules else None)

    def changed(self, paper: str, claim: Claim, now: Verdict) -> ChangedVerdict | None:
        """The change of a claim's verdict; None if it is that of the earlier run, or is new."""
        before = self.verdicts.get(paper, {}).get(claim.id)
        return None if before in (None, now) else ChangedVerdict(claim, before, now)

    def mismatch(self, paper: str, claim: Claim, now: Verdict) -> str | None:
        """What in a claim's entry does not match the change of its verdict; None if all does."""
        change = self.changed(paper, claim, now)
        if change is not None and self.why(claim) is None:
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
