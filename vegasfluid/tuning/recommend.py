"""Recommend alpha and beta at which Vegas flows get their fair share, or another objective.

What was given is evaluated on both simulators, a setting is found on the fluid model and corrected
on packets (`optimise`; over ranges `minimax`), and the result is evaluated on both.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import Any, NamedTuple, Unpack, overload

from vegasfluid.errors import InvalidInput, Unsupported, Words
from vegasfluid.export import translate
from vegasfluid.network import Network, require_network
from vegasfluid.ranges import Range
from vegasfluid.tuning.constraints import NO_CONSTRAINTS, Constraints
from vegasfluid.tuning.evaluate import EvaluationCache, Evaluator, make_evaluator
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.minimax import minimise_regret
from vegasfluid.tuning.number_result import NumberRecommendation
from vegasfluid.tuning.objectives import Objective, ShareRatio, is_fairness
from vegasfluid.tuning.optimise import OptimisationResult, optimise
from vegasfluid.tuning.parameters import (
    is_parameter_name,
    queue_names,
    tunable_class,
    tuned_parameters,
    vegas_classes,
)
from vegasfluid.tuning.result import (
    Evaluation,
    JointRecommendation,
    Recommendation,
    RobustRecommendation,
)
from vegasfluid.tuning.scenarios import Substitution, make_scenarios
from vegasfluid.tuning.settings import RunSettings
from vegasfluid.tuning.slow_start import SlowStart, tune_gamma_of_class

__all__ = ["Request", "numbers_to_tune", "recommend"]


class Options(RunSettings, total=False):
    """Keyword arguments of `recommend` except `ranges` and `substitute`, with the same meaning.

    With ranges of uncertain numbers, the goodput ratio of one class is optimised for its worst case
    over them; `substitute` makes the network with other values of these numbers.
    """

    ratio: float
    objective: Objective | None
    constraints: Constraints
    tune_queue: bool
    tune_gamma: bool


class Request(NamedTuple):
    """What `recommend` shall reach and tune, besides classes and run settings.

    Args:
        objective: a goodput ratio, or fairness among all flows.
        constraints: bounds on delay, drops, utilisation and gain margin.
        tune_queue: whether RED's thresholds and max_drop are tuned, too.
        tune_gamma: whether the threshold of slow start is tuned, too.
    """

    objective: Objective
    constraints: Constraints
    tune_queue: bool
    tune_gamma: bool


@overload
def recommend(
    network: Network, tune: str | None = None, **options: Unpack[Options]
) -> Recommendation: ...


@overload
def recommend(
    network: Network, tune: tuple[str, ...] | list[str], **options: Unpack[Options]
) -> Any: ...  # a JointRecommendation for classes, a NumberRecommendation for numbers


@overload
def recommend(
    network: Network,
    tune: str | None = None,
    *,
    ranges: Mapping[str, Range],
    substitute: Substitution,
    **options: Unpack[Options],
) -> RobustRecommendation: ...


def recommend(
    network: Network,
    tune: str | tuple[str, ...] | list[str] | None = None,
    *,
    ratio: float = 1.0,
    objective: Objective | None = None,
    constraints: Constraints = NO_CONSTRAINTS,
    ranges: Mapping[str, Range] | None = None,
    substitute: Substitution | None = None,
    tune_queue: bool = False,
    tune_gamma: bool = False,
    **settings: Unpack[RunSettings],
) -> Recommendation | JointRecommendation | NumberRecommendation:
    """Recommend Vegas parameters, or other numbers of a network, that are best for an objective.

    By default: alpha and beta at which a Vegas flow gets `ratio` times another flow's goodput.

    Args:
        network: classes of Vegas flows and at least one class that is not tuned.
        tune: a Vegas class; or a list of Vegas classes (empty: all) and numbers, such as
            `cubic.beta` or `bottleneck.buffer_packets=10:200`; None: the only Vegas class.
        ratio: goodput of a tuned flow over that of a flow of the classes that are not tuned.
        objective: an objective instead of this ratio, such as `JainIndex()`; None: the ratio.
        constraints: bounds that must be met, whatever the objective.
        ranges: of uncertain numbers of the network, by names such as `reno.base_rtt_ms`, in the
            units of the names; the worst case over them is optimised. Only a ratio of one class
            can be asked for then.
        substitute: returns the network with other values of these numbers, such as
            `partial(modelfile.parameters.with_values, network)`.
        tune_queue: whether RED's thresholds and max_drop are tuned, too; of equally good settings
            the one with the smallest queueing delay is taken. The utilisation must be at least 99 %
            of what it was, unless the constraints bound it, or the objective is the goodput.
        tune_gamma: whether gamma is tuned, too, so that flows have their share from the start.
        settings: `until` and `warmup` (s), `runs`, `seed` and `report`, see `RunSettings`.

    Returns:
        Alpha, beta and gamma (packets), means of both simulators with the given and the recommended
        parameters, and whether the objective was reached. A `JointRecommendation` if `tune` is a
        list of classes; a `NumberRecommendation` if it names numbers, there is no Vegas class, or
        the objective is delay, goodput or a ratio of a named class; a `RobustRecommendation` with
        ranges (reached where the worst scenario is within a factor of 1.25 of the target).

    Raises:
        InvalidInput: for nothing to tune or compare with, or a request that does not apply here.
        Unsupported: for a number that is no setting, or named numbers with ranges or `tune_gamma`.
        SolveFailed: where the fluid model cannot be integrated.
    """
    objective = ShareRatio(ratio) if objective is None else objective
    request = Request(objective, constraints, tune_queue, tune_gamma)
    if numbers := numbers_to_tune(network, tune, request, ranges is not None):
        from vegasfluid.tuning.tuned_numbers import recommend_numbers  # reads names as files do

        return recommend_numbers(network, numbers, objective, constraints, settings)
    if ranges is not None:
        return recommend_over_ranges(network, tune, ranges, substitute, request, settings)
    if isinstance(tune, (list, tuple)):
        names = tuple(dict.fromkeys(tune or vegas_classes(network)))
        return JointRecommendation(recommend_classes(network, names, request, settings))
    name = tunable_class(network, tune)
    return recommend_classes(network, (name,), request, settings)[name]


def numbers_to_tune(
    network: Network,
    tune: str | tuple[str, ...] | list[str] | None,
    request: Request,
    over_ranges: bool = False,
) -> list[str]:
    """Names of the numbers to tune; empty where Vegas parameters are tuned for fairness instead.

    Numbers are tuned where a list names one, where the objective is delay, total goodput or the
    ratio of a named class, and where RED is tuned in a network without Vegas.

    Raises:
        InvalidInput: where there is nothing to tune.
        Unsupported: for `tune_gamma` beside numbers, or numbers over ranges.
    """
    require_network("recommend", network)
    names = list(tune) if isinstance(tune, (list, tuple)) else [] if tune is None else [tune]
    by_objective = not is_fairness(request.objective)
    by_name = isinstance(tune, (list, tuple)) and any(
        is_parameter_name(network, name) for name in names
    )
    vegas = vegas_classes(network)
    if not (by_name or by_objective or (request.tune_queue and not vegas)):
        return []
    if over_ranges:
        raise Unsupported(
            "recommend",
            "tuning named parameters over ranges",
            "only alpha can be tuned over ranges",
        )
    if request.tune_gamma:
        reason = "tune CLASS.gamma_packets instead"
        raise Unsupported("recommend", "tune_gamma with named parameters", reason)
    names = names or ([] if request.tune_queue and not vegas else vegas)
    names += queue_names(network) if request.tune_queue else []
    if not names:
        allowed = "given, as one or more of OWNER.PARAMETER, where there is no Vegas class"
        raise InvalidInput("recommend", "tune", allowed, Words("missing"))
    return names


def recommend_classes(
    network: Network, names: tuple[str, ...], request: Request, settings: RunSettings
) -> dict[str, Recommendation]:
    """Tune one or several classes of one network and evaluate the result on both simulators.

    Args:
        network: with the parameters that were given.
        names: of the tuned classes.
        request: objective, constraints, and what is tuned besides alpha.
        settings: duration, warm-up (s), runs and seed.

    Returns:
        A recommendation for each tuned class, by its name; all have the same network.

    Raises:
        InvalidInput: where a class cannot be tuned, or something requested does not apply.
        SolveFailed: where the fluid model cannot be integrated.
    """
    begin = time.perf_counter()
    evaluators = make_evaluators(network, names, request.objective, settings)
    lead, queue = evaluators[0], request.tune_queue
    tuned_parameters(network, {one.tuned: one.dead_band for one in evaluators}, queue)  # validates
    with ThreadPoolExecutor(1) as background:  # one engine compiles while the other runs
        packets = background.submit(lead.evaluate_packets, network)
        fluid = {one.tuned: one.evaluate_fluid(network) for one in evaluators}
        for one in evaluators:
            one.widen_dead_band(fluid[one.tuned]["queueing_delay_s"])
        if queue:
            utilisation = packets.result().means()["utilisation"]
            constraints = request.constraints.with_utilisation_kept(utilisation)
            request = request._replace(constraints=constraints)
        results = optimise(evaluators, request.objective, request.constraints, queue)
        packets.result()
    network, starts = results[0].network, dict[str, SlowStart]()
    for one in evaluators if request.tune_gamma else []:
        network, starts[one.tuned] = tune_gamma_of_class(one, network)
    parts = {}
    for one, result in zip(evaluators, results, strict=True):
        after = one.evaluate_fluid(network), one.evaluate_packets(network)
        before = Evaluation(one.law, fluid[one.tuned], one.evaluate_packets(one.network))
        result = result._replace(network=network)
        start = starts.get(one.tuned)
        parts[one.tuned] = conclude(one, request, result, before, after, start)
    lead.cache.seconds["total"] = time.perf_counter() - begin
    return parts


def make_evaluators(
    network: Network, names: tuple[str, ...], objective: Objective, settings: RunSettings
) -> list[Evaluator]:
    """One evaluator for each tuned class, with a shared cache of runs.

    The target is the objective's ratio, or 1. Ratios compare a tuned flow with flows of the classes
    that are not tuned.

    Raises:
        InvalidInput: where no class is tuned, a class cannot be, or all are.
    """
    if not names:
        raise InvalidInput("recommend", "the number of Vegas classes", "at least 1", 0)
    tuned = [tunable_class(network, name) for name in names]
    others = tuple(name for name in network.flows if name not in tuned)
    if not others:
        allowed = "only some of the classes, as tuned flows are compared with other flows"
        raise InvalidInput("recommend", "tune", allowed, ", ".join(names))
    compared = others if len(tuned) > 1 else ()
    target = objective.ratio if isinstance(objective, ShareRatio) else 1.0
    cache = EvaluationCache()
    return [make_evaluator(network, name, target, settings, compared, cache) for name in tuned]


def conclude(
    evaluator: Evaluator,
    request: Request,
    result: OptimisationResult,
    before: Evaluation,
    after: tuple[dict[str, float], Measurement],
    start: SlowStart | None = None,
) -> Recommendation:
    """Put together the recommendation for one class, with equivalent settings for other systems.

    Args:
        evaluator: of the class.
        request: objective, constraints, and what was tuned.
        result: of the search, with the recommended network.
        before: the given parameters, evaluated.
        after: summary of the fluid run and packet runs of the recommended network.
        start: effect of another gamma on slow start, if it was tuned.
    """
    law, (fluid, packets) = evaluator.law_in(result.network), after
    settings, missing = translate(law, evaluator.operating_point(fluid["cwnd"], packets))
    return Recommendation(
        network=result.network,
        tuned=evaluator.tuned,
        objective=request.objective,
        constraints=request.constraints,
        queue_tuned=request.tune_queue,
        reached=result.reached,
        reason=result.reason,
        before=before,
        after=Evaluation(law, fluid, packets),
        optimum=result.optimum,
        settings=settings,
        settings_missing=missing,
        start=start,
        others=evaluator.others,
        seconds=evaluator.cache.seconds,
    )


def recommend_over_ranges(
    network: Network,
    tune: str | tuple[str, ...] | list[str] | None,
    ranges: Mapping[str, Range],
    substitute: Substitution | None,
    request: Request,
    settings: RunSettings,
) -> RobustRecommendation:
    """Find the parameters (packets) of one class with the smallest worst-case regret over ranges.

    The regret in a network is how much farther its log(ratio / target) is from 0 than with the
    best alpha for this network (no unit). The nominal network is tuned first, for comparison.

    Args:
        network: the nominal one.
        tune: name of the class to tune; None: the only Vegas class. A list is an error.
        ranges: of uncertain numbers, by names such as `reno.base_rtt_ms`, in the units of the
            names.
        substitute: returns the network with other values of these numbers.
        request: must ask for a ratio only.
        settings: duration, warm-up (s), runs and seed.

    Raises:
        InvalidInput: where something besides a ratio of one class is requested.
        SolveFailed: where a fluid model cannot be integrated.
    """
    begin = time.perf_counter()
    objective = require_only_ratio(request)
    if substitute is None:
        raise InvalidInput("recommend", "substitute", "given with ranges", Words("missing"))
    if isinstance(tune, (list, tuple)):
        raise InvalidInput("recommend", "tune", "one class over ranges", ", ".join(tune))
    scenarios = make_scenarios(network, ranges, substitute)
    evaluator = make_evaluator(network, tunable_class(network, tune), objective.ratio, settings)
    report = evaluator.settings.report
    prefixed = RunSettings(report=lambda line: report(f"nominal: {line}"))
    classes = (evaluator.tuned,)
    nominal = recommend_classes(network, classes, request, settings | prefixed)[evaluator.tuned]
    evaluator.widen_dead_band(nominal.before.fluid["queueing_delay_s"])
    result, robustness, packet_seconds = minimise_regret(evaluator, scenarios, ranges, nominal)
    after = evaluator.evaluate_fluid(result.network), robustness.nominal.packets
    recommendation = conclude(evaluator, request, result, nominal.before, after)
    seconds = {
        "total": time.perf_counter() - begin,
        "fluid": nominal.seconds["fluid"] + evaluator.cache.seconds["fluid"],
        "packets": nominal.seconds["packets"] + packet_seconds,
    }
    values: dict[str, Any] = {
        one.name: getattr(recommendation, one.name) for one in fields(recommendation)
    }
    values["seconds"] = seconds
    return RobustRecommendation(**values, robust=robustness)


def require_only_ratio(request: Request) -> ShareRatio:
    """The objective of a request over ranges, which must be a goodput ratio.

    Raises:
        InvalidInput: for another objective, constraints, or tuning of the queue or gamma.
    """
    objective, constraints, tune_queue, tune_gamma = request
    others = {
        "objective": not isinstance(objective, ShareRatio),
        "constraints": bool(constraints.each),
        "tune_queue": tune_queue,
        "tune_gamma": tune_gamma,
    }
    given = [name for name, value in others.items() if value]
    if given or not isinstance(objective, ShareRatio):
        allowed = "left out for a model with ranges: over ranges, only alpha is tuned, for a ratio"
        raise InvalidInput("recommend", given[0], allowed, Words("given"))
    return objective
