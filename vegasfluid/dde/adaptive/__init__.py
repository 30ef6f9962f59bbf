"""Steps of controlled length: embedded pairs, breaking points, events, batches, gradients."""

from vegasfluid.dde.adaptive.bounds import Bound
from vegasfluid.dde.adaptive.history import History
from vegasfluid.dde.adaptive.resets import Reset
from vegasfluid.dde.adaptive.solve import solve, solve_batch

__all__ = ["Bound", "History", "Reset", "solve", "solve_batch"]
