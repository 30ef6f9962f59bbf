"""The best setting on packets, from the fluid model's: solve, measure, correct the model, again.

The fluid's outputs (goodputs, delay, drops, utilisation) are multiplied by what the packet
simulator measured over what the fluid says at the last setting, and the problem is solved anew:
the corrected model agrees with the packets there, and its derivatives lead on. From the second
measurement on the correction is a straight line in the logarithms (Broyden's update). Settings come
near to a limit only as far as the measurement is sure of it.

Sources:
    Correcting a model by its measured error and solving again: J. Bandler et al., "Space mapping:
    the state of the art", IEEE Trans. Microwave Theory and Techniques 52(1), 2004 (abstract read).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np

from vegasfluid.congestion.vegas import Vegas
from vegasfluid.fluid.parameters import flows_of_groups
from vegasfluid.network import Network
from vegasfluid.tuning.constraints import FEASIBILITY_TOLERANCE, Constraints
from vegasfluid.tuning.fluid_gradients import Outputs
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.nonlinear_program import NonlinearProgram, SurrogateCorrection, solve
from vegasfluid.tuning.objectives import Objective, Rates
from vegasfluid.tuning.parameters import AlphaParameter, Parameter, with_values
from vegasfluid.tuning.thresholds import whole_if_needed

__all__ = ["SpaceMappingResult", "begun", "map_to_packets", "objective_values", "settled"]

ROUNDS, REACH = 6, 1.0
"""Measurements, and how far one may be from that before, in logarithms."""
IDLE = 2
"""The search ends after so many measurements that were no better."""
STILL = 0.01
"""The search ends where no parameter moves more, in logarithms."""
WEIGHT = 20.0
"""Of a measured loss beside the logarithm of the delay: a ratio that is 10 % off weighs as 20 %."""
SMALLEST = 1e-12
"""Of a measured output, so that it has a logarithm."""


class SpaceMappingResult(NamedTuple):
    """Where the search on packets ended.

    Args:
        network: with the setting.
        measurement: of it.
        first: the network with the fluid's own setting.
        x: logarithms of the setting.
        misfit: how packets differ from the fluid there.
        evaluations: fluid runs.
    """

    network: Network
    measurement: Measurement
    first: Network
    x: np.ndarray
    misfit: SurrogateCorrection
    evaluations: int


@dataclass
class SpaceMapping:
    """A search: the problem, and how a network is measured.

    Args:
        problem: on the fluid model.
        network: whose parameters are with_values.
        parameters: these.
        measure: judges a network on packets.
    """

    problem: NonlinearProgram
    network: Network
    parameters: Sequence[Parameter]
    measure: Callable[[Network], Measurement]

    def settle(self, x: np.ndarray) -> list[float]:
        """The values that can be set."""
        return settled(self.network, self.parameters, x)

    def level(self, measured: Measurement, x: np.ndarray) -> Outputs:
        """The packets' outputs over the fluid's, in logarithms."""
        found, _ = self.problem.fluid.at(x)
        means, group_of = measured.means(), flows_of_groups(self.network)
        flows = np.mean(measured.flows, axis=0)
        goodput = np.bincount(group_of, flows) / np.bincount(group_of)
        links = [means["queueing_delay_s"], means["drop_share"], means["utilisation"]]
        pairs = zip((goodput, *links), found, strict=True)
        return Outputs(
            *(np.log(np.maximum(of, SMALLEST) / np.maximum(by, SMALLEST)) for of, by in pairs)
        )

    def tightened(self, measured: Measurement) -> Constraints:
        """The limits less what the measurement is not sure of."""
        given = self.problem.limits
        changes = {}
        for limit in given.each:
            if limit.of == "gain_margin":
                continue
            unsure = math.exp(measured.unsure(limit.of))
            bound = limit.bound / unsure if limit.largest else min(limit.bound * unsure, 1.0)
            changes[limit.field] = bound
        return replace(given, **changes)

    def merit(self, measured: Measurement, x: np.ndarray) -> tuple[float, float]:
        """The less, the better: broken limits first; then the loss, and the delay if it counts."""
        means, limits = measured.means(), self.problem.limits
        if limits.gain_margin is not None and self.problem.margin is not None:
            means["gain_margin"] = self.problem.margin(x)
        rooms = [limit.room(means[limit.of]) for limit in limits.each]
        tuned = self.problem.tuned[flows_of_groups(self.network)]
        rates = rates_of_flows(measured, tuned, self.problem.fair)
        loss = float(np.mean([self.problem.goal.loss(of) for of in rates]))
        delay = math.log(max(means["queueing_delay_s"], SMALLEST)) if self.problem.free else 0.0
        return max([-room - FEASIBILITY_TOLERANCE for room in rooms] + [0.0]), WEIGHT * loss + delay

    def run(self, *starts: np.ndarray) -> SpaceMappingResult:
        """Solve, measure and correct until the setting stays."""
        first = values = self.settle(solve(self.problem, *starts))
        tried, misfit = [], None
        for _ in range(ROUNDS):
            network, x = with_values(self.network, self.parameters, values), np.log(values)
            measured = self.measure(network)
            level = self.level(measured, x)
            misfit = begun(x, level) if misfit is None else misfit.with_values(x, level)
            tried.append((self.merit(measured, x), len(tried), network, measured, x, misfit))
            limits = self.tightened(measured)
            corrected = replace(self.problem, misfit=misfit, limits=limits, reach=REACH)
            values = self.settle(solve(corrected, x))
            best = min(tried, key=lambda of: of[:2])
            idle = len(tried) - 1 - best[1]
            if np.max(np.abs(np.log(values) - x)) < STILL or idle == IDLE:
                break
        _, _, network, measured, x, misfit = min(tried, key=lambda of: of[:2])
        fluids_own, runs = (
            with_values(self.network, self.parameters, first),
            self.problem.fluid.evaluations,
        )
        return SpaceMappingResult(network, measured, fluids_own, np.asarray(x), misfit, runs)


def settled(network: Network, parameters: Sequence[Parameter], x: np.ndarray) -> list[float]:
    """The values nearest to some logarithms that can be set."""
    pairs = zip(parameters, map(float, np.exp(x)), strict=True)
    return [rounded(network, parameter, value) for parameter, value in pairs]


def rounded(network: Network, parameter: Parameter, value: float) -> float:
    """A value as systems take it: whole packets, and three digits of a probability."""
    if isinstance(parameter, AlphaParameter):
        return whole_if_needed(cast(Vegas, network.flows[parameter.flows].law), value)
    if parameter.field == "max_drop":
        return float(f"{value:.3g}")
    return float(max(round(value), 1))


def begun(x: np.ndarray, level: Outputs) -> SurrogateCorrection:
    """The misfit after one measurement: the same everywhere."""
    return SurrogateCorrection(
        x, level, Outputs(*(np.zeros((*np.shape(of), len(x))) for of in level))
    )


def map_to_packets(
    problem: NonlinearProgram,
    network: Network,
    parameters: Sequence[Parameter],
    measure: Callable[[Network], Measurement],
    *starts: np.ndarray,
) -> SpaceMappingResult:
    """Find the best setting on packets.

    Args:
        problem: on the fluid model.
        network: whose parameters are with_values.
        parameters: these.
        measure: judges a network on packets.
        starts: logarithms of the parameters to begin at, at least one.

    Raises:
        SolveFailed: where the fluid model cannot be integrated.
    """
    return SpaceMapping(problem, network, parameters, measure).run(*starts)


def objective_values(
    goal: Objective, packets: Measurement, network: Network, tuned: Sequence[str]
) -> np.ndarray:
    """The goal's number in each packet run, over all flows; (runs,).

    Args:
        goal: what is wanted.
        packets: runs of the network, with the goodput of each flow.
        network: what was run.
        tuned: the classes that are tuned.
    """
    numbers = {name: float(number) for number, name in enumerate(tuned, start=1)}
    classes = network.flows.items()
    own = np.concatenate([np.full(of.count, numbers.get(name, 0.0)) for name, of in classes])
    rates = rates_of_flows(packets, own, network.fair_share())
    return np.array([goal.value(of) for of in rates])


def rates_of_flows(packets: Measurement, tuned: np.ndarray, fair: float) -> list[Rates]:
    """What goals judge by, for each run: every flow is a group of its own."""
    return [Rates(flows, np.ones(len(tuned)), tuned, fair) for flows in packets.flows]
