"""What the fluid model says of a network, with its exact derivatives by what is tuned.

The delay equations are differentiated in forward mode, by all knobs at once; values and derivatives
come from one run of one compiled function. Where a network swings for ever the derivative of a long
run may grow beyond all numbers, though its means do not: then differences of runs take its place.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from vegasfluid import dde
from vegasfluid.fluid.means import growth_of
from vegasfluid.fluid.pose import Posed, pose
from vegasfluid.fluid.routes import Plan
from vegasfluid.fluid.simulate import Grid, grid_for, integrate, system_of
from vegasfluid.network import Network
from vegasfluid.times import DEFAULT_SAMPLES
from vegasfluid.trajectory import columns_of
from vegasfluid.tuning.knobs import Knob, alphas, turned_posed

__all__ = ["Fluid", "Outputs", "Task", "make_task", "outputs", "outputs_and_slopes"]

DIFFERENCE = 0.02
"""In a knob's logarithm, where differences take the place of derivatives."""


class Outputs(NamedTuple):
    """By what a setting is judged; means after the warm-up, of one network or of many.

    Args:
        goodput: packets/s of a flow of each group of flows that are alike; (groups,).
        queueing_delay: of a packet at the link, s.
        drop_share: of the packets that arrive there.
        utilisation: of the link.
    """

    goodput: Any
    queueing_delay: Any
    drop_share: Any
    utilisation: Any


class Task(NamedTuple):
    """What stays the same during a search; hashable, so that it can be a static argument.

    Args:
        plan: structure of the equations.
        grid: sample times and step.
        warmup: s.
        knobs: what is tuned.
        path: the links that the (first) tuned class crosses.
    """

    plan: Plan
    grid: Grid
    warmup: float
    knobs: tuple[Knob, ...]
    path: tuple[int, ...]


def make_task(
    network: Network, knobs: tuple[Knob, ...], until: float, warmup: float
) -> tuple[Posed, Task]:
    """The equations of a network, and what of them is searched."""
    posed, plan = pose(network)
    path = tuple(columns_of(network, alphas(knobs)[0].flows))
    return posed, Task(plan, grid_for(network, until, DEFAULT_SAMPLES), warmup, knobs, path)


def outputs(log_values: Any, posed: Posed, task: Task) -> tuple[Outputs, dde.Solution]:
    """What a run says where the knobs stand at these logarithms, and its solution; traceable."""
    posed = turned_posed(posed, task.knobs, jnp.exp(log_values))
    solution = integrate(posed, task.plan, task.grid)
    system = system_of(jax.tree.map(lambda leaf: jnp.asarray(leaf, float), posed), task.plan)
    gained = growth_of(solution.ys, system, task.grid.until, task.warmup)
    path = gained.along(task.path)
    links = (path.queueing_delay, path.drop_share, path.utilisation)
    return Outputs(gained.goodput, *links), solution._replace(ys=solution.ys[-1:])


@partial(jax.jit, static_argnames="task")
def outputs_and_slopes(
    log_values: Any, posed: Posed, task: Task
) -> tuple[Outputs, Outputs, dde.Solution]:
    """Outputs, their derivatives by the logarithms of all knobs (a last axis), and the solution."""

    def twice(x: Any) -> tuple[Outputs, tuple[Outputs, dde.Solution]]:
        found, solution = outputs(x, posed, task)
        return found, (found, solution)

    slopes, (found, solution) = jax.jacfwd(twice, has_aux=True)(log_values)
    return found, slopes, solution


outputs_alone = jax.jit(outputs, static_argnames="task")
"""`outputs`, compiled."""


def all_finite(found: Outputs) -> bool:
    """Whether nothing in some outputs or slopes left the finite numbers."""
    return all(bool(np.all(np.isfinite(part))) for part in found)


class Fluid:
    """The fluid's outputs as a function of the logarithms of knobs, evaluated once a point.

    Args:
        network: of one link or several.
        knobs: what is tuned.
        until: simulated time, s.
        warmup: time that the means leave out, s.
        report: called with a line about each point.
    """

    def __init__(
        self,
        network: Network,
        knobs: tuple[Knob, ...],
        until: float,
        warmup: float,
        report: Callable[[str], None] = lambda message: None,
    ) -> None:
        self._posed, self._task = make_task(network, knobs, until, warmup)
        self._report = report
        self.seconds = 0.0
        self._known: dict[bytes, tuple[Outputs, Outputs]] = {}
        self._overflows = False

    @property
    def count(self) -> np.ndarray:
        """Flows of each group; (groups,)."""
        return np.asarray(self._posed.groups.count, float)

    @property
    def classes(self) -> tuple[slice, ...]:
        """The groups of each class."""
        return tuple(self._task.plan.classes)

    @property
    def evaluations(self) -> int:
        """How many points were evaluated."""
        return len(self._known)

    def at(self, log_values: np.ndarray) -> tuple[Outputs, Outputs]:
        """Outputs and their derivatives, as NumPy arrays.

        Raises:
            SolveFailed: where the solution leaves the finite numbers.
        """
        key = np.asarray(log_values, float).tobytes()
        if key not in self._known:
            begin = time.perf_counter()
            x = jnp.asarray(log_values, float)
            first, second = self._found(x)
            self._known[key] = (first, second)
            self.seconds += time.perf_counter() - begin
            pairs = zip(self._task.knobs, np.exp(log_values), strict=True)
            setting = ", ".join(f"{knob.name} {value:.4g}" for knob, value in pairs)
            self._report(f"fluid: {setting}; delay {float(first.queueing_delay):.4g} s")
        return self._known[key]

    def _found(self, x: Any) -> tuple[Outputs, Outputs]:
        """Outputs and derivatives; once these have left the finite numbers, differences."""
        if not self._overflows:
            *found, solution = outputs_and_slopes(x, self._posed, self._task)
            dde.check(solution)
            first, second = jax.tree.map(np.asarray, found)
            if all_finite(second):
                return first, second
            self._overflows = True
        first = self._alone(x)
        return first, self._differences(x, first)

    def _alone(self, x: Any) -> Outputs:
        """The outputs of a run without its derivatives."""
        found, solution = outputs_alone(x, self._posed, self._task)
        dde.check(solution)
        return jax.tree.map(np.asarray, found)

    def _differences(self, x: Any, here: Outputs) -> Outputs:
        """How the outputs change from here with each knob, over a step that no swing drowns."""
        columns = []
        for number in range(len(self._task.knobs)):
            there = self._alone(x + DIFFERENCE * (np.arange(len(x)) == number))
            columns.append([(a - b) / DIFFERENCE for a, b in zip(there, here, strict=True)])
        return Outputs(*(np.stack(of, axis=-1) for of in zip(*columns, strict=True)))
