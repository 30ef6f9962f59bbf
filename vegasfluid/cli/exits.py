"""How a command ends: its exit status, and one line where something was refused.

Exit status: 0 done, 2 bad input or options (one line, no traceback), 3 done but the goal could not
be reached, 1 a computation failed, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from vegasfluid.errors import SolveFailed, VegasfluidError

__all__ = ["BAD_INPUT", "DONE", "OUT_OF_REACH", "exit_status"]

DONE, FAILED, BAD_INPUT, OUT_OF_REACH, INTERRUPTED = 0, 1, 2, 3, 130

UsageRefused: type[Exception] = typer.BadParameter.__mro__[2]  # type: ignore[assignment]
"""What all refusals of options derive from: Click's ClickException, or that of the copy of Click
which newer Typers bring along."""


def exit_status(app: typer.Typer, arguments: Sequence[str], name: str) -> int:
    """Run a command line; its exit status.

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
    except (VegasfluidError, OSError) as refused:
        complain(str(refused))
        return BAD_INPUT
    if status == INTERRUPTED:
        complain("interrupted.")
    return status if isinstance(status, int) else DONE
