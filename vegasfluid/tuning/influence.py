"""Runs of a network with other numbers, and whether its packet runs depend on one of them."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.fluid import record_fluid
from vegasfluid.network import Network
from vegasfluid.run_options import DEFAULT_SAMPLES
from vegasfluid.tuning.evaluate import setting_key
from vegasfluid.tuning.fluid_gradients import DifferentiableFluid
from vegasfluid.tuning.measurement import Measurement, half_width, measure, summary
from vegasfluid.tuning.number_result import EvaluatedNetwork
from vegasfluid.tuning.parameters import Parameter
from vegasfluid.tuning.settings import ResolvedSettings

__all__ = ["Comparison", "Influence", "NetworkEvaluator", "influence"]

INFLUENCE = 0.01
"""A number matters if a measured mean changes by more than this fraction of it, and by more than
its uncertainty."""
FLUID_INFLUENCE = 1e-6
"""The fluid model depends on a number if a d log(output) / d log(number) exceeds this."""
SMALLEST = 1e-12
"""Least mean by which a change is divided, in the unit of the mean."""
COMPARED = ("jain_index", "utilisation", "queueing_delay_s", "drop_share", "ratio")
"""Means of packet runs on which a number may have an influence."""


class Comparison(NamedTuple):
    """The classes of flows that a recommendation is about.

    Args:
        lead: class whose path gives delay, drops and utilisation, and the ratio's numerator.
        others: classes in the ratio's denominator; empty: all others.
    """

    lead: str
    others: tuple[str, ...]

    def numbers(self, network: Network) -> dict[str, float]:
        """By class name: 1 for the lead, 0 for classes compared with it, -1 for any other."""
        others = self.others or tuple(network.flows)
        return {
            name: 1.0 if name == self.lead else 0.0 if name in others else -1.0
            for name in network.flows
        }


@dataclass
class NetworkEvaluator:
    """Runs both simulators on a network with other numbers, packets once for each setting.

    Args:
        network: with the values that were given.
        comparison: the classes that metrics are about.
        settings: duration, warm-up (s), seeds, progress report.
        measured: packet runs so far, by `setting_key` of the network.
        stopped: `setting_key` of the networks so far in which no flow delivers a packet.
        seconds: wall time spent in each simulator, s.
    """

    network: Network
    comparison: Comparison
    settings: ResolvedSettings
    measured: dict[Any, Measurement] = field(default_factory=dict)
    stopped: set[Any] = field(default_factory=set)
    seconds: dict[str, float] = field(default_factory=lambda: {"fluid": 0.0, "packets": 0.0})

    def packets(self, network: Network) -> Measurement:
        """Packet runs of a network, one for each seed: means after the warm-up; cached.

        Raises:
            SolveFailed: if no flow delivers a packet after the warm-up.
        """
        key = setting_key(network)
        if key not in self.measured:
            begin = time.perf_counter()
            settings, (lead, others) = self.settings, self.comparison
            times = {"until": settings.until, "warmup": settings.warmup}
            self.measured[key] = measure(network, lead, settings.seeds, **times, others=others)
            self.seconds["packets"] += time.perf_counter() - begin
        return self.measured[key]

    def packets_if_any(self, network: Network) -> Measurement | None:
        """Packet runs of a network; None if no flow delivers a packet after the warm-up. Cached.

        A search meets such networks: with some thresholds Linux's RED drops every packet.
        """
        key = setting_key(network)
        if key in self.stopped:
            return None
        try:
            return self.packets(network)
        except SolveFailed:
            self.stopped.add(key)
            return None

    def evaluate(self, network: Network) -> EvaluatedNetwork:
        """Means of a new fluid run, and the (cached) packet runs of a network, after the warm-up.

        Raises:
            SolveFailed: where the fluid model cannot be integrated, or no flow delivers a packet.
        """
        begin = time.perf_counter()
        run = record_fluid(network, self.settings.until, DEFAULT_SAMPLES)
        fluid = summary(run, self.comparison.lead, self.settings.warmup, self.comparison.others)
        self.seconds["fluid"] += time.perf_counter() - begin
        return EvaluatedNetwork(network, fluid, self.packets(network))


class Influence(NamedTuple):
    """What varying one number alone shows.

    Args:
        matters: whether a mean of the packet runs changes significantly at one of the tried values,
            or no flow delivers a packet there.
        in_fluid: whether an output of the fluid model has a derivative by the number; False also
            where the model cannot be integrated.
        tried: values of the number for which there are packet runs, in its unit.
    """

    matters: bool
    in_fluid: bool
    tried: tuple[float, ...]


def influence(
    evaluator: NetworkEvaluator,
    fluid: DifferentiableFluid,
    parameter: Parameter,
    x: Float[np.ndarray, " parameters"],
    index: int,
) -> Influence:
    """Vary one number alone over its range on packets, and read the fluid model's derivatives.

    The number takes the ends and the geometric middle of its range, rounded to values that systems
    accept. Values with which the network is invalid are skipped.

    Args:
        evaluator: runs the packet simulator on the network with other values.
        fluid: the fluid model as a function of all tuned numbers.
        parameter: the number that is varied.
        x: logarithms of the given values of all tuned numbers.
        index: position of the number among the tuned ones.
    """
    network = evaluator.network
    low, high = parameter.range(network)
    points = (low, math.sqrt(low * high), high)
    base, matters, valid = evaluator.packets(network), False, list[float]()
    for value in dict.fromkeys(parameter.settable(network, point) for point in points):
        try:
            other = parameter.with_value(network, value)
        except InvalidInput:
            continue
        measured = evaluator.packets_if_any(other)
        if measured is None:
            matters = True
            continue
        valid.append(value)
        matters = differ(base, measured) or matters
    return Influence(matters, has_derivative(fluid, x, index), tuple(valid))


def differ(one: Measurement, other: Measurement) -> bool:
    """Whether a mean of two measurements with the same seeds differs significantly.

    Compared are Jain's index, utilisation, delay, loss ratio and ratio. A change is significant if
    it exceeds 1 % of the mean in `one`, and twice the half width of the 95 % confidence interval of
    the differences seed by seed. A mean that is not finite in some run is skipped.
    """
    for key in COMPARED:
        first, second = (np.array([run[key] for run in runs.runs]) for runs in (one, other))
        if not np.all(np.isfinite(first) & np.isfinite(second)):
            continue
        change = abs(float(np.mean(second - first)))
        floor = INFLUENCE * max(abs(float(np.mean(first))), SMALLEST)
        if change > max(floor, 2 * half_width(second - first)):
            return True
    return False


def has_derivative(
    fluid: DifferentiableFluid, x: Float[np.ndarray, " parameters"], index: int
) -> bool:
    """Whether an output of the fluid model depends on one number, at logarithms x of all numbers.

    It does if d log(output) / d log(number) exceeds 1e-6 in size. False also where the model cannot
    be integrated.

    Args:
        fluid: the fluid model as a function of all tuned numbers.
        x: logarithms of the tuned numbers.
        index: position of the number among them.
    """
    try:
        values, slopes = fluid.at(x)
    except SolveFailed:
        return False
    relative = [
        np.max(np.abs(np.asarray(slope)[..., index]) / np.maximum(np.abs(value), SMALLEST))
        for value, slope in zip(values, slopes, strict=True)
    ]
    return bool(max(relative) > FLUID_INFLUENCE)
