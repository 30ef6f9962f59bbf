"""Means of the runs before and with a recommendation, as rows of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vegasfluid.html_table import html_table

__all__ = ["NotebookTable", "measured_rows"]

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


def measured_rows(document: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """A row for each mean of both simulators: label, value before, value with the recommendation.

    `document` is the JSON output of `recommend`; a mean that is null in either run is left out.
    """
    for name, block, key, form in ROWS:
        scale = MILLISECONDS.get(key, 1)
        values = (document["before"][block][key], document[block][key])
        if None not in values:
            before, after = (form.format(value * scale) for value in values)
            yield name, before, after


class NotebookTable:
    """Shows a recommendation as a table in a notebook; for classes with `as_json`."""

    def _repr_html_(self) -> str:
        """Recommended parameters and means of the runs, beside those before."""
        document: dict[str, Any] = self.as_json()  # type: ignore[attr-defined]
        rows = [*parameter_rows(document), *measured_rows(document)]
        title = "Goal reached" if document["reached"] else "Goal not reached"
        if document["reason"]:
            title += f": {document['reason']}"
        return html_table(title, ("", "before", "recommended"), rows)


def parameter_rows(document: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """A row for each tuned number: name, value before, recommended value.

    `document` is the JSON output of `recommend`. The numbers are those in `parameters`, or alpha
    and beta (packets) of each tuned class.
    """
    if "parameters" in document:
        for name, number in document["parameters"].items():
            yield name, f"{number['before']:.5g}", f"{number['recommended']:.5g}"
        return
    for name, part in document.get("classes", {document["tuned"]: document}).items():
        for key in ("alpha_packets", "beta_packets"):
            before, after = part["before"][key], part["recommended"][key]
            yield f"{name}.{key}", f"{before:g}", f"{after:g}"
