"""Theory of a network: equilibria, stability, closed forms, proofs, and a few runs to check them.

Names are imported on first use: closed forms, proofs and formulas of the literature need no JAX.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
