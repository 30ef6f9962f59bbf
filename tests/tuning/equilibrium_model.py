"""A stand-in for the fluid model in searches: the equilibrium of a queue, from one equation.

It is as smooth as the fluid model, roughly as large, and takes a millisecond. Whether the fluid
model's own outputs and derivatives are right is a matter of `test_gradients`.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from scipy.optimize import brentq

from vegasfluid import Network, Red, Vegas
from vegasfluid.tuning import fluid_gradients
from vegasfluid.tuning.fluid_gradients import DifferentiableFluid, Outputs
from vegasfluid.tuning.parameters import alpha_parameters

__all__ = ["EquilibriumModel"]

WIDTH = 1e-5
"""Of central differences, in logarithms."""
LARGEST_QUEUE = 1e5
"""Packets."""


class EquilibriumModel(DifferentiableFluid):
    """In the place of `DifferentiableFluid`, for one link with RED.

    A Vegas flow keeps alpha packets in the queue, but its window is at most sqrt(2) times Reno's,
    which is sqrt(2 / p).
    """

    network: Network

    def __init__(self, network: Network, *given: Any) -> None:
        super().__init__(network, *given)
        self.network = network

    def _run(self, function: Any, log_values: Any) -> list[Outputs]:
        result = self.equilibrium(log_values)
        if function is fluid_gradients.outputs_alone:
            return [result]
        columns = []
        for step in WIDTH * np.eye(len(log_values)):
            ends = [self.equilibrium(log_values + sign * step) for sign in (1, -1)]
            columns.append([(a - b) / (2 * WIDTH) for a, b in zip(*ends, strict=True)])
        return [
            result,
            Outputs(*(np.stack(column, axis=-1) for column in zip(*columns, strict=True))),
        ]

    def equilibrium(self, log_values: Any) -> Outputs:
        """The outputs where the parameters stand at these logarithms."""
        values = {
            parameter.name: math.exp(value)
            for parameter, value in zip(self._spec.parameters, log_values, strict=True)
        }
        link = self.network.link
        curve, capacity = self.curve(values), float(link.capacity)
        low = values.get("min_thresh_packets", cast(Any, link.aqm).min_thresh)
        tuned = {
            parameter.flows: values[parameter.name]
            for parameter in alpha_parameters(self._spec.parameters)
        }

        def rates(queue: float) -> dict[str, float]:
            """Goodput of a flow of each class, packets/s."""
            lost, result = curve(queue), {}
            for name, flows in self.network.flows.items():
                rtt = self.network.mean_base_rtt(name) + queue / capacity
                window = math.sqrt(2 / lost)
                if isinstance(flows.law, Vegas):
                    alpha = tuned.get(name, float(cast(Any, flows.law.alpha)))
                    window = (0.5 / window**2 + (queue / (alpha * rtt * capacity)) ** 2) ** -0.5
                result[name] = window / rtt * (1 - lost)
            return result

        def excess(queue: float) -> float:
            each = rates(queue)
            return (
                sum(group.count * each[name] for name, group in self.network.flows.items())
                - capacity
            )

        queue = cast(float, brentq(excess, low + 1e-9, LARGEST_QUEUE, xtol=1e-11, rtol=1e-14))
        goodput = np.zeros(len(self.count))
        for own, rate in zip(self.classes, rates(queue).values(), strict=True):
            goodput[own] = rate
        used = 1 - 0.2 * math.exp(-queue / 10)
        return Outputs(goodput, queue / capacity, curve(queue), used)

    def curve(self, values: dict[str, float]) -> Any:
        """Drop probability by the queue, packets."""
        red = cast(Red, self.network.link.aqm)
        low = values.get("min_thresh_packets", red.min_thresh)
        spread = values.get("spread_packets", red.max_thresh - red.min_thresh)
        most = values.get("max_drop", red.max_drop)
        return lambda queue: min(most * (queue - low) / spread, 0.9)
