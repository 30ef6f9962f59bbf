"""The front of fairness against queueing delay: what less delay costs.

The fairest setting is found on packets (`adaptation`), and with it how these differ from the fluid
model. On the model, so corrected, the goal is pursued once for each of some bounds on the delay
(the method of constraints), down to the smallest delay, each search beginning where the one before
ended. Every setting is then measured on packets.

Sources:
    The method: Y. Haimes, L. Lasdon and D. Wismer, "On a bicriterion formulation of the problems of
    integrated system identification and system optimization", IEEE Trans. SMC 1(3), 1971 (title).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from vegasfluid.errors import InvalidInput
from vegasfluid.network import Network
from vegasfluid.tuning.constraints import NO_CONSTRAINTS, Constraints
from vegasfluid.tuning.evaluate import Evaluator
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.nonlinear_program import NonlinearProgram, minimise_delay, solve
from vegasfluid.tuning.objectives import Objective, ShareRatio
from vegasfluid.tuning.optimise import initial_points, program_of
from vegasfluid.tuning.parameters import Parameter, tuned_parameters, with_values
from vegasfluid.tuning.recommend import make_evaluator, tunable_class
from vegasfluid.tuning.settings import RunSettings
from vegasfluid.tuning.space_mapping import begun, map_to_packets, objective_values, settled

__all__ = ["Front", "FrontPoint", "pareto_front"]

DEFAULT_SIZE = 8

WIDE = 1.02
"""Delays of the two ends that differ by less are the same."""


@dataclass(frozen=True)
class FrontPoint:
    """A setting on the front.

    Args:
        setting: the value of each parameter by its name.
        network: with this setting.
        value: the goal's number on the corrected fluid model.
        queueing_delay: there, s.
        packets: what the packet simulator says.
        packet_values: the goal's number in each packet run; (runs,).
    """

    setting: dict[str, float]
    network: Network
    value: float
    queueing_delay: float
    packets: Measurement
    packet_values: np.ndarray

    def as_json(self) -> dict[str, Any]:
        """Plain numbers."""
        means = self.packets.means()
        return {
            "setting": self.setting,
            "corrected_fluid": {"value": self.value, "queueing_delay_s": self.queueing_delay},
            "packets": {
                "value": float(self.packet_values.mean()),
                "queueing_delay_s": means["queueing_delay_s"],
                "utilisation": means["utilisation"],
                "drop_share": means["drop_share"],
                "runs": len(self.packet_values),
            },
        }


@dataclass(frozen=True)
class Front:
    """The front.

    Args:
        goal: what fairness is.
        points: from the fairest setting to the smallest delay.
    """

    goal: Objective
    points: tuple[FrontPoint, ...]


def pareto_front(
    network: Network,
    tune: str | None = None,
    *,
    ratio: float = 1.0,
    goal: Objective | None = None,
    limits: Constraints = NO_CONSTRAINTS,
    tune_queue: bool = False,
    size: int = DEFAULT_SIZE,
    **trial: Unpack[RunSettings],
) -> Front:
    """Find settings from the fairest one to the one with the smallest queueing delay.

    Args:
        network: a class of Vegas flows and at least one other class.
        tune: the class to tune; None: the only Vegas class.
        ratio: goodput of a tuned flow over that of a flow of the other classes.
        goal: another goal than this ratio.
        limits: what must be kept to, besides.
        tune_queue: whether RED's thresholds and max_drop are tuned, too.
        size: how many settings at most, at least 2.
        trial: how long and how often each setting is run, see `RunSettings`.

    Raises:
        InvalidInput, SolveFailed: as `recommend`.
    """
    if size < 2:
        raise InvalidInput("pareto_front", "size", "at least 2", size)
    goal = ShareRatio(ratio) if goal is None else goal
    job = make_evaluator(network, tunable_class(network, tune), ratio, trial)
    job.widen_zone(job.evaluate_fluid(network)["queueing_delay_s"])
    parameters = tuned_parameters(network, {job.tuned: job.zone}, tune_queue)
    problem = program_of(job, goal, limits, parameters)
    starts = initial_points(network, parameters, ratio)
    fairest = map_to_packets(problem, network, parameters, job.evaluate_packets, *starts)
    problem = replace(problem, misfit=begun(fairest.x, fairest.misfit.level))
    settings = {
        tuple(settled(network, parameters, x)): None for x in bounded(problem, fairest.x, size)
    }
    return Front(goal, tuple(measured(job, problem, parameters, values) for values in settings))


def bounded(problem: NonlinearProgram, fairest: np.ndarray, size: int) -> list[np.ndarray]:
    """The logarithms of settings, from the fairest to the smallest delay."""
    quickest = minimise_delay(problem, fairest)
    most, least = (float(np.exp(problem.delay(x)[0])) for x in (fairest, quickest))
    found = [fairest]
    if most < WIDE * least:
        return found
    for bound in np.geomspace(most, least, size)[1:-1]:
        limits = replace(problem.limits, queueing_delay=float(bound))
        found.append(solve(replace(problem, limits=limits), found[-1]))
    return [*found, quickest]


def measured(
    job: Evaluator,
    problem: NonlinearProgram,
    parameters: tuple[Parameter, ...],
    values: tuple[float, ...],
) -> FrontPoint:
    """A setting with what the corrected fluid and the packets say of it."""
    network = with_values(job.network, parameters, values)
    packets = job.evaluate_packets(network)
    found, _ = problem.outputs(np.log(values))
    return FrontPoint(
        setting={
            parameter.name: value for parameter, value in zip(parameters, values, strict=True)
        },
        network=network,
        value=problem.goal.value(problem.rates(found.goodput)),
        queueing_delay=float(found.queueing_delay),
        packets=packets,
        packet_values=objective_values(problem.goal, packets, network, (job.tuned,)),
    )
