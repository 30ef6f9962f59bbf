"""RED: the fluid model, and one file for the packet rule of each implementation."""

from vegasfluid.aqm.red.red import IMPLEMENTATIONS, NO_WAIT, AdaptedAverage, Gap, Red, gap_of

__all__ = ["IMPLEMENTATIONS", "NO_WAIT", "AdaptedAverage", "Gap", "Red", "gap_of"]
