"""Recommendations on 48 generated networks, tested in ns-2.

    python -m benchmarks.tuning [--json] [--full]

For each network (`benchmarks.tuning.networks`) `recommend` finds alpha and beta in ns-2's dialect,
starting from ns-2's defaults. Fresh seeds then test them in the packet simulator and, where `ns`
is installed, in ns-2, together with the defaults and RED_min / N. ns-2 runs three seeds, or up to
24 where they differ widely (`benchmarks.tuning.evaluation`). The quick version takes every seventh
network; `--full` takes all 48, and nine with CUBIC, HighSpeed or Scalable TCP in place of Reno
(`benchmarks.tuning.competitors`). Networks whose ratio in ns-2 is outside 0.9 to 1.1 are listed by
name; fractions are of the 48. An interrupted run resumes as long as the sources are the same
(`benchmarks.tuning.checkpoints`); `seconds` are then those of the last part.
"""

from __future__ import annotations

import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from benchmarks.harness import Figures, run
from benchmarks.tuning.competitors import rivals
from benchmarks.tuning.evaluation import Evaluation, evaluate_alone
from benchmarks.tuning.networks import untuned
from vegasfluid.parallel import processors

__all__ = ["measure"]

EVERY = 7
"""Step between the networks of the quick version."""
CLOSE = (0.9, 1.1)
"""Ratios on ns-2 that nine in ten networks should have."""
NEAR = (0.8, 1.25)
"""Ratios on ns-2 that all networks should have."""


def add_case(figures: Figures, name: str, evaluation: Evaluation) -> None:
    """Add one network, without what ns-2 lacks (it has no Scalable TCP like ours)."""
    low, high = evaluation.found.after.packets.interval
    values = {
        "alpha": evaluation.found.after.law.alpha,
        "beta": evaluation.found.after.law.beta,
        "fluid_alpha": evaluation.found.optimum.alpha,
        "ns2_ratio": evaluation.ns2.ratio,
        "ns2_log_error": evaluation.ns2.error,
        "ns2_runs": evaluation.ns2.runs,
        "ns2_ratio_defaults": evaluation.ns2_defaults,
        "ns2_ratio_red_min": evaluation.ns2_red_min,
        "packets_ratio": evaluation.found.after.packets.ratio,
        "packets_low": low,
        "packets_high": high,
        "packets_ratio_fresh": evaluation.fresh,
        "reached": evaluation.found.reached,
        "seconds": evaluation.seconds,
    }
    for key, value in values.items():
        if not math.isnan(value):
            figures.add(f"{name}.{key}", value)


def share_within(ratios: list[float], bounds: tuple[float, float]) -> float:
    """Fraction of the ratios within bounds; NaN if there are no ratios."""
    known = [ratio for ratio in ratios if not math.isnan(ratio)]
    return (
        float(np.mean([bounds[0] <= ratio <= bounds[1] for ratio in known])) if known else math.nan
    )


def summary(figures: Figures, found: dict[str, Evaluation]) -> None:
    """Add the fractions of fair networks by method, and the networks that are not fair."""
    methods = {
        "recommended": ([evaluation.ns2.ratio for evaluation in found.values()], 0.9, 1.0),
        "red_min_over_n": ([evaluation.ns2_red_min for evaluation in found.values()], None, None),
        "defaults": ([evaluation.ns2_defaults for evaluation in found.values()], None, None),
    }
    for method, (ratios, most, every) in methods.items():
        figures.add(f"ns2.{method}.within_10_percent", share_within(ratios, CLOSE), at_least=most)
        figures.add(f"ns2.{method}.within_25_percent", share_within(ratios, NEAR), at_least=every)
    where_reached = [
        evaluation.ns2.ratio for evaluation in found.values() if evaluation.found.reached
    ]
    figures.add("ns2.where_reached.within_10_percent", share_within(where_reached, CLOSE))
    figures.add("ns2.where_reached.within_25_percent", share_within(where_reached, NEAR))
    covers = float(np.mean([evaluation.covers for evaluation in found.values()]))
    figures.add("packets.interval_holds_goal", covers, at_least=0.9)
    agrees = float(np.mean([evaluation.agrees for evaluation in found.values()]))
    figures.add("packets.interval_meets_that_of_fresh_seeds", agrees, at_least=0.9)
    figures.add(
        "reached", float(np.mean([evaluation.found.reached for evaluation in found.values()]))
    )
    for name, evaluation in found.items():
        if not CLOSE[0] <= evaluation.ns2.ratio <= CLOSE[1]:
            missed = f"missed.{name}" + ("" if evaluation.found.reached else ".not_reached")
            figures.add(missed, evaluation.ns2.ratio)


def measure(full: bool) -> Figures:
    """All networks of the design, or a few; as many at a time as there are processors."""
    design = untuned()[:: 1 if full else EVERY]
    cases = design + (rivals() if full else [])
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processors(), spawn) as pool:
        found = dict(
            zip((case.name for case in cases), pool.map(evaluate_alone, cases), strict=True)
        )
    figures = Figures()
    for name, evaluation in found.items():
        add_case(figures, name, evaluation)
    summary(figures, {case.name: found[case.name] for case in design})
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
