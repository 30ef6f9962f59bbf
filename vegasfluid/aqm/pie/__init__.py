"""PIE: the fluid model, and the packet rule."""

from vegasfluid.aqm.pie.pie import Pie

__all__ = ["Pie"]
