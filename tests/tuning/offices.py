"""Recommendations for the office, made once for all tests that look at them."""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.networks import office
from vegasfluid.tuning import Recommendation, recommend

__all__ = ["TIMES", "TRIAL", "recommended_office"]

TIMES: dict[str, Any] = {"until": 60.0, "warmup": 15.0}
"""Of every run, so that one program of the fluid model serves all."""
TRIAL: dict[str, Any] = {**TIMES, "runs": 6}


@cache
def recommended_office(ratio: float = 1.0) -> Recommendation:
    """What `recommend` finds for the office of ns-2's Vegas."""
    return recommend(office(), ratio=ratio, **TRIAL)
