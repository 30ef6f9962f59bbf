"""From an objective and constraints to a setting, on the fluid model and then on packets.

One ratio needs one alpha: a root (`alpha_search`). Several ratios need as
many alphas (`joint_root`, then each class alone). Anything else is a nonlinear program, which is
solved on the fluid model and corrected on packets (`space_mapping`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import jax.numpy as jnp
import numpy as np

from vegasfluid.network import Network
from vegasfluid.tuning.alpha_search import changed, fluid_alpha, packet_alpha
from vegasfluid.tuning.constraints import Constraints, violation_text
from vegasfluid.tuning.evaluate import Evaluator, gain_margin
from vegasfluid.tuning.fluid_gradients import DifferentiableFluid
from vegasfluid.tuning.initial_guess import PROPORTIONAL, initial_points
from vegasfluid.tuning.joint_root import solve_ratios
from vegasfluid.tuning.nonlinear_program import NonlinearProgram
from vegasfluid.tuning.objectives import Objective, ShareRatio
from vegasfluid.tuning.own_queues import sufficient_alpha
from vegasfluid.tuning.parameters import (
    Parameter,
    alpha_parameters,
    tuned_groups,
    tuned_parameters,
    with_values,
)
from vegasfluid.tuning.scalar_root import FluidOptimum
from vegasfluid.tuning.space_mapping import map_to_packets, settable_values
from vegasfluid.tuning.stochastic_root import (
    CENTRED,
    NEAR_ENOUGH,
)

__all__ = ["OptimisationResult", "make_program", "optimise"]

JOINT_MEASUREMENTS = 5
"""Settings of several classes that are measured at most before each is refined alone."""
PASSES = 3
"""Largest number of refinements of each class; an alpha changes the ratios of other classes."""
SMALLEST_GOODPUT = 1e-12
"""Goodputs are raised to this before their logarithm is taken, packets/s."""


class OptimisationResult(NamedTuple):
    """The setting found for one tuned class, and whether it reaches the objective.

    Args:
        network: the network with the setting of all tuned classes.
        optimum: the best alpha of this class on the fluid model alone.
        reached: whether the packets confirm the objective, within the constraints.
        reason: why not, if not reached; otherwise a remark, or empty.
    """

    network: Network
    optimum: FluidOptimum
    reached: bool
    reason: str


class JointOptimum(NamedTuple):
    """The best setting of several parameters, on packets and on the fluid model alone.

    Args:
        network: with the best setting on packets.
        fluid_network: with the fluid model's own best setting.
        evaluations: number of fluid runs.
    """

    network: Network
    fluid_network: Network
    evaluations: int


def optimise(
    evaluators: Sequence[Evaluator],
    objective: Objective,
    constraints: Constraints,
    tune_queue: bool,
) -> list[OptimisationResult]:
    """Find settings of all tuned classes that reach an objective within constraints.

    Args:
        evaluators: one for each tuned class of a network.
        objective: a goodput ratio, or fairness among all flows.
        constraints: bounds that must be met.
        tune_queue: whether RED's thresholds and max_drop are tuned, too.

    Returns:
        One result for each evaluator; all have the same network.

    Raises:
        InvalidInput: where the network lacks what is asked for, such as RED or an equilibrium.
        SolveFailed: where the fluid model cannot be integrated.
    """
    one_ratio = len(evaluators) == 1 and isinstance(objective, ShareRatio) and not tune_queue
    if not one_ratio:
        return search_and_refine(evaluators, objective, constraints, tune_queue)
    [evaluator] = evaluators
    root = find_alpha(evaluator)
    violated = evaluator.violated(root.network, constraints)
    if not violated:
        return [root]
    [result] = search_and_refine(evaluators, objective, constraints, tune_queue)
    if not evaluator.violated(result.network, constraints):
        return [result]
    values = evaluator.constrained_values(root.network, constraints)
    return [root._replace(reached=False, reason=violation_text(values, violated))]


def find_alpha(evaluator: Evaluator) -> OptimisationResult:
    """Find the alpha that gives one class its target ratio, on the fluid model, then on packets.

    Returns the network with alpha and beta (packets), and whether packets confirm the ratio. Where
    each flow has its own queue, the default or given alpha is taken without search if it suffices.
    """
    if (kept := sufficient_alpha(evaluator)) is not None:
        return OptimisationResult(kept.network, kept.optimum, True, kept.reason)
    optimum = fluid_alpha(evaluator)
    slope = optimum.slope if optimum.reached else PROPORTIONAL
    root = packet_alpha(evaluator, evaluator.network, optimum.alpha, slope)
    network = evaluator.with_law(evaluator.law_at(*root.best))
    return OptimisationResult(network, optimum, root.reached, root.reason)


def search_and_refine(
    evaluators: Sequence[Evaluator],
    objective: Objective,
    constraints: Constraints,
    tune_queue: bool,
) -> list[OptimisationResult]:
    """Search all parameters jointly, then refine alphas on packets if a ratio is wanted.

    There is one evaluator for each tuned class, and one result for each: the network, and whether
    packets confirm the objective. `tune_queue` adds RED's parameters.
    """
    optimum = search_jointly(evaluators, objective, constraints, tune_queue)
    network, failures = optimum.network, dict[str, str]()
    violated = evaluators[0].violated(network, constraints)
    if isinstance(objective, ShareRatio) and not violated:
        network, failures = refine_ratios(evaluators, network, constraints)
    results = []
    for one in evaluators:
        reasons = []
        if violated:
            values = one.constrained_values(network, constraints)
            reasons.append(violation_text(values, violated))
        if isinstance(objective, ShareRatio):
            ratio = one.evaluate_packets(network).ratio
            reasons += missed_ratio(ratio, objective, constraints, failures.get(one.tuned))
        fluid = fluid_optimum(one, optimum)
        results.append(OptimisationResult(network, fluid, not reasons, "; ".join(reasons)))
    return results


def search_jointly(
    evaluators: Sequence[Evaluator],
    objective: Objective,
    constraints: Constraints,
    tune_queue: bool,
) -> JointOptimum:
    """Best values of all parameters together, on packets and on the fluid model alone.

    Alphas for ratios alone are a root of fluid runs; anything else is a nonlinear program.
    """
    lead = evaluators[0]
    dead_bands = {one.tuned: one.dead_band for one in evaluators}
    parameters = tuned_parameters(lead.network, dead_bands, tune_queue)
    starts = initial_points(lead.network, parameters, lead.target_ratio)
    program = make_program(lead, objective, constraints, parameters)
    if isinstance(objective, ShareRatio) and not constraints.each and not tune_queue:
        solution = solve_ratios(
            lambda x: fluid_distances(program, objective, x), starts, program.bounds
        )
        values = settable_values(lead.network, parameters, solution.x)
        network = with_values(lead.network, parameters, values)
        optimum = JointOptimum(network, network, solution.evaluations)
    else:
        best = map_to_packets(program, lead.network, parameters, lead.evaluate_packets, *starts)
        optimum = JointOptimum(best.network, best.fluid_network, best.evaluations)
    lead.cache.seconds["fluid"] += program.fluid.seconds
    return optimum


def fluid_distances(program: NonlinearProgram, objective: ShareRatio, x: np.ndarray) -> np.ndarray:
    """log(ratio / target) of each tuned class on the fluid model at logarithms x; (classes,)."""
    goodput = jnp.maximum(jnp.asarray(program.fluid.alone(x).goodput), SMALLEST_GOODPUT)
    return np.asarray(objective.distances(program.rates(goodput)))


def make_program(
    evaluator: Evaluator,
    objective: Objective,
    constraints: Constraints,
    parameters: Sequence[Parameter],
) -> NonlinearProgram:
    """Build the nonlinear program: an objective on the fluid model, within constraints.

    Args:
        evaluator: of a tuned class; gives network, duration and warm-up.
        objective: what is wanted.
        constraints: bounds on delay, drops, utilisation and gain margin.
        parameters: tuned parameters: alphas, and RED's three numbers or none of them.
    """
    network, settings = evaluator.network, evaluator.settings
    fluid = DifferentiableFluid(
        network, tuple(parameters), settings.until, settings.warmup, settings.report
    )
    with_queue = len(alpha_parameters(parameters)) < len(parameters)

    def gain_margin_at(x: np.ndarray) -> float:
        """Gain margin of the equilibrium at logarithms x of the parameters."""
        values = [jnp.asarray(value) for value in np.exp(x)]
        return gain_margin(with_values(network, parameters, values))

    return NonlinearProgram(
        fluid,
        objective,
        constraints,
        tuned_groups(fluid.classes, parameters),
        fair=network.fair_share(),
        bounds=log_bounds(network, parameters),
        gain_margin=gain_margin_at,
        buffer=float(network.link.buffer) if with_queue else None,
        minimises_delay=with_queue,
    )


def log_bounds(network: Network, parameters: Sequence[Parameter]) -> list[tuple[float, float]]:
    """Logarithms of the smallest and largest value of each parameter, in the parameter's unit."""
    ranges = (parameter.range(network) for parameter in parameters)
    return [(math.log(low), math.log(high)) for low, high in ranges]


def fluid_optimum(evaluator: Evaluator, optimum: JointOptimum) -> FluidOptimum:
    """Alpha (packets) and ratio of one class in the fluid's best joint setting; slope NaN."""
    network = optimum.fluid_network
    alpha = float(cast(Any, evaluator.law_in(network).alpha))
    ratio = evaluator.evaluate_fluid(network)["ratio"]
    return FluidOptimum(alpha, ratio, math.nan, True, optimum.evaluations)


def missed_ratio(
    ratio: float, objective: ShareRatio, constraints: Constraints, failure: str | None
) -> list[str]:
    """A list of one phrase if a ratio is over a factor of 1.1 off its target; else empty.

    Args:
        ratio: measured goodput ratio.
        objective: with the target.
        constraints: bounds that were to be met.
        failure: why the refinement of the class failed, which is then the phrase if there are no
            constraints; None or empty: it did not fail.
    """
    if abs(math.log(ratio / objective.ratio)) <= NEAR_ENOUGH:
        return []
    if failure and not constraints.each:
        return [failure]
    bounds = " and ".join(constraint.text for constraint in constraints.each)
    return [
        f"{f'with {bounds} ' if bounds else ''}the ratio is {ratio:.3g}, not {objective.ratio:g}"
    ]


def refine_ratios(
    evaluators: Sequence[Evaluator], network: Network, constraints: Constraints
) -> tuple[Network, dict[str, str]]:
    """Refine alphas on packets until all ratios reach their target, within the constraints.

    Several classes are first refined jointly; then each has a root search, until none changes.

    Returns:
        The refined network, and for each class why its search failed, or an empty text.
    """
    failures = {}
    several = len(evaluators) > 1
    if several:
        network = refine_jointly(evaluators, network, constraints)
    for _ in range(PASSES if several else 1):
        before = network
        for evaluator in evaluators:
            network, failures[evaluator.tuned] = refine_alpha(evaluator, network, constraints)
        if network == before:
            break
    return network, failures


def refine_jointly(
    evaluators: Sequence[Evaluator], network: Network, constraints: Constraints
) -> Network:
    """The network with the alphas whose packet runs are nearest to all targets.

    The given network is returned if they violate a constraint.
    """
    dead_bands = {one.tuned: one.dead_band for one in evaluators}
    parameters = tuned_parameters(network, dead_bands, False)

    def network_at(x: np.ndarray) -> Network:
        """The network with the settable alphas nearest to exp(x), packets."""
        return with_values(network, parameters, settable_values(network, parameters, x))

    def distances_at(x: np.ndarray) -> np.ndarray:
        """log(measured ratio / target) of each tuned class at log(alphas) x; (classes,)."""
        measured = network_at(x)
        return np.array(
            [
                math.log(one.evaluate_packets(measured).ratio / one.target_ratio)
                for one in evaluators
            ]
        )

    start = np.log([parameter.value(network) for parameter in parameters])
    solution = solve_ratios(
        distances_at,
        [start],
        log_bounds(network, parameters),
        ftol=CENTRED,
        max_evaluations=JOINT_MEASUREMENTS,
    )
    refined = network_at(solution.x)
    return network if evaluators[0].violated(refined, constraints) else refined


def refine_alpha(
    evaluator: Evaluator, network: Network, constraints: Constraints
) -> tuple[Network, str]:
    """Search alpha of one class on packets; returns the network with it and an empty text.

    Where the search fails or violates a constraint: `network` as it was, and why the search failed.
    """
    start = float(cast(Any, evaluator.law_in(network).alpha))
    root = packet_alpha(evaluator, network, start, PROPORTIONAL)
    refined = changed(evaluator, network, root.best)
    if root.reached and not evaluator.violated(refined, constraints):
        return refined, ""
    return network, root.reason
