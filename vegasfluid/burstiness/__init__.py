"""Burstiness of traffic, estimated from the numbers of packets in consecutive bins of equal width.

The functions take arrays of counts; `vegasfluid.metrics` applies them to trajectories.
"""

from __future__ import annotations

from vegasfluid.burstiness.cov import cov
from vegasfluid.burstiness.estimate import Estimate
from vegasfluid.burstiness.hurst import METHODS, hurst

__all__ = ["METHODS", "Estimate", "cov", "hurst"]
