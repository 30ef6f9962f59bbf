"""A recommendation in the making: the simulators as judges, the search, the correction.

Found on the fluid model, measured on the packet simulator, corrected there: with a few runs first,
and with twice as many from the setting found, until the interval is narrow (retrospective
approximation, H. Chen and B. Schmeiser, "Stochastic root finding via retrospective approximation",
IIE Transactions 33(3), 2001; title page read).
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, cast

import jax.numpy as jnp

from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.fluid import record_fluid
from vegasfluid.network import Network
from vegasfluid.run_options import DEFAULT_SAMPLES
from vegasfluid.trajectory import Recording, class_means
from vegasfluid.tuning.initial_guess import PROPORTIONAL, begin
from vegasfluid.tuning.measurement import Measurement, measure, summary
from vegasfluid.tuning.scalar_root import FluidOptimum, search
from vegasfluid.tuning.settings import Report
from vegasfluid.tuning.stochastic_root import StochasticRoot, correct
from vegasfluid.tuning.thresholds import (
    DEAD_ZONE,
    dead_zone,
    largest_alpha,
    smallest_alpha,
    whole_if_needed,
    with_alpha,
)

__all__ = ["MOST_PACKETS", "MOST_RUNS", "Evaluator"]

MOST_RUNS, MOST_PACKETS = 160, 4e7
"""Of one setting. (A core sends some millions of packets a second.)"""
PRECISION = 0.05
"""Runs are added until half of the confidence interval is at most this, in log(ratio)."""
Setup = tuple[CongestionControl | QueueDiscipline, ...]


def setup_of(network: Network) -> Setup:
    """What of a network the search changes: the laws of its flows, and of its queues."""
    queues = (link.aqm for link in network.links.values())
    return (*(flows.law for flows in network.flows.values()), *queues)


@dataclass
class Evaluator:
    """A recommendation in the making: what is tuned, how it is judged, and the time it took.

    Args:
        network: as it was given.
        tuned: the class that is tuned.
        goal: the ratio that is aimed at.
        until: simulated time of each run, s.
        warmup: time that means leave out, s.
        seeds: of the packet runs at each setting, for now.
        report: called with a line about each step.
        zone: the usual beta - alpha, packets.
        others: the classes that the tuned one is compared with; none: all others.
        measured: what the packet simulator was asked, by the laws; jobs of one network share it.
        seconds: time spent, likewise.
        ran: the last run of the fluid, likewise.
    """

    network: Network
    tuned: str
    goal: float
    until: float
    warmup: float
    seeds: tuple[int, ...]
    report: Report
    zone: float = DEAD_ZONE
    others: tuple[str, ...] = ()
    measured: dict[Setup, Measurement] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=lambda: {"fluid": 0.0, "packets": 0.0})
    ran: deque[Recording] = field(default_factory=lambda: deque(maxlen=1))

    @property
    def law(self) -> Vegas:
        """The tuned class's law as it was given."""
        return self.law_in(self.network)

    def law_in(self, network: Network) -> Vegas:
        """The tuned class's law in a network."""
        return cast(Vegas, network.flows[self.tuned].law)

    def with_law(self, law: Vegas) -> Network:
        """The network with another law for the tuned class."""
        return self.network.with_law(self.tuned, law)

    def settle(self, alpha: float) -> float:
        """The nearest alpha that the dialect can hold."""
        return whole_if_needed(self.law, alpha)

    def with_alpha(self, alpha: Any, zone: float | None = None) -> Vegas:
        """The tuned class's law with another alpha, and the usual dead zone or another."""
        return with_alpha(self.law, alpha, self.zone if zone is None else zone)

    def evaluate_fluid(self, network: Network) -> dict[str, float]:
        """The fluid model's numbers for a network."""
        if not self.ran or self.ran[0].network is not network:
            begin = time.perf_counter()
            self.ran.append(record_fluid(network, self.until, DEFAULT_SAMPLES))
            self.seconds["fluid"] += time.perf_counter() - begin
        run = self.ran[0]
        numbers = summary(run, self.tuned, self.warmup, self.others)
        return numbers | {"cwnd": self.last_window(run)}

    def last_window(self, run: Recording) -> float:
        """The mean window of the tuned flows at the end of a run, packets."""
        last = class_means(run.network.counts, run.flows["cwnd"][-1:])[0]
        return float(last[list(run.network.flows).index(self.tuned)])

    def widen_zone(self, queueing_delay: float) -> None:
        """Take the dead zone that goes with a queueing delay, s."""
        self.zone = dead_zone(self.law, self.rtt_over_base(queueing_delay))

    def rtt_over_base(self, queueing_delay: float) -> float:
        """Round-trip time of the tuned flows over their base RTT."""
        return 1 + queueing_delay / self.network.mean_base_rtt(self.tuned)

    def evaluate_packets(self, network: Network) -> Measurement:
        """The packet simulator's numbers for a network, with the seeds of now."""
        setup = setup_of(network)
        known = self.measured.get(setup, Measurement(()))
        missing = self.seeds[len(known.runs) :]
        if not missing:
            return known.compared(network, self.tuned, self.others)
        begin = time.perf_counter()
        more = measure(network, self.tuned, missing, until=self.until, warmup=self.warmup)
        self.measured[setup] = known + more
        self.seconds["packets"] += time.perf_counter() - begin
        found = (known + more).compared(network, self.tuned, self.others)
        law = self.law_in(network)
        told = f"alpha {law.alpha:.4g}, beta {law.beta:.4g}, ratio {found.ratio:.3g}"
        self.report(f"packets: {told} ({len(found.runs)} runs)")
        return found

    def evaluate_law(self, law: Vegas) -> Measurement:
        """The packet simulator's numbers for a law of the tuned class."""
        return self.evaluate_packets(self.with_law(law))

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest alpha to try, packets."""
        return smallest_alpha(self.law), largest_alpha(self.network)

    def solve_on_fluid(self) -> FluidOptimum:
        """The alpha of the fluid model."""

        def ratio_at(alpha: float) -> float:
            between = jnp.asarray(alpha)  # an array need not be whole, as what a dialect holds
            ratio = self.evaluate_fluid(self.with_law(self.with_alpha(between)))["ratio"]
            self.report(f"fluid: alpha {alpha:.4g}, ratio {ratio:.4g}")
            return ratio

        beginning = begin(self.network, self.tuned, self.goal)
        return search(ratio_at, goal=self.goal, beginning=beginning, limits=self.limits)

    def solve_on_packets(self, optimum: FluidOptimum) -> StochasticRoot:
        """The setting that the packet simulator confirms, with as many runs as that takes."""
        start, slope = optimum.alpha, optimum.slope if optimum.reached else PROPORTIONAL
        while True:
            found = correct(
                lambda of: self.evaluate_law(self.with_alpha(*of)),
                self.settle,
                goal=self.goal,
                start=start,
                slope=slope,
                limits=self.limits,
                zone=self.zone,
                whole=self.law.implementation.whole_packets,
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
