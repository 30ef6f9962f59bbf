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
"""Largest derivative d log(goodput or delay) / d log(parameter); steeper ones are those of an
oscillation, not of a mean."""
LONGER_STEPS_WORTH = 8
"""Longer steps once queues have built up are used where they are this many times as long as those
before."""
SMALLEST = 1e-12
"""Lower bound of divisors: outputs (in their units) and squared steps of logarithms."""

Vector = Float[np.ndarray, " parameters"]


class Outputs(NamedTuple):
    """Means of a fluid run after the warm-up, derivatives of these, or changes between two runs.

    Args:
        goodput: of a flow of each flow group, packets/s; (groups,).
        queueing_delay: mean waiting time of a packet on the path of the first tuned class, s.
        drop_share: fraction of the packets that are dropped on that path.
        utilisation: used fraction of the capacity of that path's most used link.
    """

    goodput: Any
    queueing_delay: Any
    drop_share: Any
    utilisation: Any


def broyden(slopes: Outputs, changes: Outputs, step: Vector) -> Outputs:
    """Broyden's update of derivatives: the smallest change that explains what a step did.

    Args:
        slopes: derivatives of each output by the parameters' logarithms (last axis).
        changes: of each output over the step, in the output's unit.
        step: change of the parameters' logarithms; (parameters,).

    Returns:
        Derivatives in the form of `slopes`, whose product with `step` is `changes`.
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
    """Log of packet over fluid outputs, as a linear function of the parameters' logarithms.

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
        """A correction that has the same `offset` at all parameters (gradient 0).

        Args:
            at: logarithms of the measured parameters; (parameters,).
            offset: log(packets / fluid) of each output there.
        """
        zeros = (np.zeros((*np.shape(output), len(at))) for output in offset)
        return cls(at, offset, Outputs(*zeros))

    def apply(self, values: Outputs, slopes: Outputs, x: Vector) -> tuple[Outputs, Outputs]:
        """Fluid outputs (goodputs, delay, drops, utilisation) corrected to packets at x.

        Args:
            values: fluid outputs at x.
            slopes: their derivatives by the parameters' logarithms (last axis).
            x: logarithms of the parameters; (parameters,).

        Returns:
            Corrected outputs in the same units, and their derivatives by the logarithms (last
            axis).
        """
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
        """The correction after one more measurement, its gradient by Broyden's update.

        Args:
            at: logarithms of the newly measured parameters; (parameters,).
            offset: log(packets / fluid) of each output there.
        """
        changes = Outputs(*(new - old for new, old in zip(offset, self.offset, strict=True)))
        return OutputCorrection(at, offset, broyden(self.gradient, changes, at - self.at))


class FluidSpec(NamedTuple):
    """Static argument of the compiled fluid functions: what stays the same during a search.

    Args:
        grid: sample times and integration step, s.
        warmup: initial time that means leave out, s.
        parameters: the tuned parameters.
        path: indices of the queues that give delay, drops and utilisation.
    """

    grid: TimeGrid
    warmup: float
    parameters: tuple[Parameter, ...]
    path: tuple[int, ...]


def make_spec(
    network: Network,
    parameters: tuple[Parameter, ...],
    until: float,
    warmup: float,
    tuned: str | None = None,
) -> tuple[FluidModel, FluidSpec]:
    """Build the fluid model of a network and the static argument of its compiled functions.

    Args:
        network: of one link or several.
        parameters: tuned parameters.
        until: simulated time, s.
        warmup: initial time that means leave out, s.
        tuned: class whose path gives delay and drops; None: the first one whose alpha is tuned.

    Returns:
        The model, with all numbers as floats; and grid, warm-up, parameters and path.
    """
    model = build(network)
    path = tuple(network.queue_indices(tuned or alpha_parameters(parameters)[0].flows)[0])
    grid = mean_field_grid(network, until, DEFAULT_SAMPLES)
    return model.as_floats(), FluidSpec(grid, warmup, parameters, path)


def outputs(log_values: Any, model: FluidModel, spec: FluidSpec) -> tuple[Outputs, dde.Solution]:
    """Integrate the fluid model with other parameter values; JAX can trace it.

    Args:
        log_values: logarithms of the tuned parameters, each in the unit of its name;
            (parameters,).
        model: fluid model of the network with the given values.
        spec: grid, warm-up, tuned parameters and path.

    Returns:
        Means after the warm-up (packets/s, s, fractions), and the solution, whose states are
        reduced to the last sample.
    """
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
    """Integrate the fluid model with the tuned parameters exp(log_values) and differentiate.

    Returns means after the warm-up (packets/s, s, fractions), their derivatives by `log_values`
    (last axis), and the solution.
    """

    def values_twice(x: Any) -> tuple[Outputs, tuple[Outputs, dde.Solution]]:
        """The outputs at x as the value to differentiate, and (outputs, solution) as auxiliary."""
        values, solution = outputs(x, model, spec)
        return values, (values, solution)

    slopes, (values, solution) = jax.jacfwd(values_twice, has_aux=True)(log_values)
    return values, slopes, solution


outputs_alone = jax.jit(outputs, static_argnames="spec")
"""`outputs` compiled by JAX: means after the warm-up and the solution, without derivatives."""


def search_grid(grid: TimeGrid, network: Network) -> TimeGrid:
    """The grid with longer steps after the start-up if worthwhile, otherwise with half its steps.

    Where a queue oscillates, derivatives need these. Longer steps need another compiled program.
    """
    longer = with_longer_steps(grid, network)
    factor = (longer.longer_steps or (0, 1))[1]
    return longer if factor >= LONGER_STEPS_WORTH else grid.halved()


def are_meaningful(values: Outputs, slopes: Outputs) -> bool:
    """Whether derivatives of outputs by the parameters' logarithms are finite and not too steep.

    Too steep is a derivative of a goodput above `STEEPEST` times the largest goodput, or one of the
    delay above `STEEPEST` times the delay, as in long oscillations.
    """
    finite = all(bool(np.all(np.isfinite(part))) for part in slopes)
    pairs = zip(values[:2], slopes[:2], strict=True)
    return finite and all(np.max(np.abs(b)) <= STEEPEST * np.max(np.abs(a)) for a, b in pairs)


class DifferentiableFluid:
    """The fluid's outputs as a function of the tuned parameters' logarithms, cached by point.

    Args:
        network: of one link or several.
        parameters: the tuned parameters, in the order of the points' coordinates.
        until: simulated time, s.
        warmup: initial time that the means leave out, s.
        report: called with one line of text about each point.
        tuned: class whose path gives delay and drops; None: the first one whose alpha is tuned.

    Attributes:
        seconds: wall time spent in fluid runs so far, s.
    """

    def __init__(
        self,
        network: Network,
        parameters: tuple[Parameter, ...],
        until: float,
        warmup: float,
        report: Callable[[str], None] = lambda message: None,
        tuned: str | None = None,
    ) -> None:
        self._model, spec = make_spec(network, parameters, until, warmup, tuned)
        self._spec = spec._replace(grid=search_grid(spec.grid, network))
        self._report = report
        self.seconds = 0.0
        self._known: dict[bytes, tuple[Outputs, Outputs]] = {}
        self._overflows = False

    @property
    def count(self) -> Float[np.ndarray, " groups"]:
        """Number of flows in each flow group; (groups,)."""
        return np.asarray(self._model.parameters.groups.count, float)

    @property
    def classes(self) -> tuple[slice, ...]:
        """For each class of the network, the slice of its flow groups."""
        return tuple(self._model.structure.class_slices)

    @property
    def evaluations(self) -> int:
        """Number of different points at which outputs and derivatives were computed."""
        return len(self._known)

    def at(self, log_values: Vector) -> tuple[Outputs, Outputs]:
        """Outputs of the fluid run at a point and their derivatives, as NumPy arrays; cached.

        Args:
            log_values: logarithms of the tuned parameters; (parameters,).

        Returns:
            Means after the warm-up (packets/s, s, fractions), and their derivatives by `log_values`
            (last axis).

        Raises:
            SolveFailed: where the fluid model cannot be integrated.
        """
        key = np.asarray(log_values, float).tobytes()
        if key not in self._known:
            self._known[key] = self._exact(log_values) or self._approximate(log_values)
        return self._known[key]

    def alone(self, log_values: Vector) -> Outputs:
        """Outputs of the fluid run at logarithms of the parameters without derivatives; not cached.

        Returns:
            Means after the warm-up as NumPy arrays: goodputs (packets/s; (groups,)), queueing delay
            (s), loss ratio, utilisation.

        Raises:
            SolveFailed: where the fluid model cannot be integrated.
        """
        [values] = self._run(outputs_alone, log_values)
        self._report_point(log_values, values)
        return values

    def _exact(self, log_values: Vector) -> tuple[Outputs, Outputs] | None:
        """Goodputs, delay, drops and utilisation at a point, and JAX's derivatives by the point.

        The point has the parameters' logarithms. None, here and at all later points, once
        derivatives are infinite or too steep.
        """
        if self._overflows:
            return None
        values, slopes = self._run(outputs_and_slopes, log_values)
        self._overflows = not are_meaningful(values, slopes)
        if self._overflows:
            return None
        self._report_point(log_values, values)
        return values, slopes

    def _approximate(self, log_values: Vector) -> tuple[Outputs, Outputs]:
        """Goodputs, delay, drops, utilisation at a point, and derivatives from differences."""
        values = self.alone(log_values)
        return values, self._secant_slopes(np.asarray(log_values), values)

    def _report_point(self, log_values: Vector, values: Outputs) -> None:
        """Report one line: the parameters' values at a point, and the queueing delay there (s)."""
        pairs = zip(self._spec.parameters, np.exp(log_values), strict=True)
        setting = ", ".join(f"{parameter.name} {value:.4g}" for parameter, value in pairs)
        self._report(f"fluid: {setting}; delay {float(values.queueing_delay):.4g} s")

    def _run(self, function: Any, log_values: Any) -> list[Outputs]:
        """Call a compiled fluid function at a point, time it, and raise SolveFailed if it fails.

        The function is `outputs_alone` or `outputs_and_slopes`; its results are returned without
        the solution, as NumPy arrays. If longer steps exceed a delay, short ones are used from then
        on.
        """
        begin = time.perf_counter()
        x = jnp.asarray(log_values, float)
        *values, solution = function(x, self._model, self._spec)
        grid = self._spec.grid
        if grid.longer_steps is not None and solution.result == dde.Outcome.LAG_TOO_SHORT:
            self._spec = self._spec._replace(grid=grid._replace(longer_steps=None))
            *values, solution = function(x, self._model, self._spec)
        dde.check(solution)
        values = jax.tree.map(np.asarray, values)
        self.seconds += time.perf_counter() - begin
        return values

    def _secant_slopes(self, x: Vector, values: Outputs) -> Outputs:
        """Derivatives of the outputs (`values` at x) by the parameters' logarithms (last axis).

        Finite differences at the first point, then Broyden's update of the derivatives at the
        nearest known point. Those are reused where no logarithm differs by `DIFFERENCE` or more.
        """
        if not self._known:
            return self._finite_differences(x, values)
        keys = list(self._known)
        steps = x - np.frombuffer(b"".join(keys)).reshape(len(keys), -1)
        nearest = int(np.argmin(np.max(np.abs(steps), axis=1)))
        (previous, slopes), step = self._known[keys[nearest]], steps[nearest]
        if np.max(np.abs(step)) < DIFFERENCE:
            return slopes
        changes = (new - old for new, old in zip(values, previous, strict=True))
        return broyden(slopes, Outputs(*changes), step)

    def _finite_differences(self, x: Any, values: Outputs) -> Outputs:
        """The derivatives at x by forward differences, with one fluid run for each parameter."""
        columns = []
        for index in range(len(self._spec.parameters)):
            step = DIFFERENCE * (np.arange(len(x)) == index)
            [shifted] = self._run(outputs_alone, x + step)
            columns.append([(a - b) / DIFFERENCE for a, b in zip(shifted, values, strict=True)])
        return Outputs(*(np.stack(column, axis=-1) for column in zip(*columns, strict=True)))
