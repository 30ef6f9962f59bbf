"""What the fluid model says of a network, with its exact derivatives by what is tuned.

The delay equations are differentiated in forward mode, by all parameters at once; values and
derivatives come from one run of one compiled function. Where a network oscillates for ever the
derivative of a long run may grow beyond all numbers, though its means do not: then finite
differences take its place at the first point, and each further run corrects them (C. G. Broyden,
"A class of methods for solving nonlinear simultaneous equations", Math. Comput. 19, 1965).
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
from vegasfluid.fluid.parameters import FluidParameters, as_floats, pose
from vegasfluid.fluid.simulate import integrate, system_of
from vegasfluid.fluid.structure import FluidStructure
from vegasfluid.fluid.time_grid import TimeGrid, mean_field_grid, with_longer_steps
from vegasfluid.network import Network
from vegasfluid.run_options import DEFAULT_SAMPLES
from vegasfluid.tuning.parameters import Parameter, alphas, posed_with_values

__all__ = [
    "DifferentiableFluid",
    "FluidSpec",
    "Outputs",
    "broyden",
    "make_spec",
    "outputs",
    "outputs_and_slopes",
]

DIFFERENCE = 0.02
"""Step of finite differences, in a parameter's logarithm; shorter steps drown in the oscillations
that made them necessary."""
STEEPEST = 1e3
"""Of a goodput in logarithms; what is steeper is no derivative of a mean, but a swing's."""
WORTH = 4
"""Longer steps, once queues stand, are taken where they are so many times as long."""
SMALLEST = 1e-12


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


def broyden(slopes: Outputs, changes: Outputs, step: np.ndarray) -> Outputs:
    """Slopes that tell how outputs changed over a step, and are else as near as can be to those
    given.

    Args:
        slopes: by the parameters; with a last axis of these.
        changes: of the outputs.
        step: (parameters,).
    """
    length = max(float(step @ step), SMALLEST)
    pairs = zip(slopes, changes, strict=True)
    return Outputs(
        *(old + np.asarray(of - old @ step)[..., np.newaxis] * step / length for old, of in pairs)
    )


class FluidSpec(NamedTuple):
    """What stays the same during a search; hashable, so that it can be a static argument.

    Args:
        plan: structure of the equations.
        grid: sample times and step.
        warmup: s.
        parameters: what is tuned.
        path: the links that the (first) tuned class crosses.
    """

    plan: FluidStructure
    grid: TimeGrid
    warmup: float
    parameters: tuple[Parameter, ...]
    path: tuple[int, ...]


def make_spec(
    network: Network, parameters: tuple[Parameter, ...], until: float, warmup: float
) -> tuple[FluidParameters, FluidSpec]:
    """The equations of a network, and what of them is searched."""
    posed, plan = pose(network)
    path = tuple(network.queue_indices(alphas(parameters)[0].flows)[0])
    grid = mean_field_grid(network, until, DEFAULT_SAMPLES)
    return as_floats(posed), FluidSpec(plan, grid, warmup, parameters, path)


def outputs(
    log_values: Any, posed: FluidParameters, task: FluidSpec
) -> tuple[Outputs, dde.Solution]:
    """Outputs of a run at the logarithms of the parameters, and its solution; traceable."""
    posed = posed_with_values(posed, task.parameters, jnp.exp(log_values))
    solution = integrate(posed, task.plan, task.grid)
    system = system_of(as_floats(posed), task.plan)
    gained = growth_of(solution.ys, system, task.grid.until, task.warmup)
    path = gained.over_path(task.path)
    links = (path.queueing_delay, path.drop_share, path.utilisation)
    return Outputs(gained.goodput, *links), solution._replace(ys=solution.ys[-1:])


@partial(jax.jit, static_argnames="task")
def outputs_and_slopes(
    log_values: Any, posed: FluidParameters, task: FluidSpec
) -> tuple[Outputs, Outputs, dde.Solution]:
    """Outputs, derivatives by the logarithms of all parameters (last axis), and the solution."""

    def twice(x: Any) -> tuple[Outputs, tuple[Outputs, dde.Solution]]:
        found, solution = outputs(x, posed, task)
        return found, (found, solution)

    slopes, (found, solution) = jax.jacfwd(twice, has_aux=True)(log_values)
    return found, slopes, solution


def quicker(grid: TimeGrid, network: Network) -> TimeGrid:
    """With longer steps once queues stand, where that is worth another program."""
    found = with_longer_steps(grid, network)
    return found if found.longer_steps and found.longer_steps[1] >= WORTH else grid


outputs_alone = jax.jit(outputs, static_argnames="task")
"""`outputs`, compiled."""


def sensible(found: Outputs, slopes: Outputs) -> bool:
    """Whether slopes say anything of outputs: those of a long swing grow beyond all numbers."""
    finite = all(bool(np.all(np.isfinite(part))) for part in slopes)
    return finite and np.max(np.abs(slopes.goodput)) <= STEEPEST * np.max(np.abs(found.goodput))


class DifferentiableFluid:
    """The fluid's outputs as a function of the logarithms of parameters, evaluated once a point.

    Args:
        network: of one link or several.
        parameters: what is tuned.
        until: simulated time, s.
        warmup: time that the means leave out, s.
        report: called with a line about each point.
    """

    def __init__(
        self,
        network: Network,
        parameters: tuple[Parameter, ...],
        until: float,
        warmup: float,
        report: Callable[[str], None] = lambda message: None,
    ) -> None:
        self._posed, task = make_spec(network, parameters, until, warmup)
        self._task = task._replace(grid=quicker(task.grid, network))
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
            self._known[key] = self._derived(log_values) or self._by_differences(log_values)
        return self._known[key]

    def alone(self, log_values: np.ndarray) -> Outputs:
        """Outputs without their derivatives, as NumPy arrays.

        Raises:
            SolveFailed: where the solution leaves the finite numbers.
        """
        [found] = self._run(outputs_alone, log_values)
        self._tell(log_values, found)
        return found

    def _derived(self, log_values: np.ndarray) -> tuple[Outputs, Outputs] | None:
        """Outputs and exact derivatives; None once these have grown beyond all numbers."""
        if self._overflows:
            return None
        found, slopes = self._run(outputs_and_slopes, log_values)
        self._overflows = not sensible(found, slopes)
        if self._overflows:
            return None
        self._tell(log_values, found)
        return found, slopes

    def _by_differences(self, log_values: np.ndarray) -> tuple[Outputs, Outputs]:
        """Outputs and slopes of differences."""
        found = self.alone(log_values)
        return found, self._slopes(np.asarray(log_values), found)

    def _tell(self, log_values: np.ndarray, found: Outputs) -> None:
        """Say what a point is like."""
        pairs = zip(self._task.parameters, np.exp(log_values), strict=True)
        setting = ", ".join(f"{parameter.name} {value:.4g}" for parameter, value in pairs)
        self._report(f"fluid: {setting}; delay {float(found.queueing_delay):.4g} s")

    def _run(self, function: Any, log_values: Any) -> list[Outputs]:
        """What a compiled function finds; with shorter steps from where queues do not stand."""
        begin = time.perf_counter()
        x = jnp.asarray(log_values, float)
        *found, solution = function(x, self._posed, self._task)
        grid = self._task.grid
        if grid.longer_steps is not None and solution.outcome == dde.Outcome.LAG_TOO_SHORT:
            self._task = self._task._replace(grid=grid._replace(longer_steps=None))
            *found, solution = function(x, self._posed, self._task)
        dde.check(solution)
        found = jax.tree.map(np.asarray, found)
        self.seconds += time.perf_counter() - begin
        return found

    def _slopes(self, x: np.ndarray, here: Outputs) -> Outputs:
        """Slopes by differences: of runs, or of what the nearest point said and its slopes."""
        steps = {key: x - np.frombuffer(key) for key in self._known}
        if not steps:
            return self._differences(x, here)
        nearest = min(steps, key=lambda key: float(np.max(np.abs(steps[key]))))
        (before, slopes), step = self._known[nearest], steps[nearest]
        if np.max(np.abs(step)) < DIFFERENCE:
            return slopes
        changes = (new - old for new, old in zip(here, before, strict=True))
        return broyden(slopes, Outputs(*changes), step)

    def _differences(self, x: Any, here: Outputs) -> Outputs:
        """Finite differences of the outputs by each parameter, over a step that no swing drowns."""
        columns = []
        for number in range(len(self._task.parameters)):
            there = self._run(outputs_alone, x + DIFFERENCE * (np.arange(len(x)) == number))[0]
            columns.append([(a - b) / DIFFERENCE for a, b in zip(there, here, strict=True)])
        return Outputs(*(np.stack(of, axis=-1) for of in zip(*columns, strict=True)))
