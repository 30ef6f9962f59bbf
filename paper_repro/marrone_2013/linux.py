"""Reference runs of Linux 6.1 on the paper's path: 100 Mbit/s, round-trip time 100 ms.

One flow for 100 s of simulated time, with a buffer of 1000 packets, large socket buffers, and
jitter of +-1 ms each way. The kernel is twelve years newer than the paper's: it starts with ten
packets, grows by packets, and finds losses by time (RACK), so that it seldom takes reordered
packets for lost ones.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

__all__ = ["kernel", "kernel_cut"]

TABLE = Path(__file__).parents[1] / "reference" / "linux_jitter.csv"
"""File with the results."""


@cache
def rows() -> dict[tuple[str, str], dict[str, float]]:
    """Return the table by jitter and congestion control."""
    with TABLE.open() as lines:
        table = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    return {
        (row.pop("jitter"), row.pop("law")): {name: float(value) for name, value in row.items()}
        for row in table
    }


def kernel(jitter: str, law: str, column: str) -> float:
    """Return one number of the table.

    Args:
        jitter: `none`, `reorders` or `in_order`.
        law: `reno`, `cubic` or `vegas`.
        column: `mbps` (on the link), `vegas_on` (fraction of samples), or another column.

    >>> kernel("none", "vegas", "vegas_on")
    0.997
    """
    return rows()[jitter, law][column]


def kernel_cut() -> float:
    """Return the fraction of its window that CUBIC gives up at a loss.

    The window before is bandwidth-delay product plus buffer; the threshold is what remains.
    """
    row = rows()["none", "cubic"]
    return 1 - row["ssthresh"] / (row["path_packets"] + row["buffer_packets"])
