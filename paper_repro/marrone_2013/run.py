"""The experiments for the paper's claims."""

from __future__ import annotations

from collections.abc import Sequence

from paper_repro.experiment import Experiment
from paper_repro.marrone_2013.arithmetic import ARITHMETICS
from paper_repro.marrone_2013.conclusions import SECTION_5
from paper_repro.marrone_2013.jitter_100 import FIGURES_8_TO_13
from paper_repro.marrone_2013.jitter_200 import FIGURES_24_TO_28
from paper_repro.marrone_2013.no_jitter_100 import FIGURES_2_TO_7
from paper_repro.marrone_2013.no_jitter_200 import FIGURES_14_TO_23
from paper_repro.marrone_2013.others import OPEN_QUESTIONS
from paper_repro.marrone_2013.section2_cubic import SECTION_2_2
from paper_repro.marrone_2013.section2_reno import SECTION_2_1
from paper_repro.marrone_2013.section2_vegas import SECTION_2_3

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: Sequence[Experiment] = (
    *ARITHMETICS,
    *SECTION_2_1,
    *SECTION_2_2,
    *SECTION_2_3,
    *FIGURES_2_TO_7,
    *FIGURES_8_TO_13,
    *FIGURES_14_TO_23,
    *FIGURES_24_TO_28,
    *SECTION_5,
    *OPEN_QUESTIONS,
)
"""The experiments of this paper, in its order."""
