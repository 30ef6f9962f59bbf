"""What ns-2 and a Linux kernel say: reference runs, copied into tables that lie beside this file.

    python -m paper_repro.reference FOLDER

writes the tables anew from a folder of reference runs (`ns2/runs.jsonl`: ns-2.35, Debian's
package; `linux/runs.jsonl`: a Linux 6.1 kernel in simulated time). Each row is what one group of
like flows did in one run; a second table has what single flows had reached at some times.
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
FOLLOWED = ("persist_", "reroute_")
"""How the names of runs begin whose single flows are in the second table."""
OF_GROUP = ("flows", "acked_total", "acked_after_warmup", "retransmits", "drops", "timeouts",
            "mean_cwnd", "share")  # fmt: skip
OF_LINK = ("utilisation", "mean_queue_pkts", "drop_rate")
OF_SCENARIO = ("duration_s", "warmup_s")


def lines_of(table: Path) -> Iterator[dict[str, str]]:
    """The rows of a table as they are written."""
    with table.open() as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


@cache
def rows() -> dict[tuple[str, str], dict[str, float]]:
    """The table of ns-2's runs, by run and group."""
    return {
        (row.pop("name"), row.pop("group")): {key: float(value) for key, value in row.items()}
        for row in lines_of(NS2_TABLE)
    }


def ns2_names(prefix: str) -> list[str]:
    """Names of the runs that begin so, in order."""
    return sorted({name for name, _ in rows() if name.startswith(prefix)})


def ns2_group(name: str, group: str) -> dict[str, float]:
    """What a group of flows, such as `vegas`, did in a run of ns-2.

    Returns:
        flows, acked_total, acked_after_warmup, retransmits, drops, timeouts (packets and counts),
        mean_cwnd (packets), share (of all goodput); of the link in the data's direction:
        utilisation, mean_queue_pkts, drop_rate; duration_s and warmup_s.

    Raises:
        KeyError: for a run or a group that is not in the table.
    """
    return rows()[name, group]


def ns2_flows_at(name: str, time: float) -> list[dict[str, float]]:
    """What each flow of a run of ns-2 had reached at a time (s), in the order of the flows.

    Returns:
        acked, drops (packets since the start), and cwnd (packets; NaN at the end).
    """
    return [
        {key: float(row[key]) for key in ("acked", "drops", "cwnd")}
        for row in lines_of(NS2_SNAPSHOTS)
        if row["name"] == name and float(row["t"]) == time
    ]


def table_rows(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of the table from ns-2's runs."""
    with file.open() as lines:
        for line in lines:
            run = json.loads(line)
            scenario, link = run["scenario"], run["link"]["fwd"]
            for group, of in run["totals"]["groups"].items():
                yield {
                    "name": run["name"],
                    "group": group,
                    **{key: of.get(key, "nan") for key in OF_GROUP},
                    **{key: link.get(key, "nan") for key in OF_LINK},
                    **{key: scenario.get(key, "nan") for key in OF_SCENARIO},
                }


def snapshot_rows(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of the table of single flows, and the end of each run."""
    with file.open() as lines:
        runs = [run for line in lines if (run := json.loads(line))["name"].startswith(FOLLOWED)]
    for run in runs:
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
                told = {"acked": acked, "cwnd": cwnd, "drops": drops}
                yield {"name": run["name"], "t": shot["t"], "flow": flow, **told}


def write(table: Path, about: str, made: Iterator[dict[str, Any]]) -> None:
    """Write a table, its first line saying what a row is."""
    rows = list(made)
    with table.open("w", newline="") as file:
        file.write(f"# Runs of ns-2.35 (Debian 2.35+dfsg), a row for each {about}.\n")
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(folder: Path) -> None:
    """Write the tables anew."""
    runs = folder / "ns2" / "runs.jsonl"
    write(NS2_TABLE, "group of like flows", table_rows(runs))
    write(NS2_SNAPSHOTS, "flow and time", snapshot_rows(runs))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
