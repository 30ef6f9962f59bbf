"""`vegasfluid` without a command: what it is for, and three things to begin with."""

from __future__ import annotations

from vegasfluid.cli.output import console, table
from vegasfluid.version import package_version

__all__ = ["FIRST_STEPS", "greet"]

NETWORK = "weigle_feng_network2"
FIRST_STEPS = (
    (f"vegasfluid check {NETWORK}", "what it says; nothing runs"),
    (f"vegasfluid recommend {NETWORK}", "alpha and beta that are fair"),
    (f"vegasfluid simulate {NETWORK} --plot run.png", "one run as a picture"),
)
FURTHER = (
    ("vegasfluid models", "the others, and how to begin your own"),
    ("vegasfluid doctor", "whether all is well here"),
    ("vegasfluid --help", "all commands; COMMAND --help has examples"),
)


def greet() -> None:
    """Show what people do first, with a network that comes along."""
    out = console()
    out.print(f"vegasfluid {package_version()}", style="bold", end="")
    out.print(": fair TCP Vegas, by fluid models that a packet simulator judges\n")
    out.print("Try it on a network that comes along:\n")
    for steps in (FIRST_STEPS, FURTHER):
        rows = table("command", "what", texts=["what"])
        rows.show_header = False
        for line, what in steps:
            rows.add_row(f"  {line}", what)
        out.print(rows)
        out.print()
