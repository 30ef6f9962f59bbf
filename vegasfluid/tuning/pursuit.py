"""From a goal and its limits to a setting: by a root where one number is enough, else by search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from vegasfluid.network import Network
from vegasfluid.tuning.adaptation import Adapted, adapt
from vegasfluid.tuning.beginning import PROPORTIONAL, begin
from vegasfluid.tuning.constrained import Problem
from vegasfluid.tuning.correction import NEAR_ENOUGH
from vegasfluid.tuning.fluid_search import FluidOptimum
from vegasfluid.tuning.goals import Goal, ShareRatio
from vegasfluid.tuning.gradients import Fluid
from vegasfluid.tuning.job import Job
from vegasfluid.tuning.knobs import Knob, knobs_of, turned
from vegasfluid.tuning.limits import SLACK, Limit, Limits

__all__ = ["Ended", "beginnings", "gain_margin", "problem_of", "pursue"]

TENTH = 10.0
"""So much smaller a queue may be the better one."""


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
    knobs = knobs_of(job.network, job.tuned, job.zone, tune_queue)
    problem = problem_of(job, goal, limits, knobs)
    starts = beginnings(job.network, job.tuned, knobs, job.goal)
    adapted = adapt(problem, job.network, knobs, job.judge_packets, *starts)
    alpha = float(knobs[0].value(adapted.first))
    job.seconds["fluid"] += problem.fluid.seconds
    fluid_ratio = job.judge_fluid(adapted.first)["ratio"]
    optimum = FluidOptimum(alpha, fluid_ratio, math.nan, True, problem.fluid.evaluations)
    return ended(job, goal, limits, adapted, optimum)


def beginnings(
    network: Network, tuned: str, knobs: Sequence[Knob], ratio: float
) -> list[np.ndarray]:
    """Logarithms to begin at: what is there, with alpha of theory; with a queue a tenth, too."""
    here = np.log([knob.value(network) for knob in knobs])
    here[0] = math.log(begin(network, tuned, ratio).alpha)
    if len(knobs) == 1:
        return [here]
    packets = np.array([knob.name != "max_drop" for knob in knobs], float)
    return [here, here - math.log(TENTH) * packets]


def problem_of(job: Job, goal: Goal, limits: Limits, knobs: Sequence[Knob]) -> Problem:
    """The problem on the fluid model."""
    network, link = job.network, job.network.link
    fluid = Fluid(network, tuple(knobs), job.until, job.warmup, job.report)
    tuned = np.zeros(len(fluid.count))
    tuned[fluid.classes[list(network.flows).index(job.tuned)]] = 1.0

    def margin(x: np.ndarray) -> float:
        return gain_margin(turned(network, knobs, [jnp.asarray(of) for of in np.exp(x)]))

    return Problem(
        fluid,
        goal,
        limits,
        tuned,
        fair=float(link.capacity) / sum(network.counts),
        bounds=[logarithms(*knob.range(network)) for knob in knobs],
        margin=margin,
        room=float(link.buffer) if len(knobs) > 1 else None,
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


def ended(job: Job, goal: Goal, limits: Limits, adapted: Adapted, optimum: FluidOptimum) -> Ended:
    """What came of the search on packets, and what is to be said of it."""
    network, reasons = adapted.network, []
    left = broken(job, network, limits)
    if isinstance(goal, ShareRatio) and not left:
        network = exactly(job, network, limits)
    if left:
        reasons.append(reason_of(limited(job, network, limits), left))
    if isinstance(goal, ShareRatio):
        found = job.judge_packets(network)
        if abs(math.log(found.ratio / goal.ratio)) > NEAR_ENOUGH:
            within = f"with {' and '.join(of.text for of in limits.each)} " if limits.each else ""
            reasons.append(f"{within}the ratio is {found.ratio:.3g}, not {goal.ratio:g}")
    return Ended(network, optimum, not reasons, "; ".join(reasons))


def reason_of(values: Mapping[str, float], left: Sequence[Limit]) -> str:
    """Which limits are not kept to, and where the network is instead."""
    told = " and ".join(f"{of.text} (it is {values[of.of]:.4g})" for of in left)
    return f"no setting that was tried keeps to {told}"


def exactly(job: Job, network: Network, limits: Limits) -> Network:
    """The network with the alpha that gives the ratio exactly, if that keeps to the limits."""
    given, job.network = job.network, network
    law = job.law
    beginning = FluidOptimum(float(law.alpha or 0), job.goal, PROPORTIONAL, True, 0)
    correction = job.correct_on_packets(beginning)
    corrected = job.with_law(job.with_alpha(*correction.best))
    job.network = given
    return corrected if correction.reached and not broken(job, corrected, limits) else network
