"""The command line: `vegasfluid recommend | simulate | check | doctor | ...`."""

from __future__ import annotations

from vegasfluid.interruption import exit_at_signals

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the command `vegasfluid`: runs it and exits with its status.

    Args:
        arguments: command-line arguments; None: those of the process.
    """
    exit_at_signals("vegasfluid")  # before anything that takes time to import
    from vegasfluid.cli.app import main as run

    run(arguments)
