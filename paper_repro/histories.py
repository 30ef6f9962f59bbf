"""Digests of what was written before results were computed: all its forms, the oldest first.

What is recorded stays. Whoever changes a rule or a reading states its former form, so that a chain
of digests only ever gets longer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["Histories", "digest", "faults", "record", "recorded"]

Histories = Mapping[str, Sequence[str]]
"""Digests of each rule or reading by its name, the oldest first."""


def digest(document: Mapping[str, Any]) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a document's JSON, its keys sorted."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]


def recorded(file: Path) -> dict[str, dict[str, list[str]]]:
    """The recorded histories in a file, by paper; empty without the file."""
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def faults(found: Histories, records: Histories, noun: str) -> Iterator[str]:
    """What histories and their records contradict, in words.

    Args:
        found: the histories as they are stated now.
        records: the recorded ones.
        noun: what has a history, such as `rule`.
    """
    for name, digests in found.items():
        known = list(records.get(name, ()))
        if list(digests[: len(known)]) != known:
            yield f"{name}: its {noun} was changed, but `changed` does not state the recorded one"
        elif len(known) < len(digests):
            yield f"{name}: its {noun} is not recorded (python -m paper_repro.rules)"


def record(file: Path, papers: Mapping[str, Histories]) -> list[str]:
    """Record what is new in a file; what is recorded stays.

    Args:
        file: the file of records.
        papers: histories by paper.

    Returns:
        Paper and name of each history that was recorded or got longer.
    """
    records, new = recorded(file), []
    for paper, histories in papers.items():
        known = records.setdefault(paper, {})
        for name, digests in histories.items():
            before = known.get(name, [])
            if len(digests) > len(before) and list(digests[: len(before)]) == before:
                known[name] = list(digests)
                new.append(f"{paper}: {name}")
    file.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return new
