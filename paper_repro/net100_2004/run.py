"""The experiments for the page's claims."""

from __future__ import annotations

from collections.abc import Sequence

from paper_repro.experiment import Experiment
from paper_repro.net100_2004.alone import FIRST_GRAPH
from paper_repro.net100_2004.arithmetic import ARITHMETICS
from paper_repro.net100_2004.background import SECOND_GRAPH
from paper_repro.net100_2004.competition_and_recovery import COMPETITION
from paper_repro.net100_2004.switching import SWITCHING

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: Sequence[Experiment] = (
    *ARITHMETICS,
    *FIRST_GRAPH,
    *SECOND_GRAPH,
    *COMPETITION,
    *SWITCHING,
)
"""The experiments of this page."""
