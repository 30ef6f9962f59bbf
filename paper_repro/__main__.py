"""`python -m paper_repro`: run the papers' experiments, test their claims, write the report."""

from __future__ import annotations

import difflib
import importlib
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Protocol

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from paper_repro import assumptions, histories, rules
from paper_repro.claims import Verdict, load_paper
from paper_repro.experiment import Evidence, Experiment
from paper_repro.jackknife import with_errors
from paper_repro.report import Chapter, document, runs_of, write_report
from paper_repro.running import run_jobs
from paper_repro.verdicts import judge
from vegasfluid.cli.exit_status import exit_status
from vegasfluid.cli.output import console, print_json, table
from vegasfluid.errors import InvalidInput

__all__ = ["experiments_of", "main", "papers", "reproduce"]

FOLDER = Path(__file__).parent
"""Folder that contains the folders of the papers."""
DOTS = 130
"""Resolution of a figure, dots per inch."""


class Report(Protocol):
    """Callback for the progress of the runs."""

    def __call__(self, done: int, total: int, /) -> None:
        """Show how many runs are done, of how many."""


def papers() -> list[str]:
    """Names of the papers' folders, in the order of their years."""
    names = [file.parent.name for file in FOLDER.glob("*/claims.toml")]
    return sorted(names, key=lambda name: (name.rpartition("_")[2], name))


def experiments_of(paper: str) -> Sequence[Experiment]:
    """Experiments in `run.py` of a paper."""
    return importlib.import_module(f"paper_repro.{paper}.run").EXPERIMENTS


def chosen(paper: str, figure: int | None, quick: bool) -> list[Experiment]:
    """Experiments of a paper for one figure (None: for all), and only quick ones on request."""
    names = None
    if figure is not None:
        claims = load_paper(FOLDER / paper).claims
        names = {claim.experiment for claim in claims if claim.figure == figure}
        if not names:
            known = sorted({claim.figure for claim in claims if claim.figure is not None})
            allowed = "a figure with claims: " + (", ".join(map(str, known)) or "none")
            raise InvalidInput(paper, "--figure", allowed, figure)
    return [
        experiment
        for experiment in experiments_of(paper)
        if (names is None or experiment.name in names) and (experiment.quick or not quick)
    ]


def reproduce(
    paper: str,
    experiments: Sequence[Experiment],
    *,
    out: Path | None = None,
    workers: int | None = None,
    report: Report = lambda done, total: None,
) -> Chapter:
    """Run experiments of a paper and test its claims.

    Args:
        paper: name of its folder.
        experiments: experiments to run.
        out: folder for the figures, which go into `PAPER/figures/`; None: no figures.
        workers: number of parallel runs; None: one for each processor.
        report: called with the progress.
    """
    chapter = Chapter(paper, load_paper(FOLDER / paper), runs=list(map(runs_of, experiments)))
    for kind in (rules, assumptions):
        records = histories.recorded(kind.RECORDS).get(paper, {})
        chapter.rule_faults.extend(kind.faults(chapter.paper, records))
    results = run_jobs(experiments, workers=workers, report=report)
    evidence = Evidence()
    for experiment in experiments:
        evidence.add(with_errors(experiment, results[experiment.name]))
        if out is not None and experiment.draw is not None:
            file = out / paper / "figures" / f"{experiment.name}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            experiment.draw(results[experiment.name]).savefig(file, dpi=DOTS)
            chapter.figures[file.relative_to(out).as_posix()] = experiment.title
    for claim in chapter.paper.claims:
        judged = judge(claim, evidence, chapter.paper.assumptions)
        if judged is None:
            chapter.not_run.append(claim.id)
        else:
            chapter.judged.append(judged)
    return chapter


@contextmanager
def progress(paper: str) -> Iterator[Report]:
    """Progress bar on a terminal; silent elsewhere."""
    columns = (TextColumn(paper), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    error = Console(stderr=True)
    with Progress(*columns, console=error, disable=not error.is_terminal) as bar:
        task = bar.add_task(paper)
        yield lambda done, total: bar.update(task, completed=done, total=total)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def run(
    paper: Annotated[
        str | None, typer.Argument(help="Folder of one paper. Default: all papers.")
    ] = None,
    figure: Annotated[int | None, typer.Option(help="Run only what this figure needs.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run only what takes seconds.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for report and figures.")] = Path(
        "paper_repro_report"
    ),
    workers: Annotated[int | None, typer.Option(help="Number of parallel runs.", min=1)] = None,
) -> None:
    """Reproduce the papers claim by claim, and write a report with every verdict.

    Example: python -m paper_repro weigle_feng_2001 --figure 3
    """
    if paper is not None and paper not in papers():
        near = difflib.get_close_matches(paper, papers(), n=1, cutoff=0.3)
        allowed = f"one of {', '.join(papers())}" + (f" (did you mean {near[0]}?)" if near else "")
        raise InvalidInput("PAPER", "the paper", allowed, paper)
    if figure is not None and paper is None:
        raise InvalidInput("PAPER", "--figure", "given with a paper", figure)
    begin = time.perf_counter()
    selected = {name: chosen(name, figure, quick) for name in ([paper] if paper else papers())}
    out.mkdir(parents=True, exist_ok=True)
    chapters = []
    for name, experiments in selected.items():
        with progress(name) as report:
            chapters.append(reproduce(name, experiments, out=out, workers=workers, report=report))
    seconds = time.perf_counter() - begin
    command = " ".join(["python -m paper_repro", *sys.argv[1:]])
    files = write_report(out, chapters, command, seconds)
    if as_json:
        print_json(document(chapters, seconds))
    else:
        show(chapters, files)


def show(chapters: Sequence[Chapter], files: Sequence[Path]) -> None:
    """Print the number of claims by verdict, and the paths of the report."""
    names = [item.value.removeprefix("reproduced ").removesuffix(" reproduced") for item in Verdict]
    counts = table("paper", *names, "doubted", "undecided", "dependent", "not run")
    for chapter in chapters:
        doubts = [chapter.doubted, chapter.undecided, chapter.dependent]
        numbers = [*chapter.counts.values(), *doubts, len(chapter.not_run)]
        counts.add_row(chapter.name, *map(str, numbers))
    console().print(counts)
    for chapter in chapters:
        for name, mismatch in chapter.unexplained.items():
            print(f"{chapter.name}: {name}: {mismatch}.")
        for fault in chapter.rule_faults:
            print(f"{chapter.name}: {fault}.")
    print(f"Report: {' and '.join(map(str, files))}")


def main(arguments: list[str] | None = None) -> None:
    """The entry point, with the exit statuses of `vegasfluid`."""
    sys.exit(exit_status(app, sys.argv[1:] if arguments is None else arguments, "paper_repro"))


if __name__ == "__main__":
    main()
