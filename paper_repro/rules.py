"""Digests of the rules by which claims are judged, recorded before the results were computed.

A recorded rule stays: whoever changes one afterwards states the former rule, the day, the reason
and the former verdict in the claim's `changed`, and the report shows it.

    python -m paper_repro.rules

records the rules of new claims, and new readings (`assumptions.py`); commit them before the first
run of their experiments.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from paper_repro import assumptions
from paper_repro.claims import Claim, Paper, Rule, load_paper

__all__ = ["digest", "faults", "record", "recorded"]

FOLDER = Path(__file__).parent
RECORDS = FOLDER / "rules.json"
"""Digests by paper and claim."""


def digest(rule: Rule) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a rule: measure and expectations."""
    fields = {name: getattr(rule, name) for name in ("measure", "expect", "in_shape")}
    document = {
        name: value if value is None or isinstance(value, str) else value.model_dump(mode="json")
        for name, value in fields.items()
    }
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]


def recorded() -> dict[str, dict[str, str]]:
    """The recorded digests by paper and claim."""
    return json.loads(RECORDS.read_text(encoding="utf-8")) if RECORDS.is_file() else {}


def first_rules(paper: Paper) -> dict[str, str]:
    """Digest of the first rule of each claim."""
    return {
        claim.id: digest(claim.changed[0] if claim.changed else claim) for claim in paper.claims
    }


def faults(paper: Paper, records: Mapping[str, str]) -> Iterator[str]:
    """What a paper's claims and the recorded digests of their first rules contradict, in words.

    Args:
        paper: the paper.
        records: digest by claim.
    """
    first = first_rules(paper)
    for name, found in first.items():
        if name not in records:
            yield f"{name}: its rule is not recorded (python -m paper_repro.rules)"
        elif records[name] != found:
            yield f"{name}: its rule was changed, but `changed` does not state the recorded one"
    for claim in paper.claims:
        if any(values_of(former) != values_of(claim) for former in same_measure(claim)):
            yield f"{claim.id}: a former rule gives its measure another number of values"
    withdrawn = {entry.id for entry in paper.withdrawn}
    for name in sorted(set(records) - set(first) - withdrawn):
        yield f"{name}: the claim is gone, but `withdrawn` does not say why"
    for name in sorted(withdrawn & set(first)):
        yield f"{name}: the claim is withdrawn, but still there"


def same_measure(claim: Claim) -> Iterator[Rule]:
    """Former rules of a claim with the measure that it has now."""
    return (former for former in claim.changed if former.measure == claim.measure)


def values_of(rule: Rule) -> int | None:
    """Number of values that a rule expects of a series; None if it expects one value or bounds."""
    return len(rule.expect.equals) if isinstance(rule.expect.equals, list) else None


def record(papers: Mapping[str, Paper]) -> list[str]:
    """Record the rules of claims that are new; what is recorded stays. Returns their names."""
    records, new = recorded(), []
    for name, paper in papers.items():
        digests = records.setdefault(name, {})
        for claim, found in first_rules(paper).items():
            if claim not in digests:
                digests[claim] = found
                new.append(f"{name}: {claim}")
    RECORDS.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return new


if __name__ == "__main__":
    names = sorted(file.parent.name for file in FOLDER.glob("*/claims.toml"))
    loaded = {name: load_paper(FOLDER / name) for name in names}
    for line in (*record(loaded), *assumptions.record(loaded)):
        print(line)
