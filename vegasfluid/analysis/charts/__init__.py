"""Two dimensionless stability charts, where networks lie in them, and Hollot's condition."""

from vegasfluid.analysis.charts.hollot import (
    HollotCondition,
    hollot_phase_margin,
    hollot_sufficient,
)
from vegasfluid.analysis.charts.operating_points import points_at, reno_point, vegas_point
from vegasfluid.analysis.charts.stability_boundaries import (
    HIGHEST_FREQUENCY,
    LOWEST_FREQUENCY,
    STABLE_AT_ANY_GAIN,
    STABLE_AT_HIGH_GAIN,
    BoundaryPoint,
    RenoPoint,
    VegasPoint,
    reno_critical_gain,
    vegas_boundary,
    vegas_critical_gain,
    vegas_unstable_gains,
)

__all__ = [
    "HIGHEST_FREQUENCY",
    "LOWEST_FREQUENCY",
    "STABLE_AT_ANY_GAIN",
    "STABLE_AT_HIGH_GAIN",
    "BoundaryPoint",
    "HollotCondition",
    "RenoPoint",
    "VegasPoint",
    "hollot_phase_margin",
    "hollot_sufficient",
    "points_at",
    "reno_critical_gain",
    "reno_point",
    "vegas_boundary",
    "vegas_critical_gain",
    "vegas_point",
    "vegas_unstable_gains",
]
