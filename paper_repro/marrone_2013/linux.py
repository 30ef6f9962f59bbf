"""What a Linux 6.1 kernel does on the paper's path: 100 Mbit/s, a round trip of 100 ms.

The rows are reference runs in simulated time: one flow for 100 s behind 1000 packets of buffer,
with large socket buffers, and jitter of +-1 ms each way. The kernel is twelve years newer than the
paper's: it begins with ten packets, grows by packets, and finds losses by time (RACK), so that
packets that overtake each other are seldom taken for lost ones.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

__all__ = ["kernel", "kernel_cut"]

TABLE = Path(__file__).parents[1] / "reference" / "linux_jitter.csv"


@cache
def rows() -> dict[tuple[str, str], dict[str, float]]:
    """The table by jitter and law."""
    with TABLE.open() as lines:
        table = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    return {
        (row.pop("jitter"), row.pop("law")): {name: float(value) for name, value in row.items()}
        for row in table
    }


def kernel(jitter: str, law: str, column: str) -> float:
    """One number of the table.

    Args:
        jitter: none, reorders or in_order.
        law: reno, cubic or vegas.
        column: mbps (on the link), vegas_on (share of the samples), or another of the table.

    >>> kernel("none", "vegas", "vegas_on")
    0.997
    """
    return rows()[jitter, law][column]


def kernel_cut() -> float:
    """The share of its window that CUBIC gives up at a loss.

    The window there was what the path and the buffer hold; the threshold is what is left of it.
    """
    row = rows()["none", "cubic"]
    return 1 - row["ssthresh"] / (row["path_packets"] + row["buffer_packets"])
