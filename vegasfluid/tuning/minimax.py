"""Parameters for a network that is not known for sure: the least regret in the worst case.

First the nominal network has its own recommendation (`recommend`), to know what robustness costs.
Then the fluid model finds the alpha with the smallest worst-case regret over all networks that the
ranges allow (`robust_fluid`), and the packet simulator corrects it on the networks that are worst
on either side, two each: at the least worst case the farthest above the goal is as far from it as
the farthest below, and the middle between these two rises with alpha, so that the root finder of
`correction` finds it. At last all the other networks are looked at with a few runs each; one that
turns out worse than the worst joins these, and the correction begins again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Unpack

import numpy as np

from vegasfluid.congestion.vegas import Vegas
from vegasfluid.export import translate
from vegasfluid.network import Network
from vegasfluid.ranges import Range
from vegasfluid.tuning.constraints import NO_CONSTRAINTS
from vegasfluid.tuning.evaluate import Evaluator
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.minimax_fluid import ScenarioFluids, search_robust
from vegasfluid.tuning.minimax_packets import MinimaxSearch, log_alpha
from vegasfluid.tuning.objectives import ShareRatio
from vegasfluid.tuning.recommend import make_evaluator, operating_point, recommend, tunable_class
from vegasfluid.tuning.result import Evaluation, Recommendation
from vegasfluid.tuning.robust_result import (
    FAIR,
    Robustness,
    RobustRecommendation,
    ScenarioResult,
    separating,
    words_for,
)
from vegasfluid.tuning.scalar_root import FluidOptimum
from vegasfluid.tuning.scenarios import Scenario, Substitution, scenarios_of
from vegasfluid.tuning.settings import RunSettings
from vegasfluid.tuning.thresholds import largest_alpha, smallest_alpha, with_alpha

__all__ = ["recommend_robust"]

ROUNDS = 3
"""Corrections at most, each with the networks that turned out worse."""


def recommend_robust(
    network: Network,
    ranges: Mapping[str, Range],
    place: Substitution,
    tune: str | None = None,
    *,
    ratio: float = 1.0,
    **trial: Unpack[RunSettings],
) -> RobustRecommendation:
    """Find the Vegas parameters whose worst case over ranges of a network's numbers is best.

    Args:
        network: the nominal one: a class of Vegas flows and at least one other class.
        ranges: by the names of the numbers, such as `reno.base_rtt_ms`, in the units of the names.
        place: puts numbers by name into the network, such as `modelfile.parameters.with_values`.
        tune: the class to tune; None: the only Vegas class.
        ratio: goodput of a tuned flow over that of a flow of the other classes.
        trial: how long and how often each setting is run, see `RunSettings`.

    Returns:
        The parameters, with `before` and `after` at the nominal network; `reached` where the worst
        network is within a factor of 1.25 of the goal.

    Raises:
        InvalidInput: where there is nothing to tune or to compare with, or no range.
        SolveFailed: where the fluid model cannot be integrated.
    """
    begin = time.perf_counter()
    scenarios = scenarios_of(network, ranges, place)
    job = make_evaluator(network, tunable_class(network, tune), ratio, trial)
    told = RunSettings(report=lambda line: job.report(f"nominal: {line}"))
    own = recommend(network, job.tuned, ratio=ratio, **(trial | told))
    job.widen_zone(own.before.fluid["queueing_delay_s"])
    ask = look_ahead(job, scenarios, own)
    law, glanced = settle_on_packets(ask)
    robust = robustness(ask, ranges, own, law, glanced)
    return concluded(ask, own, robust, law, begin)


def look_ahead(
    job: Evaluator, scenarios: tuple[Scenario, ...], own: Recommendation
) -> MinimaxSearch:
    """The best alpha over all networks by the fluid model."""
    begin = time.perf_counter()
    low = smallest_alpha(job.law)
    law = with_alpha(job.law, low, job.zone)
    networks = [
        Scenario(of.kind, of.shares, of.numbers, of.network.with_law(job.tuned, law))
        for of in scenarios
    ]
    fluids = ScenarioFluids(networks, job.tuned, goal=job.goal, until=job.until, warmup=job.warmup)
    high = max(largest_alpha(of.network) for of in scenarios)
    optimum = search_robust(fluids, own.optimum.alpha, low, high)
    job.seconds["fluid"] += time.perf_counter() - begin
    worst = f"worst-case regret a factor of {math.exp(optimum.regret):.3g}"
    job.report(f"fluid, {len(scenarios)} networks: alpha {optimum.alpha:.4g}, {worst}")
    return MinimaxSearch(job, scenarios, fluids, optimum)


def settle_on_packets(ask: MinimaxSearch) -> tuple[Vegas, dict[int, Measurement]]:
    """The law that the packets confirm, and a glance at it in networks that it was not held to."""
    ask.watch_the_worst()
    start = ask.optimum.alpha
    for _ in range(ROUNDS):
        best = ask.correct(start).best
        law, start = ask.nominal.with_alpha(*best), best.alpha
        others = ask.glance(law)
        worse = ask.worse(law, others)
        ask.watch(worse)
        if not worse:
            break
    return law, others


def robustness(
    ask: MinimaxSearch,
    ranges: Mapping[str, Range],
    own: Recommendation,
    law: Vegas,
    glanced: dict[int, Measurement],
) -> Robustness:
    """How the law fares over the ranges, and how the nominal network's own would."""
    mine = own.after.law
    both = [log_alpha(of) for of in (law, mine)]
    ask.fluids.explore(both)
    here, there = (ask.fluids.at(of).distances for of in both)
    ask.watch({int(there.argmax()), int(there.argmin())} - set(ask.watched))
    measured = ask.measured(law)
    confirmed, others = ask.seen(law, measured), ask.seen(mine, ask.measured(mine))
    nominal = list(measured).index(0)
    return Robustness(
        goal=ask.nominal.goal,
        ranges=ranges,
        seen=tuple(ask.seen(law, dict(sorted((glanced | measured).items())))),
        most=max(confirmed, key=_ratio),
        least=min(confirmed, key=_ratio),
        nominal=confirmed[nominal],
        own=Evaluation(mine, own.after.fluid, others[nominal].packets),  # of the same seeds
        own_most=max(others, key=_ratio),
        own_least=min(others, key=_ratio),
        regret=ask.regret(law),
        own_regret=ask.regret(mine),
        fluid_regret=float(np.max(np.abs(here) - ask.optimum.floors)),
    )


def _ratio(of: ScenarioResult) -> float:
    return of.packets.ratio


def concluded(
    ask: MinimaxSearch, own: Recommendation, robust: Robustness, law: Vegas, begin: float
) -> RobustRecommendation:
    """The recommendation, with what both simulators say of it at the nominal network."""
    job, optimum = ask.nominal, ask.optimum
    after = Evaluation(law, job.evaluate_fluid(job.with_law(law)), robust.nominal.packets)
    settings, missing = translate(law, operating_point(job, after))
    reached = robust.worst <= FAIR
    ratio = job.goal * math.exp(optimum.outlook.distances[0])
    packets = sum(of.seconds["packets"] for of in ask.jobs.values())
    return RobustRecommendation(
        network=job.with_law(law),
        tuned=job.tuned,
        goal=ShareRatio(job.goal),
        limits=NO_CONSTRAINTS,
        queue_tuned=False,
        reached=reached,
        reason="" if reached else why_not(ask, robust, law),
        before=own.before,
        after=after,
        optimum=FluidOptimum(optimum.alpha, ratio, optimum.slope, reached, optimum.evaluations),
        settings=settings,
        settings_missing=missing,
        start=None,
        others=(),
        seconds={
            "total": time.perf_counter() - begin,
            "fluid": own.seconds["fluid"] + job.seconds["fluid"],
            "packets": own.seconds["packets"] + packets,
        },
        robust=robust,
    )


def why_not(ask: MinimaxSearch, robust: Robustness, law: Vegas) -> str:
    """Why the worst network is too far from the goal: it is alone, or too far from another."""
    ends = f"the ratio is {robust.least.text}, and {robust.most.text}"
    worst = max((robust.least, robust.most), key=lambda of: robust.off(of.packets))
    for side in ask.sides:
        if ask.scenarios[side.number] is worst.scenario and side.floor > FAIR:
            return f"no alpha at all is fair at {worst.scenario.text}: {ends}"
    logs = ask.fluids.at(log_alpha(law)).distances
    names = separating(ask.scenarios, logs, robust.most.scenario, robust.least.scenario)
    return f"no single alpha is fair to {words_for(names)} this far apart: {ends}"
