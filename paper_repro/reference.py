"""Reference runs of ns-2, stored as tables in the folder `reference`.

    python -m paper_repro.reference FOLDER

writes the tables again from the runs in `FOLDER/ns2/runs.jsonl` (ns-2.35, Debian's package). A row
of the first table is a group of identical flows in one run; a row of the second a single flow at
one time.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["ns2_flows_at", "ns2_group", "ns2_names"]

FOLDER = Path(__file__).parent / "reference"
NS2_TABLE, NS2_SNAPSHOTS = FOLDER / "ns2.csv", FOLDER / "ns2_snapshots.csv"
SINGLE_FLOW_RUNS = ("persist_", "reroute_")
"""Prefixes of the names of runs whose single flows are in the second table."""
OF_GROUP = ("flows", "acked_total", "acked_after_warmup", "retransmits", "drops", "timeouts",
            "mean_cwnd", "share")  # fmt: skip
"""Columns of a group of flows."""
OF_LINK = ("utilisation", "mean_queue_pkts", "drop_rate")
"""Columns of the bottleneck link."""
OF_SCENARIO = ("duration_s", "warmup_s")
"""Columns of the run."""


def lines_of(table: Path) -> Iterator[dict[str, str]]:
    """Rows of a table as text by column."""
    with table.open() as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


@cache
def rows() -> dict[tuple[str, str], dict[str, float]]:
    """Table of the runs of ns-2, by names of run and group."""
    return {
        (row.pop("name"), row.pop("group")): {key: float(value) for key, value in row.items()}
        for row in lines_of(NS2_TABLE)
    }


def ns2_names(prefix: str) -> list[str]:
    """Sorted names of the runs with this prefix."""
    return sorted({name for name, _ in rows() if name.startswith(prefix)})


def ns2_group(name: str, group: str) -> dict[str, float]:
    """Numbers of a group of flows, such as `vegas`, in a run of ns-2.

    Returns:
        By name: flows, acked_total, acked_after_warmup, retransmits, drops, timeouts (counts),
        mean_cwnd (packets), share (of the goodput of all flows); for the link in the direction of
        the data utilisation, mean_queue_pkts, drop_rate; duration_s and warmup_s.

    Raises:
        KeyError: for an unknown run or group.
    """
    return rows()[name, group]


def ns2_flows_at(name: str, time: float) -> list[dict[str, float]]:
    """State of each flow of a run of ns-2 at a time, s, in the order of the flows.

    Returns:
        acked, drops (packets since the start), and cwnd (packets; NaN at the end).
    """
    return [
        {key: float(row[key]) for key in ("acked", "drops", "cwnd")}
        for row in lines_of(NS2_SNAPSHOTS)
        if row["name"] == name and float(row["t"]) == time
    ]


def table_rows(file: Path) -> Iterator[dict[str, Any]]:
    """Rows of the first table, from a file of runs."""
    with file.open() as lines:
        for line in lines:
            run = json.loads(line)
            scenario, link = run["scenario"], run["link"]["fwd"]
            for group, totals in run["totals"]["groups"].items():
                yield {
                    "name": run["name"],
                    "group": group,
                    **{key: totals.get(key, "nan") for key in OF_GROUP},
                    **{key: link.get(key, "nan") for key in OF_LINK},
                    **{key: scenario.get(key, "nan") for key in OF_SCENARIO},
                }


def snapshot_rows(file: Path) -> Iterator[dict[str, Any]]:
    """Rows of the second table, from a file of runs, at the stored times and at the end."""
    with file.open() as lines:
        runs = list(map(json.loads, lines))
    for run in (run for run in runs if run["name"].startswith(SINGLE_FLOW_RUNS)):
        end = {
            "t": run["scenario"]["duration_s"],
            "acked": [flow["acked_total"] for flow in run["flows"]],
            "cwnd": ["nan"] * len(run["flows"]),
            "drops": [flow["bottleneck_drops_total"] for flow in run["flows"]],
        }
        for shot in [*run["snapshots"], end]:
            for flow, (acked, cwnd, drops) in enumerate(
                zip(shot["acked"], shot["cwnd"], shot["drops"], strict=True)
            ):
                state = {"acked": acked, "cwnd": cwnd, "drops": drops}
                yield {"name": run["name"], "t": shot["t"], "flow": flow, **state}


def write(table: Path, item: str, rows: Iterator[dict[str, Any]]) -> None:
    """Write a table; its first line says what a row is."""
    first, *others = rows
    with table.open("w", newline="") as file:
        file.write(f"# Runs of ns-2.35 (Debian 2.35+dfsg), a row for each {item}.\n")
        writer = csv.DictWriter(file, list(first), lineterminator="\n")
        writer.writeheader()
        writer.writerows([first, *others])


def main(folder: Path) -> None:
    """Write both tables from a folder of reference runs."""
    runs = folder / "ns2" / "runs.jsonl"
    write(NS2_TABLE, "group of like flows", table_rows(runs))
    write(NS2_SNAPSHOTS, "flow and time", snapshot_rows(runs))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
