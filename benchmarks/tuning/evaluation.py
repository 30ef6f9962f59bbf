"""Evaluation of a recommendation by ns-2 and by fresh seeds of the packet simulator."""

from __future__ import annotations

import math
import shutil
import sys
import time
from typing import Any, NamedTuple, cast

import jax

from benchmarks.tuning.checkpoints import kept
from benchmarks.tuning.networks import TUNED, Untuned
from benchmarks.tuning.ns2_ratio import OnNs2, can_run, ratio_on_ns2
from vegasfluid.aqm.red import Red
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.tuning import Recommendation, recommend
from vegasfluid.tuning.measurement import measure
from vegasfluid.tuning.parameters import whole_if_needed, with_alpha

__all__ = ["Evaluation", "evaluate", "evaluate_alone"]

EQUAL = 1.0
"""Ratio that is the goal."""
NS2_SEEDS = range(1001, 1025)
"""Seeds of ns-2's runs."""
FEWEST_ON_NS2 = 3
"""Smallest number of ns-2's runs."""
MOST_ON_NS2 = 5e7
"""Largest number of packets of ns-2's runs."""
PRECISION = 0.04
"""Wanted standard error of log(ratio) on ns-2."""
FRESH_SEEDS = range(2001, 2041)
"""Seeds of the packet simulator that the recommendation has not used."""
MOST_FRESH = 4e7
"""Largest number of packets of all runs with these seeds for one network."""


class Evaluation(NamedTuple):
    """A recommendation and its evaluation.

    Args:
        found: recommendation.
        seconds: its duration with compilation, s.
        ns2: ratio on ns-2, its standard error (of the logarithm), and the number of runs.
        ns2_defaults: ratio on ns-2 with ns-2's default alpha and beta.
        ns2_red_min: ratio on ns-2 with RED_min / N (drop-tail: half of the buffer over N).
        fresh: ratio over new seeds of the packet simulator.
        agrees: whether their interval overlaps the stated one.
    """

    found: Recommendation
    seconds: float
    ns2: OnNs2
    ns2_defaults: float
    ns2_red_min: float
    fresh: float
    agrees: bool

    @property
    def covers(self) -> bool:
        """Whether the stated interval contains the goal."""
        return self.found.after.packets.contains(EQUAL)


def red_min_over_n(case: Untuned) -> Vegas:
    """Return Vegas with the heuristic's alpha, and the beta for it."""
    link = case.network.link
    low = link.aqm.min_thresh if isinstance(link.aqm, Red) else link.buffer / 2
    law = default_law(case)
    return with_alpha(law, whole_if_needed(law, low / sum(case.network.counts)))


def default_law(case: Untuned) -> Vegas:
    """Return Vegas with the network's parameters before tuning."""
    return cast(Vegas, case.network.flows[TUNED].law)


def runs_on_ns2(case: Untuned, spread: float) -> int:
    """Return the number of ns-2's runs for PRECISION, as far as seeds and packets allow.

    Longer runs do not help: with few flows, the wrong base RTT after the first slow start remains,
    and the ratio of a run is near one of several distant values.

    Args:
        case: network.
        spread: standard deviation of log(ratio) over seeds of the packet simulator.
    """
    affordable = MOST_ON_NS2 / (case.until * case.network.link.capacity)
    runs = min((spread / PRECISION) ** 2, affordable, len(NS2_SEEDS))
    return max(FEWEST_ON_NS2, math.ceil(runs))


def evaluate(case: Untuned) -> Evaluation:
    """Return a recommendation for a network with its evaluation."""
    begin = time.perf_counter()
    recommendation = recommend(case.network, TUNED, until=case.until, warmup=case.warmup)
    seconds = time.perf_counter() - begin
    runs = int(
        min(len(FRESH_SEEDS), max(10, MOST_FRESH / (case.until * case.network.link.capacity)))
    )
    span: Any = {"until": case.until, "warmup": case.warmup}
    fresh = measure(recommendation.network, TUNED, FRESH_SEEDS[:runs], **span)
    (low, high), (fresh_low, fresh_high) = recommendation.after.packets.interval, fresh.interval
    on_ns2 = defaults = red_min = OnNs2(math.nan, math.nan, 0)
    if shutil.which("ns") and can_run(case):
        runs = runs_on_ns2(case, float(fresh.log_ratios.std(ddof=1)))
        on_ns2 = ratio_on_ns2(case, recommendation.after.law, NS2_SEEDS[:runs])
        seeds = NS2_SEEDS[:FEWEST_ON_NS2]
        defaults = ratio_on_ns2(case, default_law(case), seeds)
        red_min = ratio_on_ns2(case, red_min_over_n(case), seeds)
    agrees = low <= fresh_high and fresh_low <= high
    return Evaluation(
        recommendation, seconds, on_ns2, defaults.ratio, red_min.ratio, fresh.ratio, agrees
    )


def evaluate_alone(case: Untuned) -> Evaluation:
    """Return the evaluation of one network, and clear compiled programs afterwards."""
    keep_compiled_equations()
    evaluation = kept(case.name, lambda: evaluate(case))
    jax.clear_caches()
    text = f"{evaluation.ns2.ratio:.3f} on ns-2, {evaluation.ns2_red_min:.3f} by RED_min / N, "
    text += f"{evaluation.ns2_defaults:.3f} by defaults, reached {evaluation.found.reached}"
    print(f"{case.name}: {text}", file=sys.stderr, flush=True)
    return evaluation
