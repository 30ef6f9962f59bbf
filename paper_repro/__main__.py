"""`python -m paper_repro`: run the papers' experiments, judge their claims, write the report."""

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

from paper_repro.claims import load_paper
from paper_repro.experiment import Evidence, Experiment
from paper_repro.report import Chapter, document, runs_of, write_report
from paper_repro.running import run_jobs
from paper_repro.verdicts import Verdict, judge
from vegasfluid.cli.exit_status import exit_status
from vegasfluid.cli.output import console, print_json, table
from vegasfluid.errors import InvalidInput

__all__ = ["experiments_of", "main", "papers", "reproduce"]

HERE = Path(__file__).parent
DOTS = 130
"""Dots per inch of a figure."""


class Report(Protocol):
    """Is told how far the runs are."""

    def __call__(self, done: int, of: int, /) -> None:
        """So many runs are done."""


def papers() -> list[str]:
    """The papers' folders, in the order of their years."""
    found = [file.parent.name for file in HERE.glob("*/claims.toml")]
    return sorted(found, key=lambda name: (name.rpartition("_")[2], name))


def experiments_of(paper: str) -> Sequence[Experiment]:
    """What a paper's `run.py` lists."""
    return importlib.import_module(f"paper_repro.{paper}.run").EXPERIMENTS


def chosen(paper: str, figure: int | None, quick: bool) -> list[Experiment]:
    """The experiments that are wanted."""
    names = None
    if figure is not None:
        claims = load_paper(HERE / paper).claims
        names = {claim.experiment for claim in claims if claim.figure == figure}
        if not names:
            known = sorted({claim.figure for claim in claims if claim.figure is not None})
            allowed = "one that claims speak of: " + (", ".join(map(str, known)) or "none")
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
    report: Report = lambda done, of: None,
) -> Chapter:
    """Run experiments of a paper and judge its claims.

    Args:
        paper: its folder's name.
        experiments: those of its experiments that are run.
        out: where the figures are drawn, in `PAPER/figures/`; None: they are not.
        workers: runs at a time.
        report: is told how far it is.
    """
    chapter = Chapter(paper, load_paper(HERE / paper), runs=list(map(runs_of, experiments)))
    results = run_jobs(experiments, workers=workers, report=report)
    evidence = Evidence()
    for experiment in experiments:
        evidence.add(experiment.measure(results[experiment.name]))
        if out is not None and experiment.draw is not None:
            file = out / paper / "figures" / f"{experiment.name}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            experiment.draw(results[experiment.name]).savefig(file, dpi=DOTS)
            chapter.figures[file.relative_to(out).as_posix()] = experiment.title
    for claim in chapter.paper.claims:
        judged = judge(claim, evidence)
        if judged is None:
            chapter.not_run.append(claim.id)
        else:
            chapter.judged.append(judged)
    return chapter


@contextmanager
def progress(paper: str) -> Iterator[Report]:
    """A bar on a terminal, and nothing elsewhere."""
    columns = (TextColumn(paper), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    error = Console(stderr=True)
    with Progress(*columns, console=error, disable=not error.is_terminal) as bar:
        task = bar.add_task(paper)
        yield lambda done, of: bar.update(task, completed=done, total=of)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def run(
    paper: Annotated[
        str | None, typer.Argument(help="One paper, by its folder; all, if none.")
    ] = None,
    figure: Annotated[int | None, typer.Option(help="Only what this figure needs.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Only what takes seconds.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    out: Annotated[Path, typer.Option(help="The folder of report and figures.")] = Path(
        "paper_repro_report"
    ),
    workers: Annotated[int | None, typer.Option(help="Runs at a time.", min=1)] = None,
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
    wanted = {name: chosen(name, figure, quick) for name in ([paper] if paper else papers())}
    out.mkdir(parents=True, exist_ok=True)
    chapters = []
    for name, experiments in wanted.items():
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
    """Print the counts, and where the report is."""
    short = [of.value.removeprefix("reproduced ").removesuffix(" reproduced") for of in Verdict]
    made = table("paper", *short, "left")
    for chapter in chapters:
        counts = [str(count) for count in chapter.counts.values()]
        made.add_row(chapter.name, *counts, str(len(chapter.not_run)))
    console().print(made)
    for chapter in chapters:
        for name in chapter.unexplained:
            print(f"{chapter.name}: {name}: its verdict and its reason do not go together.")
    print(f"Report: {' and '.join(map(str, files))}")


def main(arguments: list[str] | None = None) -> None:
    """The entry point; its exit status is as that of the commands of `vegasfluid`."""
    given = sys.argv[1:] if arguments is None else arguments
    sys.exit(exit_status(app, given, "paper_repro"))


if __name__ == "__main__":
    main()
