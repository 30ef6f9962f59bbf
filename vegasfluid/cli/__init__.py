"""The command line: `vegasfluid recommend | simulate | check | doctor | ...`."""

from __future__ import annotations

import atexit
import gc
import signal
from contextlib import suppress

__all__ = ["main"]

ALLOCATIONS = 500_000
"""New objects after which Python looks for unreachable cycles of objects. By default it does so
after 700, which takes a tenth of the time of imports and of tracing equations."""


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the command `vegasfluid`: runs it and exits with its status.

    Args:
        arguments: command-line arguments; None: those of the process.
    """
    let_interrupts_end()
    gc.set_threshold(ALLOCATIONS)
    atexit.register(gc.freeze)  # a process that ends need not look for cycles in all its objects
    from vegasfluid.interruption import exit_at_signals

    exit_at_signals("vegasfluid")  # before anything that takes time to import
    from vegasfluid.cli.app import main as run

    run(arguments)


def let_interrupts_end() -> None:
    """Let Ctrl-C end the process at once, without the traceback that Python would print.

    It is for the first milliseconds, until `exit_at_signals` responds to signals. Where Ctrl-C is
    ignored, or has another handler, nothing changes.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with suppress(ValueError):  # outside the main thread
            signal.signal(signal.SIGINT, signal.SIG_DFL)
