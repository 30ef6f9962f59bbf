"""Buffers and bandwidth-delay products, calculated again."""

from __future__ import annotations

from paper_repro.experiment import ARITHMETIC, Evidence, Experiment, Results
from paper_repro.net100_2004.path import LINE_MBPS, ROUND_TRIP, SEND_BUFFER

__all__ = ["ARITHMETICS", "megabytes"]

BEFORE_THE_LOSS = 0.09
"""RTT that standard TCP reaches before a loss, s."""


def megabytes(rate_mbps: float, seconds: float) -> float:
    """Return the data of a rate (Mbit/s) during a time (s), MB of 10^6 bytes.

    >>> round(megabytes(622, 0.07), 4)
    5.4425
    """
    return rate_mbps * seconds / 8


def measure(results: Results) -> Evidence:
    """Record bandwidth-delay products as fractions of the send buffer."""
    evidence = Evidence()
    for name, seconds in (("product", ROUND_TRIP), ("before_loss", BEFORE_THE_LOSS)):
        fraction = megabytes(LINE_MBPS, seconds) * 1e6 / SEND_BUFFER
        evidence.note(ARITHMETIC, f"arithmetic.{name}", fraction)
    return evidence


ARITHMETICS = [Experiment("arithmetic", "Buffers against products", measure, quick=True)]
