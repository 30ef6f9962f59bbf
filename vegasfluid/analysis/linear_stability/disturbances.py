"""Runs of the nonlinear delay equations from a slightly disturbed equilibrium.

Queues and windows start a little above the equilibrium, with the history of a network that has
always been there. The growth rate of the disturbance checks the rightmost root of the linear
system (`stability`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from vegasfluid import dde
from vegasfluid.analysis.equilibria.equations import (
    REFERENCE_TIME,
    EquilibriumEquations,
    Unknowns,
)
from vegasfluid.analysis.equilibria.equilibrium import Equilibrium, equilibrium_model
from vegasfluid.analysis.equilibria.newton import refine
from vegasfluid.errors import Unsupported
from vegasfluid.fluid.model import FluidModel
from vegasfluid.fluid.parameters import build_parameters
from vegasfluid.fluid.time_grid import mean_field_grid
from vegasfluid.fluid.vector_field import VectorField

__all__ = ["disturbed", "growth_rate"]

SAMPLES = 4001
"""Sample times of a run."""
STEPS_PER_RTT = 12
"""Fewest steps in the shortest base RTT."""
INTERVALS = 10
"""Intervals of a run in each of which the size of the oscillation is measured."""
SMALLEST, LARGEST = 1e-11, 0.02
"""Range of oscillations, relative to the mean window, that determine a growth rate: smaller ones
are rounding errors, larger ones nonlinear."""


class RunLengths(NamedTuple):
    """Duration, step and history length of a run; plain numbers, not traced.

    Args:
        until: simulated time, s.
        step: fixed step of the solver, s.
        longest_lag: longest delay that the solver's history covers, s.
    """

    until: float
    step: float
    longest_lag: float


def disturbed(
    equilibria: Sequence[Equilibrium], until: float, by: float = 1e-5
) -> tuple[np.ndarray, np.ndarray]:
    """Simulate networks from slightly disturbed equilibria, in one batch of fluid runs.

    Args:
        equilibria: one or more equilibria of networks with the same structure and options.
        until: simulated time, s.
        by: initial increase of queues, windows and other states of flow classes, relative to their
            equilibrium values.

    Returns:
        4001 sample times, evenly spaced from 0 to `until`, s, (samples,); and the window of a flow
        of each group, packets, (networks, samples, groups).

    Raises:
        Unsupported: for networks of different structure or options.
    """
    models = [equilibrium_model(point.network, point.options) for point in equilibria]
    first = models[0]
    if any((m.structure, m.options) != (first.structure, first.options) for m in models):
        reason = "in one batch, all models have the same structure and options"
        raise Unsupported("disturbed", "a mix of structures or options", reason)
    starts = [
        refine(model, point.solution) for model, point in zip(models, equilibria, strict=True)
    ]
    bounds = [build_parameters(point.network)[0].delay_bounds for point in equilibria]
    longest = max(bound.longest for bound in bounds)
    stacked = stack([jax.tree.map(jnp.asarray, bound) for bound in bounds])
    parameters = stack([model.parameters for model in models])._replace(delay_bounds=stacked)
    steps = (mean_field_grid(point.network, until).step for point in equilibria)
    step = min(float(jnp.min(parameters.groups.base_rtt)) / STEPS_PER_RTT, *steps)
    lengths = RunLengths(until, step, longest)
    batch = replace(first, parameters=parameters)
    windows = jax.vmap(lambda model, start: run(model, start, lengths, by))(batch, stack(starts))
    return np.linspace(0.0, until, SAMPLES), np.asarray(windows)


def stack(trees: Sequence[Any]) -> Any:
    """Pytrees of one structure as one pytree, whose arrays have a new first axis over the trees."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


@partial(jax.jit, static_argnames=("lengths",))
def run(model: FluidModel, point: Unknowns, lengths: RunLengths, by: Any) -> Any:
    """Simulate one network from its equilibrium with queues and class states increased.

    Args:
        model: the fluid model.
        point: the equilibrium, queues in packets.
        lengths: simulated time, step and history length, s.
        by: relative increase of queues and class states (windows and others) at the start.

    Returns:
        The window of a flow of each group, packets; (samples, groups), evenly spaced in time.
    """
    equations = EquilibriumEquations.from_model(model)
    field, size = equations.field, equations.field.history_size
    point = equations.in_work_units(point)
    rates = jnp.concatenate([point.counter_rates, jnp.zeros_like(point.queue)])[:size]
    queue, classes = jax.tree.map(lambda part: part * (1 + by), (point.queue, point.classes))
    state = equations.state_from_work(point._replace(queue=queue, classes=classes))
    undisturbed = field.layout.pack(equations.state_from_work(point))[:size]
    # counters are zero when the run starts, and have grown at constant rates until then
    solution = dde.solve_fixed(
        lambda t, y, history, args: field.derivative(
            t + REFERENCE_TIME, y, ShiftedHistory(history, rates)
        ),
        field.layout.pack(state),
        ts=np.linspace(0.0, lengths.until, SAMPLES),
        dt0=lengths.step,
        longest_lag=lengths.longest_lag,
        initial_history=lambda t: undisturbed + rates * t,
        project=field.project,
        history_components=size,
        save=lambda t, y: windows_of(field, t, y),
    )
    return solution.ys


def windows_of(field: VectorField, time: Any, y: Any) -> Any:
    """The window of a flow of each group, packets, from a state vector `y` of a run; (groups,).

    `time` is counted from the start of the run, s.
    """
    saved = field.saved.unpack(field.save(time + REFERENCE_TIME, y))
    return jnp.concatenate([values.cwnd for values in saved.classes])


class ShiftedHistory:
    """The solver's history in a time in which the run starts at REFERENCE_TIME.

    Args:
        history: history of the solver, whose run starts at 0.
        rates: rates of its components before the start, 1/s.
    """

    def __init__(self, history: Any, rates: Any) -> None:
        self._history, self._rates = history, rates

    def __call__(self, times: Any, components: Any = None) -> Any:
        """Values of the stored `components` (indices; None: all) at past times, s.

        Times are those of the equations, in which the run starts at REFERENCE_TIME.
        """
        return self._history(times - REFERENCE_TIME, components=components)

    def slope(self, times: Any, components: Any = None) -> Any:
        """Rates of change of the stored components at past times, each in its unit per second.

        Before REFERENCE_TIME, when the run starts, they are the constant rates of the equilibrium.
        """
        during = self._history.slope(times - REFERENCE_TIME, components=components)
        before = times < REFERENCE_TIME
        before = jnp.asarray(before)[..., None] if components is None else before
        return jnp.where(
            before, self._rates if components is None else self._rates[components], during
        )


def growth_rate(times: np.ndarray, windows: np.ndarray) -> np.ndarray:
    """The rate at which small disturbances of each network grow, 1/s; negative if they decay.

    The run is divided into tenths; the first two are not used. In each other tenth the range
    (largest less smallest value) is measured of the window that has the largest range in the last
    tenth. The rate is the slope of the logarithm of the range. Ranges that are not between 1e-11
    and 0.02 of the mean window (rounding, nonlinear effects) are left out.

    Args:
        times: sample times, s; (samples,).
        windows: window of a flow of each group, packets; (networks, samples, groups).

    Returns:
        The rates, 1/s; (networks,). If fewer than two ranges remain, inf where the range is larger
        in the last tenth than in the third, -inf where it is smaller, NaN where it is equal.
    """
    return np.array([growth_of(times, cwnd) for cwnd in windows])


def growth_of(times: np.ndarray, cwnd: np.ndarray) -> float:
    """The rate at which a small disturbance of one network grows, 1/s; negative if it decays.

    It is the slope of the logarithm of a window's range (largest less smallest value) in tenths of
    the run, without the first two. The window is the one with the largest range in the last tenth.

    Args:
        times: sample times, s; (samples,).
        cwnd: window of a flow of each group, packets; (samples, groups).

    Returns:
        The rate, 1/s. If fewer than two ranges are between 1e-11 and 0.02 of the mean window, inf
        where the range is larger in the last tenth than in the third, -inf where it is smaller, and
        NaN where it is equal.
    """
    length = len(times) // INTERVALS
    ranges = np.array(
        [np.ptp(cwnd[n * length : (n + 1) * length], axis=0) for n in range(2, INTERVALS)]
    )
    largest = ranges[:, np.argmax(ranges[-1])]
    middles = times[length // 2 :: length][2:INTERVALS]
    linear = (largest > SMALLEST * cwnd.mean()) & (largest < LARGEST * cwnd.mean())
    if linear.sum() < 2:
        return float(np.sign(largest[-1] - largest[0]) * np.inf)
    return float(np.polyfit(middles[linear], np.log(largest[linear]), 1)[0])
