"""What `vegasfluid` prints without a command: its purpose and commands to start with."""

from __future__ import annotations

from vegasfluid.cli.output import console, table
from vegasfluid.version import package_version

__all__ = ["FIRST_STEPS", "greet"]

NETWORK = "weigle_feng_network2"
"""Built-in model of the first examples."""
FIRST_STEPS = (
    (f"vegasfluid check {NETWORK}", "validate and explain the model"),
    (f"vegasfluid recommend {NETWORK}", "find fair alpha and beta"),
    (f"vegasfluid simulate {NETWORK} --plot run.png", "plot one run"),
    (f"vegasfluid explore {NETWORK}", "explore it in the browser"),
)
"""Commands for a first try, with their purposes."""
FURTHER = (
    ("vegasfluid init", "describe your network"),
    ("vegasfluid models", "list the built-in models"),
    ("vegasfluid doctor", "check the installation"),
    ("vegasfluid --help", "all commands, with examples"),
)
"""Commands to continue with, with their purposes."""


def greet() -> None:
    """Print the purpose of vegasfluid and commands to start with on a built-in model."""
    out = console()
    out.print(f"vegasfluid {package_version()}", style="bold", end="")
    out.print(": fair TCP Vegas from fluid models, checked by packet simulation\n")
    out.print("Try it on a built-in network:\n")
    for steps in (FIRST_STEPS, FURTHER):
        rows = table("command", "purpose", texts=["purpose"])
        rows.show_header = False
        for line, purpose in steps:
            rows.add_row(f"  {line}", purpose)
        out.print(rows)
        out.print()
