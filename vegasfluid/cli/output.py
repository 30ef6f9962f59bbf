"""How results reach the user: one JSON document, or text; progress on a terminal only."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol, cast

from rich.console import Console
from rich.table import Table

from vegasfluid.cli.terminal import width_in_a_pipe
from vegasfluid.errors import InvalidInput

__all__ = [
    "PICTURES",
    "Report",
    "check_model_target",
    "check_target",
    "console",
    "plain",
    "print_json",
    "progress",
    "table",
]

PICTURES = (".png", ".svg", ".pdf")
"""What the name of a picture may end with."""


class Report(Protocol):
    """Tells the user what is being done."""

    def __call__(self, message: str, /) -> None:
        """Show a line."""


class Trimmed:
    """Standard output without the blanks that tables are padded with at the ends of lines."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        """Write lines."""
        return sys.stdout.write(re.sub(r" +$", "", text, flags=re.MULTILINE))

    def flush(self) -> None:
        """Write what waits."""
        sys.stdout.flush()


def console() -> Console:
    """The console for results, on standard output; it acts on nothing that a name holds.

    What does not go to a terminal is not broken into lines, unless $COLUMNS says how long they are.
    """
    plain: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
    if sys.stdout.isatty():
        return Console(**plain)
    return Console(**plain, width=width_in_a_pipe(), file=cast(IO[str], Trimmed()))


def _as_json(value: Any) -> Any:
    """A value that JSON can hold: no NaN, no NumPy numbers."""
    if isinstance(value, Mapping):
        return {key: _as_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(part) for part in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document on standard output."""
    print(json.dumps(_as_json(document), indent=2, allow_nan=False))


def table(*columns: str, texts: Collection[str] = ()) -> Table:
    """A plain table: numbers to the right; the first column and those of `texts` to the left."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(columns[0], style="bold", overflow="fold")
    for column in columns[1:]:
        left = column in texts
        made.add_column(
            column, justify="left" if left else "right", overflow="fold", no_wrap=not left
        )
    return made


def plain(value: Any) -> str:
    """A value as a model file writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, int | float) else str(value)


def check_target(
    command: str, option: str, target: Path | None, endings: tuple[str, ...] = ()
) -> None:
    """Refuse a file that could not be written, before the work.

    Args:
        command: whose option it is.
        option: its name.
        target: the file; None: none is wanted.
        endings: one of which its name must have; none: any.

    Raises:
        InvalidInput: for a folder that is missing, a folder in place of a file, another ending.
    """
    if target is None:
        return
    if not target.resolve().parent.is_dir():
        raise InvalidInput(command, option, "in a folder that exists", str(target))
    if target.is_dir():
        raise InvalidInput(command, option, "a file", str(target))
    if endings and target.suffix.lower() not in endings:
        raise InvalidInput(command, option, "named *" + ", *".join(endings), str(target))


def check_model_target(command: str, model: str, out: Path | None) -> None:
    """Refuse a file in which a model could not be kept, or the model itself, with its comments.

    Raises:
        InvalidInput: for such a file.
    """
    check_target(command, "--out", out, (".toml",))
    if out is not None and out.exists() and out.resolve() == Path(model).resolve():
        raise InvalidInput(command, "--out", "another file than MODEL", str(out))


@contextmanager
def progress(task: str) -> Iterator[Report]:
    """Show what is being done while it is done: on a terminal, and nowhere else."""
    if not sys.stderr.isatty():
        yield lambda message: None
        return
    with Console(stderr=True).status(task) as status:
        yield lambda message: status.update(f"{task}: {message}")
