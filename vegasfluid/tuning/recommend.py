"""The main job: which alpha and beta give Vegas flows their fair share, and no more?

Found on the fluid model, measured on the packet simulator, corrected there (`pursuit`, `job`).
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Unpack

from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput
from vegasfluid.export import OperatingPoint, translate
from vegasfluid.model import check_starts
from vegasfluid.network import Network, require_network
from vegasfluid.tuning.constraints import NO_CONSTRAINTS, Constraints
from vegasfluid.tuning.evaluate import Evaluator
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.objectives import Objective, ShareRatio
from vegasfluid.tuning.optimise import OptimisationResult, optimise
from vegasfluid.tuning.parameters import tuned_parameters
from vegasfluid.tuning.result import Evaluation, Recommendation
from vegasfluid.tuning.settings import RunSettings, checked
from vegasfluid.tuning.slow_start import SlowStart, tune_gamma_of

__all__ = ["as_busy", "concluded", "make_evaluator", "operating_point", "recommend"]
__all__ += ["recommended", "tunable_class", "vegas_classes"]

AS_BUSY = 0.99
"""Of the utilisation before: so much is kept where the queue is tuned."""


def vegas_classes(network: Network) -> list[str]:
    """The classes of Vegas flows."""
    return [name for name, flows in network.flows.items() if isinstance(flows.law, Vegas)]


def tunable_class(network: Network, tune: str | None = None) -> str:
    """The class of Vegas flows to tune: the one named, or the only one there is.

    Raises:
        InvalidInput: where there is none, where it is not clear which, or nothing to compete with.
    """
    require_network("recommend", network)
    vegas = vegas_classes(network)
    if tune is not None and tune not in vegas:
        allowed = "a class of Vegas flows" + (f" ({', '.join(vegas)})" if vegas else "")
        raise InvalidInput("recommend", "tune", allowed, tune)
    if not vegas:
        given = ", ".join(flows.law.name for flows in network.flows.values())
        raise InvalidInput("recommend", "the law of a class", "vegas, to have one to tune", given)
    if tune is None and len(vegas) > 1:
        raise InvalidInput("recommend", "tune", f"given: one of {', '.join(vegas)}", "missing")
    if len(network.flows) < 2:
        raise InvalidInput("recommend", "flows", "two classes or more, to compare", "one class")
    return tune or vegas[0]


def recommend(
    network: Network,
    tune: str | None = None,
    *,
    ratio: float = 1.0,
    goal: Objective | None = None,
    limits: Constraints = NO_CONSTRAINTS,
    tune_queue: bool = False,
    tune_gamma: bool = False,
    **trial: Unpack[RunSettings],
) -> Recommendation:
    """Find the Vegas parameters at which a Vegas flow gets `ratio` times another flow's goodput.

    Args:
        network: a class of Vegas flows and at least one other class.
        tune: the class to tune; None: the only Vegas class.
        ratio: goodput of a tuned flow over that of a flow of the other classes.
        goal: another goal than this ratio.
        limits: what must be kept to, whatever the goal.
        tune_queue: whether RED's thresholds and max_drop are tuned, too: of all settings that are
            as good, for the smallest queueing delay. The link then is used at least to 99 % of what
            it was, unless the limits say otherwise.
        tune_gamma: whether gamma is tuned, too, so that flows have their share from the start.
        trial: how long and how often each setting is run, see `RunSettings`.

    Returns:
        The parameters, what both simulators say of them, and whether the goal was reached.

    Raises:
        InvalidInput: where there is nothing to tune or to compare with, or what is asked for cannot
            be told of this network.
        SolveFailed: where the fluid model cannot be integrated.
    """
    goal = ShareRatio(ratio) if goal is None else goal
    aimed = goal.ratio if isinstance(goal, ShareRatio) else 1.0
    job = make_evaluator(network, tunable_class(network, tune), aimed, trial)
    tuned_parameters(network, {job.tuned: job.zone}, tune_queue)
    return recommended(job, goal, limits, tune_queue, tune_gamma)


def recommended(
    job: Evaluator, goal: Objective, limits: Constraints, tune_queue: bool, tune_gamma: bool
) -> Recommendation:
    """Judge what is there, optimise the goal, and judge what was found."""
    network = job.network
    begin = time.perf_counter()
    with ThreadPoolExecutor(1) as aside:  # one engine compiles while the other runs
        packets_before = aside.submit(job.evaluate_packets, network)
        fluid_before = job.evaluate_fluid(network)
        job.widen_zone(fluid_before["queueing_delay_s"])
        if tune_queue:
            limits = as_busy(limits, packets_before.result())
        ended = optimise(job, goal, limits, tune_queue)
        packets_before.result()
    start = None
    if tune_gamma:
        network, start = tune_gamma_of(job, ended.network)
        ended = ended._replace(network=network)
    found = concluded(job, ended, fluid_before, goal, limits, tune_queue, start)
    job.seconds["total"] = time.perf_counter() - begin
    return found


def concluded(
    job: Evaluator,
    ended: OptimisationResult,
    fluid_before: dict[str, float],
    goal: Objective,
    limits: Constraints,
    tune_queue: bool,
    start: SlowStart | None,
) -> Recommendation:
    """Judge what was found, beside what was there."""
    law = job.law_in(ended.network)
    after = Evaluation(law, job.evaluate_fluid(ended.network), job.evaluate_packets(ended.network))
    before = Evaluation(
        job.law, fluid_before, job.evaluate_packets(job.network)
    )  # of the same seeds
    settings, missing = translate(law, operating_point(job, after))
    return Recommendation(
        network=ended.network,
        tuned=job.tuned,
        goal=goal,
        limits=limits,
        queue_tuned=tune_queue,
        reached=ended.reached,
        reason=ended.reason,
        before=before,
        after=after,
        optimum=ended.optimum,
        settings=settings,
        settings_missing=missing,
        seconds=job.seconds,
        start=start,
        others=job.others,
    )


def as_busy(limits: Constraints, before: Measurement) -> Constraints:
    """The limits, by which the link is to be used nearly as before if they say nothing of it."""
    if limits.utilisation is not None:
        return limits
    return replace(limits, utilisation=AS_BUSY * before.means()["utilisation"])


def make_evaluator(network: Network, tuned: str, ratio: float, trial: RunSettings) -> Evaluator:
    """Check what was asked for."""
    if not 0 < ratio < float("inf"):
        raise InvalidInput("recommend", "ratio", "above 0 and finite", ratio)
    until, warmup, seeds, report = checked(trial)
    check_starts(network, until)
    return Evaluator(network, tuned, ratio, until, warmup, seeds, report)


def operating_point(job: Evaluator, judged: Evaluation) -> OperatingPoint:
    """Where the tuned flows are, as the packets have it."""
    means = judged.packets.means()
    ratio = job.rtt_over_base(means["queueing_delay_s"])
    return OperatingPoint(ratio, judged.fluid["cwnd"], means["drop_share"])
