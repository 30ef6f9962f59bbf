"""Published formulas for throughput and recovery from losses, and the ranges in which they hold.

`vegasfluid analyse` prints them beside the values of the model (`published_formulas`).
"""

from __future__ import annotations

from vegasfluid.analysis.literature.assumptions import Assumption, Path, Range
from vegasfluid.analysis.literature.published import PublishedValue, published_formulas
from vegasfluid.analysis.literature.recovery import Recovery, growth_time, recovery_time
from vegasfluid.analysis.literature.throughput import (
    MATHIS_RANGE,
    PFTK_RANGE,
    cubic_response,
    highspeed_response,
    mathis,
    mathis_constant,
    pftk,
)

__all__ = [
    "MATHIS_RANGE",
    "PFTK_RANGE",
    "Assumption",
    "Path",
    "PublishedValue",
    "Range",
    "Recovery",
    "cubic_response",
    "growth_time",
    "highspeed_response",
    "mathis",
    "mathis_constant",
    "pftk",
    "published_formulas",
    "recovery_time",
]
