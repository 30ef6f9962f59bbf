"""Stability in two dimensionless charts, where networks stand in them, and Hollot's condition."""

from vegasfluid.analysis.charts.edges import (
    ALWAYS_STABLE,
    EDGE_BEGINS,
    EDGE_ENDS,
    STEEP_STABLE,
    Edge,
    RenoPoint,
    VegasPoint,
    reno_critical_gain,
    vegas_critical_gain,
    vegas_edge,
    vegas_unstable_gains,
)
from vegasfluid.analysis.charts.hollot import Sufficient, hollot_phase_margin, hollot_sufficient
from vegasfluid.analysis.charts.points import points_at, reno_point, vegas_point

__all__ = [
    "ALWAYS_STABLE",
    "EDGE_BEGINS",
    "EDGE_ENDS",
    "STEEP_STABLE",
    "Edge",
    "RenoPoint",
    "Sufficient",
    "VegasPoint",
    "hollot_phase_margin",
    "hollot_sufficient",
    "points_at",
    "reno_critical_gain",
    "reno_point",
    "vegas_critical_gain",
    "vegas_edge",
    "vegas_point",
    "vegas_unstable_gains",
]
