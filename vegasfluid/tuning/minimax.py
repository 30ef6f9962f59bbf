"""Parameters for a network with uncertain numbers: the smallest worst-case regret (minimax).

The fluid model finds the alpha with the smallest worst-case regret over all scenarios
(`minimax_fluid`). Packet runs correct it on the two scenarios with the highest and the two with the
lowest ratio: at the optimum their regrets are equal, and the middle of their ratios rises with
alpha. The other scenarios are then screened with a few runs; a worse one joins the active set.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import numpy as np

from vegasfluid.congestion.vegas import Vegas
from vegasfluid.ranges import Range
from vegasfluid.tuning.evaluate import Evaluator, doubled_seeds
from vegasfluid.tuning.measurement import Measurement, RatioSample
from vegasfluid.tuning.minimax_fluid import MinimaxOptimum, search_minimax
from vegasfluid.tuning.optimise import OptimisationResult
from vegasfluid.tuning.parameters import largest_alpha, smallest_alpha, with_alpha
from vegasfluid.tuning.result import Evaluation, Recommendation, Robustness, ScenarioResult
from vegasfluid.tuning.robust_verdict import FAIR, robust_failure
from vegasfluid.tuning.scalar_root import FluidOptimum
from vegasfluid.tuning.scenario_fluids import ScenarioFluids
from vegasfluid.tuning.scenarios import Scenario, separating_ranges
from vegasfluid.tuning.stochastic_root import (
    AlphaSetting,
    StochasticRoot,
    find_stochastic_root,
    retrospective_approximation,
)

__all__ = ["MinimaxSearch", "ScenarioBound", "minimise_regret"]

MAX_ROUNDS = 3
"""Largest number of corrections on packets; scenarios that turn out worse join each next one."""
ACTIVE = 2
"""Scenarios above, and below, the target that are measured with all runs from the start."""
SCREENING_RUNS = 2
"""Packet runs by which each other scenario is screened."""
WORSE = 0.05
"""Distance in log(ratio) beyond all active scenarios from which a scenario becomes active."""


def log_alpha(law: Vegas) -> float:
    """Natural logarithm of a Vegas congestion control's alpha in packets."""
    return math.log(cast(float, law.alpha))


@dataclass
class ScenarioBound:
    """A scenario that is measured with all runs, and the best that any alpha achieves there.

    Args:
        index: of the scenario in the list of all scenarios.
        evaluator: runs both simulators on the scenario.
        least: smallest |log(ratio / target)| that any alpha gives there.
    """

    index: int
    evaluator: Evaluator
    least: float = 0.0

    def above(self, packets: Measurement) -> float:
        """Mean of log(goodput ratio / target ratio) over packet runs, minus `least`."""
        return self._distance(packets) - self.least

    def below(self, packets: Measurement) -> float:
        """Mean of log(goodput ratio / target ratio) over packet runs, plus `least`."""
        return self._distance(packets) + self.least

    def _distance(self, packets: Measurement) -> float:
        """Mean over the packet runs of log(goodput ratio / target ratio)."""
        return float(packets.log_ratios.mean()) - math.log(self.evaluator.target_ratio)


@dataclass
class MinimaxSearch:
    """Search on packets for the alpha whose largest regret over the scenarios is smallest.

    Args:
        nominal: evaluator of the nominal network; its seeds are those of all scenarios.
        scenarios: all networks; the nominal one first.
        fluids: their fluid models.
        optimum: alpha that is best on the fluid models, with their distances from the target.
        active: scenarios that are measured with all runs, which define the worst case.
        evaluators: runs both simulators on a scenario; by the index of the scenario.
    """

    nominal: Evaluator
    scenarios: tuple[Scenario, ...]
    fluids: ScenarioFluids
    optimum: MinimaxOptimum
    active: list[ScenarioBound] = field(default_factory=list)
    evaluators: dict[int, Evaluator] = field(default_factory=dict)

    @property
    def active_indices(self) -> list[int]:
        """Indices of the scenarios that are measured with all runs."""
        return [bound.index for bound in self.active]

    def evaluator(self, index: int, runs: int | None = None) -> Evaluator:
        """Evaluator of scenario number `index`, with the first `runs` seeds; None: all seeds."""
        nominal = self.nominal
        if index not in self.evaluators:
            scenario, report = self.scenarios[index], nominal.settings.report
            settings = nominal.settings._replace(
                report=lambda line: report(f"{scenario.text}: {line}")
            )
            evaluator = Evaluator(scenario.network, nominal.tuned, nominal.target_ratio, settings)
            evaluator.dead_band = nominal.dead_band
            self.evaluators[index] = evaluator
        self.evaluators[index].seeds = nominal.seeds[:runs]
        return self.evaluators[index]

    def activate(self, indices: Collection[int]) -> None:
        """Add scenarios, by their indices, to those that are measured with all runs."""
        self.active += [self._bound(index) for index in indices]

    def activate_worst(self) -> None:
        """Activate the two highest and the two lowest scenarios at the fluid optimum."""
        distances, least = self.optimum.evaluation.distances, self.optimum.least
        above = np.argsort(least - distances, stable=True)[:ACTIVE]
        below = np.argsort(least + distances, stable=True)[:ACTIVE]
        self.activate(dict.fromkeys([*above.tolist(), *below.tolist()]))

    def _bound(self, index: int) -> ScenarioBound:
        """Scenario number `index` with the least |log(ratio / target)| that it can have on packets.

        Measured at the fluid model's best alpha for it; 0 if the fluid reaches the target there, or
        if packets and fluid lie on opposite sides of it.
        """
        evaluator, least = self.evaluator(index), float(self.optimum.least[index])
        if least:
            alpha = evaluator.settable_alpha(float(self.optimum.best_alphas[index]))
            ratio = evaluator.evaluate_law(evaluator.law_at(alpha)).ratio
            distance = math.log(ratio / evaluator.target_ratio)
            same_side = (distance > 0) == (self.optimum.evaluation.distances[index] > 0)
            least = abs(distance) if same_side else 0.0
        return ScenarioBound(index, evaluator, least)

    def middle(self, law: Vegas) -> RatioSample:
        """Middle between the highest and lowest active scenario's ratio in each packet run.

        The geometric mean of the two, each first corrected by its least achievable distance from
        the target; it equals the target where their regrets are equal.
        """
        measured = [(bound, bound.evaluator.evaluate_law(law)) for bound in self.active]
        top, highest = max(measured, key=lambda pair: pair[0].above(pair[1]))
        bottom, lowest = min(measured, key=lambda pair: pair[0].below(pair[1]))
        middles = (highest.log_ratios - top.least + lowest.log_ratios + bottom.least) / 2
        return RatioSample(np.exp(middles))

    def add_runs(self) -> bool:
        """Double the seeds of all scenarios for later runs; False where runs would be too many."""
        nominal = self.nominal
        networks = (bound.evaluator.network for bound in self.active)
        rate = sum(link.capacity for network in networks for link in network.links.values())
        seeds = doubled_seeds(nominal.seeds, nominal.settings.until, rate)
        if seeds is None:
            return False
        nominal.seeds = seeds
        for bound in self.active:
            bound.evaluator.seeds = seeds
        return True

    def correct(self, start: float) -> StochasticRoot:
        """Find the alpha of equal regret in highest and lowest scenario, from `start` (packets)."""
        nominal = self.nominal

        def find(alpha: float) -> StochasticRoot:
            """Stochastic root search from alpha (packets), with the present seeds."""
            return find_stochastic_root(
                self._middle_at,
                nominal.settable_alpha,
                target=nominal.target_ratio,
                start=alpha,
                slope=self.optimum.slope,
                bounds=self._alpha_bounds(),
                dead_band=nominal.dead_band,
                whole=nominal.law.implementation.whole_packets,
            )

        return retrospective_approximation(find, start, self.add_runs)

    def _middle_at(self, setting: AlphaSetting) -> RatioSample:
        """Middle of the highest and lowest ratio in each run, for alpha and dead band (packets)."""
        return self.middle(self.nominal.law_at(*setting))

    def _alpha_bounds(self) -> tuple[float, float]:
        """Smallest alpha to try, and the largest one of all scenarios, packets."""
        largest = max(largest_alpha(scenario.network) for scenario in self.scenarios)
        return smallest_alpha(self.nominal.law), largest

    def screen(self, law: Vegas) -> dict[int, Measurement]:
        """Packet runs (2 each) with `law` of every scenario not in `active`, by scenario index."""
        others = set(range(len(self.scenarios))) - set(self.active_indices)
        return {
            index: self.evaluator(index, SCREENING_RUNS).evaluate_law(law)
            for index in sorted(others)
        }

    def worse(self, law: Vegas, screened: dict[int, Measurement]) -> list[int]:
        """Indices of `screened` scenarios that turn out worse than the active ones.

        Their mean log(ratio) is over 0.05 beyond the active ones' and log(target) +- FAIR / 2.
        """
        means = [bound.evaluator.evaluate_law(law).log_ratios.mean() for bound in self.active]
        target = math.log(self.nominal.target_ratio)
        low = min(*means, target - FAIR / 2) - WORSE
        high = max(*means, target + FAIR / 2) + WORSE
        return [
            index for index, one in screened.items() if not low <= one.log_ratios.mean() <= high
        ]

    def measured(self, law: Vegas) -> dict[int, Measurement]:
        """All packet runs with `law` of the nominal network and scenarios in `active`, by index."""
        indices = dict.fromkeys([0, *self.active_indices])
        return {index: self.evaluator(index).evaluate_law(law) for index in indices}

    def regret(self, law: Vegas) -> float:
        """Largest |log(ratio / target)| minus its least value, on packets over active scenarios."""
        measured = [(bound, bound.evaluator.evaluate_law(law)) for bound in self.active]
        return max(max(bound.above(one), -bound.below(one)) for bound, one in measured)

    def results(self, law: Vegas, measured: dict[int, Measurement]) -> list[ScenarioResult]:
        """For each scenario in `measured`, the fluid ratio with `law`, and its packet runs."""
        distances = self.fluids.at(log_alpha(law)).distances
        return [
            ScenarioResult(
                self.scenarios[index],
                self.nominal.target_ratio * math.exp(distances[index]),
                packets,
            )
            for index, packets in measured.items()
        ]


class MinimaxResult(NamedTuple):
    """Vegas parameters with the smallest worst-case regret over the scenarios.

    Args:
        result: with the Vegas parameters in the nominal network.
        robustness: goodput ratios over the ranges with these parameters.
        seconds: wall time in the packet simulator, s.
    """

    result: OptimisationResult
    robustness: Robustness
    seconds: float


def minimise_regret(
    evaluator: Evaluator,
    scenarios: tuple[Scenario, ...],
    ranges: Mapping[str, Range],
    nominal: Recommendation,
) -> MinimaxResult:
    """Find the Vegas parameters with the smallest worst-case regret over all scenarios.

    The regret is |log(ratio / target)| less its least value for any alpha in the scenario. Packet
    runs correct the fluid model's optimum.

    Args:
        evaluator: of the nominal network.
        scenarios: all networks; the nominal one first.
        ranges: ranges of uncertain numbers by name, in the unit that ends the name.
        nominal: the recommendation for the nominal network alone.

    Raises:
        SolveFailed: where the fluid model cannot be integrated.
    """
    search = search_on_fluid(evaluator, scenarios, nominal.optimum.alpha)
    law, screened = search_on_packets(search)
    robustness = assess(search, ranges, nominal, law, screened)
    optimum = search.optimum
    reason = robust_failure(
        robustness,
        [scenarios[bound.index] for bound in search.active if bound.least > FAIR],
        lambda: separating_ranges(
            scenarios,
            search.fluids.at(log_alpha(law)).distances,
            robustness.highest.scenario,
            robustness.lowest.scenario,
        ),
    )
    ratio = evaluator.target_ratio * math.exp(optimum.evaluation.distances[0])
    fluid = FluidOptimum(optimum.alpha, ratio, optimum.slope, not reason, optimum.evaluations)
    result = OptimisationResult(evaluator.with_law(law), fluid, not reason, reason)
    seconds = sum(one.cache.seconds["packets"] for one in search.evaluators.values())
    return MinimaxResult(result, robustness, seconds)


def search_on_fluid(
    evaluator: Evaluator, scenarios: tuple[Scenario, ...], start: float
) -> MinimaxSearch:
    """Find the alpha with the smallest worst-case regret on the scenarios' fluid models.

    The search starts at alpha `start`, packets; `scenarios[0]` is the nominal network of
    `evaluator`. Returns a search on packets with the optimum, without active scenarios.
    """
    begin = time.perf_counter()
    low, settings = smallest_alpha(evaluator.law), evaluator.settings
    law = with_alpha(evaluator.law, low, evaluator.dead_band)
    networks = [
        Scenario(one.kind, one.quantiles, one.numbers, one.network.with_law(evaluator.tuned, law))
        for one in scenarios
    ]
    fluids = ScenarioFluids(
        networks,
        evaluator.tuned,
        target_ratio=evaluator.target_ratio,
        until=settings.until,
        warmup=settings.warmup,
    )
    high = max(largest_alpha(scenario.network) for scenario in scenarios)
    optimum = search_minimax(fluids, start, low, high)
    evaluator.cache.seconds["fluid"] += time.perf_counter() - begin
    regret = f"worst-case regret a factor of {math.exp(optimum.regret):.3g}"
    settings.report(f"fluid, {len(scenarios)} networks: alpha {optimum.alpha:.4g}, {regret}")
    return MinimaxSearch(evaluator, scenarios, fluids, optimum)


def search_on_packets(search: MinimaxSearch) -> tuple[Vegas, dict[int, Measurement]]:
    """Minimax alpha by packet runs, starting from the optimum of the fluid model.

    Alpha is corrected on the active scenarios, at most 3 times. Each time the others are screened
    by two packet runs each; those that turn out worse become active.

    Returns the tuned class's Vegas, and the screening runs of each inactive scenario, by index.
    """
    search.activate_worst()
    start = search.optimum.alpha
    for _ in range(MAX_ROUNDS):
        best = search.correct(start).best
        law, start = search.nominal.law_at(*best), best.alpha
        screened = search.screen(law)
        worse = search.worse(law, screened)
        search.activate(worse)
        if not worse:
            break
    return law, screened


def assess(
    search: MinimaxSearch,
    ranges: Mapping[str, Range],
    nominal: Recommendation,
    law: Vegas,
    screened: dict[int, Measurement],
) -> Robustness:
    """Ratios over the ranges with `law` and with the nominal network's best parameters.

    Args:
        search: with the active scenarios.
        ranges: ranges of uncertain numbers by name, in the unit that ends the name.
        nominal: the recommendation for the nominal network alone.
        law: the recommended congestion control.
        screened: packet runs with `law` of the scenarios that are not active, by index.
    """
    nominal_law = nominal.after.law
    points = [log_alpha(one) for one in (law, nominal_law)]
    search.fluids.explore(points)
    distances, nominal_distances = (search.fluids.at(point).distances for point in points)
    extremes = {int(nominal_distances.argmax()), int(nominal_distances.argmin())}
    search.activate(extremes - set(search.active_indices))
    measured = search.measured(law)
    confirmed = search.results(law, measured)
    others = search.results(nominal_law, search.measured(nominal_law))
    index = list(measured).index(0)
    everything = dict(sorted((screened | measured).items()))
    return Robustness(
        target_ratio=search.nominal.target_ratio,
        ranges=ranges,
        scenarios=tuple(search.results(law, everything)),
        highest=max(confirmed, key=_ratio),
        lowest=min(confirmed, key=_ratio),
        nominal=confirmed[index],
        nominal_optimum=Evaluation(nominal_law, nominal.after.fluid, others[index].packets),
        nominal_highest=max(others, key=_ratio),
        nominal_lowest=min(others, key=_ratio),
        regret=search.regret(law),
        nominal_regret=search.regret(nominal_law),
        fluid_regret=float(np.max(np.abs(distances) - search.optimum.least)),
    )


def _ratio(result: ScenarioResult) -> float:
    """Goodput ratio of a scenario on packets, geometric mean over the runs."""
    return result.packets.ratio
