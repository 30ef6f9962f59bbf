"""Tables of what benchmarks found, from the documents in benchmarks/results.

A document is what `python -m benchmarks.NAME --json` prints. Whatever documents are there are
shown, whole, with their machine and date; benchmarks without one are named.
"""

from __future__ import annotations

import ast
import json
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

__all__ = ["ROOT", "benchmarks", "document", "setup", "shown", "whole_table"]

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
WORDS = {"at_least": "at least", "at_most": "at most"}
LONG = 25
"""Figures that are shown at once where none has a target; others are folded away."""


class Benchmark(NamedTuple):
    """What a benchmark says of itself."""

    says: str
    """What it measures, in a line."""
    how: str
    """How it does that, and what its figures mean, as Markdown."""


def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by its name, as its module's docstring tells it."""
    found = {}
    folder = ROOT / "benchmarks"
    for path in sorted([*folder.glob("*.py"), *folder.glob("*/__main__.py")]):
        source = path.read_text()
        if re.search(r"^from benchmarks\.harness import .*\brun\b", source, re.M):
            name = path.parent.name if path.stem == "__main__" else path.stem
            says, *how = (ast.get_docstring(ast.parse(source)) or "").split("\n\n")
            told = [part for part in how if not part.startswith("    python -m")]
            found[name] = Benchmark(" ".join(says.split()), "\n\n".join(told))
    return found


def document(name: str) -> dict[str, Any] | None:
    """What a benchmark found, if it was kept."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.is_file() else None


def shown(value: float) -> str:
    """A figure with four digits."""
    if math.isnan(value):
        return "not reached"
    if value and 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return f"{value:.3g}"


def wanted(target: dict[str, float]) -> str:
    """A target in words."""
    return ", ".join(f"{WORDS[key]} {shown(bound)}" for key, bound in target.items())


def judged_rows(found: dict[str, Any]) -> str:
    """Figures that have a target as a Markdown table."""
    rows = ["| figure | found | wanted | |", "|---|---:|---|---|"]
    for name, target in found["targets"].items():
        verdict = "**missed**" if name in found["missed"] else "met"
        cells = [f"`{name}`", shown(found["figures"][name]), wanted(target), verdict]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def plain_rows(found: dict[str, Any]) -> list[str]:
    """A row for each of the other figures."""
    rest = {name: of for name, of in found["figures"].items() if name not in found["targets"]}
    return [f"| `{name}` | {shown(value)} |" for name, value in rest.items()]


def origin(name: str, found: dict[str, Any]) -> str:
    """The command, the machine and the date of a document."""
    machine = found["machine"]
    full = " --full" if found.get("full") else ""
    told = (machine["processor"], f"{machine['cores']} cores", machine["system"])
    where = ", ".join([*told, f"Python {machine['python']}"])
    taken = f"on {found['date']}, in {found['seconds']:.0f} s"
    return f"`python -m benchmarks.{name}{full}` {taken}: {where}."


def folded(title: str, text: str) -> str:
    """What a reader opens who wants it."""
    return f"::::{{dropdown}} {title}\n{text}\n::::"


def whole_table(name: str, found: dict[str, Any]) -> str:
    """A document as Markdown: what was wanted, and then the rest."""
    parts = [origin(name, found)]
    if found["targets"]:
        parts.append(judged_rows(found))
    if rows := plain_rows(found):
        table = "\n".join(["| figure | found |", "|---|---:|", *rows])
        few = len(rows) <= LONG and not found["targets"]
        parts.append(table if few else folded(f"{len(rows)} more figures", table))
    return "\n\n".join(parts)


def overview() -> str:
    """All benchmarks, a row each, with what they missed."""
    rows = ["| benchmark | date | figures | targets | missed |", "|---|---|---:|---:|---:|"]
    for name in benchmarks():
        if found := document(name):
            missed = len(found["missed"])
            counts = [
                len(found["figures"]),
                len(found["targets"]),
                f"**{missed}**" if missed else 0,
            ]
            rows.append(
                f"| [{name}](#benchmark-{name}) | {found['date']} | "
                + " | ".join(map(str, counts))
                + " |"
            )
    return "\n".join(rows)


def everything() -> str:
    """Every document that is there, and the names of those that are not."""
    parts, absent = ["## At a glance", overview()], []
    for name, (says, how) in benchmarks().items():
        found = document(name)
        if found is None:
            absent.append(f"| `python -m benchmarks.{name}` | {says} |")
            continue
        parts += [f"(benchmark-{name})=\n## {name}", says]
        if how:
            parts.append(folded("How it is measured", how))
        parts.append(whole_table(name, found))
    if absent:
        head = "| command | what it measures |\n|---|---|\n"
        parts += ["## Not kept here", NOT_KEPT, head + "\n".join(absent)]
    return "\n\n".join(parts)


NOT_KEPT = (
    "No result of these is in `benchmarks/results` (some are parts of another benchmark and stand "
    "in its table); each prints its own:"
)


class Benchmarks(SphinxDirective):
    """`benchmarks`: everything that was found."""

    def run(self) -> list[nodes.Node]:
        """The tables."""
        for name in benchmarks():
            if (path := RESULTS / f"{name}.json").is_file():
                self.env.note_dependency(str(path))
        return self.parse_text_to_nodes(everything(), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entry point."""
    app.add_directive("benchmarks", Benchmarks)
    return {"parallel_read_safe": True}
