"""Progress of a sweep: a bar on a terminal, one line per minute elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from vegasfluid.cli.output import is_quiet
from vegasfluid.interruption import at_interruption, print_now
from vegasfluid.sweep import Progress

__all__ = ["show_progress"]

INTERVAL = 60.0
"""Seconds between two lines outside a terminal."""


def status_line(progress: Progress) -> str:
    """Progress as text: points done and failed, points per second, and time left (h:mm:ss).

    Failed points count as done. Rate and time left are left out before the first point and at the
    end.
    """
    text = f"{progress.done} of {progress.points} points"
    if progress.failed:
        text += f", {progress.failed} failed"
    if progress.rate and progress.done < progress.points:
        text += f", {progress.rate:.3g} a second, {clock(progress.left)} left"
    return text


def clock(seconds: float) -> str:
    """A time in s as text h:mm:ss."""
    minutes, remainder = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{remainder:02}"


@contextmanager
def show_progress(out: Path) -> Iterator[Callable[[Progress], None]]:
    """Context that shows the progress of a sweep; after Ctrl-C it states how to resume.

    On standard error: a bar on a terminal, a line per minute elsewhere, nothing with --quiet.

    Args:
        out: Zarr store of the sweep.

    Yields:
        A function to call with each `Progress` of the sweep.
    """
    latest: list[Progress] = []
    display = nothing if is_quiet() else on_terminal if sys.stderr.isatty() else line_per_minute

    def advise() -> None:
        """Print how far the sweep is, and how to resume it."""
        if latest:
            print_now(
                f"vegasfluid: {latest[0].done} of {latest[0].points} points are saved in {out}; "
                "run the same command again to resume.\n"
            )

    try:
        with at_interruption(advise), display() as update:

            def report(progress: Progress) -> None:
                """Show the progress, and keep it for the advice after Ctrl-C."""
                latest[:] = [progress]
                update(progress)

            yield report
    except KeyboardInterrupt:
        advise()
        raise


@contextmanager
def on_terminal() -> Iterator[Callable[[Progress], None]]:
    """Context with a progress bar; yields a function that updates it."""
    columns = (TextColumn("sweep"), BarColumn(), TextColumn("{task.fields[status]}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("sweep", status="starting")

        def update(progress: Progress) -> None:
            """Set the bar to the points done and show the status line."""
            status = status_line(progress)
            bar.update(task, total=progress.points, completed=progress.done, status=status)

        yield update


@contextmanager
def nothing() -> Iterator[Callable[[Progress], None]]:
    """Context whose function shows nothing."""
    yield lambda progress: None


@contextmanager
def line_per_minute() -> Iterator[Callable[[Progress], None]]:
    """Context whose function prints a line of progress, at most once a minute.

    Nothing is printed in the first minute.
    """
    printed = [time.monotonic()]

    def update(progress: Progress) -> None:
        """Print the status line if a minute has passed since the last one."""
        if time.monotonic() - printed[0] >= INTERVAL:
            printed[0] = time.monotonic()
            print(f"sweep: {status_line(progress)}", file=sys.stderr, flush=True)

    yield update
