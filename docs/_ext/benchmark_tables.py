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
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

__all__ = ["ROOT", "benchmarks", "document", "setup", "shown", "whole_table"]

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
WORDS = {"at_least": "at least", "at_most": "at most"}
LONG = 25
"""Figures without a target that are shown at once; more are folded away."""


def benchmarks() -> dict[str, str]:
    """What every benchmark measures, in a line, by its name."""
    found = {}
    folder = ROOT / "benchmarks"
    for path in sorted([*folder.glob("*.py"), *folder.glob("*/__main__.py")]):
        source = path.read_text()
        if re.search(r"^from benchmarks\.harness import .*\brun\b", source, re.M):
            name = path.parent.name if path.stem == "__main__" else path.stem
            told = ast.get_docstring(ast.parse(source)) or ""
            found[name] = " ".join(told.split("\n\n")[0].split())
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


def rows_of(found: dict[str, Any], names: list[str]) -> str:
    """Figures as a Markdown table."""
    missed = set(found["missed"])
    rows = ["| figure | found | wanted | |", "|---|---:|---|---|"]
    for name in names:
        target = found["targets"].get(name, {})
        verdict = "**missed**" if name in missed else ("met" if target else "")
        cells = [f"`{name}`", shown(found["figures"][name]), wanted(target), verdict]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def origin(name: str, found: dict[str, Any]) -> str:
    """The command, the machine and the date of a document."""
    machine = found["machine"]
    full = " --full" if found.get("full") else ""
    told = (machine["processor"], f"{machine['cores']} cores", machine["system"])
    where = ", ".join([*told, f"Python {machine['python']}"])
    taken = f"on {found['date']}, in {found['seconds']:.0f} s"
    return f"`python -m benchmarks.{name}{full}` {taken}: {where}."


def whole_table(name: str, found: dict[str, Any]) -> str:
    """A document as Markdown: what was wanted, and then the rest."""
    judged = [figure for figure in found["figures"] if figure in found["targets"]]
    rest = [figure for figure in found["figures"] if figure not in found["targets"]]
    parts = [origin(name, found)]
    if judged:
        parts.append(rows_of(found, judged))
    if rest and len(rest) <= LONG:
        parts.append(rows_of(found, rest))
    elif rest:
        parts.append(f":::{{dropdown}} {len(rest)} more figures\n{rows_of(found, rest)}\n:::")
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
    for name, says in benchmarks().items():
        found = document(name)
        if found is None:
            absent.append(f"| `python -m benchmarks.{name}` | {says} |")
        else:
            parts += [f"(benchmark-{name})=\n## {name}", says, whole_table(name, found)]
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
