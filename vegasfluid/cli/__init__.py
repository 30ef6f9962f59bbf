"""The command line: `vegasfluid recommend | simulate | check | laws`."""

from vegasfluid.cli.app import main

__all__ = ["main"]
