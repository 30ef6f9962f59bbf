"""Pictures, with matplotlib: of runs, sweeps, stability, fronts and recommendations.

Each function draws on the axes that `ax` gives, or on a new figure, and returns what it drew on:
the axes (`.figure.savefig(...)` writes them), or the figure where there are several panels.
`with theme("dark"):` draws on dark ground. `explore` has sliders, for notebooks. The names are
loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vegasfluid.plot.explorer import Explorer, explore
    from vegasfluid.plot.pareto import front
    from vegasfluid.plot.phase_planes import phase_plane
    from vegasfluid.plot.recommendation_cards import card
    from vegasfluid.plot.stability import reno_chart, stability_charts, vegas_chart
    from vegasfluid.plot.style import theme
    from vegasfluid.plot.sweep_maps import fairness_map, sweep_panels
    from vegasfluid.plot.trajectories import compare, drops, goodputs, queues, trajectory, windows

_HOMES = {
    "Explorer": "explorer",
    "card": "recommendation_cards",
    "compare": "trajectories",
    "drops": "trajectories",
    "explore": "explorer",
    "fairness_map": "sweep_maps",
    "front": "pareto",
    "goodputs": "trajectories",
    "phase_plane": "phase_planes",
    "queues": "trajectories",
    "reno_chart": "stability",
    "stability_charts": "stability",
    "sweep_panels": "sweep_maps",
    "theme": "style",
    "trajectory": "trajectories",
    "vegas_chart": "stability",
    "windows": "trajectories",
}

__all__ = [
    "Explorer",
    "card",
    "compare",
    "drops",
    "explore",
    "fairness_map",
    "front",
    "goodputs",
    "phase_plane",
    "queues",
    "reno_chart",
    "stability_charts",
    "sweep_panels",
    "theme",
    "trajectory",
    "vegas_chart",
    "windows",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"vegasfluid.plot.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'vegasfluid.plot' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
