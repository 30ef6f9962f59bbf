"""The fluid model of a network: parameters, structure and options, built once and passed as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float

from vegasfluid import dde
from vegasfluid.congestion.epochs import EpochCongestionControl
from vegasfluid.dde.fixed.method import HEUN
from vegasfluid.dde.fixed.schedule import Schedule
from vegasfluid.dde.fixed.solve import solve_along
from vegasfluid.errors import InvalidInput
from vegasfluid.fluid.delays import shortest_delay
from vegasfluid.fluid.density import ClassMesh, Density
from vegasfluid.fluid.epoch_mesh import make_epoch_mesh
from vegasfluid.fluid.kept_code import computed_directly
from vegasfluid.fluid.mean_field import MeanField
from vegasfluid.fluid.mesh import FINEST, make_mesh
from vegasfluid.fluid.options import DEFAULT_OPTIONS, FluidOptions
from vegasfluid.fluid.output import totals_after_warmup
from vegasfluid.fluid.parameters import FluidParameters, all_floats, as_floats, build_parameters
from vegasfluid.fluid.resources import reserve
from vegasfluid.fluid.shapes import Number, PerQueue, Scalar
from vegasfluid.fluid.state import State, initial_state
from vegasfluid.fluid.structure import FluidStructure
from vegasfluid.fluid.time_grid import TimeGrid, density_step, mean_field_step
from vegasfluid.fluid.vector_field import VectorField
from vegasfluid.fluid.window_mesh import WindowMesh
from vegasfluid.lanes import lane_kernel
from vegasfluid.metric_formulas import IntervalTotals, jain_index
from vegasfluid.network import Network, require_network
from vegasfluid.run_options import DEFAULT_SAMPLES, check_times

__all__ = ["FluidModel", "FluidSolution", "Resolution", "build", "class_meshes"]

Resolution = Literal["mean", "distribution"]
"""Whether a class is represented by its mean window or by the distribution of its windows."""

LARGEST_OVER_FAIR = 6.0
"""Largest window of a flow in a class with many flows, relative to an equal share of the packets
that path and buffers contain (chosen)."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FluidSolution:
    """A solution of a fluid model's equations.

    Args:
        states: saved states at evenly spaced times from 0 to `until`; arrays (time, ...).
        solution: the solver's result.
        until: end of the run, s.
        warmup: time excluded from means, s.
    """

    states: State
    solution: dde.Solution
    until: float = field(metadata={"static": True})
    warmup: float = field(metadata={"static": True})


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FluidModel:
    """The fluid model of a network; a pytree that may be traced, batched and differentiated.

    Args:
        parameters: all numbers of the equations.
        structure: static structure of the equations.
        options: modelling options.
        meshes: for each class, the cells over which its windows are distributed, or None if it is
            represented by its mean. None instead of a tuple: all classes are represented by means.
    """

    parameters: FluidParameters
    structure: FluidStructure = field(metadata={"static": True})
    options: FluidOptions = field(default=DEFAULT_OPTIONS, metadata={"static": True})
    meshes: tuple[ClassMesh | None, ...] | None = None

    @cached_property
    def vector_field(self) -> VectorField:
        """Right-hand side of the equations, which gives d(state)/dt from state and history."""
        meshes = self.meshes or (None,) * len(self.parameters.laws)
        populations = tuple(
            MeanField(law) if mesh is None else Density.of(law, mesh)
            for law, mesh in zip(self.parameters.laws, meshes, strict=True)
        )
        return VectorField.of(self.parameters, populations, self.structure, self.options)

    def as_floats(self) -> FluidModel:
        """The model with all parameters as JAX arrays of floats; itself if they are so already."""
        if all_floats(self.parameters):
            return self
        return replace(self, parameters=as_floats(self.parameters))

    def time_grid(self, until: float, samples: int = DEFAULT_SAMPLES) -> TimeGrid:
        """Sample times, and a solver step (s) that resolves delays, queues and AQM states.

        Args:
            until: end of the run, s.
            samples: number of evenly spaced sample times.

        Raises:
            InvalidInput: if a number that limits the step is traced.
        """
        queues, bounds = self.parameters.queues, self.parameters.delay_bounds
        rates = [aqm.relaxation_rate(1.0) for aqm in self.parameters.aqm]
        limits = (queues.capacity, queues.buffer, *bounds, *rates)
        if any(isinstance(value, Tracer) for value in limits):
            allowed = "given where capacities, buffers, delays or rates of the AQM are traced"
            raise InvalidInput("FluidModel", "grid", allowed, None)
        shortest, longest = float(bounds.shortest), float(bounds.longest)
        links = zip(queues.capacity, queues.buffer, self.parameters.aqm, strict=True)
        step = mean_field_step(shortest, links)
        if self.meshes is not None:
            step = density_step(step, float(bounds.rtt))
        return TimeGrid(until, samples, step, longest)

    def integrate(self, grid: TimeGrid, whole: bool = False) -> dde.Solution:
        """Solve the equations; compiled, supports `jax.vmap`, `jax.jvp` and `jax.grad`.

        With respect to more than 64 of the numbers in `parameters`, and for the density model on a
        GPU, `jax.grad` needs `grid.aligned` (and XLA compiles it for minutes).

        Args:
            grid: sample times and step, s.
            whole: whether to save whole states; otherwise moments replace distributions.

        Returns:
            A solution, whose vectors `vector_field.saved.unpack` converts to states (whole ones:
            `vector_field.layout.unpack`).

        Raises:
            TooLarge: for a run that needs too much memory or too many steps.
        """
        with reserve(self.vector_field, grid):
            schedule = grid.schedule(jnp.result_type(float))
            return integrated(self.as_floats(), schedule, whole)

    def solve(
        self,
        until: float,
        *,
        warmup: float | None = None,
        samples: int = DEFAULT_SAMPLES,
        grid: TimeGrid | None = None,
        aligned: bool = False,
    ) -> FluidSolution:
        """Solve the equations from 0 to `until` with the default step; differentiable, batchable.

        Args:
            until: end of the run, s.
            warmup: time excluded from means, s; a quarter of the run where it is None.
            samples: number of evenly spaced sample times.
            grid: sample times and step, from `time_grid` of a model with concrete numbers for the
                same `until`, and no `warmup`; needed where capacities, buffers or
                delays are traced. None: that of this model. Its number of samples replaces
                `samples`.
            aligned: whether a whole number of steps lies between two samples, as `jax.grad` needs
                with respect to more than 64 numbers.

        Returns:
            The states at the sample times, the solver's result and both times. `goodput`, `queue`
            and `jain_index` compute means after the warm-up from it.

        Raises:
            InvalidInput: for invalid times, or a grid for others.
            TooLarge: for a run that needs too much memory or too many steps.
            SolveFailed: if the solution does not stay finite (unless it is traced).
        """
        warmup = check_times(until, warmup, samples)
        grid = grid or self.time_grid(until, samples)
        if grid.until != until:
            raise InvalidInput("FluidModel", "grid.until", f"{until:g}, that of solve", grid.until)
        if grid.warmup is not None:
            allowed = "None, since samples are evenly spaced"
            raise InvalidInput("FluidModel", "grid.warmup", allowed, grid.warmup)
        solution = self.integrate(grid._replace(aligned=aligned or grid.aligned))
        if not isinstance(solution.result, Tracer):
            dde.check(solution)
        states = self.vector_field.saved.unpack(solution.ys)
        return FluidSolution(states, solution, grid.until, warmup)

    def totals(self, solution: FluidSolution) -> IntervalTotals:
        """Increase of the counters of each flow group and link from the end of the warm-up on.

        Args:
            solution: from `solve`.

        Returns:
            Totals of one flow of each group and of each link, in packets, with flow groups in
            place of classes.
        """
        field_ = self.as_floats().vector_field
        return totals_after_warmup(solution.states, field_, solution.until, solution.warmup)

    def goodput(self, solution: FluidSolution) -> Float[Array, " classes"]:
        """Mean goodput of a flow of each class after the warm-up, packets/s; (classes,).

        Args:
            solution: from `solve`.
        """
        return self._class_means(self.totals(solution).goodput)

    def windows(self, solution: FluidSolution) -> Float[Array, "times classes"]:
        """Mean window of a flow of each class at each sample time, packets; (time, classes).

        Args:
            solution: from `solve`.
        """
        cwnd = jnp.concatenate([moments.cwnd for moments in solution.states.classes], axis=-1)
        return self._class_means(cwnd)

    def queue(self, solution: FluidSolution) -> PerQueue:
        """Packets waiting at each link, mean over the time after the warm-up; (links,).

        Args:
            solution: from `solve`.
        """
        return self.totals(solution).mean_queue

    def jain_index(self, solution: FluidSolution) -> Scalar:
        """Jain's fairness index of all flows' goodput after the warm-up, 1/n to 1; traceable.

        Args:
            solution: from `solve`.
        """
        count = jnp.asarray(self.parameters.groups.count)
        return jain_index(self.totals(solution).goodput, count)

    def _class_means(self, values: Float[Array, "*times groups"]) -> Float[Array, "*times classes"]:
        """Means over the flows of each class, in the unit of the values; (..., classes).

        `values` has a value of one flow of each group; (..., groups).
        """
        count = jnp.asarray(self.parameters.groups.count)
        means = [
            jnp.sum(count[part] * values[..., part], axis=-1) / jnp.sum(count[part])
            for part in self.structure.class_slices
        ]
        return jnp.stack(means, axis=-1)


def integrated(model: FluidModel, steps: Schedule, whole: bool) -> dde.Solution:
    """Solution of a model's equations with the given steps, from the initial state.

    One compiled program serves all lengths of steps. It runs without JAX where that is possible.

    Args:
        model: the model, with parameters as arrays of floats.
        steps: the solver's steps and sample times, s.
        whole: whether to save whole states; otherwise moments replace distributions.
    """
    if not whole:
        results = computed_directly(outputs_of, model, steps)
        if results is not None:
            return solution_from(map(jnp.asarray, results))
    return integrate_compiled(model, steps, whole)


def outputs_of(model: FluidModel, steps: Schedule, whole: bool = False) -> tuple[Any, ...]:
    """Arrays of the solution of a model (see `solution_of`), for `solution_from`."""
    solution = solution_of(model, steps, whole)
    end = solution.t0, solution.t1
    return solution.ts, solution.ys, solution.result, solution.time, *end


def solution_from(arrays: Iterable[Any]) -> dde.Solution:
    """The solution with the given `ts`, `ys`, `result`, `time`, `t0` and `t1`."""
    ts, ys, outcome, time, t0, t1 = arrays
    return dde.Solution(ts, ys, outcome, time, t0=t0, t1=t1)


@partial(jax.jit, static_argnames="whole")
def integrate_compiled(model: FluidModel, steps: Schedule, whole: bool) -> dde.Solution:
    """Solution of a model's equations from the initial state, by a program that JAX compiles.

    A lane kernel has the parameters as its arguments, and computes the initial state itself: few
    numbers are then differentiated in reverse mode (see `vegasfluid.lanes.linearised`).

    Args:
        model: the model, with parameters as arrays of floats.
        steps: the solver's steps and sample times, s.
        whole: whether to save whole states; otherwise moments replace distributions.
    """
    # A GPU has a thread for each cell if XLA compiles it, and one for all cells in a lane kernel.
    lanes = model.meshes is None or jax.default_backend() == "cpu"
    outputs = partial(outputs_of, whole=whole)
    return solution_from((lane_kernel(outputs, warn=False) if lanes else outputs)(model, steps))


def solution_of(model: FluidModel, steps: Schedule, whole: bool) -> dde.Solution:
    """Solution of a model's equations with the given steps, from the initial state.

    Heun's method is used: kinks of the equations limit the order, and at equal error the classical
    method, whose steps take twice as long, is no faster.

    Args:
        model: the model, with parameters as arrays of floats.
        steps: the solver's steps and sample times, s.
        whole: whether to save whole states; otherwise moments replace distributions.
    """
    vector_field = model.vector_field
    state = initial_state(model.parameters, vector_field.populations, model.structure)
    return solve_along(
        steps,
        lambda t, y, history, args: vector_field.derivative(t, y, history),
        vector_field.layout.pack(state),
        project=vector_field.project,
        history_components=vector_field.history_size,
        save=None if whole else vector_field.save,
        method=HEUN,
        lanes=False,
    )


def build(
    network: Network,
    *,
    options: FluidOptions = DEFAULT_OPTIONS,
    resolution: Resolution = "mean",
    base_rtt: Mapping[str, Number] | None = None,
    delay_bounds: tuple[float, float] | None = None,
) -> FluidModel:
    """Build the fluid model of a network.

    Args:
        network: the network; its quantities may be traced.
        options: modelling options.
        resolution: whether classes are represented by the mean or the distribution of their
            windows.
        base_rtt: base RTT with which the senders of a class start, s, by class name; other classes
            measure it.
        delay_bounds: shortest and longest delay, s; required where delays are traced. None: those
            of the network.

    Returns:
        The model, which can be solved, differentiated and batched.

    Raises:
        InvalidInput: for an unknown class in `base_rtt`.

    The derivative of Jain's index by alpha:

    >>> import jax, vegasfluid as vf
    >>> reno, vegas = vf.Flows(5, vf.Reno(), base_rtt=0.04), vf.Flows(5, vf.Vegas(), base_rtt=0.04)
    >>> link = vf.Link(800.0, 200, vf.Red(min_thresh=20, max_thresh=80))
    >>> network = vf.Network(link, {"reno": reno, "vegas": vegas})
    >>> def fairness(alpha):
    ...     model = build(network.with_law("vegas", vf.Vegas(alpha=alpha, beta=alpha + 2)))
    ...     return model.jain_index(model.solve(until=20.0))
    >>> index, slope = jax.jvp(fairness, (4.0,), (1.0,))
    >>> bool(0.5 < index < 1), bool(slope > 0)
    (True, True)
    """
    require_network("build", network)
    parameters, structure = build_parameters(network, base_rtt, delay_bounds)
    meshes = class_meshes(network) if resolution == "distribution" else None
    return FluidModel(parameters, structure, options, meshes)


def class_meshes(network: Network) -> tuple[ClassMesh, ...]:
    """Cells that cover the windows of each class, for the density model.

    They are cells of windows (packets), or for CUBIC of windows at the loss and ages (s).
    """
    youngest = FINEST * shortest_delay(network)  # a step moves ages and windows equally far
    return tuple(
        make_epoch_mesh(flows.law, largest_window(network, name), youngest)
        if isinstance(flows.law, EpochCongestionControl)
        else WindowMesh(make_mesh(largest_window(network, name)))
        for name, flows in network.flows.items()
    )


def largest_window(network: Network, name: str) -> float:
    """Upper bound on the window of any flow of class `name`, packets.

    It is the smallest of three: the number of packets that path and buffers contain,
    `LARGEST_OVER_FAIR` times an equal share of them for each flow of the class, and `max_window`.
    """
    flows, links = network.flows[name], network.links_of(name)
    packets = min(link.capacity for link in links) * max(network.base_rtts(name))
    packets += sum(link.buffer for link in links)
    return min(float(flows.max_window), packets * min(1.0, LARGEST_OVER_FAIR / flows.count))
