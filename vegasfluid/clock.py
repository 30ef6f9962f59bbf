"""The clock of packet simulations: times are integer picoseconds, so that two engines can agree.

Traffic sources and congestion controls use it, too; `vegasfluid.packet.jit` compiles `picoseconds`.
"""

from __future__ import annotations

__all__ = ["LONGEST_WAIT", "NEVER", "PICOSECONDS", "picoseconds"]

PICOSECONDS = 10**12
"""Picoseconds in a second."""

NEVER = 2**63 - 1
"""The largest 64-bit integer, ps: the time of an event that does not happen."""


LONGEST_WAIT = 2e6
"""Longest time to wait, s: longer than any run (`vegasfluid.quantities.LATEST`), and so short that
the ends of several waits in a row are 64-bit integers. Random times have no upper bound."""


def picoseconds(seconds: float) -> int:
    """Convert seconds to the nearest integer of picoseconds; times above 2e6 s count as 2e6 s.

    >>> picoseconds(1.5e-3), picoseconds(1e300)
    (1500000000, 2000000000000000000)
    """
    return round(min(seconds, LONGEST_WAIT) * PICOSECONDS)
