"""The main job: which alpha and beta give Vegas flows their fair share, and no more?

Found on the fluid model, measured on the packet simulator, corrected there (`pursuit`, `job`).
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput
from vegasfluid.export import OperatingPoint, translate
from vegasfluid.network import Network, Spread
from vegasfluid.times import check_times
from vegasfluid.tuning.goals import Goal, ShareRatio
from vegasfluid.tuning.job import Job, Report
from vegasfluid.tuning.knobs import knobs_of
from vegasfluid.tuning.limits import NO_LIMITS, Limits
from vegasfluid.tuning.pursuit import pursue
from vegasfluid.tuning.recommendation import Judged, Recommendation
from vegasfluid.tuning.thresholds import dead_zone

__all__ = ["DEFAULT_RUNS", "make_job", "recommend", "tunable_class"]

DEFAULT_RUNS = 10
AS_BUSY = 0.99
"""Of the utilisation before: so much is kept where the queue is tuned."""


def tunable_class(network: Network, tune: str | None = None) -> str:
    """The class of Vegas flows to tune: the one named, or the only one there is.

    Raises:
        InvalidInput: where there is none, where it is not clear which, or nothing to compete with.
    """
    vegas = [name for name, flows in network.flows.items() if isinstance(flows.law, Vegas)]
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
    goal: Goal | None = None,
    limits: Limits = NO_LIMITS,
    tune_queue: bool = False,
    until: float = 200.0,
    warmup: float | None = None,
    runs: int = DEFAULT_RUNS,
    seed: int = 1,
    report: Report = lambda message: None,
) -> Recommendation:
    """Find the Vegas parameters at which a Vegas flow gets `ratio` times another flow's goodput.

    Args:
        network: one link, a class of Vegas flows and at least one other class.
        tune: the class to tune; None: the only Vegas class.
        ratio: goodput of a tuned flow over that of a flow of the other classes.
        goal: another goal than this ratio.
        limits: what must be kept to, whatever the goal.
        tune_queue: whether RED's thresholds and max_drop are tuned, too: of all settings that are
            as good, for the smallest queueing delay. The link then is used at least to 99 % of what
            it was, unless the limits say otherwise.
        until: simulated time of each run, s.
        warmup: time that means leave out, s; a quarter of the run where it is None.
        runs: packet runs with seeds of their own at each setting, at least 2; more are made where
            they tell too little.
        seed: the first of these seeds.
        report: called with a line about each step.

    Returns:
        The parameters, what both simulators say of them, and whether the goal was reached.

    Raises:
        InvalidInput: where there is nothing to tune or to compare with, or what is asked for cannot
            be told of this network.
        SolveFailed: where the fluid model cannot be integrated.
    """
    goal = ShareRatio(ratio) if goal is None else goal
    aimed = goal.ratio if isinstance(goal, ShareRatio) else 1.0
    job = make_job(network, tune, aimed, until, warmup, runs, seed, report)
    knobs_of(network, job.tuned, job.zone, tune_queue)
    return recommended(job, goal, limits, tune_queue)


def recommended(job: Job, goal: Goal, limits: Limits, tune_queue: bool) -> Recommendation:
    """Judge what is there, pursue the goal, and judge what was found."""
    network = job.network
    begin = time.perf_counter()
    with ThreadPoolExecutor(1) as aside:  # one engine compiles while the other runs
        packets_before = aside.submit(job.judge_packets, network)
        fluid_before = job.judge_fluid(network)
        job.zone = dead_zone(job.law, job.rtt_over_base(fluid_before["queueing_delay_s"]))
        if tune_queue and limits.utilisation is None:
            busy = AS_BUSY * packets_before.result().means()["utilisation"]
            limits = replace(limits, utilisation=busy)
        ended = pursue(job, goal, limits, tune_queue)
        packets_before.result()
    law = job.law_in(ended.network)
    after = Judged(law, job.judge_fluid(ended.network), job.judge_packets(ended.network))
    before = Judged(job.law, fluid_before, job.judge_packets(network))  # of the same seeds
    settings, missing = translate(law, operating_point(job, after))
    job.seconds["total"] = time.perf_counter() - begin
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
    )


def make_job(
    network: Network,
    tune: str | None,
    ratio: float,
    until: float,
    warmup: float | None,
    runs: int,
    seed: int,
    report: Report,
) -> Job:
    """Check what was asked for."""
    if not 0 < ratio < float("inf"):
        raise InvalidInput("recommend", "ratio", "above 0 and finite", ratio)
    if runs < 2:
        raise InvalidInput("recommend", "runs", "at least 2, for a confidence interval", runs)
    warmup = check_times(until, warmup, samples=2)
    check_starts(network, until)
    seeds = tuple(range(seed, seed + runs))
    return Job(network, tunable_class(network, tune), ratio, until, warmup, seeds, report)


def check_starts(network: Network, until: float) -> None:
    """Every class must send during the run: where nothing is sent there is no ratio."""
    for name, flows in network.flows.items():
        start = 0.0 if isinstance(flows.start, Spread) else np.min(flows.start)
        if start >= until:
            allowed = f"below the simulated time ({until:g} s)"
            raise InvalidInput(f"flows.{name}", "start", allowed, float(start))


def operating_point(job: Job, judged: Judged) -> OperatingPoint:
    """Where the tuned flows are, as the packets have it."""
    means = judged.packets.means()
    ratio = job.rtt_over_base(means["queueing_delay_s"])
    return OperatingPoint(ratio, judged.fluid["cwnd"], means["drop_share"])
