"""The report with verdicts, evidence and figures, as Markdown and HTML."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt

from paper_repro.claims import FormerRule, Measured, Paper, Verdict, number_text
from paper_repro.earlier import ChangedVerdict, earlier
from paper_repro.experiment import ARITHMETIC, Experiment
from paper_repro.verdicts import Dependence, Judged
from vegasfluid.version import package_version

__all__ = ["Chapter", "document", "machine", "runs_of", "write_report"]

TEMPLATES = Path(__file__).parent / "templates"
LIBRARIES = ("numpy", "numba", "jax", "xarray")
APART = {
    "open question": "Questions that the paper leaves open",
    "definition": "Definitions",
    "question of ours": "Questions of ours",
}
"""Titles of the sections on claims that are no statements to be reproduced, by role."""


HOLDS = Verdict.REPRODUCED, Verdict.CALIBRATED
"""Verdicts that say which second engine disagrees."""


class Runs(NamedTuple):
    """Summary of the runs of an experiment."""

    name: str
    title: str
    packets: int
    """Number of packet runs."""
    fluid: int
    """Number of fluid runs."""
    seconds: float
    """Simulated time of all runs, s."""
    seeds: str
    """Seeds of the packet runs."""


def runs_of(experiment: Experiment) -> Runs:
    """Summary of the runs of an experiment."""
    jobs = list(experiment.jobs().values())
    packets = [job for job in jobs if job.engine == "packets"]
    counts = [len(job.seeds) for job in packets]
    fluid = [job for job in jobs if job.engine == "fluid"]
    seconds = sum(job.until * count for job, count in zip(packets, counts, strict=True))
    seeds = ranges({seed for job in packets for seed in job.seeds})
    seconds += sum(job.until for job in fluid)
    return Runs(experiment.name, experiment.title, sum(counts), len(fluid), seconds, seeds)


def ranges(numbers: Collection[int]) -> str:
    """Whole numbers as text, with ranges for consecutive ones.

    >>> ranges([1, 2, 3, 7, 9, 10])
    '1 to 3, 7, 9 to 10'
    """
    ends: list[list[int]] = []
    for number in sorted(numbers):
        if ends and number == ends[-1][1] + 1:
            ends[-1][1] = number
        else:
            ends.append([number, number])
    return ", ".join(f"{low}" if low == high else f"{low} to {high}" for low, high in ends)


class ChangedRule(NamedTuple):
    """An earlier rule of a claim."""

    judged: Judged
    """The claim with its present verdict."""
    rule: FormerRule
    verdict: str
    """Verdict under the earlier rule: of this evidence, or as stated if the measure is gone."""


@dataclass
class Chapter:
    """A paper with the verdicts on its claims."""

    name: str
    """Name of the paper's folder."""
    paper: Paper
    judged: list[Judged] = field(default_factory=list)
    """Verdicts, in the order of the claims."""
    not_run: list[str] = field(default_factory=list)
    """Names of the claims whose experiments were not run."""
    runs: list[Runs] = field(default_factory=list)
    """Summaries of the runs of its experiments."""
    figures: dict[str, str] = field(default_factory=dict)
    """Titles of the figures by file, relative to the report."""
    rule_faults: list[str] = field(default_factory=list)
    """Claims whose rules are not the recorded ones, in words."""

    @property
    def statements(self) -> list[Judged]:
        """Verdicts on statements of the paper, which count."""
        return [judged for judged in self.judged if judged.claim.role == "statement"]

    @property
    def apart(self) -> dict[str, list[Judged]]:
        """Verdicts that do not count, by the title of their section in the report."""
        found = {
            title: [judged for judged in self.judged if judged.claim.role == role]
            for role, title in APART.items()
        }
        return {title: judged for title, judged in found.items() if judged}

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of statements by verdict."""
        counter = Counter(judged.verdict for judged in self.statements)
        return {verdict.value: counter[verdict] for verdict in Verdict}

    @property
    def doubted(self) -> int:
        """Number of reproduced statements with which a second engine disagrees."""
        return sum(
            judged.verdict is Verdict.REPRODUCED and bool(judged.disagreeing)
            for judged in self.statements
        )

    @property
    def undecided(self) -> int:
        """Number of statements whose verdict is another one in the 95 % interval."""
        return sum(bool(judged.undecided) for judged in self.statements)

    @property
    def dependent(self) -> int:
        """Number of statements with another verdict under another reading or estimator."""
        return sum(bool(judged.depends) for judged in self.statements)

    @property
    def untested(self) -> int:
        """Number of statements that hold, but not run under another reading than a chosen one."""
        return sum(bool(judged.untested) for judged in self.statements)

    @property
    def sums(self) -> int:
        """Number of reproduced statements that arithmetic decides, without any run."""
        return sum(
            judged.verdict is Verdict.REPRODUCED and judged.source == ARITHMETIC
            for judged in self.statements
        )

    @property
    def wrong_sums(self) -> list[Judged]:
        """Claims that the paper's own numbers contradict."""
        return [judged for judged in self.judged if judged.verdict is Verdict.CONTRADICTED]

    @property
    def changed(self) -> list[ChangedRule]:
        """Earlier rules of its claims, in the order of the claims."""
        return [
            ChangedRule(judged, rule, (now or rule.verdict).value)
            for judged in self.judged
            for rule, now in judged.former
        ]

    @property
    def unexplained(self) -> dict[str, str]:
        """What does not match the verdict in a claim's entry, by claim."""
        record = earlier()
        found = {
            judged.claim.id: judged.mismatch
            or record.mismatch(self.name, judged.claim, judged.verdict)
            for judged in self.judged
        }
        return {name: mismatch for name, mismatch in found.items() if mismatch is not None}

    @property
    def changed_verdicts(self) -> list[ChangedVerdict]:
        """Claims whose verdicts are no longer those of the earlier run."""
        record = earlier()
        found = (record.changed(self.name, item.claim, item.verdict) for item in self.judged)
        return [change for change in found if change is not None]

    @property
    def new(self) -> int:
        """Number of claims that the earlier run did not have."""
        before = earlier().verdicts.get(self.name, {})
        return sum(judged.claim.id not in before for judged in self.judged)


def machine() -> dict[str, str]:
    """Versions of the software, system and number of cores."""
    return {
        "vegasfluid": package_version(),
        "Python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def evidence_of(judged: Judged) -> list[str]:
    """Values of a claim's measure by source as text, the deciding one first."""
    names = [judged.source, *(name for name in judged.found if name != judged.source)]
    errors = {**judged.other_errors, judged.source: judged.error}
    return [f"{name}: {value_text(judged.found[name], errors.get(name))}" for name in names]


def value_text(found: Measured, error: Measured | None) -> str:
    """A number or a series as text, with standard errors if there are any."""
    return number_text(found) if error is None else with_error(found, error)


def with_error(found: Measured, error: Measured) -> str:
    """A number with its standard error, or a series with one for each value, as text.

    >>> with_error(0.25, 0.01), with_error([1.0, 2.0], [0.1, 0.0])
    ('0.25 ± 0.01', '1 ± 0.1, 2 ± 0')
    """
    values, errors = (x if isinstance(x, Sequence) else [x] for x in (found, error))
    pairs = zip(values, errors, strict=True)
    return ", ".join(f"{number_text(value)} ± {part:.2g}" for value, part in pairs)


def doubts_of(judged: Judged) -> str:
    """What to add to a claim's verdict: engines, seeds and readings that say otherwise."""
    text = ""
    if judged.verdict is Verdict.CALIBRATED:
        text += calibration_of(judged)
    if judged.verdict is Verdict.IN_SHAPE and judged.claim.indirect is not None:
        text += f": {judged.claim.indirect.rstrip('.')}"
    if judged.verdict in HOLDS and judged.disagreeing:
        text += f", but not by {', '.join(judged.disagreeing)}"
    if judged.outside and judged.verdict in HOLDS:
        text += f" ({', '.join(judged.outside)} outside, within its error)"
    if judged.undecided:
        others = " or ".join(verdict.value for verdict in judged.undecided)
        text += f" (undecided: in the 95 % interval also {others})"
    text += dependences_of(judged.depends)
    if judged.untested:
        names = " and ".join(f"`{item.id}`" for item in judged.untested)
        text += f" (not run under another reading of {names})"
    if judged.claim.known is not None:
        text += f" (value known before the rule: {judged.claim.known.rstrip('.')})"
    return text


def calibration_of(judged: Judged) -> str:
    """Readings that a calibrated claim chose, or from which it follows, as text."""
    parts = ("its value chose", judged.chose), ("it follows from", judged.follows)
    texts = [f"{verb} {' and '.join(f'`{x.id}`' for x in items)}" for verb, items in parts if items]
    shape = "in shape, and " if judged.in_shape else ""
    return f": {shape}{', and '.join(texts)}"


def dependences_of(depends: Sequence[Dependence]) -> str:
    """Readings and estimators under which the verdict is another one, as text."""
    groups: dict[str, list[str]] = {}
    for item in depends:
        group = groups.setdefault(label_of(item), [])
        group.append(f"{item.verdict.value} with “{item.name}”")
    return "".join(f" (depends on {name}: {'; '.join(group)})" for name, group in groups.items())


def label_of(item: Dependence) -> str:
    """Name of the assumption to which another reading belongs, or of the measure."""
    if item.assumption is None:
        return "the measure"
    return f"`{item.assumption.id}`" + (", calibrated" if item.assumption.chosen_by else "")


def cell(text: str) -> str:
    """Text for a cell of a Markdown table, in one line."""
    return " ".join(text.split()).replace("|", "\\|")


def write_report(
    folder: Path, chapters: Sequence[Chapter], command: str, seconds: float | None = None
) -> tuple[Path, Path]:
    """Write `report.md` and `report.html`.

    Args:
        folder: existing folder for the files.
        chapters: papers with verdicts.
        command: command line for the first sentence.
        seconds: wall time for the first sentence, s; None: left out, to compare two reports.

    Returns:
        Paths of both files.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"cell": cell, "doubts": doubts_of, "evidence": evidence_of}
    text = environment.get_template("report.md").render(
        chapters=chapters, command=command, seconds=seconds, machine=machine(), earlier=earlier()
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
        "claims": sum(len(chapter.statements) for chapter in chapters),
        "apart": sum(len(chapter.judged) - len(chapter.statements) for chapter in chapters),
        "verdicts": {
            verdict.value: sum(chapter.counts[verdict.value] for chapter in chapters)
            for verdict in Verdict
        },
        "unexplained": {
            f"{chapter.name}: {name}": mismatch
            for chapter in chapters
            for name, mismatch in chapter.unexplained.items()
        },
        "machine": machine(),
        "seconds": seconds,
    }


def chapter_document(chapter: Chapter) -> dict[str, Any]:
    """A paper's part of it."""
    return {
        "title": chapter.paper.title,
        "verdicts": dict(chapter.counts),
        "reproduced_but_doubted": chapter.doubted,
        "undecided": chapter.undecided,
        "dependent": chapter.dependent,
        "reproduced_by_arithmetic": chapter.sums,
        "not_run_under_another_reading": chapter.untested,
        "rule_faults": chapter.rule_faults,
        "not_run": chapter.not_run,
        "changed_verdicts": {
            change.claim.id: {"before": change.before.value, "now": change.now.value}
            for change in chapter.changed_verdicts
        },
        "new": chapter.new,
        "figures": list(chapter.figures),
        "runs": {runs.name: runs._asdict() for runs in chapter.runs},
        "claims": {judged.claim.id: claim_document(judged) for judged in chapter.judged},
    }


def claim_document(judged: Judged) -> dict[str, Any]:
    """A claim's part of it."""
    return {
        "where": judged.claim.where,
        "role": judged.claim.role,
        "says": judged.claim.says,
        "expect": judged.claim.expect.text(),
        "tolerance": judged.claim.tolerance,
        "verdict": judged.verdict.value,
        "judged_by": judged.source,
        "found": dict(judged.found),
        "standard_error": judged.error,
        "undecided": [verdict.value for verdict in judged.undecided],
        "depends": {item.name: item.verdict.value for item in judged.depends},
        "not_run_under_another_reading_of": [item.id for item in judged.untested],
        "second_engines_disagree": list(judged.disagreeing),
        "reason": judged.claim.reason,
        "known": judged.claim.known,
        "former_rules": [
            {
                "replaced": rule.replaced.isoformat(),
                "says": rule.says,
                "measure": rule.measure,
                "expect": rule.expect.text(),
                "verdict": (now or rule.verdict).value,
                "why": rule.why,
            }
            for rule, now in judged.former
        ],
    }
