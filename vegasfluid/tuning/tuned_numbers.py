"""Recommend values of any numbers of a network: of congestion controls, queues and buffers.

Each number is first varied alone, on packets: one that nothing depends on is left as it was. The
others are searched on the fluid model with its derivatives, corrected on packets
(`space_mapping`), and refined on packets alone (`compass_search`), which also serves numbers that
the fluid model does not depend on, or not smoothly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from vegasfluid.errors import InvalidInput, SolveFailed, Words
from vegasfluid.model import check_starts
from vegasfluid.network import Network, require_network
from vegasfluid.tuning.compass_search import Merit, compass_search
from vegasfluid.tuning.constraints import Constraints, violation_text
from vegasfluid.tuning.evaluate import gain_margin
from vegasfluid.tuning.fluid_gradients import DifferentiableFluid
from vegasfluid.tuning.influence import Comparison, Influence, NetworkEvaluator, influence
from vegasfluid.tuning.named_parameters import NamedParameter, named_parameters
from vegasfluid.tuning.nonlinear_program import NonlinearProgram
from vegasfluid.tuning.number_result import EvaluatedNetwork, NumberRecommendation, TunedNumber
from vegasfluid.tuning.objectives import LargestGoodput, Objective, ShareRatio, SmallestDelay
from vegasfluid.tuning.optimise import log_bounds
from vegasfluid.tuning.parameters import Parameter, RedParameter, with_values
from vegasfluid.tuning.settings import RunSettings, resolve_settings
from vegasfluid.tuning.space_mapping import map_to_packets, merit_of, settable_values
from vegasfluid.tuning.stochastic_root import NEAR_ENOUGH

__all__ = ["recommend_numbers"]

FIRST_STEP = 0.3
"""First step of the search on packets, in logarithms of the numbers."""
LAST_STEP = 0.01
"""Last step of the search on packets, in logarithms of the numbers."""
MAX_SETTINGS = 40
"""Largest number of settings that the search on packets measures, for each tuned number."""

Values = tuple[float, ...]
"""Values of the tuned numbers, each in the unit that its name ends in."""


class Search(NamedTuple):
    """What a search on packets needs.

    Args:
        program: objective and constraints on the fluid model, for the numbers that matter.
        network: with the values that were given.
        parameters: the numbers that matter.
        evaluator: runs the packet simulator on the network with other values.
    """

    program: NonlinearProgram
    network: Network
    parameters: tuple[Parameter, ...]
    evaluator: NetworkEvaluator

    def settable(self, x: Float[np.ndarray, " parameters"]) -> Values:
        """The values that systems accept nearest to exp(x), each in its parameter's unit."""
        return tuple(settable_values(self.network, self.parameters, x))

    def merit(self, values: Values) -> Merit:
        """Merit (less is better) of `values` from packet runs: violation of constraints, then loss.

        Both are infinite where the network is invalid, or no flow delivers a packet.
        """
        try:
            network = with_values(self.network, self.parameters, values)
        except InvalidInput:
            return math.inf, math.inf
        measured = self.evaluator.packets_if_any(network)
        if measured is None:
            return math.inf, math.inf
        merit = merit_of(self.program, self.network, measured, np.log(values))
        means = measured.means()
        setting = ", ".join(
            f"{parameter.name} {value:.4g}"
            for parameter, value in zip(self.parameters, values, strict=True)
        )
        self.evaluator.settings.report(
            f"packets: {setting}; delay {means['queueing_delay_s']:.4g} s, "
            f"utilisation {means['utilisation']:.4g}"
        )
        return merit


def recommend_numbers(
    network: Network,
    names: Sequence[str],
    objective: Objective,
    constraints: Constraints,
    settings: RunSettings,
) -> NumberRecommendation:
    """Find the values of any numbers of a network that are best for an objective.

    Args:
        network: with the values that were given.
        names: what is tuned: `CLASS` (alpha of a Vegas class), `CLASS.PARAMETER`,
            `LINK.PARAMETER`, with a range `=LOW:HIGH` or without.
        objective: what is wanted.
        constraints: bounds on delay, drops, utilisation and gain margin.
        settings: duration, warm-up (s), runs and seed.

    Raises:
        InvalidInput: for unknown names, or an objective that this network does not have.
        Unsupported: for a number that is no setting.
        SolveFailed: where the fluid model cannot be integrated.
    """
    begin = time.perf_counter()
    require_network("recommend", network)
    parameters = named_parameters(network, names)
    comparison = comparison_for(network, parameters, objective)
    require_bounded(objective, constraints)
    evaluator = NetworkEvaluator(network, comparison, resolve_settings(settings))
    check_starts(network, evaluator.settings.until)
    before = evaluator.evaluate(network)
    if breaks_ties_by_delay(network, parameters, objective):
        constraints = constraints.with_utilisation_kept(before.packets.means()["utilisation"])
    program = make_program(evaluator, parameters, objective, constraints)
    x = given_point(network, parameters)
    shown = {
        one: influence(evaluator, program.fluid, one, x, index)
        for index, one in enumerate(parameters)
    }
    important = tuple(one for one in parameters if shown[one].matters)
    best = network
    if important:
        if important != parameters:
            program = make_program(evaluator, important, objective, constraints)
        best = best_network(Search(program, network, important, evaluator), shown)
    after = evaluator.evaluate(best)
    reached, reason = goal_status(program, after, None if important else x)
    evaluator.seconds["total"] = time.perf_counter() - begin
    return NumberRecommendation(
        network=best,
        tuned=comparison.lead,
        others=comparison.others,
        numbers=tuple(tuned_number(one, network, best, shown[one]) for one in parameters),
        objective=objective,
        constraints=constraints,
        reached=reached,
        reason=reason,
        before=before,
        after=after,
        seconds=evaluator.seconds,
    )


def comparison_for(
    network: Network, parameters: Sequence[Parameter], objective: Objective
) -> Comparison:
    """The classes that an objective compares: those that it names, or a tuned class and the others.

    If no class is tuned, the first one that crosses a tuned link leads.

    Raises:
        InvalidInput: for an unknown class, or a ratio without classes where none is tuned, or there
            is only one.
    """
    tuned = [name for name in network.flows if any(owner_of(one) == name for one in parameters)]
    links = {owner_of(one) for one in parameters}
    crossing = [name for name in network.flows if links & set(network.path_of(name))]
    lead = next(iter(tuned or crossing))
    if not isinstance(objective, ShareRatio):
        return Comparison(lead, ())
    named = [one for one in (objective.numerator, objective.denominator) if one is not None]
    for name in named:
        network.flow_class(name)
    if named:
        return Comparison(named[0], tuple(named[1:]))
    if not tuned or len(network.flows) < 2:
        allowed = (
            "delay (with --min-utilisation), throughput (with --max-delay-ms), jain, worst-flow, "
            "or ratio=CLASS/CLASS, as no class is tuned against another"
        )
        raise InvalidInput("recommend", "--goal", allowed, Words("ratio without classes"))
    others = tuple(name for name in network.flows if name not in tuned)
    return Comparison(lead, others if len(tuned) > 1 else ())


def owner_of(parameter: Parameter) -> str:
    """Name of the class or link that a parameter belongs to."""
    return parameter.name.partition(".")[0]


def require_bounded(objective: Objective, constraints: Constraints) -> None:
    """Check that the goal of the smallest delay has a bound on the utilisation.

    Raises:
        InvalidInput: for the smallest delay without one, as an idle link has no delay.
    """
    if isinstance(objective, SmallestDelay) and constraints.utilisation is None:
        allowed = "given with the goal delay, as an idle link has no delay"
        raise InvalidInput("recommend", "--min-utilisation", allowed, Words("missing"))


def breaks_ties_by_delay(
    network: Network, parameters: Sequence[Parameter], objective: Objective
) -> bool:
    """Whether of equally good settings the one with the smallest queueing delay is taken.

    It is where a queue and something else, or two numbers of a queue, are tuned for another
    objective than delay or goodput. An idle link has no delay, so the utilisation is then bounded.
    """
    if isinstance(objective, (LargestGoodput, SmallestDelay)):
        return False
    return len(parameters) > 1 and any(owner_of(one) in network.links for one in parameters)


def make_program(
    evaluator: NetworkEvaluator,
    parameters: tuple[Parameter, ...],
    objective: Objective,
    constraints: Constraints,
) -> NonlinearProgram:
    """The nonlinear program of an objective on the fluid model, over any parameters.

    The fluid model is built for the largest buffers, so that its history holds every delay.
    """
    network, settings = evaluator.network, evaluator.settings
    largest = network
    for parameter in parameters:
        if isinstance(parameter, NamedParameter) and parameter.parameter.part is None:
            largest = parameter.with_value(largest, parameter.limits[1])
    times, lead = (settings.until, settings.warmup), evaluator.comparison.lead
    fluid = DifferentiableFluid(largest, parameters, *times, settings.report, lead)
    numbers = evaluator.comparison.numbers(network)
    tuned = np.zeros(len(fluid.count))
    for name, groups in zip(network.flows, fluid.classes, strict=True):
        tuned[groups] = numbers[name]

    def gain_margin_at(x: np.ndarray) -> float:
        """Gain margin of the equilibrium at logarithms x of the parameters."""
        return gain_margin(
            with_values(network, parameters, settable_values(network, parameters, x))
        )

    return NonlinearProgram(
        fluid,
        objective,
        constraints,
        tuned,
        fair=network.fair_share(),
        bounds=log_bounds(network, parameters),
        gain_margin=gain_margin_at,
        minimises_delay=isinstance(objective, SmallestDelay)
        or breaks_ties_by_delay(network, parameters, objective),
        feasibility_tolerance=0.0,
    )


def given_point(
    network: Network, parameters: Sequence[Parameter]
) -> Float[np.ndarray, " parameters"]:
    """Logarithms of the parameters' values in a network, clipped to the ranges that are tried."""
    pairs = [(one.value(network), *one.range(network)) for one in parameters]
    return np.log([min(max(value, low), high) for value, low, high in pairs])


def best_network(search: Search, shown: Mapping[Parameter, Influence]) -> Network:
    """The network with the values of least merit that a compass search on packets finds.

    It begins at the best setting measured before: one with a single number varied, or the best
    according to the corrected fluid model.

    Args:
        search: the numbers that matter.
        shown: by number, whether it has an influence, and its values that were measured.
    """
    network, parameters = search.network, search.parameters
    given = search.settable(given_point(network, parameters))
    starts = [given]
    for index, parameter in enumerate(parameters):
        for value in shown[parameter].tried:
            starts.append((*given[:index], value, *given[index + 1 :]))
    best = min(dict.fromkeys(starts), key=search.merit)
    if any(shown[one].in_fluid for one in parameters):
        guess = fluid_guess(search, given, best)
        best = min((best, guess), key=search.merit)
    values = compass_search(
        search.merit,
        search.settable,
        best,
        search.program.bounds,
        first_step=FIRST_STEP,
        last_step=LAST_STEP,
        max_evaluations=MAX_SETTINGS * len(parameters),
    )
    return with_values(network, parameters, values)


def fluid_guess(search: Search, given: Values, best: Values) -> Values:
    """Best values according to the fluid model, corrected by packets, in the parameters' units.

    The searches start at the values `given` and `best`. `best` itself is returned where the model
    cannot be integrated, or the values found are invalid.
    """
    starts = [np.log(values) for values in dict.fromkeys((given, best))]
    program, evaluator = search.program, search.evaluator
    try:
        found = map_to_packets(
            program, search.network, search.parameters, evaluator.packets, *starts
        )
    except (SolveFailed, InvalidInput):
        return best
    finally:
        evaluator.seconds["fluid"] += program.fluid.seconds
    return search.settable(found.x)


def goal_status(
    program: NonlinearProgram, after: EvaluatedNetwork, given: np.ndarray | None
) -> tuple[bool, str]:
    """Whether packets confirm the objective within the constraints, and if not, why.

    Args:
        program: objective and constraints.
        after: the recommended network, evaluated.
        given: logarithms of the given values, if none of the numbers has an influence; else None.
    """
    constraints, objective = program.constraints, program.objective
    values = after.packets.means()
    if constraints.gain_margin is not None:
        values["gain_margin"] = gain_margin(after.network)
    violated = constraints.violated(values)
    reasons = [violation_text(values, violated)] if violated else []
    if isinstance(objective, ShareRatio):
        ratio = after.packets.ratio
        if abs(math.log(ratio / objective.ratio)) > NEAR_ENOUGH:
            reasons.append(f"the ratio is {ratio:.3g}, not {objective.ratio:g}")
    if reasons and given is not None:
        reasons.insert(0, "the goal does not depend on the tuned parameters")
    return not reasons, "; ".join(reasons)


def tuned_number(
    parameter: Parameter, before: Network, after: Network, shown: Influence
) -> TunedNumber:
    """A tuned number with its values before and after.

    The difference of RED's thresholds is given as the upper threshold, packets.
    """
    name, (low, high) = parameter.name, parameter.range(before)
    given, best = parameter.value(before), parameter.value(after)
    if isinstance(parameter, RedParameter) and parameter.field == "spread":
        name = name.replace("spread", "max_thresh")
        lower = replace(parameter, field="min_thresh")
        given, best = given + lower.value(before), best + lower.value(after)
        low, high = low + lower.value(after), high + lower.value(after)
    return TunedNumber(name, low, high, given, best, shown.matters, shown.in_fluid)
