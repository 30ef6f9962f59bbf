"""Tuning: a search on the fluid model, correction on packets, recommendation."""

from vegasfluid.tuning.goals import AlphaFair, Goal, JainIndex, ShareRatio, WorstFlow, goal_named
from vegasfluid.tuning.limits import Limits
from vegasfluid.tuning.operating import operating_points
from vegasfluid.tuning.pareto import Front, FrontPoint, pareto_front
from vegasfluid.tuning.recommend import recommend
from vegasfluid.tuning.recommendation import Recommendation

__all__ = ["AlphaFair", "Front", "FrontPoint", "Goal", "JainIndex", "Limits", "Recommendation"]
__all__ += ["ShareRatio", "WorstFlow", "goal_named", "operating_points", "pareto_front"]
__all__ += ["recommend"]
