"""PIE: the fluid model, and the packet rule."""

from vegasfluid.aqm.pie.pie import Pie, PieState

__all__ = ["Pie", "PieState"]
