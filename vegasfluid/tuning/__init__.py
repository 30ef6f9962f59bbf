"""Tuning: a search on the fluid model, correction on packets, recommendation, its reasons.

The reasons are loaded on first use: a recommendation does without theory.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from vegasfluid.tuning.constraints import Constraints
from vegasfluid.tuning.minimax import recommend_robust
from vegasfluid.tuning.objectives import (
    AlphaFair,
    JainIndex,
    Objective,
    ShareRatio,
    WorstFlow,
    objective_named,
)
from vegasfluid.tuning.operating_point import operating_points
from vegasfluid.tuning.pareto import Front, FrontPoint, pareto_front
from vegasfluid.tuning.recommend import recommend, vegas_classes
from vegasfluid.tuning.result import Recommendation
from vegasfluid.tuning.robust_result import RobustRecommendation
from vegasfluid.tuning.settings import RunSettings
from vegasfluid.tuning.several import JointRecommendation, recommend_several

if TYPE_CHECKING:
    from vegasfluid.tuning.explanation import Explanation, explain

_OF_WHY = ("Explanation", "explain")

__all__ = ["AlphaFair", "Explanation", "Front", "FrontPoint", "JainIndex", "Objective"]
__all__ += ["Constraints", "JointRecommendation", "Recommendation", "RobustRecommendation"]
__all__ += [
    "RunSettings",
    "ShareRatio",
    "WorstFlow",
    "explain",
    "objective_named",
    "operating_points",
]
__all__ += ["pareto_front", "recommend", "recommend_robust", "recommend_several", "vegas_classes"]


def __getattr__(name: str) -> Any:
    if name in _OF_WHY:
        return getattr(import_module("vegasfluid.tuning.explanation"), name)
    raise AttributeError(f"module 'vegasfluid.tuning' has no attribute {name!r}")
