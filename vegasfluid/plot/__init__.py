"""Plots of runs, sweeps, stability, Pareto fronts and recommendations, with matplotlib.

Each function draws on the axes `ax`, or on a new figure, and returns the axes, or the figure if it
has several panels. Save a plot with `axes.figure.savefig(...)`. Inside `with theme("dark"):` plots
have a dark background. `explore` shows sliders in a notebook. The functions load on first use.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
