"""Exit statuses, and error messages of one line on standard error.

Exit status: 0 success, 1 failed computation, 2 invalid input or options (one line, no traceback), 3
success but the goal was not reached, 130 interrupted, 141 broken pipe (the reader has left). For
signals see `vegasfluid.interruption`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import typer

from vegasfluid.cli.usage_errors import ClickException, usage_message
from vegasfluid.errors import (
    ComputationFailed,
    InvalidInput,
    SolveFailed,
    VegasfluidError,
    printable,
)

__all__ = ["BAD_INPUT", "DONE", "FAILED", "OUT_OF_REACH", "exit_status"]

WIDTH = "terminal_width"
"""Click's setting for the width of help pages, characters."""
DONE, FAILED, BAD_INPUT, OUT_OF_REACH, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 3, 130, 141
"""Exit statuses: success, failed computation, invalid input, goal not reached, interrupted, broken
pipe. The last two are 128 plus the number of the signal, as in shells."""


def exit_status(app: typer.Typer, arguments: Sequence[str], name: str) -> int:
    """Run a command line and return its exit status; a broken pipe (141) ends it quietly.

    Errors of vegasfluid, of files and of the usage are printed, not raised: status 1 if a
    computation failed, else 2. After Ctrl-C it is 130. Otherwise it is that of the command.

    Args:
        app: the Typer application.
        arguments: command-line arguments after the program name.
        name: program name, put in front of each error message.
    """
    try:
        status = run_with_messages(app, arguments, name)
        sys.stdout.flush()
    except BrokenPipeError:
        return broken_pipe()
    except SystemExit as error:  # Typer and Rich raise this if the pipe is broken
        if isinstance(error.__context__, BrokenPipeError):
            return broken_pipe()
        raise
    return status


def command_of(app: typer.Typer) -> Any:
    """The click command of the application, built once for each style of its help pages."""
    return built_command(app, app.rich_markup_mode, (app.info.context_settings or {}).get(WIDTH))


@cache
def built_command(app: typer.Typer, markup: str | None, width: int | None) -> Any:
    """The click command of the application, whose help pages have this markup and this width."""
    del markup, width  # which it has already
    return typer.main.get_command(app)


def on_terminal() -> bool:
    """Whether standard error is a terminal."""
    return sys.stderr.isatty()


def messages_of(error: VegasfluidError | OSError) -> tuple[str, ...]:
    """What is printed of an error: one message, or on a terminal all of a model file's errors."""
    if isinstance(error, VegasfluidError) and on_terminal():
        return error.messages
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return (f"{error.filename}: {error.strerror}.",)
    return (str(error),)


def as_typed(error: InvalidInput, app: typer.Typer, arguments: Sequence[str]) -> str:
    """The message, with the option of the command that ran in place of a function's argument.

    `recommend: tune must be ...` is `analyse: --tune must be ...` after `vegasfluid analyse`.

    Args:
        error: the error; those of functions of the API begin with a command or `Model`.
        app: the Typer application.
        arguments: command-line arguments after the program name.
    """
    commands: Any = getattr(command_of(app), "commands", {})
    name = next((word for word in arguments if word in commands), None)
    if name is None or error.whose not in {*commands, "Model"}:
        return str(error)
    argument = error.name.partition(" ")[0]
    option = f"--{argument.replace('_', '-')}"
    if not any(option in parameter.opts for parameter in commands[name].params):
        return str(error)
    return f"{name}: {option}{str(error).removeprefix(f'{error.whose}: {argument}')}"


def print_errors(name: str, *messages: str) -> None:
    """Print messages on standard error after the program's name, each in one line.

    Line breaks become blanks, control characters escapes.
    """
    for message in messages:
        print(f"{name}: {printable(' '.join(message.split()))}", file=sys.stderr)


def broken_pipe() -> int:
    """Exit status 141, for output whose reader has left; discards what is still buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return BROKEN_PIPE


def run_with_messages(app: typer.Typer, arguments: Sequence[str], name: str) -> int:
    """Run a command line, print any error in one line on standard error, return the exit status.

    On a terminal all errors of a model file are printed, a line each. The status is 1 if a
    computation failed, 2 for other errors of vegasfluid, files or the usage, 130 after Ctrl-C,
    else that of the command. A broken pipe is raised.

    Args:
        app: the Typer application.
        arguments: command-line arguments after the program name.
        name: program name, put in front of each error message.
    """
    try:
        status = command_of(app)(args=list(arguments), prog_name=name, standalone_mode=False)
    except ClickException as error:
        print_errors(name, usage_message(error, arguments, name))
        return BAD_INPUT
    except (typer.Abort, KeyboardInterrupt) as error:
        if isinstance(error.__cause__, EOFError):  # Typer turns this, too, into Abort
            raise error.__cause__ from None
        status = INTERRUPTED
    except (SolveFailed, ComputationFailed) as error:
        print_errors(name, str(error))
        return FAILED
    except BrokenPipeError:
        raise
    except InvalidInput as error:
        print_errors(name, as_typed(error, app, arguments))
        return BAD_INPUT
    except (VegasfluidError, OSError) as error:
        print_errors(name, *messages_of(error))
        return BAD_INPUT
    if status == INTERRUPTED:
        print_errors(name, "interrupted.")
    return status if isinstance(status, int) else DONE
