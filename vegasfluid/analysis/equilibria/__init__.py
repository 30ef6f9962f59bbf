"""Equilibria of the fluid equations: equations, solvers, multistart search, and the fair alpha."""

from __future__ import annotations

__all__: list[str] = []
