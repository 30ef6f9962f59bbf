"""TCP Vegas: the law, and one file for each implementation of it."""

from vegasfluid.congestion.vegas.vegas import DIALECTS, Vegas, VegasWindow

__all__ = ["DIALECTS", "Vegas", "VegasWindow"]
