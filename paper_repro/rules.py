"""Digests of the rules by which claims are judged, recorded before the results were computed.

Whoever changes a rule afterwards states the former one, the day, the reason and the former verdict
in the claim's `changed`, and the report shows it.

    python -m paper_repro.rules

records the rules of new claims, new readings (`assumptions.py`) and stated changes; commit them
before the first run of their experiments.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from paper_repro import assumptions, histories
from paper_repro.claims import Claim, Paper, Rule, load_paper

__all__ = ["RECORDS", "digest", "faults", "histories_of"]

FOLDER = Path(__file__).parent
RECORDS = FOLDER / "rules.json"
"""Digests of the rules, the oldest first, by paper and claim."""
ALWAYS = ("measure", "expect", "in_shape")
"""Fields that are in a digest even where they have their defaults."""


def digest(rule: Rule) -> str:
    """The digest of a rule: the statement, measure and expectations, and what else decides.

    A former rule whose statement is not recorded has a digest without one.
    """
    fields: dict[str, Any] = rule.model_dump(mode="json", include=set(Rule.model_fields))
    defaults = {
        name: field.get_default(call_default_factory=True, validated_data={})
        for name, field in Rule.model_fields.items()
    }
    kept = {
        name: value for name, value in fields.items() if name in ALWAYS or value != defaults[name]
    }
    says = getattr(rule, "says", None)
    return histories.digest(kept if says is None else {**kept, "says": says})


def histories_of(paper: Paper) -> dict[str, list[str]]:
    """Digests of all rules of each claim of a paper, the oldest first."""
    return {claim.id: [digest(rule) for rule in (*claim.changed, claim)] for claim in paper.claims}


def faults(paper: Paper, records: histories.Histories) -> Iterator[str]:
    """What a paper's claims and the recorded digests of their rules contradict, in words.

    Args:
        paper: the paper.
        records: digests by claim.
    """
    found = histories_of(paper)
    yield from histories.faults(found, records, "rule")
    for claim in paper.claims:
        if any(values_of(former) != values_of(claim) for former in same_measure(claim)):
            yield f"{claim.id}: a former rule gives its measure another number of values"
    withdrawn = {entry.id for entry in paper.withdrawn}
    for name in sorted(set(records) - set(found) - withdrawn):
        yield f"{name}: the claim is gone, but `withdrawn` does not say why"
    for name in sorted(withdrawn & set(found)):
        yield f"{name}: the claim is withdrawn, but still there"


def same_measure(claim: Claim) -> Iterator[Rule]:
    """Former rules of a claim with the measure that it has now."""
    return (former for former in claim.changed if former.measure == claim.measure)


def values_of(rule: Rule) -> int | None:
    """Number of values that a rule expects of a series; None if it expects one value or bounds."""
    return len(rule.expect.equals) if isinstance(rule.expect.equals, list) else None


if __name__ == "__main__":
    names = sorted(file.parent.name for file in FOLDER.glob("*/claims.toml"))
    loaded = {name: load_paper(FOLDER / name) for name in names}
    for file, all_of in ((RECORDS, histories_of), (assumptions.RECORDS, assumptions.histories_of)):
        found = {name: all_of(paper) for name, paper in loaded.items()}
        for line in histories.record(file, found):
            print(line)
