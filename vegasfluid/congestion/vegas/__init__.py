"""TCP Vegas: parameters and fluid model in `fluid`; one file for the packets of each dialect."""

from vegasfluid.congestion.vegas.fluid import DIALECTS, Vegas, VegasWindow

__all__ = ["DIALECTS", "Vegas", "VegasWindow"]
