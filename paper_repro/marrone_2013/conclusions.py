"""Section 5: the tests side by side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.marrone_2013.environment import ENLARGED_WINDOW, UNDOING, Environment
from paper_repro.marrone_2013.readings import UNDONE, packets
from paper_repro.marrone_2013.recorded_flow import each_law, job, mean

__all__ = ["SECTION_5"]

NAMES = ("reno", "cubic", "vegas")
BRIEF, JITTER = 100.0, 0.001
LOW = 70.0
"""Mbit/s: below the paper's average of Reno under jitter (section 4.2)."""
CONDITIONS = {
    "d100 ": Environment(0.1),
    "d100j ": Environment(0.1, JITTER),
    "d200 ": Environment(0.2, 0.0, ENLARGED_WINDOW),
    "d200j ": Environment(0.2, JITTER, ENLARGED_WINDOW),
}
DEFAULT = Environment(0.2)


def jobs() -> Mapping[str, Job]:
    """Short tests of the three laws in all conditions."""
    made = dict(each_law(DEFAULT, BRIEF, prefix="default "))
    for prefix, environment in CONDITIONS.items():
        made |= each_law(environment, BRIEF, prefix=prefix)
        if environment.jitter:
            for name, law in UNDOING.items():
                made[UNDONE + prefix + name] = job(environment, name, BRIEF, law=law)
    return made


def table(results: Results, reading: str) -> np.ndarray:
    """Mean throughput by condition and law, Mbit/s; without jitter nothing is to be taken back."""

    def cell(prefix: str, name: str) -> float:
        return mean(results.get(reading + prefix + name, results[prefix + name]))

    return np.array([[cell(prefix, name) for name in NAMES] for prefix in CONDITIONS])


def note(evidence: Evidence, source: str, rates: np.ndarray) -> None:
    """What follows from the table."""
    reno, cubic, vegas = rates.T
    best = cubic.mean() / max(reno.mean(), vegas.mean())
    evidence.note(source, "conclusions.cubic_best", float(best))
    vegas_best = (vegas / np.maximum(reno, cubic)).max()
    evidence.note(source, "conclusions.vegas_best", float(vegas_best))
    low = (rates[:, [0, 2]] < LOW).mean()
    evidence.note(source, "conclusions.low_share", float(low))


def measure(results: Results) -> Evidence:
    """The table under both readings, and default against enlarged buffers."""
    evidence = Evidence()
    note(evidence, PACKETS, table(results, ""))
    note(evidence, packets(UNDONE), table(results, UNDONE))
    default = {name: mean(results[f"default {name}"]) for name in NAMES}
    large = {name: mean(results[f"d200 {name}"]) for name in NAMES}
    needed = [default[name] / large[name] for name in ("reno", "vegas")]
    evidence.note(PACKETS, "conclusions.needs_buffers", needed)
    evidence.note(PACKETS, "conclusions.cubic_default", default["cubic"] / default["reno"])
    return evidence


SECTION_5 = [Experiment("conclusions", "Section 5: conclusions", measure, jobs)]
