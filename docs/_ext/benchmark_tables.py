"""Tables of benchmark results, from the JSON documents in benchmarks/results.

A document is the output of `python -m benchmarks.NAME --json`. All documents are shown completely,
with machine and date; benchmarks without a document are listed.
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
"""Folder of the stored results, a JSON document for each benchmark."""
WORDS = {"at_least": "at least", "at_most": "at most"}
"""Words for the two forms of a target."""
LONG = 25
"""Largest table of figures without targets that is shown unfolded, in rows; chosen."""


class Benchmark(NamedTuple):
    """Description of a benchmark, from the docstring of its module."""

    summary: str
    """What it measures, in a line."""
    how: str
    """How it measures that, and what its figures mean, as Markdown."""


def benchmarks() -> dict[str, Benchmark]:
    """Descriptions of all benchmarks, from the docstrings of their modules, by name."""
    descriptions = {}
    folder = ROOT / "benchmarks"
    for path in sorted([*folder.glob("*.py"), *folder.glob("*/__main__.py")]):
        source = path.read_text()
        if re.search(r"^from benchmarks\.harness import .*\brun\b", source, re.M):
            name = path.parent.name if path.stem == "__main__" else path.stem
            summary, *how = (ast.get_docstring(ast.parse(source)) or "").split("\n\n")
            text = [part for part in how if not part.startswith("    python -m")]
            descriptions[name] = Benchmark(" ".join(summary.split()), "\n\n".join(text))
    return descriptions


def document(name: str) -> dict[str, Any] | None:
    """Stored results of a benchmark (its JSON document); None if there are none."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.is_file() else None


def shown(value: float) -> str:
    """A benchmark's figure as text with three to five digits; "not reached" for nan."""
    if math.isnan(value):
        return "not reached"
    if value and 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return f"{value:.3g}"


def target_text(target: dict[str, float]) -> str:
    """A figure's target in words, such as "at most 0.05"."""
    return ", ".join(f"{WORDS[key]} {shown(bound)}" for key, bound in target.items())


def target_table(results: dict[str, Any]) -> str:
    """Markdown table of the figures that have a target: result, target, whether it was met."""
    rows = ["| figure | result | target | |", "|---|---:|---|---|"]
    for name, target in results["targets"].items():
        verdict = "**missed**" if name in results["missed"] else "met"
        cells = [f"`{name}`", shown(results["figures"][name]), target_text(target), verdict]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def other_rows(results: dict[str, Any]) -> list[str]:
    """Rows of a Markdown table with the figures that have no target: name and result."""
    figures, targets = results["figures"], results["targets"]
    return [f"| `{name}` | {shown(x)} |" for name, x in figures.items() if name not in targets]


def origin(name: str, results: dict[str, Any]) -> str:
    """Sentence with the command of a benchmark, and date, duration and machine of its results."""
    machine = results["machine"]
    full = " --full" if results.get("full") else ""
    computer = f"{machine['processor']}, {machine['cores']} cores, {machine['system']}"
    date = f"on {results['date']}, in {results['seconds']:.0f} s"
    return f"`python -m benchmarks.{name}{full}` {date}: {computer}, Python {machine['python']}."


def folded(title: str, text: str) -> str:
    """Markdown of a text that a click on its title opens."""
    return f"::::{{dropdown}} {title}\n{text}\n::::"


def whole_table(name: str, results: dict[str, Any]) -> str:
    """All results of a benchmark as Markdown: figures with targets, then the others."""
    parts = [origin(name, results)]
    if results["targets"]:
        parts.append(target_table(results))
    if rows := other_rows(results):
        table = "\n".join(["| figure | result |", "|---|---:|", *rows])
        few = len(rows) <= LONG and not results["targets"]
        parts.append(table if few else folded(f"{len(rows)} more figures", table))
    return "\n\n".join(parts)


class Headline(NamedTuple):
    """A figure that matters to most readers, in words."""

    words: str
    """What is measured, with the unit."""
    benchmark: str
    figure: str
    """Names of the benchmark and of its figure."""
    factor: float = 1.0
    """Factor from the figure's unit to that of the words."""


HEADLINES = (
    Headline(
        "a recommendation for network 2, first run of a fresh installation, s",
        "main_job",
        "network2.first_s",
    ),
    Headline("a recommendation for network 2, later runs, s", "main_job", "network2.warm_s"),
    Headline(
        "ratio in the packet simulator with the recommended setting (goal 1)",
        "main_job",
        "network2.packets_ratio",
    ),
    Headline("fluid run of 200 s of network 2, CPU ms", "speed", "fluid.network2.run_cpu_s", 1e3),
    Headline("answer of `explore` to a moved point, median, ms", "explore", "move_ms"),
    Headline(
        "packets simulated per CPU second, million (network 2)",
        "packets",
        "network2.one_way.per_cpu_s",
        1e-6,
    ),
    Headline(
        "speed of the packet simulator relative to ns-2 (network 2)",
        "packets",
        "network2.one_way.times_ns2",
    ),
    Headline(
        "largest difference from Linux's goodput shares, Reno beside Vegas", "linux", "beside.worst"
    ),
    Headline(
        "random networks on which a fluid run violated an invariant, of 1000",
        "integrity",
        "integrity.with_faults",
    ),
    Headline(
        "share of wrong fluid runs that carry a warning (RED)",
        "integrity",
        "integrity.red.far_off.warned",
    ),
)
"""The figures at the top of the page."""


def headlines() -> str:
    """Markdown table of the headline figures: in words, with result, target and benchmark.

    Raises:
        KeyError: for a figure that a stored result does not have.
    """
    rows = ["| | result | target | |", "|---|---:|---|---|"]
    for line in HEADLINES:
        results = document(line.benchmark)
        if results is None:
            continue
        value = line.factor * results["figures"][line.figure]
        target = results["targets"].get(line.figure, {})
        scaled = {how: line.factor * bound for how, bound in target.items()}
        missed = " (**missed**)" if line.figure in results["missed"] else ""
        link = f"[{line.benchmark}](#benchmark-{line.benchmark})"
        rows.append(f"| {line.words} | {shown(value)}{missed} | {target_text(scaled)} | {link} |")
    return "\n".join(rows)


def overview() -> str:
    """Markdown table of all benchmarks: date and numbers of figures, targets and missed targets."""
    rows = ["| benchmark | date | figures | targets | missed |", "|---|---|---:|---:|---:|"]
    for name in benchmarks():
        if results := document(name):
            missed = len(results["missed"])
            counts = [len(results["figures"]), len(results["targets"])]
            cells = [f"[{name}](#benchmark-{name})", results["date"], *counts]
            cells.append(f"**{missed}**" if missed else 0)
            rows.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows)


def everything() -> str:
    """All benchmarks' results as Markdown, and the commands of benchmarks without results."""
    parts, absent = ["## In short", headlines(), "## All benchmarks", overview()], []
    for name, (summary, how) in benchmarks().items():
        results = document(name)
        if results is None:
            absent.append(f"| `python -m benchmarks.{name}` | {summary} |")
            continue
        parts += [f"(benchmark-{name})=\n## {name}", summary]
        if how:
            parts.append(folded("How it is measured", how))
        parts.append(whole_table(name, results))
    if absent:
        head = "| command | what it measures |\n|---|---|\n"
        parts += ["## Without stored results", NOT_STORED, head + "\n".join(absent)]
    return "\n\n".join(parts)


NOT_STORED = (
    "`benchmarks/results` has no results of these commands; some are parts of another benchmark, "
    "whose table has them."
)


class Benchmarks(SphinxDirective):
    """Directive `benchmarks`: all results."""

    def run(self) -> list[nodes.Node]:
        """Return the tables of all benchmarks as nodes of the page."""
        for name in benchmarks():
            if (path := RESULTS / f"{name}.json").is_file():
                self.env.note_dependency(str(path))
        return self.parse_text_to_nodes(everything(), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive with Sphinx; pages may be read in parallel."""
    app.add_directive("benchmarks", Benchmarks)
    return {"parallel_read_safe": True}
