"""CUBIC: the fluid model, and one file for the packet rules of each implementation."""

from vegasfluid.congestion.cubic.cubic import (
    VARIANCE_FAST_CONVERGENCE,
    VARIANCE_PLAIN,
    Cubic,
    CubicWindow,
)
from vegasfluid.congestion.cubic.rfc9438 import STEEPEST

__all__ = ["STEEPEST", "VARIANCE_FAST_CONVERGENCE", "VARIANCE_PLAIN", "Cubic", "CubicWindow"]
