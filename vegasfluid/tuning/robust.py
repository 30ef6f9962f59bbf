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
from vegasfluid.tuning.balance import Ask, log_alpha
from vegasfluid.tuning.fluid_search import FluidOptimum
from vegasfluid.tuning.goals import ShareRatio
from vegasfluid.tuning.job import Job
from vegasfluid.tuning.limits import NO_LIMITS
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.recommend import make_job, operating_point, recommend, tunable_class
from vegasfluid.tuning.recommendation import Judged, Recommendation
from vegasfluid.tuning.robust_fluid import Fluids, search_robust
from vegasfluid.tuning.robustness import (
    FAIR,
    Robustness,
    RobustRecommendation,
    Seen,
    separating,
    words_for,
)
from vegasfluid.tuning.scenarios import Place, Scenario, scenarios_of
from vegasfluid.tuning.thresholds import largest_alpha, smallest_alpha, with_alpha
from vegasfluid.tuning.trial import Trial

__all__ = ["recommend_robust"]

ROUNDS = 3
"""So often the correction is made at most, each time with the networks that turned out worse."""


def recommend_robust(
    network: Network,
    ranges: Mapping[str, Range],
    place: Place,
    tune: str | None = None,
    *,
    ratio: float = 1.0,
    **trial: Unpack[Trial],
) -> RobustRecommendation:
    """Find the Vegas parameters whose worst case over ranges of a network's numbers is best.

    Args:
        network: the nominal one: a class of Vegas flows and at least one other class.
        ranges: by the names of the numbers, such as `reno.base_rtt_ms`, in the units of the names.
        place: puts numbers by name into the network, such as `modelfile.parameters.with_values`.
        tune: the class to tune; None: the only Vegas class.
        ratio: goodput of a tuned flow over that of a flow of the other classes.
        trial: how long and how often each setting is run, see `Trial`.

    Returns:
        The parameters, with `before` and `after` at the nominal network; `reached` where the worst
        network is within a factor of 1.25 of the goal.

    Raises:
        InvalidInput: where there is nothing to tune or to compare with, or no range.
        SolveFailed: where the fluid model cannot be integrated.
    """
    begin = time.perf_counter()
    scenarios = scenarios_of(network, ranges, place)
    job = make_job(network, tunable_class(network, tune), ratio, trial)
    told = Trial(report=lambda line: job.report(f"nominal: {line}"))
    own = recommend(network, job.tuned, ratio=ratio, **(trial | told))
    job.widen_zone(own.before.fluid["queueing_delay_s"])
    ask = look_ahead(job, scenarios, own)
    law, glanced = settle_on_packets(ask)
    robust = robustness(ask, ranges, own, law, glanced)
    return concluded(ask, own, robust, law, begin)


def look_ahead(job: Job, scenarios: tuple[Scenario, ...], own: Recommendation) -> Ask:
    """The best alpha over all networks by the fluid model."""
    begin = time.perf_counter()
    low = smallest_alpha(job.law)
    law = with_alpha(job.law, low, job.zone)
    networks = [
        Scenario(of.kind, of.shares, of.numbers, of.network.with_law(job.tuned, law))
        for of in scenarios
    ]
    fluids = Fluids(networks, job.tuned, goal=job.goal, until=job.until, warmup=job.warmup)
    high = max(largest_alpha(of.network) for of in scenarios)
    optimum = search_robust(fluids, own.optimum.alpha, low, high)
    job.seconds["fluid"] += time.perf_counter() - begin
    worst = f"worst-case regret a factor of {math.exp(optimum.regret):.3g}"
    job.report(f"fluid, {len(scenarios)} networks: alpha {optimum.alpha:.4g}, {worst}")
    return Ask(job, scenarios, fluids, optimum)


def settle_on_packets(ask: Ask) -> tuple[Vegas, dict[int, Measurement]]:
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
    ask: Ask,
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
        own=Judged(mine, own.after.fluid, others[nominal].packets),  # of the same seeds
        own_most=max(others, key=_ratio),
        own_least=min(others, key=_ratio),
        regret=ask.regret(law),
        own_regret=ask.regret(mine),
        fluid_regret=float(np.max(np.abs(here) - ask.optimum.floors)),
    )


def _ratio(of: Seen) -> float:
    return of.packets.ratio


def concluded(
    ask: Ask, own: Recommendation, robust: Robustness, law: Vegas, begin: float
) -> RobustRecommendation:
    """The recommendation, with what both simulators say of it at the nominal network."""
    job, optimum = ask.nominal, ask.optimum
    after = Judged(law, job.judge_fluid(job.with_law(law)), robust.nominal.packets)
    settings, missing = translate(law, operating_point(job, after))
    reached = robust.worst <= FAIR
    ratio = job.goal * math.exp(optimum.outlook.distances[0])
    packets = sum(of.seconds["packets"] for of in ask.jobs.values())
    return RobustRecommendation(
        network=job.with_law(law),
        tuned=job.tuned,
        goal=ShareRatio(job.goal),
        limits=NO_LIMITS,
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


def why_not(ask: Ask, robust: Robustness, law: Vegas) -> str:
    """Why the worst network is too far from the goal: it is alone, or too far from another."""
    ends = f"the ratio is {robust.least.text}, and {robust.most.text}"
    worst = max((robust.least, robust.most), key=lambda of: robust.off(of.packets))
    for side in ask.sides:
        if ask.scenarios[side.number] is worst.scenario and side.floor > FAIR:
            return f"no alpha at all is fair at {worst.scenario.text}: {ends}"
    logs = ask.fluids.at(log_alpha(law)).distances
    names = separating(ask.scenarios, logs, robust.most.scenario, robust.least.scenario)
    return f"no single alpha is fair to {words_for(names)} this far apart: {ends}"
