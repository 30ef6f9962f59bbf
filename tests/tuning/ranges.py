"""A network of which some numbers are only known to lie in ranges, for robust recommendations."""

from __future__ import annotations

from functools import partial

from vegasfluid import Flows, Link, Network, Red, Reno, UniformStart, Vegas
from vegasfluid.modelfile.parameters import with_values
from vegasfluid.ranges import Range

__all__ = ["COUNTS", "GOAL", "NETWORK", "PLACE", "RANGES", "UNTIL", "WARMUP"]

UNTIL, WARMUP, GOAL = 60.0, 15.0, 0.5

LINK = Link(20e6 / 12000, 250, Red(min_thresh=50, max_thresh=200))
NETWORK = Network(
    LINK,
    {
        "reno": Flows(6, Reno(), base_rtt=0.04, start=UniformStart(0.1)),
        "vegas": Flows(5, Vegas(), base_rtt=0.04),
    },
)
RANGES = {"reno.count": Range(5, 7), "reno.base_rtt_ms": Range(30, 50)}
COUNTS = {"reno.count": Range(4, 9)}
"""Networks that share all structure, so that each simulator compiles once."""
PLACE = partial(with_values, NETWORK)
