"""The command line: `vegasfluid recommend | simulate | check | doctor | ...`."""

from vegasfluid.cli.app import main

__all__ = ["main"]
