"""Cross-checks of models: independent simulators and Linux kernels beside our packet simulator."""

from vegasfluid.crosscheck.averages import Averages
from vegasfluid.crosscheck.comparison import Comparison, compare
from vegasfluid.crosscheck.crosscheck import (
    Crosscheck,
    OwnRuns,
    ReferenceRuns,
    own_runs,
    reference_runs,
)
from vegasfluid.crosscheck.reference import Reference
from vegasfluid.crosscheck.references import NAMES, references

__all__ = [
    "NAMES",
    "Averages",
    "Comparison",
    "Crosscheck",
    "OwnRuns",
    "Reference",
    "ReferenceRuns",
    "compare",
    "own_runs",
    "reference_runs",
    "references",
]
