"""The main job: which alpha and beta give Vegas flows their fair share, and no more?

Found on the fluid model by gradient search, measured on the packet simulator, corrected there: with
a few runs first, and with twice as many from the setting found, until the interval is narrow
(retrospective approximation, H. Chen and B. Schmeiser, "Stochastic root finding via retrospective
approximation", IIE Transactions 33(3), 2001; title page read).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, cast

import jax.numpy as jnp
import numpy as np

from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput
from vegasfluid.export import OperatingPoint, translate
from vegasfluid.fluid import record_fluid
from vegasfluid.network import Network, Spread
from vegasfluid.times import DEFAULT_SAMPLES, check_times
from vegasfluid.trajectory import Recording, class_means
from vegasfluid.tuning.beginning import PROPORTIONAL, begin
from vegasfluid.tuning.correction import Correction, correct
from vegasfluid.tuning.fluid_search import FluidOptimum, search
from vegasfluid.tuning.measurement import Measurement, measure, summary
from vegasfluid.tuning.recommendation import Judged, Recommendation
from vegasfluid.tuning.thresholds import (
    DEAD_ZONE,
    dead_zone,
    largest_alpha,
    smallest_alpha,
    whole_if_needed,
    with_alpha,
)

__all__ = ["recommend", "tunable_class"]

DEFAULT_RUNS = 10
MOST_RUNS, MOST_PACKETS = 160, 4e7
"""Of one setting. (A core sends some millions of packets a second.)"""
PRECISION = 0.05
"""Runs are added until half of the confidence interval is at most this, in log(ratio)."""
Report = Callable[[str], None]


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


@dataclass
class Job:
    """A recommendation in the making: what is tuned, how it is judged, and the time it took."""

    network: Network
    tuned: str
    goal: float
    until: float
    warmup: float
    seeds: tuple[int, ...]
    report: Report
    zone: float = DEAD_ZONE
    measured: dict[Vegas, Measurement] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=lambda: {"fluid": 0.0, "packets": 0.0})

    @property
    def law(self) -> Vegas:
        """The tuned class's law as it was given."""
        return cast(Vegas, self.network.flows[self.tuned].law)

    def with_law(self, law: Vegas) -> Network:
        """The network with another law for the tuned class."""
        return self.network.with_law(self.tuned, law)

    def settle(self, alpha: float) -> float:
        """The nearest alpha that the dialect can hold."""
        return whole_if_needed(self.law, alpha)

    def with_alpha(self, alpha: Any, zone: float | None = None) -> Vegas:
        """The tuned class's law with another alpha, and the usual dead zone or another."""
        return with_alpha(self.law, alpha, self.zone if zone is None else zone)

    def judge_fluid(self, law: Vegas) -> dict[str, float]:
        """The fluid model's numbers for a law."""
        begin = time.perf_counter()
        run = record_fluid(self.with_law(law), self.until, DEFAULT_SAMPLES)
        self.seconds["fluid"] += time.perf_counter() - begin
        return summary(run, self.tuned, self.warmup) | {"cwnd": self.last_window(run)}

    def last_window(self, run: Recording) -> float:
        """The mean window of the tuned flows at the end of a run, packets."""
        last = class_means(run.network.counts, run.flows["cwnd"][-1:])[0]
        return float(last[list(run.network.flows).index(self.tuned)])

    def rtt_over_base(self, queueing_delay: float) -> float:
        """Round-trip time of the tuned flows over their base RTT."""
        return 1 + queueing_delay / self.network.mean_base_rtt(self.tuned)

    def judge_packets(self, law: Vegas) -> Measurement:
        """The packet simulator's numbers for a law, with the seeds of now."""
        known = self.measured.get(law, Measurement(()))
        missing = self.seeds[len(known.runs) :]
        if not missing:
            return known
        begin = time.perf_counter()
        network = self.with_law(law)
        more = measure(network, self.tuned, missing, until=self.until, warmup=self.warmup)
        self.measured[law] = known = Measurement(known.runs + more.runs)
        self.seconds["packets"] += time.perf_counter() - begin
        told = f"alpha {law.alpha:.4g}, beta {law.beta:.4g}, ratio {known.ratio:.3g}"
        self.report(f"packets: {told} ({len(known.runs)} runs)")
        return known

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest alpha to try, packets."""
        return smallest_alpha(self.law), largest_alpha(self.network)

    def search_fluid(self) -> FluidOptimum:
        """The alpha of the fluid model."""

        def ratio_at(alpha: float) -> float:
            between = jnp.asarray(alpha)  # an array need not be whole, as what a dialect holds
            ratio = self.judge_fluid(self.with_alpha(between))["ratio"]
            self.report(f"fluid: alpha {alpha:.4g}, ratio {ratio:.4g}")
            return ratio

        beginning = begin(self.network, self.tuned, self.goal)
        return search(ratio_at, goal=self.goal, beginning=beginning, limits=self.limits)

    def correct_on_packets(self, optimum: FluidOptimum) -> Correction:
        """The setting that the packet simulator confirms, with as many runs as that takes."""
        start, slope = optimum.alpha, optimum.slope if optimum.reached else PROPORTIONAL
        while True:
            found = correct(
                lambda of: self.judge_packets(self.with_alpha(*of)),
                self.settle,
                goal=self.goal,
                start=start,
                slope=slope,
                limits=self.limits,
                zone=self.zone,
                whole=self.law.spoken.whole_packets,
            )
            precise = found.measurements[found.best].half_width <= PRECISION
            if precise or found.certain or not self.run_more():
                return found
            start = found.best.alpha

    def run_more(self) -> bool:
        """Twice as many runs from here on, if these are not too many."""
        runs = 2 * len(self.seeds)
        packets = runs * self.until * sum(link.capacity for link in self.network.links.values())
        if runs > MOST_RUNS or packets > MOST_PACKETS:
            return False
        self.seeds = tuple(range(self.seeds[0], self.seeds[0] + runs))
        return True


def recommend(
    network: Network,
    tune: str | None = None,
    *,
    ratio: float = 1.0,
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
        until: simulated time of each run, s.
        warmup: time that the ratio leaves out, s; a quarter of the run where it is None.
        runs: packet runs with seeds of their own at each setting, at least 2; more are made where
            they tell too little.
        seed: the first of these seeds.
        report: called with a line about each step.

    Returns:
        The parameters, what both simulators say of them, and whether the goal was reached.

    Raises:
        InvalidInput: where there is nothing to tune or to compare with.
        SolveFailed: where the fluid model cannot be integrated.
    """
    job = make_job(network, tune, ratio, until, warmup, runs, seed, report)
    begin = time.perf_counter()
    with ThreadPoolExecutor(1) as aside:  # one engine compiles while the other runs
        packets_before = aside.submit(job.judge_packets, job.law)
        fluid_before = job.judge_fluid(job.law)
        job.zone = dead_zone(job.law, job.rtt_over_base(fluid_before["queueing_delay_s"]))
        optimum = job.search_fluid()
        before = Judged(job.law, fluid_before, packets_before.result())
    correction = job.correct_on_packets(optimum)
    law = job.with_alpha(*correction.best)
    after = Judged(law, job.judge_fluid(law), job.judge_packets(law))
    before = replace(before, packets=job.judge_packets(job.law))  # of the same seeds
    settings, missing = translate(law, operating_point(job, after))
    job.seconds["total"] = time.perf_counter() - begin
    return Recommendation(
        network=job.with_law(law),
        tuned=job.tuned,
        goal=ratio,
        reached=correction.reached,
        reason=correction.reason,
        before=before,
        after=after,
        optimum=optimum,
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
