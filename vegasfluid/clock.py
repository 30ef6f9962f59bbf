"""The clock of packet simulations: times are integer picoseconds, so that two engines can agree.

Traffic sources and congestion controls use it, too; `vegasfluid.packet.jit` compiles `picoseconds`.
"""

from __future__ import annotations

__all__ = ["NEVER", "PICOSECONDS", "picoseconds"]

PICOSECONDS = 10**12
"""Picoseconds in a second."""

NEVER = 2**63 - 1
"""The largest 64-bit integer, ps: the time of an event that does not happen."""


def picoseconds(seconds: float) -> int:
    """Convert seconds to integer picoseconds, rounded.

    >>> picoseconds(1.5e-3)
    1500000000
    """
    return round(seconds * PICOSECONDS)
