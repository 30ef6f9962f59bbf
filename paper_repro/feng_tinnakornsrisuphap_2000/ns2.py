"""Reference runs of ns-2.35 for some of the same networks: a table, and the command that makes it.

    python -m paper_repro.feng_tinnakornsrisuphap_2000.ns2

runs `esnet.tcl` with the program `ns` for some minutes, and writes `ns2.csv`.
"""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from paper_repro.experiment import NS2, Evidence
from paper_repro.feng_tinnakornsrisuphap_2000.esnet import (
    ACK_BYTES,
    CURRENT,
    PACKET_BYTES,
    PROPOSED,
    Topology,
    theoretical_cov,
)

__all__ = ["RUNS", "note_ns2", "note_ns2_ratios", "ns2_rows"]

HERE = Path(__file__).parent
"""Folder of this module."""
TABLE = HERE / "ns2.csv"
"""File with the results of ns-2."""
SEED = 1
"""Seed of ns-2's random generators."""
MOST = 60
"""Largest number of clients."""
COUNTER = 2**32
"""Value at which ns-2's 32-bit counters of bytes and packets return to 0."""
RUNS = (
    ("current", 60, 200),
    ("proposed", 38, 100),
    ("proposed", 60, 100),
)
"""Network, clients and simulated seconds; each with Reno and with Vegas."""
COLUMNS: Sequence[str] = (
    "network",
    "clients",
    "law",
    "seconds",
    "sent",
    "resent",
    "acked",
    "cov",
    "cov_all",
)
"""Columns of the table."""

Key = tuple[str, str, int]
"""Network, congestion control and number of clients of a row."""


@cache
def ns2_rows() -> Mapping[Key, Mapping[str, float]]:
    """Return the table by network, congestion control and number of clients.

    Returns:
        `seconds` (simulated time, s); `sent`, `resent` and `acked` (packets of all clients);
        `cov` of the data packets that reach the LANL router in a bin, `cov_all` of data and ACKs.
    """
    with TABLE.open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return {
        (row["network"], row["law"], int(row["clients"])): {
            name: float(row[name]) for name in COLUMNS[3:]
        }
        for row in rows
    }


def note_ns2(evidence: Evidence, prefix: str, topology: Topology) -> None:
    """Record ns-2's values of the measures of one topology, under the same names."""
    rows = {key[1:]: row for key, row in ns2_rows().items() if key[0] == topology.name}
    theory = theoretical_cov(topology, MOST)
    for law in ("reno", "vegas"):
        row = rows[law, MOST]
        evidence.note(NS2, f"{prefix}.{law}_excess_60", row["cov"] / theory - 1)
        source = f"{NS2}, ACKs counted"
        evidence.note(source, f"{prefix}.{law}_excess_60", row["cov_all"] / theory - 1)
        evidence.note(NS2, f"{prefix}.{law}_resent_60", 100 * row["resent"] / row["sent"])
    clients = sorted({count for _, count in rows})
    for measure, column in (("packets", "sent"), ("goodput", "acked")):
        ratios = [rows["vegas", n][column] / rows["reno", n][column] for n in clients]
        evidence.note(NS2, f"{prefix}.{measure}_vegas_over_reno", float(np.mean(ratios)))
    reno, vegas = (rows[law, MOST] for law in ("reno", "vegas"))
    part = reno["resent"] / (reno["sent"] - vegas["sent"])
    evidence.note(NS2, f"{prefix}.resent_part_of_excess", part)


def note_ns2_ratios(evidence: Evidence, prefix: str) -> None:
    """Record ns-2's excess c.o.v. in the proposed network over that in the current one."""
    for law in ("reno", "vegas"):
        fast, slow = (
            ns2_rows()[topology.name, law, MOST]["cov"] / theoretical_cov(topology, MOST) - 1
            for topology in (PROPOSED, CURRENT)
        )
        evidence.note(NS2, f"{prefix}.{law}_excess_ratio", fast / slow)


def variation(counts: np.ndarray) -> float:
    """Return the standard deviation over the mean."""
    return float(counts.std() / counts.mean())


def simulated(network: str, clients: int, law: str, seconds: int) -> Mapping[str, object]:
    """Run ns-2 once and return the row of the table."""
    arguments = [law, str(clients), network, str(seconds), str(SEED)]
    command = ["ns", str(HERE / "esnet.tcl"), *arguments]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    bins = np.array([line.split()[1:] for line in lines if line.startswith("bin")], float)
    packets, octets = np.diff(bins, axis=0).T % COUNTER
    data = np.round((octets - ACK_BYTES * packets) / (PACKET_BYTES - ACK_BYTES))
    totals = next(line.split()[1:] for line in lines if line.startswith("total"))
    run = (network, clients, law, seconds, *totals)
    covs = (round(variation(data), 5), round(variation(packets), 5))
    return dict(zip(COLUMNS, run + covs, strict=True))


def main() -> None:
    """Run all networks and write the table."""
    rows = [
        simulated(network, clients, law, seconds)
        for network, clients, seconds in RUNS
        for law in ("reno", "vegas")
    ]
    with TABLE.open("w", newline="") as file:
        file.write(f"# Runs of ns-2.35 (Debian 2.35+dfsg), seed {SEED}, by esnet.tcl.\n")
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
