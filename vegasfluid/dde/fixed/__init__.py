"""Steps of one length: the classical Runge-Kutta method, its history in a ring by number."""

from vegasfluid.dde.fixed.history import FixedStepHistory, InitialHistory
from vegasfluid.dde.fixed.runge_kutta import Project, RightHandSide
from vegasfluid.dde.fixed.solve import solve_fixed

__all__ = ["FixedStepHistory", "InitialHistory", "Project", "RightHandSide", "solve_fixed"]
