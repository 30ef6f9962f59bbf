"""The command-line application; options are in `options`, and a command's code loads on use."""

from __future__ import annotations

import sys
import warnings

import typer

from vegasfluid.cli import main_commands, more_commands, reference_commands, terminal
from vegasfluid.cli import options as opts
from vegasfluid.cli.application import SETTINGS, app
from vegasfluid.cli.examples import epilog
from vegasfluid.cli.exit_status import DONE, exit_status

__all__ = ["COMMANDS", "app", "main", "run_app"]

COMMANDS = (main_commands, more_commands, reference_commands)
"""Modules whose import registers commands, in the order of the help page."""


@app.callback(invoke_without_command=True)
def root(ctx: typer.Context, version: opts.Version = False) -> None:
    """Find fair TCP Vegas parameters with a fluid model and confirm them by packet simulation."""
    if version:
        from vegasfluid.version import package_version

        typer.echo(f"vegasfluid {package_version()}")
        raise typer.Exit(DONE)
    if ctx.invoked_subcommand is None:
        from vegasfluid.cli.greeting import greet

        greet()


def set_help_style(rich: bool) -> None:
    """Show help in coloured boxes if `rich`, or as plain unbroken lines for a pipe."""
    app.rich_markup_mode = "rich" if rich else None
    width = None if rich else terminal.pipe_width()
    app.info.context_settings = SETTINGS | {"terminal_width": width}
    for info in app.registered_commands:
        info.epilog = epilog(str(info.name), plain=not rich)


def run_app(arguments: list[str] | None) -> int:
    """Run the command line `arguments` (None: those of the process); returns the exit status."""
    terminal.escape_unknown_characters()
    set_help_style(terminal.supports_rich_output())
    return exit_status(app, sys.argv[1:] if arguments is None else arguments, "vegasfluid")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line `arguments` (None: those of the process), exit with its status."""
    warnings.showwarning = terminal.show_warning
    sys.exit(run_app(arguments))
