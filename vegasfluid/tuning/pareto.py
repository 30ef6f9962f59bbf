"""The Pareto front of fairness against queueing delay: what less delay costs.

The fairest setting is found on packets (`space_mapping`), and with it how these differ from the
fluid model. On the model, so corrected, the objective is optimised once for each of some bounds on
the delay (the epsilon-constraint method), down to the smallest delay, each search from the end of
the one before. Every setting is then measured on packets.

Sources:
    The method: Y. Haimes, L. Lasdon and D. Wismer, "On a bicriterion formulation of the problems of
    integrated system identification and system optimization", IEEE Trans. SMC 1(3), 1971 (title).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from jaxtyping import Float

from vegasfluid.errors import InvalidInput
from vegasfluid.network import Network
from vegasfluid.tuning.constraints import NO_CONSTRAINTS, Constraints
from vegasfluid.tuning.evaluate import Evaluator, make_evaluator
from vegasfluid.tuning.fluid_gradients import OutputCorrection
from vegasfluid.tuning.initial_guess import initial_points
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.nonlinear_program import NonlinearProgram, minimise_delay, solve_program
from vegasfluid.tuning.objectives import Objective, ShareRatio, is_fairness
from vegasfluid.tuning.optimise import make_program
from vegasfluid.tuning.parameters import Parameter, tunable_class, tuned_parameters, with_values
from vegasfluid.tuning.settings import RunSettings
from vegasfluid.tuning.space_mapping import map_to_packets, objective_values, settable_values

__all__ = ["Front", "FrontPoint", "pareto_front"]

DEFAULT_SIZE = 8
"""Default of the largest number of settings on the front."""
DISTINCT_DELAYS = 1.02
"""The front is one point if the delays of its two ends differ by less than this factor."""


@dataclass(frozen=True)
class FrontPoint:
    """One setting of a Pareto front, on the corrected fluid model and on packets.

    Args:
        setting: value of each tuned parameter by its name (packets; max_drop a probability).
        network: with this setting.
        value: of the objective on the corrected fluid model, no unit.
        queueing_delay: on the corrected fluid model, mean, s.
        packets: packet runs, one for each seed, means after the warm-up.
        packet_values: value of the objective in each packet run; (runs,).
    """

    setting: dict[str, float]
    network: Network
    value: float
    queueing_delay: float
    packets: Measurement
    packet_values: Float[np.ndarray, " runs"]

    def as_json(self) -> dict[str, Any]:
        """One entry of the list `front` in the JSON output of `recommend --pareto`.

        Returns:
            `setting`; `corrected_fluid` and `packets`, each with the objective's `value` and
            `queueing_delay_s`; for packets also `utilisation`, `drop_share` and the number of
            `runs`.
        """
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
    """A Pareto front: settings with ever less queueing delay and ever less fairness.

    Args:
        objective: the fairness objective.
        points: from the fairest setting to the smallest delay.
    """

    objective: Objective
    points: tuple[FrontPoint, ...]


def pareto_front(
    network: Network,
    tune: str | None = None,
    *,
    ratio: float = 1.0,
    objective: Objective | None = None,
    constraints: Constraints = NO_CONSTRAINTS,
    tune_queue: bool = False,
    size: int = DEFAULT_SIZE,
    **settings: Unpack[RunSettings],
) -> Front:
    """Find settings from the fairest one to the one with the smallest queueing delay.

    Args:
        network: a class of Vegas flows and at least one other class.
        tune: the class to tune; None: the only Vegas class.
        ratio: goodput of a tuned flow over that of a flow of the other classes.
        objective: a fairness objective instead of this ratio; None: the ratio.
        constraints: bounds that every setting must satisfy.
        tune_queue: whether RED's thresholds and max_drop are tuned, too.
        size: how many settings at most, at least 2.
        settings: `until` and `warmup` (s), `runs`, `seed` and `report`, see `RunSettings`.

    Returns:
        The objective, and the distinct settings from fairest to smallest delay, each measured by
        packet runs. A single setting if the delays of the two differ by less than 2 %.

    Raises:
        InvalidInput: for a size below 2, an objective that is not fairness, nothing to tune or
            compare with, or settings out of range.
        SolveFailed: where the fluid model cannot be integrated.
    """
    if size < 2:
        raise InvalidInput("pareto_front", "size", "at least 2", size)
    objective = ShareRatio(ratio) if objective is None else objective
    if not is_fairness(objective):
        allowed = "fairness among all flows, or a ratio of the tuned ones to the others"
        raise InvalidInput("pareto_front", "objective", allowed, objective.key)
    evaluator = make_evaluator(network, tunable_class(network, tune), ratio, settings)
    evaluator.widen_dead_band(evaluator.evaluate_fluid(network)["queueing_delay_s"])
    dead_bands = {evaluator.tuned: evaluator.dead_band}
    parameters = tuned_parameters(network, dead_bands, tune_queue)
    program = make_program(evaluator, objective, constraints, parameters)
    starts = initial_points(network, parameters, ratio)
    fairest = map_to_packets(program, network, parameters, evaluator.evaluate_packets, *starts)
    correction = OutputCorrection.constant(fairest.x, fairest.correction.offset)
    program = replace(program, correction=correction)
    points = front_points(program, fairest.x, size)
    distinct = {tuple(settable_values(network, parameters, x)): None for x in points}
    return Front(
        objective, tuple(measure_point(evaluator, program, parameters, one) for one in distinct)
    )


def front_points(program: NonlinearProgram, fairest: np.ndarray, size: int) -> list[np.ndarray]:
    """Settings from the fairest to the smallest delay on the corrected fluid model.

    The objective is optimised under delay bounds that are spaced geometrically. If the delays of
    the two ends differ by less than 2 %, only the fairest setting is returned.

    Args:
        program: nonlinear program on the corrected fluid model.
        fairest: logarithms of the parameters of the fairest setting; (parameters,).
        size: how many settings at most.

    Returns:
        Logarithms of the parameters of each setting; (parameters,) each.
    """
    quickest = minimise_delay(program, fairest)
    largest, smallest = (float(np.exp(program.log_delay(x)[0])) for x in (fairest, quickest))
    points = [fairest]
    if largest < DISTINCT_DELAYS * smallest:
        return points
    for bound in np.geomspace(largest, smallest, size)[1:-1]:
        constraints = replace(program.constraints, queueing_delay=float(bound))
        points.append(solve_program(replace(program, constraints=constraints), points[-1]))
    return [*points, quickest]


def measure_point(
    evaluator: Evaluator,
    program: NonlinearProgram,
    parameters: tuple[Parameter, ...],
    values: tuple[float, ...],
) -> FrontPoint:
    """Evaluate one setting on the corrected fluid model and by packet runs.

    Args:
        evaluator: of the tuned class.
        program: on the corrected fluid model.
        parameters: the tuned parameters.
        values: of the parameters, in their order (packets; max_drop a probability).
    """
    network = with_values(evaluator.network, parameters, values)
    packets = evaluator.evaluate_packets(network)
    outputs, _ = program.outputs(np.log(values))
    return FrontPoint(
        setting={one.name: value for one, value in zip(parameters, values, strict=True)},
        network=network,
        value=program.objective.value(program.rates(outputs.goodput)),
        queueing_delay=float(outputs.queueing_delay),
        packets=packets,
        packet_values=objective_values(program.objective, packets, network, (evaluator.tuned,)),
    )
