"""The best setting on packets, starting from the fluid model's: solve, measure, correct, repeat.

The fluid's outputs (goodputs, delay, drops, utilisation) are multiplied by what the packet
simulator measured over the fluid result at the last setting, and the program is solved anew:
the corrected model agrees with the packets there, and its derivatives lead on. From the second
measurement on the correction is linear in the logarithms (Broyden's update). Constraints are
tightened by what the measurement leaves uncertain.

Sources:
    Correcting a model by its measured error and solving again: J. Bandler et al., "Space mapping:
    the state of the art", IEEE Trans. Microwave Theory and Techniques 52(1), 2004 (abstract read).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from vegasfluid.fluid.flow_groups import group_of_each_flow
from vegasfluid.network import Network
from vegasfluid.tuning.constraints import Constraints
from vegasfluid.tuning.fluid_gradients import OutputCorrection, Outputs
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.nonlinear_program import NonlinearProgram, solve_program
from vegasfluid.tuning.objectives import Objective, Rates
from vegasfluid.tuning.parameters import Parameter, with_values

__all__ = ["SpaceMappingResult", "map_to_packets", "merit_of", "objective_values"]
__all__ += ["rates_of_runs", "settable_values"]

MAX_MEASUREMENTS = 6
"""Largest number of settings that are measured by packet runs."""
TRUST_RADIUS = 1.0
"""Largest distance of a setting from the one before, in logarithms."""
PATIENCE = 2
"""The search ends after this many measurements that were not better than the best."""
XTOL = 0.01
"""The search ends where no parameter changes more, in logarithms."""
LOSS_WEIGHT = 20.0
"""Weight of a measured loss beside the logarithm of the delay: a ratio that is 10 % off weighs as
20 % of delay."""
SMALLEST = 1e-12
"""Outputs (packets/s, s, fractions) are raised to this before their logarithm is taken."""

Vector = Float[np.ndarray, " parameters"]
"""One number for each tuned parameter, mostly its logarithm."""


class SpaceMappingResult(NamedTuple):
    """The best setting of several parameters on packets.

    Args:
        network: with that setting.
        measurement: packet runs of that network.
        fluid_network: the network with the fluid model's own best setting.
        x: logarithms of the setting's parameters; (parameters,).
        correction: log(packets / fluid) of the outputs after measuring there.
        evaluations: number of fluid runs.
    """

    network: Network
    measurement: Measurement
    fluid_network: Network
    x: Vector
    correction: OutputCorrection
    evaluations: int


class _Trial(NamedTuple):
    """A measured setting; trials are compared by merit, then by index.

    Args:
        merit: violation of constraints (log margin), then weighted loss and log(delay); the less,
            the better.
        index: of the trial.
        network: with the setting.
        measurement: packet runs of that network.
        x: logarithms of the setting's parameters; (parameters,).
        correction: log(packets / fluid) of the outputs after measuring there.
    """

    merit: tuple[float, float]
    index: int
    network: Network
    measurement: Measurement
    x: Vector
    correction: OutputCorrection


@dataclass
class _SpaceMapping:
    """A search for the best setting on packets, led by a corrected fluid model.

    Args:
        program: on the fluid model.
        network: whose parameters are tuned.
        parameters: the tuned parameters.
        measure: runs the packet simulator on a network, once for each seed.
    """

    program: NonlinearProgram
    network: Network
    parameters: Sequence[Parameter]
    measure: Callable[[Network], Measurement]

    def settable(self, x: Vector) -> list[float]:
        """Settable parameter values (packets, max_drop) nearest to exp(x)."""
        return settable_values(self.network, self.parameters, x)

    def offset(self, measured: Measurement, x: Vector) -> Outputs:
        """log(packets / fluid) of each output at logarithms x: goodputs, delay, drops, utilisation.

        Args:
            measured: packet runs of the setting x.
            x: logarithms of the parameters; (parameters,).
        """
        fluid, _ = self.program.fluid.at(x)
        means, group_of = measured.means(), group_of_each_flow(self.network)
        flows = np.mean(measured.flows, axis=0)
        goodput = np.bincount(group_of, flows) / np.bincount(group_of)
        links = [means["queueing_delay_s"], means["drop_share"], means["utilisation"]]
        pairs = zip((goodput, *links), fluid, strict=True)
        return Outputs(
            *(
                np.log(np.maximum(packets, SMALLEST) / np.maximum(model, SMALLEST))
                for packets, model in pairs
            )
        )

    def tightened(self, measured: Measurement) -> Constraints:
        """Constraints tightened by the relative half width h of their 95 % confidence intervals.

        An upper bound is divided by exp(h) of its quantity; a lower one is multiplied by it, up to
        1. The bound on the gain margin is not changed.
        """
        given = self.program.constraints
        bounds = {}
        for constraint in given.each:
            if constraint.quantity == "gain_margin":
                continue
            factor = math.exp(measured.relative_half_width(constraint.quantity))
            bound = constraint.bound
            tightened = bound / factor if constraint.is_upper else min(bound * factor, 1.0)
            bounds[constraint.field] = tightened
        return replace(given, **bounds)

    def run(self, *starts: Vector) -> SpaceMappingResult:
        """Solve on the fluid model, measure on packets, correct the fluid model, and repeat.

        It ends where the setting does not change, after two measurements that are no better than
        the best, or after six in all. `starts` are logarithms of the parameters, (parameters,).
        """
        first = values = self.settable(solve_program(self.program, *starts))
        trials: list[_Trial] = []
        correction, radius = None, TRUST_RADIUS
        for index in range(MAX_MEASUREMENTS):
            network, x = with_values(self.network, self.parameters, values), np.log(values)
            measured = self.measure(network)
            offset = self.offset(measured, x)
            if correction is None:
                correction = OutputCorrection.constant(x, offset)
            else:
                correction = correction.updated(x, offset)
            merit = merit_of(self.program, self.network, measured, x)
            trials.append(_Trial(merit, index, network, measured, x, correction))
            best = min(trials, key=lambda trial: trial[:2])
            radius = TRUST_RADIUS if best.index == index else radius / 2
            corrected = replace(
                self.program,
                correction=correction,
                constraints=self.tightened(best.measurement),
                trust_radius=radius,
            )
            values = self.settable(solve_program(corrected, best.x))
            unchanged = np.max(np.abs(np.log(values) - x)) < XTOL
            if unchanged or index - best.index == PATIENCE:
                break
        best = min(trials, key=lambda trial: trial[:2])
        fluid_network = with_values(self.network, self.parameters, first)
        return SpaceMappingResult(
            best.network,
            best.measurement,
            fluid_network,
            np.asarray(best.x),
            best.correction,
            self.program.fluid.evaluations,
        )


def map_to_packets(
    program: NonlinearProgram,
    network: Network,
    parameters: Sequence[Parameter],
    measure: Callable[[Network], Measurement],
    *starts: Vector,
) -> SpaceMappingResult:
    """Find the best setting on packets, by a fluid model that is corrected at each measurement.

    Args:
        program: on the fluid model.
        network: whose parameters are tuned.
        parameters: the tuned parameters.
        measure: runs the packet simulator on a network.
        starts: initial points, logarithms of the parameters, at least one.

    Returns:
        The measured setting with the best merit, its packet runs, and the correction there.

    Raises:
        SolveFailed: where the fluid model cannot be integrated.
    """
    return _SpaceMapping(program, network, parameters, measure).run(*starts)


def merit_of(
    program: NonlinearProgram, network: Network, measured: Measurement, x: Vector
) -> tuple[float, float]:
    """How bad a measured setting is: two numbers, of which the first one counts more.

    The first is the largest violation of a constraint, as the logarithm of a factor, beyond the
    program's tolerance; 0 if all are satisfied. The second is 20 times the objective's loss (mean
    over the runs), plus log(queueing delay in s) if the program minimises the delay.

    Args:
        program: objective and constraints.
        network: with the classes of flows that were measured.
        measured: packet runs with the setting.
        x: logarithms of the tuned parameters.
    """
    means, constraints = measured.means(), program.constraints
    if constraints.gain_margin is not None and program.gain_margin is not None:
        means["gain_margin"] = program.gain_margin(x)
    margins = [one.margin(means[one.quantity]) for one in constraints.each]
    tuned = program.tuned[group_of_each_flow(network)]
    runs = rates_of_runs(measured, tuned, program.fair)
    loss = float(np.mean([program.objective.loss(rates) for rates in runs]))
    delay = math.log(max(means["queueing_delay_s"], SMALLEST)) if program.minimises_delay else 0.0
    worst = max([-margin - program.feasibility_tolerance for margin in margins] + [0.0])
    return worst, LOSS_WEIGHT * loss + delay


def settable_values(network: Network, parameters: Sequence[Parameter], x: Vector) -> list[float]:
    """Values of the parameters nearest to exp(x) that systems accept, each in its own unit."""
    pairs = zip(parameters, map(float, np.exp(x)), strict=True)
    return [parameter.settable(network, value) for parameter, value in pairs]


def objective_values(
    objective: Objective, packets: Measurement, network: Network, tuned: Sequence[str]
) -> Float[np.ndarray, " runs"]:
    """The objective's value in each packet run, computed from the goodputs of all flows.

    Args:
        objective: what is wanted.
        packets: runs of the network, with the goodput of each flow.
        network: what was run.
        tuned: names of the tuned classes.
    """
    numbers = {name: float(number) for number, name in enumerate(tuned, start=1)}
    classes = network.flows.items()
    tuned_class = np.concatenate(
        [np.full(flows.count, numbers.get(name, 0.0)) for name, flows in classes]
    )
    runs = rates_of_runs(packets, tuned_class, network.fair_share())
    return np.array([objective.value(rates) for rates in runs])


def rates_of_runs(
    packets: Measurement, tuned: Float[np.ndarray, " flows"], fair: float
) -> list[Rates]:
    """Arguments of an objective for each packet run, in which every flow is a group by itself.

    Args:
        packets: with the goodput of each flow.
        tuned: for each flow the number of its tuned class, from 1, or 0; (flows,).
        fair: goodput of an equal part of the link, packets/s.
    """
    pairs = zip(packets.flows, packets.runs, strict=True)
    ones = np.ones(len(tuned))
    return [Rates(flows, ones, tuned, fair, run["queueing_delay_s"]) for flows, run in pairs]
