"""Evaluate settings of a tuned class on the fluid model and on the packet simulator, once each."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any, cast

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
from vegasfluid.tuning.settings import ResolvedSettings, RunSettings, Step, resolve_settings

__all__ = ["EvaluationCache", "Evaluator", "doubled_seeds", "gain_margin"]
__all__ += ["make_evaluator"]

MAX_RUNS = 160
"""Largest number of packet runs of one setting."""
MAX_PACKETS = 4e7
"""Largest number of packets in all runs of a setting (a core simulates millions a second)."""
SettingKey = tuple[Any, ...]
"""What a search changes in a network: congestion controls and their largest windows, queue
disciplines and buffers."""


def setting_key(network: Network) -> SettingKey:
    """Cache key of a network: the numbers of its classes and links that a search may change."""
    queues = ((link.aqm, link.buffer) for link in network.links.values())
    return (*((flows.law, flows.max_window) for flows in network.flows.values()), *queues)


def gain_margin(network: Network) -> float:
    """Gain margin of a network's equilibrium on the fluid model, a factor without unit.

    The loop gain of the linearised equations may grow by this factor before the equilibrium becomes
    unstable; below 1 for an unstable one. Where no factor changes the stability, it is infinite for
    a stable equilibrium, and 0 for an unstable one.

    Raises:
        InvalidInput: for networks without an equilibrium.
        SolveFailed: where the equilibrium is not found.
    """
    from vegasfluid.analysis import equilibrium, stability  # seconds, that most searches do without

    found = stability(equilibrium(network))
    if found.gain_margin is None:
        return math.inf if found.stable else 0.0
    return float(found.gain_margin)


def doubled_seeds(
    seeds: tuple[int, ...], until: float, packets_per_s: float
) -> tuple[int, ...] | None:
    """Seeds for twice as many packet runs, or None where these would be too many.

    Too many are more than `MAX_RUNS` runs, or more than `MAX_PACKETS` packets at full capacity.

    Args:
        seeds: consecutive seeds, one for each run.
        until: simulated time of each run, s.
        packets_per_s: sum of the capacities of all simulated links, packets/s.
    """
    runs = 2 * len(seeds)
    if runs > MAX_RUNS or runs * until * packets_per_s > MAX_PACKETS:
        return None
    return tuple(range(seeds[0], seeds[0] + runs))


@dataclass(eq=False)
class EvaluationCache:
    """Cached runs of both simulators for networks that differ only in control and queue parameters.

    Args:
        packets: packet runs so far, by the network's numbers that a search changes.
        fluid: the last fluid run; None before the first.
        seconds: wall time spent in each simulator, s, by `fluid` and `packets`.
    """

    packets: dict[SettingKey, Measurement] = field(default_factory=dict)
    fluid: Recording | None = None
    seconds: dict[str, float] = field(default_factory=lambda: {"fluid": 0.0, "packets": 0.0})


class Evaluator:
    """Runs both simulators on a network with other Vegas parameters of one tuned class.

    Args:
        network: with the parameters that were given.
        tuned: name of the tuned class.
        target_ratio: desired goodput of a tuned flow over that of a flow of `others`.
        settings: duration, warm-up (s), first seeds, progress report.
        others: the classes that the tuned one is compared with; empty: all other classes.
        cache: shared by the evaluators of the tuned classes of one network; None: a new one.

    Attributes:
        seeds: seeds of the packet runs at each setting; `add_runs` doubles their number.
        dead_band: beta - alpha of new settings, packets; `widen_dead_band` changes it.
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
        """Vegas with the tuned class's parameters in the network that was given."""
        return self.law_in(self.network)

    def law_in(self, network: Network) -> Vegas:
        """Vegas with the parameters that the tuned class has in `network`."""
        return cast(Vegas, network.flows[self.tuned].law)

    def law_at(self, alpha: Any, dead_band: float | None = None) -> Vegas:
        """The given Vegas of the tuned class with alpha replaced, and beta = alpha + dead band.

        Args:
            alpha: packets; may be an array of one value.
            dead_band: beta - alpha, packets; None: the evaluator's `dead_band`.
        """
        return with_alpha(self.law, alpha, self.dead_band if dead_band is None else dead_band)

    def with_law(self, law: Vegas) -> Network:
        """The given network with `law` (Vegas) as congestion control of the tuned class."""
        return self.network.with_law(self.tuned, law)

    def settable_alpha(self, alpha: float) -> float:
        """The alpha nearest to `alpha` that the Vegas dialect can represent, packets.

        Dialects with whole packets round to at least 1; others return `alpha` unchanged.
        """
        return whole_if_needed(self.law, alpha)

    @property
    def alpha_bounds(self) -> tuple[float, float]:
        """Smallest and largest alpha that a search may try, packets."""
        return smallest_alpha(self.law), largest_alpha(self.network)

    def rtt_over_base(self, queueing_delay: float) -> float:
        """Mean RTT over base RTT of the tuned class at a queueing delay (s); no unit."""
        return 1 + queueing_delay / self.network.mean_base_rtt(self.tuned)

    def widen_dead_band(self, queueing_delay: float) -> None:
        """Set `dead_band` to the beta - alpha (packets) that the dialect needs at a queueing delay.

        It is 2 packets, times RTT / base RTT where the dialect's backlog estimate divides by the
        base RTT. Dialects with whole packets round it up.

        Args:
            queueing_delay: mean queueing delay on the tuned class's path, s.
        """
        self.dead_band = dead_band(self.law, self.rtt_over_base(queueing_delay))

    def evaluate_fluid(self, network: Network) -> dict[str, float]:
        """Simulate a network with the fluid model; cached for the last network.

        Args:
            network: with the parameters to evaluate.

        Returns:
            `ratio`, `jain_index`, `utilisation`, `queue_packets`, `queueing_delay_s`, `drop_share`
            and `retransmit_share`, means after the warm-up; and `cwnd`, the mean window of the
            tuned flows at the end of the run, packets.

        Raises:
            SolveFailed: where the model cannot be integrated, or no flow delivers a packet.
        """
        run = self.cache.fluid
        if run is None or run.network is not network:
            begin = time.perf_counter()
            run = self.cache.fluid = record_fluid(network, self.settings.until, DEFAULT_SAMPLES)
            self.cache.seconds["fluid"] += time.perf_counter() - begin
        numbers = summary(run, self.tuned, self.settings.warmup, self.others)
        return numbers | {"cwnd": self._final_window(run)}

    def _final_window(self, run: Recording) -> float:
        """Window at the end of a run, mean over the flows of the tuned class, packets."""
        windows = class_means(run.network.counts, run.flows["cwnd"][-1:])[0]
        return float(windows[list(run.network.flows).index(self.tuned)])

    def evaluate_packets(self, network: Network, runs: int | None = None) -> Measurement:
        """Simulate a network with packets, once for each of `seeds`; cached runs are reused.

        Args:
            network: with the parameters to evaluate.
            runs: number of runs, those of the first seeds; None: all seeds.

        Returns:
            The runs' means after the warm-up; their `ratio` is the goodput of a tuned flow over
            that of a flow of `others`. If more runs are cached than there are seeds, all of them.

        Raises:
            SolveFailed: if no flow delivers a packet after the warm-up.
        """
        key = setting_key(network)
        known = self.cache.packets.get(key, Measurement(()))
        missing = self.seeds[len(known.runs) : runs]
        if not missing:
            return known.compared(network, self.tuned, self.others)
        begin = time.perf_counter()
        until, warmup = self.settings.until, self.settings.warmup
        known += measure(network, self.tuned, missing, until=until, warmup=warmup)
        self.cache.packets[key] = known
        self.cache.seconds["packets"] += time.perf_counter() - begin
        measurement = known.compared(network, self.tuned, self.others)
        law, so_far = self.law_in(network), len(known.runs)
        step = Step("packets", law.alpha, law.beta, measurement.ratio, f"{so_far} runs")
        self.settings.report(step)
        return measurement

    def evaluate_law(self, law: Vegas) -> Measurement:
        """Packet runs, one for each seed, of the given network with `law` for the tuned class."""
        return self.evaluate_packets(self.with_law(law))

    def constrained_values(self, network: Network, constraints: Constraints) -> dict[str, float]:
        """Values that constraints bound, measured on a network with the present seeds.

        Args:
            constraints: decides whether the gain margin is computed (it takes about a second).
            network: with the parameters to evaluate.

        Returns:
            Means over the packet runs by result name (`queueing_delay_s` in s, `drop_share`,
            `utilisation` and others), and `gain_margin` if it is constrained.
        """
        values = self.evaluate_packets(network).means()
        if constraints.gain_margin is None:
            return values
        return values | {"gain_margin": gain_margin(network)}

    def violated(self, network: Network, constraints: Constraints) -> list[Constraint]:
        """The constraints that a network's means over packet runs violate by more than 2 %."""
        values = self.constrained_values(network, constraints)
        return constraints.violated(values, FEASIBILITY_TOLERANCE)

    def add_runs(self) -> bool:
        """Double the number of seeds for all later packet runs.

        Returns:
            True; False, and no change, where the runs would be too many.
        """
        rate = sum(link.capacity for link in self.network.links.values())
        seeds = doubled_seeds(self.seeds, self.settings.until, rate)
        if seeds is None:
            return False
        self.seeds = seeds
        return True

    def operating_point(self, cwnd: float, packets: Measurement) -> OperatingPoint:
        """Operating point of the tuned class for the translation to other Vegas dialects.

        Args:
            cwnd: mean window of a tuned flow, packets.
            packets: packet runs that give queueing delay and loss ratio.

        Returns:
            Round-trip time over base RTT, the window (packets), and the drop probability of a
            packet on the path.
        """
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
    """Validate a target ratio and run settings, and make the `Evaluator` of a tuned class.

    Args:
        network: with the parameters that were given.
        tuned: name of the tuned class.
        target_ratio: goodput of a tuned flow over that of another flow, to be reached.
        settings: `until` and `warmup` (s), `runs`, `seed` and `report`, see `RunSettings`.
        others: classes that the tuned one is compared with; empty: all other classes.
        cache: runs to share with other evaluators of the network; None: a new cache.

    Raises:
        InvalidInput: for a ratio or settings out of range, or a flow that never starts.
    """
    if not 0 < target_ratio < float("inf"):
        raise InvalidInput("recommend", "ratio", "above 0 and finite", target_ratio)
    resolved = resolve_settings(settings)
    check_starts(network, resolved.until)
    return Evaluator(network, tuned, target_ratio, resolved, others, cache)
