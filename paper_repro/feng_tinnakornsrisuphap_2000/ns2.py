"""What ns-2.35 says of some of the same networks: a table, and the command that makes it anew.

    python -m paper_repro.feng_tinnakornsrisuphap_2000.ns2

runs `esnet.tcl` with the program `ns`, some minutes long, and writes `ns2.csv`.
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
TABLE = HERE / "ns2.csv"
SEED = 1
MOST = 60
COUNTER = 2**32
"""Where ns-2 counts bytes from the start again."""
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

Key = tuple[str, str, int]


@cache
def ns2_rows() -> Mapping[Key, Mapping[str, float]]:
    """The table, by network, law and clients.

    Returns:
        sent, resent and acked (packets of all clients), seconds; cov of the data packets, and
        cov_all of data and ACKs, that reach the LANL router in a bin.
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
    """Note what ns-2 says of the measures of one topology, under the same names."""
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


def note_ns2_ratios(evidence: Evidence, prefix: str) -> None:
    """How much larger the excess is in the proposed network, at the most clients."""
    for law in ("reno", "vegas"):
        fast, slow = (
            ns2_rows()[of.name, law, MOST]["cov"] / theoretical_cov(of, MOST) - 1
            for of in (PROPOSED, CURRENT)
        )
        evidence.note(NS2, f"{prefix}.{law}_excess_ratio", fast / slow)


def spread(counts: np.ndarray) -> float:
    """Standard deviation over mean."""
    return float(counts.std() / counts.mean())


def simulated(network: str, clients: int, law: str, seconds: int) -> Mapping[str, object]:
    """A row of the table: one run of ns-2."""
    given = [law, str(clients), network, str(seconds), str(SEED)]
    command = ["ns", str(HERE / "esnet.tcl"), *given]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    bins = np.array([line.split()[1:] for line in lines if line.startswith("bin")], float)
    packets, octets = np.diff(bins, axis=0).T % COUNTER
    data = np.round((octets - ACK_BYTES * packets) / (PACKET_BYTES - ACK_BYTES))
    totals = next(line.split()[1:] for line in lines if line.startswith("total"))
    of_run = (network, clients, law, seconds, *totals)
    spreads = (round(spread(data), 5), round(spread(packets), 5))
    return dict(zip(COLUMNS, of_run + spreads, strict=True))


def main() -> None:
    """Write the table anew."""
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
