"""Pictures, with matplotlib: of runs, sweeps, stability, fronts and recommendations.

Each function draws on the axes that `ax` gives, or on a new figure, and returns what it drew on:
the axes (`.figure.savefig(...)` writes them), or the figure where there are several panels.
`with theme("dark"):` draws on dark ground. `explore` has sliders, for notebooks. The names are
loaded on first use.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
