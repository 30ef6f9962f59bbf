"""Outputs of the fluid model and their exact derivatives by the tuned parameters.

The delay equations are differentiated in forward mode, by all parameters at once; values and
derivatives come from one run of one compiled function. Where a network oscillates for ever the
derivative of a long run may grow beyond all numbers, though its means do not: then finite
differences take its place at the first point, and each further run corrects them (C. G. Broyden,
"A class of methods for solving nonlinear simultaneous equations", Math. Comput. 19, 1965).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from vegasfluid import dde
from vegasfluid.fluid.model import FluidModel, build
from vegasfluid.fluid.output import totals_after_warmup
from vegasfluid.fluid.time_grid import TimeGrid, mean_field_grid, with_longer_steps
from vegasfluid.network import Network
from vegasfluid.run_options import DEFAULT_SAMPLES
from vegasfluid.tuning.parameters import Parameter, alpha_parameters, with_values_in_equations

__all__ = ["DifferentiableFluid", "FluidSpec", "OutputCorrection", "Outputs", "broyden"]
__all__ += ["make_spec", "outputs", "outputs_and_slopes"]

DIFFERENCE = 0.02
"""Step of finite differences, in a parameter's logarithm; shorter ones drown in the oscillations
that made them necessary."""
STEEPEST = 1e3
"""Largest derivative d log(goodput) / d log(parameter); steeper ones are those of an oscillation,
not of a mean."""
LONGER_STEPS_WORTH = 4
"""Longer steps once queues have built up are used where they are this many times as long."""
SMALLEST = 1e-12
"""Least output, and least squared step, by which is divided."""

Vector = Float[np.ndarray, " parameters"]


class Outputs(NamedTuple):
    """Means of a run after the warm-up, of one network or of a batch.

    Args:
        goodput: of a flow of each flow group, packets/s; (groups,).
        queueing_delay: of a packet on the path, s.
        drop_share: fraction of the packets that are dropped there.
        utilisation: of the link.
    """

    goodput: Any
    queueing_delay: Any
    drop_share: Any
    utilisation: Any


def broyden(slopes: Outputs, changes: Outputs, step: Vector) -> Outputs:
    """Broyden's update: the slopes nearest to given ones that explain the changes over a step.

    Args:
        slopes: derivatives by the parameters (last axis).
        changes: of the outputs over the step.
        step: of the parameters' logarithms.
    """
    length = max(float(step @ step), SMALLEST)
    pairs = zip(slopes, changes, strict=True)
    return Outputs(
        *(
            old + np.asarray(change - old @ step)[..., np.newaxis] * step / length
            for old, change in pairs
        )
    )


class OutputCorrection(NamedTuple):
    """How the packet simulator's outputs differ from the fluid's, linear in the logarithms.

    Args:
        at: logarithms of the parameters at the last measurement.
        offset: log(packets / fluid) of each output there.
        gradient: derivatives of the offset by the parameters' logarithms (last axis).
    """

    at: Vector
    offset: Outputs
    gradient: Outputs

    @classmethod
    def constant(cls, at: Vector, offset: Outputs) -> OutputCorrection:
        """The correction after one measurement: the same everywhere."""
        zeros = (np.zeros((*np.shape(output), len(at))) for output in offset)
        return cls(at, offset, Outputs(*zeros))

    def apply(self, values: Outputs, slopes: Outputs, x: Vector) -> tuple[Outputs, Outputs]:
        """Corrected outputs and derivatives at the logarithms of the parameters."""
        corrected, derivatives = [], []
        for value, slope, offset, gradient in zip(
            values, slopes, self.offset, self.gradient, strict=True
        ):
            new = value * np.exp(offset + gradient @ (x - self.at))
            relative = slope / np.maximum(value, SMALLEST)[..., np.newaxis] + gradient
            corrected.append(new)
            derivatives.append(new[..., np.newaxis] * relative)
        return Outputs(*corrected), Outputs(*derivatives)

    def updated(self, at: Vector, offset: Outputs) -> OutputCorrection:
        """The correction with one more measurement (Broyden's update of the gradient)."""
        changes = Outputs(*(new - old for new, old in zip(offset, self.offset, strict=True)))
        return OutputCorrection(at, offset, broyden(self.gradient, changes, at - self.at))


class FluidSpec(NamedTuple):
    """What stays the same during a search; hashable, so that JAX takes it as a static argument.

    Args:
        grid: sample times and step.
        warmup: initial time that means leave out, s.
        parameters: what is tuned.
        path: indices of the links that the first tuned class crosses.
    """

    grid: TimeGrid
    warmup: float
    parameters: tuple[Parameter, ...]
    path: tuple[int, ...]


def make_spec(
    network: Network, parameters: tuple[Parameter, ...], until: float, warmup: float
) -> tuple[FluidModel, FluidSpec]:
    """The fluid model of a network, and what stays the same during a search.

    Args:
        network: of one link or several.
        parameters: what is tuned.
        until: simulated time, s.
        warmup: initial time that means leave out, s.
    """
    model = build(network)
    path = tuple(network.queue_indices(alpha_parameters(parameters)[0].flows)[0])
    grid = mean_field_grid(network, until, DEFAULT_SAMPLES)
    return model.as_floats(), FluidSpec(grid, warmup, parameters, path)


def outputs(log_values: Any, model: FluidModel, spec: FluidSpec) -> tuple[Outputs, dde.Solution]:
    """Outputs of a run at the logarithms of the parameters, and its solution; traceable."""
    numbers = with_values_in_equations(model.parameters, spec.parameters, jnp.exp(log_values))
    model = replace(model, parameters=numbers).as_floats()
    solution, field = model.integrate(spec.grid), model.vector_field
    states = field.saved.unpack(solution.ys)
    totals = totals_after_warmup(states, field, spec.grid.until, spec.warmup)
    path = totals.over_path(spec.path)
    links = (path.queueing_delay, path.drop_share, path.utilisation)
    return Outputs(totals.goodput, *links), solution._replace(ys=solution.ys[-1:])


@partial(jax.jit, static_argnames="spec")
def outputs_and_slopes(
    log_values: Any, model: FluidModel, spec: FluidSpec
) -> tuple[Outputs, Outputs, dde.Solution]:
    """Outputs, derivatives by the logarithms of all parameters (last axis), and the solution."""

    def values_twice(x: Any) -> tuple[Outputs, tuple[Outputs, dde.Solution]]:
        """The outputs to differentiate, and as auxiliary results."""
        values, solution = outputs(x, model, spec)
        return values, (values, solution)

    slopes, (values, solution) = jax.jacfwd(values_twice, has_aux=True)(log_values)
    return values, slopes, solution


outputs_alone = jax.jit(outputs, static_argnames="spec")
"""`outputs`, compiled."""


def with_worthwhile_steps(grid: TimeGrid, network: Network) -> TimeGrid:
    """The grid with longer steps once queues have built up, if they are worth another program."""
    longer = with_longer_steps(grid, network)
    steps = longer.longer_steps
    return longer if steps and steps[1] >= LONGER_STEPS_WORTH else grid


def are_meaningful(values: Outputs, slopes: Outputs) -> bool:
    """Whether derivatives are finite and not those of a long oscillation."""
    finite = all(bool(np.all(np.isfinite(part))) for part in slopes)
    return finite and np.max(np.abs(slopes.goodput)) <= STEEPEST * np.max(np.abs(values.goodput))


class DifferentiableFluid:
    """The fluid's outputs as a function of the parameters' logarithms, evaluated once a point.

    Args:
        network: of one link or several.
        parameters: what is tuned.
        until: simulated time, s.
        warmup: initial time that means leave out, s.
        report: called with a line about each point.

    Attributes:
        seconds: wall time spent so far.
    """

    def __init__(
        self,
        network: Network,
        parameters: tuple[Parameter, ...],
        until: float,
        warmup: float,
        report: Callable[[str], None] = lambda message: None,
    ) -> None:
        self._model, spec = make_spec(network, parameters, until, warmup)
        self._spec = spec._replace(grid=with_worthwhile_steps(spec.grid, network))
        self._report = report
        self.seconds = 0.0
        self._known: dict[bytes, tuple[Outputs, Outputs]] = {}
        self._overflows = False

    @property
    def count(self) -> Float[np.ndarray, " groups"]:
        """Number of flows of each group."""
        return np.asarray(self._model.parameters.groups.count, float)

    @property
    def classes(self) -> tuple[slice, ...]:
        """The groups of each class."""
        return tuple(self._model.structure.class_slices)

    @property
    def evaluations(self) -> int:
        """How many points were evaluated with derivatives."""
        return len(self._known)

    def at(self, log_values: Vector) -> tuple[Outputs, Outputs]:
        """Outputs and their derivatives by the parameters' logarithms, as NumPy arrays.

        Raises:
            SolveFailed: where the solution leaves the finite numbers.
        """
        key = np.asarray(log_values, float).tobytes()
        if key not in self._known:
            self._known[key] = self._exact(log_values) or self._approximate(log_values)
        return self._known[key]

    def alone(self, log_values: Vector) -> Outputs:
        """Outputs without their derivatives, as NumPy arrays; not cached.

        Raises:
            SolveFailed: where the solution leaves the finite numbers.
        """
        [values] = self._run(outputs_alone, log_values)
        self._report_point(log_values, values)
        return values

    def _exact(self, log_values: Vector) -> tuple[Outputs, Outputs] | None:
        """Outputs and exact derivatives; None once these have grown beyond all numbers."""
        if self._overflows:
            return None
        values, slopes = self._run(outputs_and_slopes, log_values)
        self._overflows = not are_meaningful(values, slopes)
        if self._overflows:
            return None
        self._report_point(log_values, values)
        return values, slopes

    def _approximate(self, log_values: Vector) -> tuple[Outputs, Outputs]:
        """Outputs, and derivatives by differences of runs."""
        values = self.alone(log_values)
        return values, self._secant_slopes(np.asarray(log_values), values)

    def _report_point(self, log_values: Vector, values: Outputs) -> None:
        """Report the parameters and the queueing delay of a point."""
        pairs = zip(self._spec.parameters, np.exp(log_values), strict=True)
        setting = ", ".join(f"{parameter.name} {value:.4g}" for parameter, value in pairs)
        self._report(f"fluid: {setting}; delay {float(values.queueing_delay):.4g} s")

    def _run(self, function: Any, log_values: Any) -> list[Outputs]:
        """Results of a compiled function; with short steps only where long ones fail."""
        begin = time.perf_counter()
        x = jnp.asarray(log_values, float)
        *values, solution = function(x, self._model, self._spec)
        grid = self._spec.grid
        if grid.longer_steps is not None and solution.outcome == dde.Outcome.LAG_TOO_SHORT:
            self._spec = self._spec._replace(grid=grid._replace(longer_steps=None))
            *values, solution = function(x, self._model, self._spec)
        dde.check(solution)
        values = jax.tree.map(np.asarray, values)
        self.seconds += time.perf_counter() - begin
        return values

    def _secant_slopes(self, x: Vector, values: Outputs) -> Outputs:
        """Slopes by Broyden's update of those of the nearest point, or by finite differences."""
        steps = {key: x - np.frombuffer(key) for key in self._known}
        if not steps:
            return self._finite_differences(x, values)
        nearest = min(steps, key=lambda key: float(np.max(np.abs(steps[key]))))
        (previous, slopes), step = self._known[nearest], steps[nearest]
        if np.max(np.abs(step)) < DIFFERENCE:
            return slopes
        changes = (new - old for new, old in zip(values, previous, strict=True))
        return broyden(slopes, Outputs(*changes), step)

    def _finite_differences(self, x: Any, values: Outputs) -> Outputs:
        """Slopes by one further run for each parameter."""
        columns = []
        for index in range(len(self._spec.parameters)):
            step = DIFFERENCE * (np.arange(len(x)) == index)
            [shifted] = self._run(outputs_alone, x + step)
            columns.append([(a - b) / DIFFERENCE for a, b in zip(shifted, values, strict=True)])
        return Outputs(*(np.stack(column, axis=-1) for column in zip(*columns, strict=True)))
