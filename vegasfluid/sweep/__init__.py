"""Sweeps: simulate a grid of models with any engine, on one machine or on a cluster.

`Sweep` describes the grid. `run` computes its missing points and writes them to a Zarr store, which
`open_sweep` reads at any time; both need `pip install 'vegasfluid[sweep]'`.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
