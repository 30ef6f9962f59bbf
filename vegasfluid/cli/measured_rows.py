"""What all recommendations print alike: rows of measured means, and what to know of the runs."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from vegasfluid.cli.output import console
from vegasfluid.tuning.result_rows import measured_rows

__all__ = ["add_measured_rows", "show_caveats"]


def add_measured_rows(rows: Table, document: dict[str, Any]) -> None:
    """Add a row for each mean of both simulators, before and with the recommendation.

    Args:
        rows: table of three columns: label, value before, value with the recommendation.
        document: JSON output of `recommend`; means that are null are left out.
    """
    for cells in measured_rows(document):
        rows.add_row(*cells)


def show_caveats(document: dict[str, Any]) -> None:
    """Print what was assumed, the warnings, and where fluid and packets disagree, line by line.

    `document` is the JSON output of `recommend`.
    """
    out = console()
    for assumption in document["assumed"]:
        out.print(f"Assumed: {assumption}")
    for warning in document["warnings"]:
        out.print(f"Warning: {warning}")
    for sentence in document["disagreements"]:
        out.print(f"Engines compared: {sentence}")
