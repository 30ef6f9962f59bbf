"""From a goal and its limits to a setting: by a root where one number is enough, else by search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import jax.numpy as jnp
import numpy as np

from vegasfluid.network import Network
from vegasfluid.tuning.constraints import FEASIBILITY_TOLERANCE, Constraint, Constraints
from vegasfluid.tuning.evaluate import Evaluator
from vegasfluid.tuning.fluid_gradients import DifferentiableFluid
from vegasfluid.tuning.initial_guess import PROPORTIONAL, begin, network_with_others_at_share
from vegasfluid.tuning.joint_root import solve_ratios
from vegasfluid.tuning.nonlinear_program import NonlinearProgram
from vegasfluid.tuning.objectives import Objective, ShareRatio
from vegasfluid.tuning.parameters import (
    Parameter,
    alphas,
    groups_tuned,
    tuned_parameters,
    with_values,
)
from vegasfluid.tuning.scalar_root import FluidOptimum
from vegasfluid.tuning.space_mapping import map_to_packets, settled
from vegasfluid.tuning.stochastic_root import CLOSE, NEAR_ENOUGH

__all__ = ["OptimisationResult", "gain_margin", "initial_points", "optimise", "program_of"]

TOGETHER = 5
"""So many settings of several classes are measured at most before each is corrected alone."""
PASSES = 3
"""So often at most each of them is."""
TENTH = 10.0
"""So much smaller a queue may be the better one."""
SMALLEST = 1e-12
"""Packets/s: of a class that the model starves, rounding may leave less than nothing."""


class OptimisationResult(NamedTuple):
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


def optimise(
    job: Evaluator, goal: Objective, limits: Constraints, tune_queue: bool
) -> OptimisationResult:
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


def by_root(job: Evaluator) -> OptimisationResult:
    """Alpha for a ratio: one number for one number."""
    optimum = job.solve_on_fluid()
    correction = job.solve_on_packets(optimum)
    network = job.with_law(job.with_alpha(*correction.best))
    return OptimisationResult(network, optimum, correction.reached, correction.reason)


def by_search(
    job: Evaluator, goal: Objective, limits: Constraints, tune_queue: bool
) -> OptimisationResult:
    """Several parameters, or limits."""
    searched = search_together([job], goal, limits, tune_queue)
    return ended([job], goal, limits, searched)[0]


class JointOptimum(NamedTuple):
    """Where a search for several parameters ended.

    Args:
        network: with the best setting on packets.
        first: with the fluid's own.
        evaluations: fluid runs.
    """

    network: Network
    first: Network
    evaluations: int


def search_together(
    jobs: Sequence[Evaluator], goal: Objective, limits: Constraints, tune_queue: bool
) -> JointOptimum:
    """The best setting of all classes, on packets; the jobs are of one network."""
    lead = jobs[0]
    parameters = tuned_parameters(lead.network, {job.tuned: job.zone for job in jobs}, tune_queue)
    starts = initial_points(lead.network, parameters, lead.goal)
    problem = program_of(lead, goal, limits, parameters)
    if isinstance(goal, ShareRatio) and not limits.each and not tune_queue:
        met = solve_ratios(lambda x: distances_at(problem, goal, x), starts, problem.bounds)
        network = with_values(lead.network, parameters, settled(lead.network, parameters, met.x))
        found = JointOptimum(network, network, met.evaluations)
    else:
        adapted = map_to_packets(problem, lead.network, parameters, lead.evaluate_packets, *starts)
        found = JointOptimum(adapted.network, adapted.first, adapted.evaluations)
    lead.seconds["fluid"] += problem.fluid.seconds
    return found


def distances_at(problem: NonlinearProgram, goal: ShareRatio, x: np.ndarray) -> np.ndarray:
    """How far the ratio of each tuned class is from its goal on the fluid, in logarithms."""
    goodput = jnp.maximum(jnp.asarray(problem.fluid.alone(x).goodput), SMALLEST)
    rates = problem.rates(goodput)
    return np.asarray(goal.distances(rates))


def initial_points(
    network: Network, parameters: Sequence[Parameter], ratio: float
) -> list[np.ndarray]:
    """Logarithms to begin at.

    What is there, with alphas of theory; of several alphas also those that are there; and where
    RED is tuned also a queue of a tenth.
    """
    given = np.log([parameter.value(network) for parameter in parameters])
    here = given.copy()
    tuned = [parameter.flows for parameter in alphas(parameters)]
    begun = [
        begin(network_with_others_at_share(network, name, tuned), name, ratio).alpha
        for name in tuned
    ]
    here[: len(begun)] = np.log(begun)
    if len(begun) == len(parameters):
        return [here] if len(parameters) == 1 else [here, given]
    packets = np.array([parameter.name != "max_drop" for parameter in parameters], float)
    return [here, here - math.log(TENTH) * packets]


def program_of(
    job: Evaluator, goal: Objective, limits: Constraints, parameters: Sequence[Parameter]
) -> NonlinearProgram:
    """The problem on the fluid model."""
    network = job.network
    fluid = DifferentiableFluid(network, tuple(parameters), job.until, job.warmup, job.report)

    with_queue = len(alphas(parameters)) < len(parameters)

    def margin(x: np.ndarray) -> float:
        return gain_margin(with_values(network, parameters, [jnp.asarray(of) for of in np.exp(x)]))

    return NonlinearProgram(
        fluid,
        goal,
        limits,
        groups_tuned(fluid.classes, parameters),
        fair=network.fair_share(),
        bounds=[logarithms(*parameter.range(network)) for parameter in parameters],
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


def broken(job: Evaluator, network: Network, limits: Constraints) -> list[Constraint]:
    """The limits that a network does not keep to, on packets."""
    return limits.broken(limited(job, network, limits), FEASIBILITY_TOLERANCE)


def limited(job: Evaluator, network: Network, limits: Constraints) -> dict[str, float]:
    """The numbers that limits speak of, by their names in the results."""
    values = job.evaluate_packets(network).means()
    return values if limits.gain_margin is None else values | {"gain_margin": gain_margin(network)}


def ended(
    jobs: Sequence[Evaluator], goal: Objective, limits: Constraints, searched: JointOptimum
) -> list[OptimisationResult]:
    """What came of the search on packets, and what is to be said of it, for each class."""
    network, why = searched.network, dict[str, str]()
    left = broken(jobs[0], network, limits)
    if isinstance(goal, ShareRatio) and not left:
        network, why = exactly(jobs, network, limits)
    found = []
    for job in jobs:
        reasons = [reason_of(limited(job, network, limits), left)] if left else []
        if isinstance(goal, ShareRatio):
            reasons += missed(job.evaluate_packets(network).ratio, goal, limits, why.get(job.tuned))
        optimum = optimum_of(job, searched)
        found.append(OptimisationResult(network, optimum, not reasons, "; ".join(reasons)))
    return found


def optimum_of(job: Evaluator, searched: JointOptimum) -> FluidOptimum:
    """What the fluid model alone said of a class."""
    alpha, ratio = job.law_in(searched.first).alpha, job.evaluate_fluid(searched.first)["ratio"]
    return FluidOptimum(float(cast(Any, alpha)), ratio, math.nan, True, searched.evaluations)


def missed(ratio: float, goal: ShareRatio, limits: Constraints, why: str | None) -> list[str]:
    """What is to be said of a ratio that is too far from the goal."""
    if abs(math.log(ratio / goal.ratio)) <= NEAR_ENOUGH:
        return []
    if why and not limits.each:
        return [why]
    within = f"with {' and '.join(of.text for of in limits.each)} " if limits.each else ""
    return [f"{within}the ratio is {ratio:.3g}, not {goal.ratio:g}"]


def reason_of(values: Mapping[str, float], left: Sequence[Constraint]) -> str:
    """Which limits are not kept to, and where the network is instead."""
    told = " and ".join(f"{of.text} (it is {values[of.of]:.4g})" for of in left)
    return f"no setting that was tried keeps to {told}"


def exactly(
    jobs: Sequence[Evaluator], network: Network, limits: Constraints
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


def together(jobs: Sequence[Evaluator], network: Network, limits: Constraints) -> Network:
    """The network with the alphas nearest to all ratios of a few, if that keeps to the limits."""
    parameters = tuned_parameters(network, {job.tuned: job.zone for job in jobs}, False)

    def at(x: np.ndarray) -> Network:
        return with_values(network, parameters, settled(network, parameters, x))

    def distances_of(x: np.ndarray) -> np.ndarray:
        measured = at(x)
        return np.array([math.log(job.evaluate_packets(measured).ratio / job.goal) for job in jobs])

    start = np.log([parameter.value(network) for parameter in parameters])
    bounds = [logarithms(*parameter.range(network)) for parameter in parameters]
    found = at(solve_ratios(distances_of, [start], bounds, near=CLOSE, most=TOGETHER).x)
    return network if broken(jobs[0], found, limits) else found


def corrected(job: Evaluator, network: Network, limits: Constraints) -> tuple[Network, str]:
    """The network with another alpha of one class, if that keeps to the limits; or why not."""
    own = replace(job, network=network)  # with queue and other classes as they are by now
    beginning = FluidOptimum(float(cast(Any, own.law.alpha)), own.goal, PROPORTIONAL, True, 0)
    correction = own.solve_on_packets(beginning)
    job.seeds = own.seeds
    found = own.with_law(own.with_alpha(*correction.best))
    good = correction.reached and not broken(job, found, limits)
    return (found, "") if good else (network, correction.reason)
