"""The report: verdicts, evidence and figures, as Markdown and as one HTML page."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt

from paper_repro.claims import Paper, spelled
from paper_repro.verdicts import Judged, Verdict
from vegasfluid.trajectory import package_version

__all__ = ["Chapter", "document", "machine", "write_report"]

TEMPLATES = Path(__file__).parent / "templates"
LIBRARIES = ("numpy", "numba", "jax", "xarray")


@dataclass
class Chapter:
    """A paper, and what became of its claims."""

    name: str
    """The paper's folder."""
    paper: Paper
    judged: list[Judged] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    """Claims whose experiments were left out of this run."""
    figures: dict[str, str] = field(default_factory=dict)
    """Titles of the drawn figures by file, relative to the report."""

    @property
    def counts(self) -> Mapping[str, int]:
        """How many claims each verdict has, in the order of the verdicts."""
        found = Counter(judged.verdict for judged in self.judged)
        return {verdict.value: found[verdict] for verdict in Verdict}

    @property
    def unexplained(self) -> list[str]:
        """Claims without the reason that is due, or with one that is not."""
        return [judged.claim.id for judged in self.judged if not judged.explained]


def machine() -> dict[str, str]:
    """What this ran with."""
    return {
        "vegasfluid": package_version(),
        "Python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
        "system": f"{platform.system()} {platform.machine()}",
    }


def evidence_of(judged: Judged) -> list[str]:
    """What each source found, the one that it is judged by first."""
    names = [judged.source, *(name for name in judged.found if name != judged.source)]
    texts = [f"{name}: {spelled(judged.found[name])}" for name in names]
    if judged.error is not None:
        texts[0] += f" ± {judged.error:.2g}"
    return texts


def cell(text: str) -> str:
    """A text that may stand in a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def write_report(
    folder: Path, chapters: Sequence[Chapter], command: str, seconds: float | None = None
) -> tuple[Path, Path]:
    """Write `report.md` and `report.html`.

    Args:
        folder: where; it exists.
        chapters: the papers.
        command: what was typed.
        seconds: how long it took; None: not said, so that two reports can be compared.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"cell": cell, "evidence": evidence_of}
    text = environment.get_template("report.md").render(
        chapters=chapters, command=command, seconds=seconds, machine=machine()
    )
    body = MarkdownIt("commonmark").enable("table").render(text)
    page = environment.get_template("page.html").render(body=body)
    files = folder / "report.md", folder / "report.html"
    for file, content in zip(files, (text, page), strict=True):
        file.write_text(content, encoding="utf-8")
    return files


def document(chapters: Sequence[Chapter], seconds: float) -> dict[str, Any]:
    """The report as one JSON document."""
    return {
        "papers": {chapter.name: chapter_document(chapter) for chapter in chapters},
        "claims": sum(len(chapter.judged) for chapter in chapters),
        "verdicts": {
            verdict.value: sum(chapter.counts[verdict.value] for chapter in chapters)
            for verdict in Verdict
        },
        "unexplained": [name for chapter in chapters for name in chapter.unexplained],
        "machine": machine(),
        "seconds": seconds,
    }


def chapter_document(chapter: Chapter) -> dict[str, Any]:
    """A paper's part of it."""
    return {
        "title": chapter.paper.title,
        "verdicts": dict(chapter.counts),
        "not_run": chapter.not_run,
        "figures": list(chapter.figures),
        "claims": {
            judged.claim.id: {
                "where": judged.claim.where,
                "says": judged.claim.says,
                "expect": judged.claim.expect.text(),
                "verdict": judged.verdict.value,
                "judged_by": judged.source,
                "found": dict(judged.found),
                "standard_error": judged.error,
                "reason": judged.claim.reason,
            }
            for judged in chapter.judged
        },
    }
