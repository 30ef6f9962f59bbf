"""A model for other systems: Linux, FreeBSD, ns-2, ns-3; and recommendations in their words."""

from vegasfluid.export.document import Exported
from vegasfluid.export.formats import FORMATS, export_model, needs_points
from vegasfluid.export.settings import OperatingPoint, translate

__all__ = ["FORMATS", "Exported", "OperatingPoint", "export_model", "needs_points", "translate"]
