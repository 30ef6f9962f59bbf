"""Sweeps: simulate a grid of models with any engine, on one machine or on a cluster.

`Sweep` describes the grid. `run` computes its missing points and writes them to a Zarr store, which
`open_sweep` reads at any time.
"""

from vegasfluid.sweep.axes import Choice, Numbers
from vegasfluid.sweep.plan import Sweep
from vegasfluid.sweep.runner import Progress, open_sweep, run
from vegasfluid.sweep.store import StoreFailed

__all__ = ["Choice", "Numbers", "Progress", "StoreFailed", "Sweep", "open_sweep", "run"]
