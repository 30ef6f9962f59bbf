"""Recommendations for other systems: Linux, ns-2, ns-3."""

from vegasfluid.export.settings import OperatingPoint, translate

__all__ = ["OperatingPoint", "translate"]
