"""The experiments of this paper."""

from __future__ import annotations

from collections.abc import Sequence

from paper_repro.experiment import Experiment
from paper_repro.feng_tinnakornsrisuphap_2000.adaptation import ADAPTATION, START_UP
from paper_repro.feng_tinnakornsrisuphap_2000.algorithms import ALGORITHMS
from paper_repro.feng_tinnakornsrisuphap_2000.alone import ALONE
from paper_repro.feng_tinnakornsrisuphap_2000.arithmetic import ARITHMETICS
from paper_repro.feng_tinnakornsrisuphap_2000.figures4to7 import FIGURES4TO7
from paper_repro.feng_tinnakornsrisuphap_2000.figures8to10 import FIGURES8TO10
from paper_repro.feng_tinnakornsrisuphap_2000.figures11to14 import FIGURES11TO14
from paper_repro.feng_tinnakornsrisuphap_2000.other_sources import (
    ON_OFF,
    SHORT_CONNECTIONS,
    WITHOUT_TCP,
)
from paper_repro.feng_tinnakornsrisuphap_2000.poisson import POISSON
from paper_repro.feng_tinnakornsrisuphap_2000.recovery import RECOVERY

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: Sequence[Experiment] = (
    ARITHMETICS,
    ALGORITHMS,
    POISSON,
    ALONE,
    FIGURES4TO7,
    FIGURES8TO10,
    FIGURES11TO14,
    RECOVERY,
    START_UP,
    ADAPTATION,
    WITHOUT_TCP,
    SHORT_CONNECTIONS,
    ON_OFF,
)
"""The experiments of this paper."""
