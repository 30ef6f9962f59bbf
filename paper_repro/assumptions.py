"""Digests of the assumptions on what a paper means, which are kept as the rules of claims are.

Whoever changes a reading states the former one in `changed`, with the day, the reason and what the
claims were under it; the report shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from paper_repro import histories
from paper_repro.claims import Paper, Reading

__all__ = ["RECORDS", "digest", "faults", "histories_of"]

RECORDS = Path(__file__).parent / "assumptions.json"
"""Digests of the readings, the oldest first, by paper and assumption."""


def digest(reading: Reading) -> str:
    """The digest of a reading; claims that follow from it are in it only where there are any."""
    fields = {name: getattr(reading, name) for name in Reading.model_fields}
    return histories.digest({
        name: value for name, value in fields.items() if name != "implies" or value
    })  # fmt: skip


def histories_of(paper: Paper) -> dict[str, list[str]]:
    """Digests of all readings of each assumption of a paper, the oldest first."""
    return {
        assumption.id: [digest(reading) for reading in (*assumption.changed, assumption)]
        for assumption in paper.assumptions
    }


def faults(paper: Paper, records: histories.Histories) -> Iterator[str]:
    """What a paper's assumptions and the recorded digests of their readings contradict, in words.

    Args:
        paper: the paper.
        records: digests by assumption.
    """
    found = histories_of(paper)
    yield from histories.faults(found, records, "reading")
    for name in sorted(set(records) - set(found)):
        yield f"{name}: the assumption is gone"
