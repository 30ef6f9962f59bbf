"""Integrate the fluid model of a network."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from vegasfluid import dde
from vegasfluid.congestion.epochs import EpochCongestionControl
from vegasfluid.dde.fixed.schedule import Schedule
from vegasfluid.dde.fixed.solve import solve_along
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid.accuracy import TOLERANCE, checked, refined
from vegasfluid.fluid.delayed import remembered
from vegasfluid.fluid.density import Cells, Density
from vegasfluid.fluid.epoch_mesh import make_epoch_mesh
from vegasfluid.fluid.meanfield import MeanField
from vegasfluid.fluid.mesh import FINEST, make_mesh
from vegasfluid.fluid.options import DEFAULT_OPTIONS, FluidOptions
from vegasfluid.fluid.output import record
from vegasfluid.fluid.parameters import FluidParameters, as_floats, least_lag, pose
from vegasfluid.fluid.structure import FluidStructure
from vegasfluid.fluid.time_grid import TimeGrid, density_grid, mean_field_grid
from vegasfluid.fluid.validity import validity_warnings
from vegasfluid.fluid.vector_field import System, start
from vegasfluid.fluid.window_mesh import WindowMesh
from vegasfluid.network import Network, require_network
from vegasfluid.run_options import DEFAULT_SAMPLES, check_times
from vegasfluid.trajectory import Recording, make_trajectory

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["class_meshes", "integrate", "record_density", "record_fluid", "simulate_density"]
__all__ += ["simulate_fluid", "system_of"]

ABOVE_SHARE = 6.0
"""The largest window of a class with many flows, in units of its mean if it had all."""


Resolution = tuple[Cells | None, ...]
"""For each class what its flows differ by, or None for its mean."""


def system_of(
    posed: FluidParameters,
    plan: FluidStructure,
    options: FluidOptions = DEFAULT_OPTIONS,
    cells: Resolution | None = None,
) -> System:
    """The equations of a network, with some or all classes as distributions."""
    each = cells or (None,) * len(posed.laws)
    populations = tuple(
        MeanField(law) if own is None else Density.of(law, own)
        for law, own in zip(posed.laws, each, strict=True)
    )
    return System.of(posed, populations, plan, options)


def integrate(
    posed: FluidParameters,
    plan: FluidStructure,
    grid: TimeGrid,
    options: FluidOptions = DEFAULT_OPTIONS,
    cells: Resolution | None = None,
    whole: bool = False,
) -> dde.Solution:
    """Solve the equations; compiled, and open to `jax.vmap`, `jax.jvp` and, where `grid.aligned`,
    `jax.grad`.

    Args:
        posed: the numbers, which may be traced.
        plan: the structure.
        grid: sample times and step.
        options: switches of the fluid model (`FluidOptions`).
        cells: of each class; None: the mean model.
        whole: whether to save all of the states, and not only what a run records.

    Returns:
        A solution whose states `system_of(...).saved.unpack` reads; of whole ones `layout.unpack`.
    """
    steps = grid.schedule(jnp.result_type(float))
    return integrated(as_floats(posed), plan, steps, options, cells, whole)


@partial(jax.jit, static_argnames=("plan", "options", "whole"))
def integrated(
    posed: FluidParameters,
    plan: FluidStructure,
    steps: Schedule,
    options: FluidOptions,
    cells: Resolution | None,
    whole: bool,
) -> dde.Solution:
    """The solution with these steps, one program for all lengths of step."""
    system = system_of(posed, plan, options, cells)
    return solve_along(
        steps,
        lambda t, y, history, args: system.derivative(t, y, history),
        system.layout.pack(start(posed, system.populations, plan)),
        project=system.project,
        history_components=remembered(plan, options),
        save=None if whole else system.save,
        lanes=cells is None,  # thousands of cells, written out one by one, would take too long
    )


def simulate_fluid(
    network: Network,
    until: float,
    *,
    warmup: float | None = None,
    samples: int = DEFAULT_SAMPLES,
    options: FluidOptions = DEFAULT_OPTIONS,
    base_rtt: Mapping[str, float] | None = None,
    tolerance: float | None = TOLERANCE,
) -> xr.Dataset:
    """Integrate the fluid model of a network.

    Args:
        network: what is connected to what.
        until: simulated time, s.
        warmup: time that the metrics leave out, s; a quarter of the run where it is None.
        samples: number of evenly spaced sample times.
        options: switches of the fluid model (`FluidOptions`).
        base_rtt: the base RTT with which the Vegas senders of a class begin, s, by the class's
            name; one that is too small is never corrected.
        tolerance: of goodput, queues and drops, as a part of them: steps are halved until three
            times what that changes is no more; None: one run with the network's own step, whose
            error nobody knows.

    Returns:
        A trajectory (see `vegasfluid.trajectory`); where the model may not hold, its attribute
        `warnings` says why, a line for each reason with the number that triggers it. Its attribute
        `error_estimate` is three times what the last halving of the steps changed: the largest
        change of a class's goodput, a mean queue and a link's drops, as parts of them.

    Raises:
        InvalidInput: where the times make no sense, or a class is unknown.
        SolveFailed: where the solution leaves the finite numbers.

    >>> from vegasfluid import Flows, Link, Red, Reno, metrics
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> network = Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)})
    >>> run = simulate_fluid(network, until=20)
    >>> round(float(metrics.utilisation(run)[0]), 2)
    1.0
    """
    require_network("simulate_fluid", network)
    warmup = check_times(until, warmup, samples)
    recording = record_fluid(
        *(network, until, samples),
        options=options,
        base_rtt=base_rtt,
        warmup=warmup,
        tolerance=tolerance,
    )
    return labelled(recording, "fluid", warmup, tolerance)


def record_fluid(
    network: Network,
    until: float,
    samples: int,
    *,
    options: FluidOptions = DEFAULT_OPTIONS,
    base_rtt: Mapping[str, float] | None = None,
    warmup: float | None = None,
    tolerance: float | None = TOLERANCE,
) -> Recording:
    """Integrate the fluid model of a network, as plain arrays at evenly spaced times.

    Arguments as of `simulate_fluid`.
    """
    grid = mean_field_grid(network, until, samples)
    return recorded(network, grid, Run(options, base_rtt, None), warmup, tolerance)


def simulate_density(
    network: Network,
    until: float,
    *,
    warmup: float | None = None,
    samples: int = DEFAULT_SAMPLES,
    options: FluidOptions = DEFAULT_OPTIONS,
    base_rtt: Mapping[str, float] | None = None,
    tolerance: float | None = TOLERANCE,
) -> xr.Dataset:
    """Integrate the fluid model with the windows of each class as a distribution.

    Of CUBIC that is one of last losses and times since, from which the windows follow.

    Args, Returns, Raises: as of `simulate_fluid`.

    >>> from vegasfluid import Flows, Link, Red, Reno, metrics
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> network = Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)})
    >>> run = simulate_density(network, until=20)
    >>> round(float(metrics.utilisation(run)[0]), 2)
    1.0
    """
    require_network("simulate_density", network)
    warmup = check_times(until, warmup, samples)
    recording = record_density(
        *(network, until, samples),
        options=options,
        base_rtt=base_rtt,
        warmup=warmup,
        tolerance=tolerance,
    )
    return labelled(recording, "density", warmup, tolerance)


def labelled(
    recording: Recording, engine: str, warmup: float, tolerance: float | None = TOLERANCE
) -> xr.Dataset:
    """A trajectory, with a line in `warnings` for each reason to doubt it."""
    attributes: dict[str, Any] = {"engine": engine, "warmup": warmup}
    if recording.error is not None and tolerance is not None:
        attributes |= {"error_estimate": list(recording.error), "tolerance": tolerance}
    if found := validity_warnings(recording, warmup, tolerance or TOLERANCE):
        attributes["warnings"] = "\n".join(found)
    return make_trajectory(recording, attributes)


def record_density(
    network: Network,
    until: float,
    samples: int,
    *,
    options: FluidOptions = DEFAULT_OPTIONS,
    base_rtt: Mapping[str, float] | None = None,
    warmup: float | None = None,
    tolerance: float | None = TOLERANCE,
) -> Recording:
    """Integrate the density model of a network, as plain arrays at evenly spaced times.

    Arguments as of `record_fluid`.
    """
    grid = density_grid(network, until, samples)
    return recorded(network, grid, Run(options, base_rtt, class_meshes(network)), warmup, tolerance)


def class_meshes(network: Network) -> Resolution:
    """Cells in which the flows of each class have room."""
    youngest = FINEST * least_lag(network)  # so that ages are carried as far as windows
    return tuple(
        make_epoch_mesh(flows.law, largest_window(network, name), youngest)
        if isinstance(flows.law, EpochCongestionControl)
        else WindowMesh(make_mesh(largest_window(network, name)))
        for name, flows in network.flows.items()
    )


def largest_window(network: Network, name: str) -> float:
    """More than this no flow of a class will have, packets.

    That is all that path and buffers hold, or some times its share if the class had them alone.
    """
    flows, links = network.flows[name], network.links_of(name)
    held = min(link.capacity for link in links) * max(network.base_rtts(name))
    held += sum(link.buffer for link in links)
    return min(float(flows.max_window), held * min(1.0, ABOVE_SHARE / flows.count))


class Run(NamedTuple):
    """What a run is made with, besides network and steps.

    Args:
        options: switches of the fluid model (`FluidOptions`).
        base_rtt: with which the Vegas senders of a class begin, s.
        cells: of each class; None: the mean model.
    """

    options: FluidOptions
    base_rtt: Mapping[str, float] | None
    cells: Resolution | None


def recorded(
    network: Network, grid: TimeGrid, made: Run, warmup: float | None, tolerance: float | None
) -> Recording:
    """Integrate a network's equations, as plain arrays."""
    posed, plan = pose(network, made.base_rtt)
    numbers, system = as_floats(posed), system_of(posed, plan, made.options, made.cells)

    def run(grid: TimeGrid) -> Recording:
        solution = integrate(numbers, plan, grid, made.options, made.cells)
        try:
            dde.check(solution)
        except SolveFailed as failed:
            raise SolveFailed(f"the fluid model could not be integrated: {failed}") from failed
        return record(network, solution, system)

    warmup = check_times(grid.until, warmup, grid.samples)
    grid = grid._replace(warmup=warmup)
    return run(grid) if tolerance is None else refined(run, grid, checked(tolerance), warmup)
