"""How bursty traffic is: numbers from the packets that arrive in consecutive bins of equal width.

The package knows plain arrays of counts, nothing of networks. `vegasfluid.metrics` applies it to
trajectories.
"""

from __future__ import annotations

from vegasfluid.burstiness.cov import cov
from vegasfluid.burstiness.estimate import Estimate
from vegasfluid.burstiness.hurst import METHODS, hurst

__all__ = ["METHODS", "Estimate", "cov", "hurst"]
