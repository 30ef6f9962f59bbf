"""Constant steps: the classical Runge-Kutta method with a history of equidistant grid points."""

from vegasfluid.dde.fixed.history import FixedStepHistory, InitialHistory
from vegasfluid.dde.fixed.runge_kutta import Project, RightHandSide
from vegasfluid.dde.fixed.solve import solve_fixed

__all__ = ["FixedStepHistory", "InitialHistory", "Project", "RightHandSide", "solve_fixed"]
