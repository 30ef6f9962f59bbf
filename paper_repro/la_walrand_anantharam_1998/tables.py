"""The paper's tables, and the numbers of its text that define the runs."""

from __future__ import annotations

__all__ = [
    "ACKED",
    "CAPACITY",
    "CHANGES",
    "DELAYS_MS",
    "DURATION",
    "LOOKS",
    "SCHEMES",
    "SENT",
    "STARTS",
    "TOTALS",
    "WINDOWS",
]

CAPACITY = 1.5e6 / 8000
"""Capacity of the bottleneck, packets/s (1.5 Mbit/s, 1000 bytes)."""

LOOKS = (14, 34, 60, 70)
"""Times of tables 1 and 2, s."""
WINDOWS = {
    "vegas": ((16.87, 14.0), (17.82, 14.0), (6.82, 25.56), (7.70, 22.56)),
    "modified": ((16.87, 14.0), (17.82, 14.0), (24.64, 19.63), (15.33, 14.63)),
}
"""Table 1: windows of both connections at each time of `LOOKS`, packets."""
ACKED = {
    "vegas": ((1307, 1056), (3490, 2626), (4229, 6667), (4723, 8053)),
    "modified": ((1307, 1056), (3490, 2626), (5324, 5577), (6364, 6425)),
}
"""Table 2: acknowledged packets of both connections at each time of `LOOKS`."""
CHANGES = ((15.0, 88.0), (36.0, 484.0), (60.0, 88.0))
"""Section 3: times (s) and the first connection's round-trip propagation delays from then on
(ms)."""

DELAYS_MS = (60, 54, 48, 64, 56, 42, 74, 44, 50, 52)
"""Table 3: round-trip propagation delays of the ten connections, ms."""
STARTS = (0.0, 2.0, 5.0, 7.0, 10.0, 15.0, 20.0, 22.0, 25.0, 40.0)
"""Table 3: start times of the ten connections, s."""
DURATION = 140.0
"""Simulated time of section 4, s."""
SCHEMES = ("reno", "vegas", "red", "modified")
"""Columns of table 4: Reno, Vegas, Vegas with RED, modified Vegas with RED."""
SENT = {
    "reno": (3829, 3278, 2758, 2520, 1825, 2563, 2234, 2680, 2245, 2179),
    "vegas": (2460, 2037, 1877, 2229, 2252, 2366, 2342, 3094, 3814, 3687),
    "red": (2552, 1904, 1472, 1725, 2337, 2510, 2192, 3386, 3926, 4141),
    "modified": (4154, 3190, 2034, 3032, 3010, 1957, 2200, 2340, 2039, 2179),
}
"""Table 4: packets sent by each connection."""
TOTALS = {"reno": 26111, "vegas": 26158, "red": 26145, "modified": 26132}
"""Table 4: packets sent by all connections, as printed."""
