"""Tuning: a search on the fluid model, correction on packets, recommendation, its reasons.

The reasons are loaded on first use: a recommendation does without theory.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from vegasfluid.tuning.goals import AlphaFair, Goal, JainIndex, ShareRatio, WorstFlow, goal_named
from vegasfluid.tuning.limits import Limits
from vegasfluid.tuning.operating import operating_points
from vegasfluid.tuning.pareto import Front, FrontPoint, pareto_front
from vegasfluid.tuning.recommend import recommend, vegas_classes
from vegasfluid.tuning.recommendation import Recommendation
from vegasfluid.tuning.robust import recommend_robust
from vegasfluid.tuning.robustness import RobustRecommendation
from vegasfluid.tuning.several import JointRecommendation, recommend_several
from vegasfluid.tuning.trial import Trial

if TYPE_CHECKING:
    from vegasfluid.tuning.why import Explanation, explain

_OF_WHY = ("Explanation", "explain")

__all__ = ["AlphaFair", "Explanation", "Front", "FrontPoint", "Goal", "JainIndex"]
__all__ += ["JointRecommendation", "Limits", "Recommendation", "RobustRecommendation"]
__all__ += ["ShareRatio", "Trial", "WorstFlow", "explain", "goal_named", "operating_points"]
__all__ += ["pareto_front", "recommend", "recommend_robust", "recommend_several", "vegas_classes"]


def __getattr__(name: str) -> Any:
    if name in _OF_WHY:
        return getattr(import_module("vegasfluid.tuning.why"), name)
    raise AttributeError(f"module 'vegasfluid.tuning' has no attribute {name!r}")
