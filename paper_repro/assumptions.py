"""Digests of the assumptions on what a paper means, which are kept as the rules of claims are.

All readings that an assumption ever had are recorded in their order. Whoever changes one states the
former reading in `changed`, with the day, the reason and what the claims were under it; the report
shows it. `python -m paper_repro.rules` records new assumptions and stated changes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from paper_repro.claims import Assumption, Paper, Reading

__all__ = ["digest", "faults", "record", "recorded"]

RECORDS = Path(__file__).parent / "assumptions.json"
"""Digests of the readings, the oldest first, by paper and assumption."""


def digest(reading: Reading) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a reading."""
    fields = ("detail", "taken", "tried", "sources", "chosen_by")
    document = {name: getattr(reading, name) for name in fields}
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]


def recorded() -> dict[str, dict[str, list[str]]]:
    """The recorded digests by paper and assumption."""
    return json.loads(RECORDS.read_text(encoding="utf-8")) if RECORDS.is_file() else {}


def digests_of(assumption: Assumption) -> list[str]:
    """Digests of all readings of an assumption, the oldest first."""
    return [digest(reading) for reading in (*assumption.changed, assumption)]


def faults(paper: Paper, records: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """What a paper's assumptions and the recorded digests contradict, in words.

    Args:
        paper: the paper.
        records: digests by assumption.
    """
    names = [assumption.id for assumption in paper.assumptions]
    for assumption in paper.assumptions:
        found, known = digests_of(assumption), list(records.get(assumption.id, ()))
        if found[: len(known)] != known:
            yield f"{assumption.id}: the reading was changed, but `changed` lacks the former one"
        elif len(known) < len(found):
            yield f"{assumption.id}: its reading is not recorded (python -m paper_repro.rules)"
    for name in sorted(set(records) - set(names)):
        yield f"{name}: the assumption is gone"


def record(papers: Mapping[str, Paper]) -> list[str]:
    """Record readings that are new; what is recorded stays. Returns the assumptions' names."""
    records, new = recorded(), []
    for name, paper in papers.items():
        known = records.setdefault(name, {})
        for assumption in paper.assumptions:
            found, before = digests_of(assumption), known.get(assumption.id, [])
            if found[: len(before)] == before and len(found) > len(before):
                known[assumption.id] = found
                new.append(f"{name}: {assumption.id}")
    RECORDS.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return new
