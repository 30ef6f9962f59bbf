"""Tuning: gradient search on the fluid model, correction on packets, recommendation."""

from vegasfluid.tuning.recommend import recommend
from vegasfluid.tuning.recommendation import Recommendation

__all__ = ["Recommendation", "recommend"]
