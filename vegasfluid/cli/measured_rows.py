"""What all recommendations print alike: rows of measured means, and what to know of the runs."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from vegasfluid.cli.output import console

__all__ = ["add_measured_rows", "show_caveats"]

ROWS = (
    ("ratio, fluid model", "fluid", "ratio", "{:.3f}"),
    ("ratio, packets", "packets", "ratio", "{:.3f}"),
    ("Jain index", "packets", "jain_index", "{:.3f}"),
    ("utilisation", "packets", "utilisation", "{:.1%}"),
    ("mean queue, packets", "packets", "queue_packets", "{:.0f}"),
    ("queueing delay, ms", "packets", "queueing_delay_s", "{:.1f}"),
    ("loss ratio", "packets", "drop_share", "{:.2e}"),
    ("retransmitted fraction", "packets", "retransmit_share", "{:.2e}"),
)
"""Rows of the comparison: label, engine, key of its averages, and number format."""
MILLISECONDS = {"queueing_delay_s": 1e3}
"""Scale of the keys that are printed in milliseconds."""


def add_measured_rows(rows: Table, document: dict[str, Any]) -> None:
    """Add a row for each mean of both simulators, before and with the recommendation.

    Args:
        rows: table of three columns.
        document: JSON output of `recommend`; means that are null are left out.
    """
    for name, block, key, form in ROWS:
        scale = MILLISECONDS.get(key, 1)
        values = (document["before"][block][key], document[block][key])
        if None not in values:
            rows.add_row(name, *(form.format(value * scale) for value in values))


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
        out.print(f"Engines disagree: {sentence}")
