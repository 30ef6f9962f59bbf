"""The directive `command-options`: the help of a command, from the Typer app."""

from __future__ import annotations

import typer.main
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from vegasfluid.cli.app import app as commands
from vegasfluid.cli.examples import EXAMPLES

__all__ = ["options_of", "setup"]


def options_of(name: str) -> str | None:
    """Arguments, options and examples of a command as Markdown; None for an unknown command."""
    command = typer.main.get_command(commands).commands.get(name)  # type: ignore[attr-defined]
    if command is None:
        return None
    context = command.context_class(command, info_name=name)
    records = [parameter.get_help_record(context) for parameter in command.params]
    rows = ["| | |", "|---|---|"]
    rows += [
        f"| {code(option)} | {escaped(meaning)} |" for option, meaning in filter(None, records)
    ]
    examples = "\n".join(f"{item.line}    # {item.purpose}" for item in EXAMPLES.get(name, ()))
    table = "\n".join(rows)
    return f"{table}\n\n```sh\n{examples}\n```" if examples else table


def code(option: str) -> str:
    """An option as code in a cell of a Markdown table."""
    return f"`{escaped(option.strip())}`"


def escaped(text: str) -> str:
    """A text for a cell of a Markdown table, in one line."""
    return " ".join(text.split()).replace("|", "\\|")


class CommandOptions(SphinxDirective):
    """Directive `command-options`: the options of a command."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table of the command named by the argument, or an error for an unknown one."""
        table = options_of(self.arguments[0])
        if table is None:
            raise self.error(f"vegasfluid has no command {self.arguments[0]!r}")
        return self.parse_text_to_nodes(table)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive with Sphinx; pages may be read in parallel."""
    app.add_directive("command-options", CommandOptions)
    return {"parallel_read_safe": True}
