"""Loss process of the formulas, and Reno's loss factor."""

from __future__ import annotations

import math
from dataclasses import replace

from vegasfluid.analysis import THEORY
from vegasfluid.congestion.reno import Reno

__all__ = ["C_RENO", "IID", "SACK", "reno_loss_factor"]

IID = replace(THEORY, loss_process="iid")
"""Options of theory with independent losses, as packets of many flows see them."""
SACK = Reno(recovery="sack")
"""Reno with SACK."""


def reno_loss_factor(process: str) -> float:
    """Return Reno's loss factor for a loss process."""
    return SACK.loss_factor(process, SACK.init(1.0, 1.0))


C_RENO = math.sqrt(2 / reno_loss_factor("iid"))
"""Reno's c in W = c / sqrt(p) with independent losses."""
