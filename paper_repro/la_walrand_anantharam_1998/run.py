"""The experiments of La, Walrand and Anantharam, in the order of the paper."""

from __future__ import annotations

from collections.abc import Sequence

from paper_repro.experiment import Experiment
from paper_repro.la_walrand_anantharam_1998 import (
    alone,
    arithmetic,
    base_rtts,
    competition,
    open_questions,
    persistent,
    rerouting,
    rules,
)

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: Sequence[Experiment] = [
    arithmetic.EXPERIMENT,
    rules.EXPERIMENT,
    competition.EXPERIMENT,
    alone.EXPERIMENT,
    rerouting.EXPERIMENT,
    persistent.EXPERIMENT,
    base_rtts.EXPERIMENT,
    open_questions.EXPERIMENT,
]
"""The experiments of this paper, in its order."""
