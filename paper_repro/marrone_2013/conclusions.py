"""Section 5: all tests compared."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.marrone_2013.environment import ENLARGED_WINDOW, UNDOING, Environment
from paper_repro.marrone_2013.readings import UNDONE, packets
from paper_repro.marrone_2013.recorded_flow import each_law, job, mean

__all__ = ["SECTION_5"]

NAMES = ("reno", "cubic", "vegas")
"""Congestion controls."""
BRIEF = 100.0
"""Simulated time of a test, s."""
JITTER = 0.001
"""Jitter of each router, s."""
LOW = 70.0
"""Throughput below the paper's average of Reno under jitter (section 4.2), Mbit/s."""
CONDITIONS = {
    "d100 ": Environment(0.1),
    "d100j ": Environment(0.1, JITTER),
    "d200 ": Environment(0.2, 0.0, ENLARGED_WINDOW),
    "d200j ": Environment(0.2, JITTER, ENLARGED_WINDOW),
}
"""Environments of section 4, by the prefix of their runs."""
DEFAULT = Environment(0.2)
"""Environment with default buffers."""


def jobs() -> Mapping[str, Job]:
    """Return short tests of the three congestion controls in all conditions."""
    runs = dict(each_law(DEFAULT, BRIEF, prefix="default "))
    for prefix, environment in CONDITIONS.items():
        runs |= each_law(environment, BRIEF, prefix=prefix)
        if environment.jitter:
            for name, law in UNDOING.items():
                runs[UNDONE + prefix + name] = job(environment, name, BRIEF, law=law)
    return runs


def table(results: Results, reading: str) -> np.ndarray:
    """Return mean throughput by condition and congestion control, Mbit/s.

    Without jitter there are no spurious losses, so both readings share the runs.
    """

    def cell(prefix: str, name: str) -> float:
        return mean(results.get(reading + prefix + name, results[prefix + name]))

    return np.array([[cell(prefix, name) for name in NAMES] for prefix in CONDITIONS])


def note(evidence: Evidence, source: str, rates: np.ndarray) -> None:
    """Record what follows from a table of throughputs."""
    reno, cubic, vegas = rates.T
    best = cubic.mean() / max(reno.mean(), vegas.mean())
    evidence.note(source, "conclusions.cubic_best", float(best))
    vegas_best = (vegas / np.maximum(reno, cubic)).max()
    evidence.note(source, "conclusions.vegas_best", float(vegas_best))
    low = (rates[:, [0, 2]] < LOW).mean()
    evidence.note(source, "conclusions.low_share", float(low))


def measure(results: Results) -> Evidence:
    """Record the conclusions under both readings, and default over enlarged buffers."""
    evidence = Evidence()
    note(evidence, PACKETS, table(results, ""))
    note(evidence, packets(UNDONE), table(results, UNDONE))
    default = {name: mean(results[f"default {name}"]) for name in NAMES}
    large = {name: mean(results[f"d200 {name}"]) for name in NAMES}
    ratios = [default[name] / large[name] for name in ("reno", "vegas")]
    evidence.note(PACKETS, "conclusions.needs_buffers", ratios)
    evidence.note(PACKETS, "conclusions.cubic_default", default["cubic"] / default["reno"])
    return evidence


SECTION_5 = [Experiment("conclusions", "Section 5: conclusions", measure, jobs)]
