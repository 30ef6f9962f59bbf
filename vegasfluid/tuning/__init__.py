"""Tuning: gradient search on the fluid model, correction on packets, recommendation."""

from vegasfluid.tuning.operating import operating_points
from vegasfluid.tuning.recommend import recommend
from vegasfluid.tuning.recommendation import Recommendation

__all__ = ["Recommendation", "operating_points", "recommend"]
