"""From a goal and its limits to a setting: by a root where one number is enough, else by search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import jax.numpy as jnp
import numpy as np

from vegasfluid.network import Network
from vegasfluid.tuning.adaptation import adapt, settled
from vegasfluid.tuning.beginning import PROPORTIONAL, begin, beside
from vegasfluid.tuning.constrained import Problem
from vegasfluid.tuning.correction import CLOSE, NEAR_ENOUGH
from vegasfluid.tuning.fluid_search import FluidOptimum
from vegasfluid.tuning.goals import Goal, ShareRatio
from vegasfluid.tuning.gradients import Fluid
from vegasfluid.tuning.job import Job
from vegasfluid.tuning.joint_root import meet
from vegasfluid.tuning.knobs import Knob, alphas, groups_tuned, knobs_of, turned
from vegasfluid.tuning.limits import SLACK, Limit, Limits

__all__ = ["Ended", "beginnings", "gain_margin", "problem_of", "pursue"]

TOGETHER = 5
"""So many settings of several classes are measured at most before each is corrected alone."""
PASSES = 3
"""So often at most each of them is."""
TENTH = 10.0
"""So much smaller a queue may be the better one."""
SMALLEST = 1e-12
"""Packets/s: of a class that the model starves, rounding may leave less than nothing."""


class Ended(NamedTuple):
    """Where the search ended.

    Args:
        network: with the recommended setting.
        optimum: the fluid's own.
        reached: whether the packets confirm the goal, within the limits.
        reason: if not, why; or what else is to know.
    """

    network: Network
    optimum: FluidOptimum
    reached: bool
    reason: str


def pursue(job: Job, goal: Goal, limits: Limits, tune_queue: bool) -> Ended:
    """Find the setting.

    Args:
        job: the network, and how settings of it are judged.
        goal: what is wanted.
        limits: what must be kept to.
        tune_queue: whether RED's numbers are tuned, too.

    Raises:
        InvalidInput: where something is asked for that the network does not have.
        SolveFailed: where the fluid model cannot be integrated.
    """
    if not isinstance(goal, ShareRatio) or tune_queue:
        return by_search(job, goal, limits, tune_queue)
    rooted = by_root(job)
    left = broken(job, rooted.network, limits)
    if not left:
        return rooted
    searched = by_search(job, goal, limits, tune_queue)
    if not broken(job, searched.network, limits):
        return searched
    values = limited(job, rooted.network, limits)
    return rooted._replace(reached=False, reason=reason_of(values, left))


def by_root(job: Job) -> Ended:
    """Alpha for a ratio: one number for one number."""
    optimum = job.search_fluid()
    correction = job.correct_on_packets(optimum)
    network = job.with_law(job.with_alpha(*correction.best))
    return Ended(network, optimum, correction.reached, correction.reason)


def by_search(job: Job, goal: Goal, limits: Limits, tune_queue: bool) -> Ended:
    """Several knobs, or limits."""
    searched = search_together([job], goal, limits, tune_queue)
    return ended([job], goal, limits, searched)[0]


class Searched(NamedTuple):
    """Where a search for several knobs ended.

    Args:
        network: with the best setting on packets.
        first: with the fluid's own.
        evaluations: fluid runs.
    """

    network: Network
    first: Network
    evaluations: int


def search_together(jobs: Sequence[Job], goal: Goal, limits: Limits, tune_queue: bool) -> Searched:
    """The best setting of all classes, on packets; the jobs are of one network."""
    lead = jobs[0]
    knobs = knobs_of(lead.network, {job.tuned: job.zone for job in jobs}, tune_queue)
    starts = beginnings(lead.network, knobs, lead.goal)
    problem = problem_of(lead, goal, limits, knobs)
    if isinstance(goal, ShareRatio) and not limits.each and not tune_queue:
        met = meet(lambda x: distances_at(problem, goal, x), starts, problem.bounds)
        network = turned(lead.network, knobs, settled(lead.network, knobs, met.x))
        found = Searched(network, network, met.evaluations)
    else:
        adapted = adapt(problem, lead.network, knobs, lead.judge_packets, *starts)
        found = Searched(adapted.network, adapted.first, adapted.evaluations)
    lead.seconds["fluid"] += problem.fluid.seconds
    return found


def distances_at(problem: Problem, goal: ShareRatio, x: np.ndarray) -> np.ndarray:
    """How far the ratio of each tuned class is from its goal on the fluid, in logarithms."""
    goodput = jnp.maximum(jnp.asarray(problem.fluid.alone(x).goodput), SMALLEST)
    rates = problem.rates(goodput)
    return np.asarray(goal.distances(rates))


def beginnings(network: Network, knobs: Sequence[Knob], ratio: float) -> list[np.ndarray]:
    """Logarithms to begin at.

    What is there, with alphas of theory; of several alphas also those that are there; and where
    RED is tuned also a queue of a tenth.
    """
    given = np.log([knob.value(network) for knob in knobs])
    here = given.copy()
    tuned = [knob.flows for knob in alphas(knobs)]
    begun = [begin(beside(network, name, tuned), name, ratio).alpha for name in tuned]
    here[: len(begun)] = np.log(begun)
    if len(begun) == len(knobs):
        return [here] if len(knobs) == 1 else [here, given]
    packets = np.array([knob.name != "max_drop" for knob in knobs], float)
    return [here, here - math.log(TENTH) * packets]


def problem_of(job: Job, goal: Goal, limits: Limits, knobs: Sequence[Knob]) -> Problem:
    """The problem on the fluid model."""
    network = job.network
    fluid = Fluid(network, tuple(knobs), job.until, job.warmup, job.report)

    with_queue = len(alphas(knobs)) < len(knobs)

    def margin(x: np.ndarray) -> float:
        return gain_margin(turned(network, knobs, [jnp.asarray(of) for of in np.exp(x)]))

    return Problem(
        fluid,
        goal,
        limits,
        groups_tuned(fluid.classes, knobs),
        fair=network.fair_share(),
        bounds=[logarithms(*knob.range(network)) for knob in knobs],
        margin=margin,
        room=float(network.link.buffer) if with_queue else None,
        free=with_queue,
    )


def logarithms(low: float, high: float) -> tuple[float, float]:
    """Of two ends."""
    return math.log(low), math.log(high)


def gain_margin(network: Network) -> float:
    """How many times larger the loop's gain may become before rest is unstable.

    Raises:
        InvalidInput: for networks that never rest.
        SolveFailed: where no rest is found.
    """
    from vegasfluid.analysis import equilibrium, stability  # seconds, that most searches do without

    margin = stability(equilibrium(network)).gain_margin
    return math.inf if margin is None else float(margin)


def broken(job: Job, network: Network, limits: Limits) -> list[Limit]:
    """The limits that a network does not keep to, on packets."""
    return limits.broken(limited(job, network, limits), SLACK)


def limited(job: Job, network: Network, limits: Limits) -> dict[str, float]:
    """The numbers that limits speak of, by their names in the results."""
    values = job.judge_packets(network).means()
    return values if limits.gain_margin is None else values | {"gain_margin": gain_margin(network)}


def ended(jobs: Sequence[Job], goal: Goal, limits: Limits, searched: Searched) -> list[Ended]:
    """What came of the search on packets, and what is to be said of it, for each class."""
    network, why = searched.network, dict[str, str]()
    left = broken(jobs[0], network, limits)
    if isinstance(goal, ShareRatio) and not left:
        network, why = exactly(jobs, network, limits)
    found = []
    for job in jobs:
        reasons = [reason_of(limited(job, network, limits), left)] if left else []
        if isinstance(goal, ShareRatio):
            reasons += missed(job.judge_packets(network).ratio, goal, limits, why.get(job.tuned))
        optimum = optimum_of(job, searched)
        found.append(Ended(network, optimum, not reasons, "; ".join(reasons)))
    return found


def optimum_of(job: Job, searched: Searched) -> FluidOptimum:
    """What the fluid model alone said of a class."""
    alpha, ratio = job.law_in(searched.first).alpha, job.judge_fluid(searched.first)["ratio"]
    return FluidOptimum(float(cast(Any, alpha)), ratio, math.nan, True, searched.evaluations)


def missed(ratio: float, goal: ShareRatio, limits: Limits, why: str | None) -> list[str]:
    """What is to be said of a ratio that is too far from the goal."""
    if abs(math.log(ratio / goal.ratio)) <= NEAR_ENOUGH:
        return []
    if why and not limits.each:
        return [why]
    within = f"with {' and '.join(of.text for of in limits.each)} " if limits.each else ""
    return [f"{within}the ratio is {ratio:.3g}, not {goal.ratio:g}"]


def reason_of(values: Mapping[str, float], left: Sequence[Limit]) -> str:
    """Which limits are not kept to, and where the network is instead."""
    told = " and ".join(f"{of.text} (it is {values[of.of]:.4g})" for of in left)
    return f"no setting that was tried keeps to {told}"


def exactly(
    jobs: Sequence[Job], network: Network, limits: Limits
) -> tuple[Network, dict[str, str]]:
    """The network with the alphas that give the ratios exactly, if that keeps to the limits.

    Several are moved together first, as one moves the others; then one class after the other has
    the correction of a single one, until none moves; where the ratio of one is out of reach, the
    reason is given, too.
    """
    why = {}
    if len(jobs) > 1:
        network = together(jobs, network, limits)
    for _ in range(PASSES if len(jobs) > 1 else 1):
        begun = network
        for job in jobs:
            network, why[job.tuned] = corrected(job, network, limits)
        if network == begun:
            break
    return network, why


def together(jobs: Sequence[Job], network: Network, limits: Limits) -> Network:
    """The network with the alphas nearest to all ratios of a few, if that keeps to the limits."""
    knobs = knobs_of(network, {job.tuned: job.zone for job in jobs}, False)

    def at(x: np.ndarray) -> Network:
        return turned(network, knobs, settled(network, knobs, x))

    def distances_of(x: np.ndarray) -> np.ndarray:
        measured = at(x)
        return np.array([math.log(job.judge_packets(measured).ratio / job.goal) for job in jobs])

    start = np.log([knob.value(network) for knob in knobs])
    bounds = [logarithms(*knob.range(network)) for knob in knobs]
    found = at(meet(distances_of, [start], bounds, near=CLOSE, most=TOGETHER).x)
    return network if broken(jobs[0], found, limits) else found


def corrected(job: Job, network: Network, limits: Limits) -> tuple[Network, str]:
    """The network with another alpha of one class, if that keeps to the limits; or why not."""
    own = replace(job, network=network)  # with queue and other classes as they are by now
    beginning = FluidOptimum(float(cast(Any, own.law.alpha)), own.goal, PROPORTIONAL, True, 0)
    correction = own.correct_on_packets(beginning)
    job.seeds = own.seeds
    found = own.with_law(own.with_alpha(*correction.best))
    good = correction.reached and not broken(job, found, limits)
    return (found, "") if good else (network, correction.reason)
