"""Judging by the worst of several networks: what is measured, and where worst cases balance."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from vegasfluid.congestion.vegas import Vegas
from vegasfluid.network import Network
from vegasfluid.tuning.evaluate import MOST_PACKETS, MOST_RUNS, Evaluator
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.minimax_fluid import MinimaxOptimum, ScenarioFluids
from vegasfluid.tuning.robust_result import FAIR, ScenarioResult
from vegasfluid.tuning.scalar_root import FluidOptimum
from vegasfluid.tuning.scenarios import Scenario
from vegasfluid.tuning.stochastic_root import StochasticRoot
from vegasfluid.tuning.thresholds import largest_alpha

__all__ = ["MinimaxSearch", "ScenarioBound", "log_alpha"]

WATCHED = 2
"""So many networks on each side are measured from the start."""
GLANCE = 2
"""Runs by which the other networks are looked at."""
WORSE = 0.05
"""So much farther from the goal than the worst, in log(ratio), is worse."""


def log_alpha(law: Vegas) -> float:
    """The logarithm of a law's alpha."""
    return math.log(cast(float, law.alpha))


@dataclass
class ScenarioBound:
    """A network that is measured, and the best that can be had there.

    Args:
        number: of its scenario.
        job: measures it.
        floor: the least |log(ratio / goal)| that any alpha gives there.
    """

    number: int
    job: Evaluator
    floor: float = 0.0

    def above(self, of: Measurement) -> float:
        """How far above its best the network is, in log(ratio)."""
        return float(of.log_ratios.mean()) - math.log(self.job.goal) - self.floor

    def below(self, of: Measurement) -> float:
        """How far below, in log(ratio); negative where it is."""
        return float(of.log_ratios.mean()) - math.log(self.job.goal) + self.floor


@dataclass
class Balance(Evaluator):
    """A job whose ratio is the middle between the worst networks on either side.

    Args:
        sides: the networks that are measured.
    """

    sides: list[ScenarioBound] = field(default_factory=list)

    def evaluate_packets(self, network: Network) -> Measurement:
        """The middle for a network's law, run by run: at the goal both sides are as far off."""
        law = self.law_in(network)
        found = [(side, side.job.evaluate_law(law)) for side in self.sides]
        top, most = max(found, key=lambda one: one[0].above(one[1]))
        bottom, least = min(found, key=lambda one: one[0].below(one[1]))
        middles = (most.log_ratios - top.floor + least.log_ratios + bottom.floor) / 2
        return Measurement(tuple({"ratio": float(ratio)} for ratio in np.exp(middles)))

    def run_more(self) -> bool:
        """Twice as many runs of every network from here on, if these are not too many."""
        runs = 2 * len(self.seeds)
        rates = (link.capacity for side in self.sides for link in side.job.network.links.values())
        if runs > MOST_RUNS or runs * self.until * sum(rates) > MOST_PACKETS:
            return False
        self.seeds = tuple(range(self.seeds[0], self.seeds[0] + runs))
        for side in self.sides:
            side.job.seeds = self.seeds
        return True


@dataclass
class MinimaxSearch:
    """A robust recommendation in the making.

    Args:
        nominal: the nominal network's job.
        scenarios: all networks; the nominal one first.
        fluids: their fluid models.
        optimum: the best alpha by these.
        sides: the networks that are measured with all runs.
        jobs: those whose packets were asked for, by the number of the scenario.
    """

    nominal: Evaluator
    scenarios: tuple[Scenario, ...]
    fluids: ScenarioFluids
    optimum: MinimaxOptimum
    sides: list[ScenarioBound] = field(default_factory=list)
    jobs: dict[int, Evaluator] = field(default_factory=dict)

    @property
    def watched(self) -> list[int]:
        """The numbers of the scenarios that are measured with all runs."""
        return [side.number for side in self.sides]

    def job(self, number: int, runs: int | None = None) -> Evaluator:
        """What measures a network, made once; with all seeds, or only the first."""
        if number not in self.jobs:
            scenario, of = self.scenarios[number], self.nominal

            def told(line: str) -> None:
                of.report(f"{scenario.text}: {line}")

            own = Evaluator(
                scenario.network, of.tuned, of.goal, of.until, of.warmup, of.seeds, told
            )
            own.zone = of.zone
            self.jobs[number] = own
        self.jobs[number].seeds = self.nominal.seeds[:runs]
        return self.jobs[number]

    def watch(self, numbers: Collection[int]) -> None:
        """Measure more networks with all runs."""
        self.sides += [self.side(number) for number in numbers]

    def watch_the_worst(self) -> None:
        """Measure those that the fluid model has farthest above and below the goal."""
        distances, floors = self.optimum.outlook.distances, self.optimum.floors
        above = np.argsort(floors - distances, stable=True)[:WATCHED]
        below = np.argsort(floors + distances, stable=True)[:WATCHED]
        self.watch(dict.fromkeys([*above.tolist(), *below.tolist()]))

    def side(self, number: int) -> ScenarioBound:
        """A network to measure, with what the packets say of the alpha that is best there."""
        job, floor = self.job(number), float(self.optimum.floors[number])
        if floor:
            best = job.with_alpha(job.settle(float(self.optimum.own[number])))
            off = math.log(job.evaluate_law(best).ratio / job.goal)
            same_side = (off > 0) == (self.optimum.outlook.distances[number] > 0)
            floor = abs(off) if same_side else 0.0
        return ScenarioBound(number, job, floor)

    def correct(self, start: float) -> StochasticRoot:
        """The setting at which the worst above and the worst below are as far from the goal."""
        of = self.nominal
        widest = max((one.network for one in self.scenarios), key=largest_alpha)
        balance = Balance(
            widest, of.tuned, of.goal, of.until, of.warmup, of.seeds, of.report, of.zone,
            sides=self.sides,
        )  # fmt: skip
        found = balance.solve_on_packets(FluidOptimum(start, of.goal, self.optimum.slope, True, 0))
        of.seeds = balance.seeds
        return found

    def glance(self, law: Vegas) -> dict[int, Measurement]:
        """A few runs of each network that is not watched."""
        others = set(range(len(self.scenarios))) - set(self.watched)
        return {number: self.job(number, GLANCE).evaluate_law(law) for number in sorted(others)}

    def worse(self, law: Vegas, others: dict[int, Measurement]) -> list[int]:
        """Those of other networks that are farther from the goal than all that are watched."""
        logs = [side.job.evaluate_law(law).log_ratios.mean() for side in self.sides]
        goal = math.log(self.nominal.goal)
        low = min(*logs, goal - FAIR / 2) - WORSE
        high = max(*logs, goal + FAIR / 2) + WORSE
        return [number for number, of in others.items() if not low <= of.log_ratios.mean() <= high]

    def measured(self, law: Vegas) -> dict[int, Measurement]:
        """The nominal network and those that are watched, with all runs."""
        numbers = dict.fromkeys([0, *self.watched])
        return {number: self.job(number).evaluate_law(law) for number in numbers}

    def regret(self, law: Vegas) -> float:
        """The worst of the networks that are watched: how much farther off than need be."""
        found = [(side, side.job.evaluate_law(law)) for side in self.sides]
        return max(max(side.above(of), -side.below(of)) for side, of in found)

    def seen(self, law: Vegas, measured: dict[int, Measurement]) -> list[ScenarioResult]:
        """Networks with a law, as they were measured."""
        distances = self.fluids.at(log_alpha(law)).distances
        return [
            ScenarioResult(
                self.scenarios[number], self.nominal.goal * math.exp(distances[number]), of
            )
            for number, of in measured.items()
        ]
