"""The experiments for the paper's claims."""

from __future__ import annotations

from collections.abc import Sequence

from paper_repro.experiment import Experiment
from paper_repro.weigle_feng_2001.adoption import ADOPTION
from paper_repro.weigle_feng_2001.algorithms import FIGURE_1, SECTION_2
from paper_repro.weigle_feng_2001.arrivals import ARRIVALS
from paper_repro.weigle_feng_2001.figure3 import FIGURE_3
from paper_repro.weigle_feng_2001.figure4 import FIGURE_4
from paper_repro.weigle_feng_2001.figures5to7 import FIGURE_5, FIGURE_6, FIGURE_7
from paper_repro.weigle_feng_2001.formulas import FORMULAS
from paper_repro.weigle_feng_2001.mixtures import MIXTURES
from paper_repro.weigle_feng_2001.open_questions import SECTION_5
from paper_repro.weigle_feng_2001.search import SEARCH
from paper_repro.weigle_feng_2001.tables import TABLE_1, TABLES_2_AND_3
from paper_repro.weigle_feng_2001.variations import SLOW_START, VARIATIONS

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: Sequence[Experiment] = (
    SECTION_2,
    FIGURE_1,
    TABLE_1,
    TABLES_2_AND_3,
    ARRIVALS,
    FORMULAS,
    FIGURE_3,
    FIGURE_4,
    FIGURE_5,
    FIGURE_6,
    FIGURE_7,
    SLOW_START,
    VARIATIONS,
    MIXTURES,
    ADOPTION,
    SEARCH,
    SECTION_5,
)
"""The experiments of this paper, in its order."""
