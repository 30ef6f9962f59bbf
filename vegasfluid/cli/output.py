"""Output of commands: one JSON document or text, and progress on a terminal only."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO, Any, Protocol, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from vegasfluid.cli.terminal import pipe_width
from vegasfluid.errors import printable
from vegasfluid.json_values import json_value

__all__ = [
    "COMPILING",
    "ProgressReport",
    "console",
    "is_quiet",
    "plain",
    "print_json",
    "progress",
    "quiet",
    "table",
]

COMPILING = "compiling the simulators (the first time for this kind of network)"
"""What a command does before its first result, unless compiled code was kept from another run."""
RESULTS_ONLY: ContextVar[bool] = ContextVar("RESULTS_ONLY", default=False)
"""Whether only results are printed (--quiet)."""


class ProgressReport(Protocol):
    """Callback that shows what a long computation does now."""

    def __call__(self, message: str, /) -> None:
        """Replace the current line of progress by `message`."""


class TrimmedOutput:
    """Standard output without the trailing blanks that Rich pads table rows with."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        """Write text without blanks at line ends; return the number of characters written."""
        return sys.stdout.write(re.sub(r" +$", "", text, flags=re.MULTILINE))

    def flush(self) -> None:
        """Flush standard output."""
        sys.stdout.flush()


class SafeConsole(Console):
    """Rich console that prints control characters in names and titles as escapes."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Rich text of a string, in which only line breaks and tabs are control characters."""
        return super().render_str(printable(text, keep="\n\t"), **options)


def console() -> Console:
    """Rich console for results on standard output; markup in names is shown, not interpreted.

    Outside a terminal, lines are not broken unless $COLUMNS sets a width.
    """
    plain: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
    if sys.stdout.isatty():
        return SafeConsole(**plain)
    return SafeConsole(**plain, width=pipe_width(), file=cast(IO[str], TrimmedOutput()))


def print_json(document: Mapping[str, Any]) -> None:
    """Print `document` as JSON on standard output; NaN and infinities become null."""
    print(json.dumps(json_value(document), indent=2, allow_nan=False))


def table(*columns: str, texts: Collection[str] = ()) -> Table:
    """Borderless table: numbers to the right, the first column and those in `texts` to the left."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(columns[0], style="bold", overflow="fold")
    for column in columns[1:]:
        left = column in texts
        made.add_column(
            column, justify="left" if left else "right", overflow="fold", no_wrap=not left
        )
    return made


def plain(value: Any) -> str:
    """A parameter value as text: `true` or `false`, a number with six digits, or `str` of it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, int | float) else str(value)


@contextmanager
def quiet() -> Iterator[None]:
    """Context in which only results are printed: no progress, and no commands to continue with."""
    before = RESULTS_ONLY.set(True)
    try:
        yield
    finally:
        RESULTS_ONLY.reset(before)


def is_quiet() -> bool:
    """Whether only results are printed, without progress and suggested commands (--quiet)."""
    return RESULTS_ONLY.get()


@contextmanager
def progress(task: str, first: str = "") -> Iterator[ProgressReport]:
    """Context that shows progress as `task: message` on a terminal; silent elsewhere and if quiet.

    Args:
        task: what is computed, such as a command's name.
        first: message until the first call, such as `COMPILING`; empty: only `task` is shown.

    Yields:
        A function to call with each new message, which replaces the one before.
    """
    if is_quiet() or not sys.stderr.isatty():
        yield lambda message: None
        return
    with SafeConsole(stderr=True).status(f"{task}: {first}" if first else task) as status:
        yield lambda message: status.update(f"{task}: {message}")
