"""Sweeps: grids of models, by the fluid model or by packets, on one machine or on a cluster.

A sweep is a value (`Sweep`); `run` does it, or what is missing of it, into a Zarr store that can
be read at any time (`open_sweep`).
"""

from vegasfluid.sweep.axes import Choice, Numbers
from vegasfluid.sweep.plan import Sweep
from vegasfluid.sweep.runner import Progress, open_sweep, run
from vegasfluid.sweep.store import StoreFailed

__all__ = ["Choice", "Numbers", "Progress", "StoreFailed", "Sweep", "open_sweep", "run"]
