"""The directive `command-options`: what `vegasfluid NAME --help` says, from the Typer app."""

from __future__ import annotations

import typer.main
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from vegasfluid.cli.app import app as commands
from vegasfluid.cli.examples import EXAMPLES

__all__ = ["options_of", "setup"]


def options_of(name: str) -> str | None:
    """Arguments, options and examples of a command as Markdown; None where there is none."""
    found = typer.main.get_command(commands).commands.get(name)  # type: ignore[attr-defined]
    if found is None:
        return None
    context = found.context_class(found, info_name=name)
    records = [parameter.get_help_record(context) for parameter in found.params]
    rows = ["| | |", "|---|---|"]
    rows += [f"| {code(told)} | {escaped(meaning)} |" for told, meaning in filter(None, records)]
    examples = "\n".join(f"{of.line}    # {of.purpose}" for of in EXAMPLES.get(name, ()))
    told = ["\n".join(rows)]
    return "\n\n".join(told + ([f"```sh\n{examples}\n```"] if examples else []))


def code(told: str) -> str:
    """An option as typed."""
    return f"`{escaped(told.strip())}`"


def escaped(text: str) -> str:
    """Text in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


class CommandOptions(SphinxDirective):
    """The options of a command."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The table; an error for a command that is not there."""
        table = options_of(self.arguments[0])
        if table is None:
            raise self.error(f"vegasfluid has no command {self.arguments[0]!r}")
        return self.parse_text_to_nodes(table)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entry point."""
    app.add_directive("command-options", CommandOptions)
    return {"parallel_read_safe": True}
