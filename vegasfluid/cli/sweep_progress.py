"""How far a sweep is: a bar on a terminal, a line a minute elsewhere."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from vegasfluid.sweep import Progress

__all__ = ["shown"]

EVERY = 60.0
"""Seconds between two lines."""


def line(progress: Progress) -> str:
    """How far it is, in words."""
    told = f"{progress.done} of {progress.points} points"
    if progress.failed:
        told += f", {progress.failed} failed"
    if progress.rate and progress.done < progress.points:
        told += f", {progress.rate:.3g} a second, {clock(progress.left)} left"
    return told


def clock(seconds: float) -> str:
    """A time as 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


@contextmanager
def shown(out: Path) -> Iterator[Callable[[Progress], None]]:
    """Show how far a sweep is while it is done; where it is stopped, say how it goes on.

    Args:
        out: its store.
    """
    seen: list[Progress] = []
    teller = on_terminal if sys.stderr.isatty() else a_line_a_minute
    try:
        with noted_interrupts() as noted, teller() as tell:

            def report(progress: Progress) -> None:
                seen[:] = [progress]
                tell(progress)
                if noted:
                    raise KeyboardInterrupt

            yield report
    except KeyboardInterrupt:
        if seen:
            print(
                f"vegasfluid: {seen[0].done} of {seen[0].points} points are in {out}; "
                "the same command goes on from there.",
                file=sys.stderr,
            )
        raise


@contextmanager
def noted_interrupts() -> Iterator[list[int]]:
    """Ctrl-C as usual, and noted: what it interrupts may be a callback, where Python drops it."""
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        noted.append(number)
        raise KeyboardInterrupt

    def drop(dropped: Any) -> None:
        if dropped.exc_type is not KeyboardInterrupt:
            told(dropped)

    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    before, told = signal.signal(signal.SIGINT, note), sys.unraisablehook
    sys.unraisablehook = drop
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = told


@contextmanager
def on_terminal() -> Iterator[Callable[[Progress], None]]:
    """A bar."""
    columns = (TextColumn("sweep"), BarColumn(), TextColumn("{task.fields[told]}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("sweep", told="starting")

        def tell(progress: Progress) -> None:
            bar.update(task, total=progress.points, completed=progress.done, told=line(progress))

        yield tell


@contextmanager
def a_line_a_minute() -> Iterator[Callable[[Progress], None]]:
    """A line after the first minute, and then one a minute: what is quick says nothing."""
    told = [time.monotonic()]

    def tell(progress: Progress) -> None:
        if time.monotonic() - told[0] >= EVERY:
            told[0] = time.monotonic()
            print(f"sweep: {line(progress)}", file=sys.stderr, flush=True)

    yield tell
