"""CUBIC: parameters and fluid model in `fluid`; one file for each implementation's packets."""

from vegasfluid.congestion.cubic.fluid import (
    VARIANCE_FAST_CONVERGENCE,
    VARIANCE_PLAIN,
    Cubic,
    CubicWindow,
)
from vegasfluid.congestion.cubic.rfc9438 import STEEPEST

__all__ = ["STEEPEST", "VARIANCE_FAST_CONVERGENCE", "VARIANCE_PLAIN", "Cubic", "CubicWindow"]
