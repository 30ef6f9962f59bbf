"""TCP Vegas: the fluid model, and one file for each implementation."""

from vegasfluid.congestion.vegas.vegas import DIALECTS, Vegas, VegasWindow

__all__ = ["DIALECTS", "Vegas", "VegasWindow"]
