"""Evaluate settings of a tuned class on the fluid model and on the packet simulator, once each."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any, cast

from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput
from vegasfluid.export import OperatingPoint
from vegasfluid.fluid import record_fluid
from vegasfluid.model import check_starts
from vegasfluid.network import Network
from vegasfluid.run_options import DEFAULT_SAMPLES
from vegasfluid.trajectory import Recording, class_means
from vegasfluid.tuning.constraints import FEASIBILITY_TOLERANCE, Constraint, Constraints
from vegasfluid.tuning.measurement import Measurement, measure, summary
from vegasfluid.tuning.parameters import (
    DEAD_BAND,
    dead_band,
    largest_alpha,
    smallest_alpha,
    whole_if_needed,
    with_alpha,
)
from vegasfluid.tuning.settings import ResolvedSettings, RunSettings, resolve_settings

__all__ = ["EvaluationCache", "Evaluator", "doubled_seeds", "gain_margin"]
__all__ += ["make_evaluator"]

MAX_RUNS = 160
"""Packet runs of one setting, at most."""
MAX_PACKETS = 4e7
"""Packets of all runs of one setting, at most (a core simulates some millions a second)."""
SettingKey = tuple[CongestionControl | QueueDiscipline, ...]
"""What a search changes in a network: congestion controls and queue disciplines."""


def setting_key(network: Network) -> SettingKey:
    """Key of a network in the cache: its congestion controls and queue disciplines."""
    queues = (link.aqm for link in network.links.values())
    return (*(flows.law for flows in network.flows.values()), *queues)


def gain_margin(network: Network) -> float:
    """Factor by which the loop gain may grow before the equilibrium becomes unstable.

    Raises:
        InvalidInput: for networks without an equilibrium.
        SolveFailed: where the equilibrium is not found.
    """
    from vegasfluid.analysis import equilibrium, stability  # seconds, that most searches do without

    margin = stability(equilibrium(network)).gain_margin
    return math.inf if margin is None else float(margin)


def doubled_seeds(
    seeds: tuple[int, ...], until: float, packets_per_s: float
) -> tuple[int, ...] | None:
    """Seeds for twice as many runs, or None where these would be too many.

    Args:
        seeds: consecutive numbers.
        until: simulated time of a run, s.
        packets_per_s: capacity of all simulated links.
    """
    runs = 2 * len(seeds)
    if runs > MAX_RUNS or runs * until * packets_per_s > MAX_PACKETS:
        return None
    return tuple(range(seeds[0], seeds[0] + runs))


@dataclass(eq=False)
class EvaluationCache:
    """Results of both simulators for networks that differ in control and queue parameters only.

    Args:
        packets: measurements, by setting.
        fluid: the last fluid run.
        seconds: wall time spent in each simulator, s.
    """

    packets: dict[SettingKey, Measurement] = field(default_factory=dict)
    fluid: Recording | None = None
    seconds: dict[str, float] = field(default_factory=lambda: {"fluid": 0.0, "packets": 0.0})


class Evaluator:
    """Evaluates settings of one tuned class on both simulators.

    Args:
        network: with the parameters that were given.
        tuned: name of the tuned class.
        target_ratio: goodput of a tuned flow over that of another flow, to be reached.
        settings: duration, warm-up, first seeds, report.
        others: the classes that the tuned one is compared with; none: all other classes.
        cache: shared by the evaluators of the tuned classes of one network; None: a new one.

    Attributes:
        seeds: of the packet runs at each setting; `add_runs` doubles them.
        dead_band: the usual beta - alpha, packets; see `widen_dead_band`.
    """

    def __init__(
        self,
        network: Network,
        tuned: str,
        target_ratio: float,
        settings: ResolvedSettings,
        others: tuple[str, ...] = (),
        cache: EvaluationCache | None = None,
    ) -> None:
        self.network, self.tuned, self.others = network, tuned, others
        self.target_ratio, self.settings = target_ratio, settings
        self.cache = EvaluationCache() if cache is None else cache
        self.seeds, self.dead_band = settings.seeds, DEAD_BAND

    @property
    def law(self) -> Vegas:
        """Congestion control of the tuned class as it was given."""
        return self.law_in(self.network)

    def law_in(self, network: Network) -> Vegas:
        """Congestion control of the tuned class in another network."""
        return cast(Vegas, network.flows[self.tuned].law)

    def law_at(self, alpha: Any, dead_band: float | None = None) -> Vegas:
        """Congestion control of the tuned class with another alpha; packets.

        Args:
            alpha: packets; may be an array of one value.
            dead_band: beta - alpha; None: the usual one.
        """
        return with_alpha(self.law, alpha, self.dead_band if dead_band is None else dead_band)

    def with_law(self, law: Vegas) -> Network:
        """The given network with another congestion control of the tuned class."""
        return self.network.with_law(self.tuned, law)

    def settable_alpha(self, alpha: float) -> float:
        """The nearest alpha that the dialect can represent, packets."""
        return whole_if_needed(self.law, alpha)

    @property
    def alpha_bounds(self) -> tuple[float, float]:
        """The smallest and the largest alpha to try, packets."""
        return smallest_alpha(self.law), largest_alpha(self.network)

    def rtt_over_base(self, queueing_delay: float) -> float:
        """Round-trip time of the tuned flows over their base RTT at a queueing delay, s."""
        return 1 + queueing_delay / self.network.mean_base_rtt(self.tuned)

    def widen_dead_band(self, queueing_delay: float) -> None:
        """Set the dead band to what the dialect needs at a queueing delay, s."""
        self.dead_band = dead_band(self.law, self.rtt_over_base(queueing_delay))

    def evaluate_fluid(self, network: Network) -> dict[str, float]:
        """Summary of a fluid run, with the final window of the tuned class (`cwnd`, packets)."""
        run = self.cache.fluid
        if run is None or run.network is not network:
            begin = time.perf_counter()
            run = self.cache.fluid = record_fluid(network, self.settings.until, DEFAULT_SAMPLES)
            self.cache.seconds["fluid"] += time.perf_counter() - begin
        numbers = summary(run, self.tuned, self.settings.warmup, self.others)
        return numbers | {"cwnd": self._final_window(run)}

    def _final_window(self, run: Recording) -> float:
        """Mean window of the tuned flows at the end of a run, packets."""
        windows = class_means(run.network.counts, run.flows["cwnd"][-1:])[0]
        return float(windows[list(run.network.flows).index(self.tuned)])

    def evaluate_packets(self, network: Network) -> Measurement:
        """Packet runs of a network with the present seeds; only those that are missing are made."""
        key = setting_key(network)
        known = self.cache.packets.get(key, Measurement(()))
        missing = self.seeds[len(known.runs) :]
        if not missing:
            return known.compared(network, self.tuned, self.others)
        begin = time.perf_counter()
        until, warmup = self.settings.until, self.settings.warmup
        known += measure(network, self.tuned, missing, until=until, warmup=warmup)
        self.cache.packets[key] = known
        self.cache.seconds["packets"] += time.perf_counter() - begin
        measurement = known.compared(network, self.tuned, self.others)
        law, runs = self.law_in(network), len(known.runs)
        text = f"alpha {law.alpha:.4g}, beta {law.beta:.4g}, ratio {measurement.ratio:.3g}"
        self.settings.report(f"packets: {text} ({runs} runs)")
        return measurement

    def evaluate_law(self, law: Vegas) -> Measurement:
        """Packet runs of the given network with another congestion control of the tuned class."""
        return self.evaluate_packets(self.with_law(law))

    def constrained_values(self, network: Network, constraints: Constraints) -> dict[str, float]:
        """Means over the packet runs, with the gain margin if it is constrained."""
        values = self.evaluate_packets(network).means()
        if constraints.gain_margin is None:
            return values
        return values | {"gain_margin": gain_margin(network)}

    def violated(self, network: Network, constraints: Constraints) -> list[Constraint]:
        """The constraints that a network violates on packets, beyond the tolerance."""
        values = self.constrained_values(network, constraints)
        return constraints.violated(values, FEASIBILITY_TOLERANCE)

    def add_runs(self) -> bool:
        """Double the seeds from here on; False where the runs would be too many."""
        rate = sum(link.capacity for link in self.network.links.values())
        seeds = doubled_seeds(self.seeds, self.settings.until, rate)
        if seeds is None:
            return False
        self.seeds = seeds
        return True

    def operating_point(self, cwnd: float, packets: Measurement) -> OperatingPoint:
        """RTT over base RTT, window (packets) and drop probability of the tuned flows."""
        means = packets.means()
        ratio = self.rtt_over_base(means["queueing_delay_s"])
        return OperatingPoint(ratio, cwnd, means["drop_share"])


def make_evaluator(
    network: Network,
    tuned: str,
    target_ratio: float,
    settings: RunSettings,
    others: tuple[str, ...] = (),
    cache: EvaluationCache | None = None,
) -> Evaluator:
    """Validate a target ratio and run settings, and make an evaluator of them.

    Args:
        network: with the parameters that were given.
        tuned: name of the tuned class.
        target_ratio: goodput of a tuned flow over that of another flow, to be reached.
        settings: see `RunSettings`.
        others: see `Evaluator`.
        cache: see `Evaluator`.

    Raises:
        InvalidInput: for a ratio or settings out of range, or a flow that never starts.
    """
    if not 0 < target_ratio < float("inf"):
        raise InvalidInput("recommend", "ratio", "above 0 and finite", target_ratio)
    resolved = resolve_settings(settings)
    check_starts(network, resolved.until)
    return Evaluator(network, tuned, target_ratio, resolved, others, cache)
