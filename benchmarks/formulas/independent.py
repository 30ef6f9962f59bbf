"""How losses come in the formulas, and how much they weigh for Reno."""

from __future__ import annotations

import math
from dataclasses import replace

from vegasfluid.analysis import THEORY
from vegasfluid.congestion.reno import Reno

__all__ = ["C_RENO", "IID", "SACK", "renos_factor"]

IID = replace(THEORY, loss_process="iid")
"""Theory's options with losses that come each for itself, as packets of many flows meet them."""
SACK = Reno(recovery="sack")


def renos_factor(process: str) -> float:
    """How much losses weigh for Reno."""
    return SACK.loss_factor(process, SACK.init(1.0, 1.0))


C_RENO = math.sqrt(2 / renos_factor("iid"))
"""Reno's c in W = c / sqrt(p)."""
