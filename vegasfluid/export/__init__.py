"""Export of a model to other systems and simulators, and of Vegas parameters to their dialects."""

from vegasfluid.export.document import Exported
from vegasfluid.export.formats import FORMATS, export_model, needs_points
from vegasfluid.export.settings import OperatingPoint, translate

__all__ = ["FORMATS", "Exported", "OperatingPoint", "export_model", "needs_points", "translate"]
