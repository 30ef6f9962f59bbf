"""How a command ends: its exit status, and one line where something was refused.

Exit status: 0 done, 2 bad input or options (one line, no traceback), 3 done but the goal could not
be reached, 1 a computation failed, 130 interrupted, 141 nobody reads the output any more.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from vegasfluid.errors import SolveFailed, VegasfluidError

__all__ = ["BAD_INPUT", "DONE", "OUT_OF_REACH", "exit_status"]

DONE, FAILED, BAD_INPUT, OUT_OF_REACH, INTERRUPTED, UNREAD = 0, 1, 2, 3, 130, 141

UsageRefused: type[Exception] = typer.BadParameter.__mro__[2]  # type: ignore[assignment]
"""What all refusals of options derive from: Click's ClickException, or that of the copy of Click
which newer Typers bring along."""


def exit_status(app: typer.Typer, arguments: Sequence[str], name: str) -> int:
    """Run a command line; its exit status. Where the reader of a pipe is gone, it ends quietly.

    Args:
        app: its commands.
        arguments: what was typed after its name.
        name: what it is called, in front of each line that refuses something.
    """
    try:
        status = complaining(app, arguments, name)
        sys.stdout.flush()
    except BrokenPipeError:
        return unread()
    except SystemExit as ended:  # as Typer and Rich end where they find the pipe broken
        if isinstance(ended.__context__, BrokenPipeError):
            return unread()
        raise
    return status


def unread() -> int:
    """The status of a command that was cut off, whose last words Python shall not try to say."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return UNREAD


def complaining(app: typer.Typer, arguments: Sequence[str], name: str) -> int:
    """Run a command line; its exit status, and what was refused on standard error.

    Args:
        app: its commands.
        arguments: what was typed after its name.
        name: what it is called, in front of each line that refuses something.
    """

    def complain(message: str) -> None:
        print(f"{name}: {' '.join(message.split())}", file=sys.stderr)

    try:
        status = app(args=list(arguments), prog_name=name, standalone_mode=False)
    except UsageRefused as refused:
        complain(refused.format_message().replace("Value error, ", ""))  # type: ignore[attr-defined]
        return BAD_INPUT
    except (typer.Abort, KeyboardInterrupt):
        status = INTERRUPTED
    except SolveFailed as failed:
        complain(str(failed))
        return FAILED
    except BrokenPipeError:
        raise
    except (VegasfluidError, OSError) as refused:
        complain(str(refused))
        return BAD_INPUT
    if status == INTERRUPTED:
        complain("interrupted.")
    return status if isinstance(status, int) else DONE
