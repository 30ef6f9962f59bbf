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

__all__ = ["Judgement", "judge", "judge_alone"]

EQUAL = 1.0
"""The ratio that is aimed at."""
NS2_SEEDS = range(1001, 1025)
FEWEST_ON_NS2, MOST_ON_NS2, PRECISION = 3, 5e7, 0.04
"""Runs of ns-2 at least, their packets at most, and the standard error of log(ratio) sought."""
FRESH_SEEDS = range(2001, 2041)
MOST_FRESH = 4e7
"""Packets of all fresh runs of a network."""


class Judgement(NamedTuple):
    """A recommendation and its trial.

    Args:
        found: the recommendation.
        seconds: that it took, compiling and all.
        ns2: ratio on ns-2, its standard error (of the logarithm), and the runs it is from.
        ns2_defaults: with ns-2's defaults.
        ns2_red_min: with RED_min / N (with drop-tail: a flow's part of half of the buffer).
        fresh: ratio over fresh seeds of the packet simulator.
        agrees: whether the interval of these meets the stated one.
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
        """Whether the stated interval holds the goal."""
        return self.found.after.packets.contains(EQUAL)


def red_min_over_n(case: Untuned) -> Vegas:
    """The heuristic's alpha, and the beta that goes with it."""
    link = case.network.link
    low = link.aqm.min_thresh if isinstance(link.aqm, Red) else link.buffer / 2
    law = default_law(case)
    return with_alpha(law, whole_if_needed(law, low / sum(case.network.counts)))


def default_law(case: Untuned) -> Vegas:
    """Vegas with the parameters that the network has before it is tuned."""
    return cast(Vegas, case.network.flows[TUNED].law)


def runs_on_ns2(case: Untuned, spread: float) -> int:
    """Runs of ns-2 that tell the ratio to PRECISION, as far as there are seeds and time.

    A longer run does not do it: with few flows the base RTT that a Vegas flow holds for the true
    one after the first slow start stays, and the ratio lies near one of some far values.

    Args:
        case: the network.
        spread: standard deviation of log(ratio) over seeds of the packet simulator.
    """
    affordable = MOST_ON_NS2 / (case.until * case.network.link.capacity)
    runs = min((spread / PRECISION) ** 2, affordable, len(NS2_SEEDS))
    return max(FEWEST_ON_NS2, math.ceil(runs))


def judge(case: Untuned) -> Judgement:
    """Recommend for a network, and try that out."""
    begin = time.perf_counter()
    found = recommend(case.network, TUNED, until=case.until, warmup=case.warmup)
    seconds = time.perf_counter() - begin
    runs = int(
        min(len(FRESH_SEEDS), max(10, MOST_FRESH / (case.until * case.network.link.capacity)))
    )
    span: Any = {"until": case.until, "warmup": case.warmup}
    fresh = measure(found.network, TUNED, FRESH_SEEDS[:runs], **span)
    (low, high), (fresh_low, fresh_high) = found.after.packets.interval, fresh.interval
    on_ns2 = defaults = red_min = OnNs2(math.nan, math.nan, 0)
    if shutil.which("ns") and can_run(case):
        runs = runs_on_ns2(case, float(fresh.log_ratios.std(ddof=1)))
        on_ns2 = ratio_on_ns2(case, found.after.law, NS2_SEEDS[:runs])
        few = NS2_SEEDS[:FEWEST_ON_NS2]
        defaults = ratio_on_ns2(case, default_law(case), few)
        red_min = ratio_on_ns2(case, red_min_over_n(case), few)
    agrees = low <= fresh_high and fresh_low <= high
    return Judgement(found, seconds, on_ns2, defaults.ratio, red_min.ratio, fresh.ratio, agrees)


def judge_alone(case: Untuned) -> Judgement:
    """Judge one network of many in a process, whose compiled programs no other network needs."""
    keep_compiled_equations()
    judgement = kept(case.name, lambda: judge(case))
    jax.clear_caches()
    told = f"{judgement.ns2.ratio:.3f} on ns-2, {judgement.ns2_red_min:.3f} by RED_min / N, "
    told += f"{judgement.ns2_defaults:.3f} by defaults, reached {judgement.found.reached}"
    print(f"{case.name}: {told}", file=sys.stderr, flush=True)
    return judgement
