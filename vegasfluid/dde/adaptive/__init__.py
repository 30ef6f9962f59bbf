"""Steps of controlled length: embedded pairs, breaking points, events, batches, gradients."""

from vegasfluid.dde.adaptive.clamps import Clamp
from vegasfluid.dde.adaptive.recall import Recall
from vegasfluid.dde.adaptive.solve import solve, solve_batch

__all__ = ["Clamp", "Recall", "solve", "solve_batch"]
