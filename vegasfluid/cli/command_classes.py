"""Typer classes of the commands: the order of options on help pages, and other spellings."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

from vegasfluid.cli import options as opts

__all__ = ["Command", "Group"]

SPELLINGS = {"analyze": "analyse"}
"""Names of commands by other spellings, which help pages do not list."""


class HelpLayout:
    """Mixin for the help page: flags show no type, and --help is in the last group."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Options of a command in the order of its help page, with this layout applied."""
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
            if param.name == "help" and isinstance(self, TyperCommand):
                param.rich_help_panel = opts.GENERAL
        return params


class Command(HelpLayout, TyperCommand):
    """A subcommand with this help layout."""


class Group(HelpLayout, TyperGroup):
    """The group of all subcommands with this help layout, also by other spellings."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The subcommand with the name `cmd_name`; another spelling (`analyze`) also finds it."""
        return super().get_command(ctx, SPELLINGS.get(cmd_name, cmd_name))
