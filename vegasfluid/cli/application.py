"""The Typer application, and the decorator with which modules of commands register in it."""

from __future__ import annotations

from typing import Any

import typer

from vegasfluid.cli.command_classes import Command, Group
from vegasfluid.cli.examples import epilog

__all__ = ["MAIN", "MORE", "REFERENCE", "SETTINGS", "app", "command"]

SETTINGS = {"help_option_names": ["--help", "-h"]}
"""Click settings of all commands: -h is short for --help."""

app = typer.Typer(
    name="vegasfluid",
    cls=Group,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
)
"""The command line, whose subcommands are the functions of the modules `*_commands`."""
MAIN, MORE, REFERENCE = "Main commands", "More commands", "Reference and setup"
"""Groups of commands on the help page."""


def command(name: str, panel: str) -> Any:
    """Decorator that registers a function as a subcommand.

    `name` is typed on the command line; `panel` is the group on the help page, which ends with
    examples.
    """
    return app.command(name, cls=Command, rich_help_panel=panel, epilog=epilog(name))
