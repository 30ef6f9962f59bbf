"""Typer classes of the commands: the order of options on help pages, and other spellings."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

from vegasfluid.cli import options as opts

__all__ = ["Command", "Group"]

SPELLINGS = {"analyze": "analyse"}
"""Names of commands by other spellings, which help pages do not list."""


def no_type(ctx: Any) -> None:
    """Return None, so that help pages show no type of an argument; its text states what it is."""


class HelpLayout:
    """Mixin for help pages in the style of manual pages.

    Flags and arguments show no type, arguments no braces, and --help is in the last group.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Options of a command in the order of its help page, with this layout applied."""
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if param.param_type_name == "argument":
                param.display_type_rich = no_type
            if getattr(param, "is_flag", False):
                param.metavar = ""
            if param.name == "help" and isinstance(self, TyperCommand):
                param.rich_help_panel = opts.GENERAL
        return params

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Parts of the usage line, such as `MODEL`, without braces around required arguments."""
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [piece.replace("{", "").replace("}", "") for piece in pieces]


class Command(HelpLayout, TyperCommand):
    """A subcommand with the help page of `HelpLayout`."""


class Group(HelpLayout, TyperGroup):
    """The group of all subcommands, with the help page of `HelpLayout`; accepts other spellings."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The subcommand with the name `cmd_name`; another spelling (`analyze`) also finds it."""
        return super().get_command(ctx, SPELLINGS.get(cmd_name, cmd_name))
