"""Simulate a network by its fluid model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vegasfluid import dde
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid.accuracy import TOLERANCE, check_tolerance, most_steps, refined
from vegasfluid.fluid.model import Resolution, build
from vegasfluid.fluid.options import DEFAULT_OPTIONS, FluidOptions
from vegasfluid.fluid.output import to_recording
from vegasfluid.fluid.time_grid import TimeGrid
from vegasfluid.fluid.validity import validity_warnings
from vegasfluid.network import Network, require_network
from vegasfluid.run_options import DEFAULT_SAMPLES, check_times
from vegasfluid.trajectory import Recording, make_trajectory

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["record_fluid", "simulate_density", "simulate_fluid", "to_dataset"]

ENGINES: dict[Resolution, str] = {"mean": "fluid", "distribution": "density"}
"""Name of the engine in a trajectory's attributes."""


SHARING = 4
"""Factor by which steps may be shorter in the same compiled program: runs with halved steps, and
those of networks with other delays and capacities, share it (chosen)."""


def simulate_fluid(
    network: Network,
    until: float,
    *,
    resolution: Resolution = "mean",
    warmup: float | None = None,
    samples: int = DEFAULT_SAMPLES,
    options: FluidOptions = DEFAULT_OPTIONS,
    base_rtt: Mapping[str, float] | None = None,
    tolerance: float | None = TOLERANCE,
) -> xr.Dataset:
    """Simulate a network by its fluid model.

    Args:
        network: the network.
        until: simulated time, s.
        resolution: whether each class is represented by its mean window or by the distribution of
            its windows.
        warmup: time that the metrics exclude, s; a quarter of the run where it is None.
        samples: number of evenly spaced sample times.
        options: modelling options.
        base_rtt: base RTT with which the Vegas senders of a class start, s, by class name; one that
            is too small is never corrected.
        tolerance: relative error of goodput, queues and drops: steps are halved until three times
            the change by the last halving is no larger (see `error_estimate`); None: one run with
            the default step, whose error is unknown.

    Returns:
        A trajectory, an `xarray.Dataset` with class means and queues over time (see
        `vegasfluid.trajectory`). Its attribute `warnings` has one line for each reason why the
        model may be inaccurate. `error_estimate` has three numbers: three times the largest
        relative change of a class's goodput, a mean queue and a link's drops by the last halving.
        Each change counts as at least a quarter of the previous one, and half the largest.

    Raises:
        InvalidInput: for invalid times or an unknown class.
        TooLarge: for a run that needs too much memory or too many steps.
        SolveFailed: if the solution does not stay finite, or violates an invariant.

    >>> from vegasfluid import Flows, Link, Red, Reno, metrics
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> network = Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)})
    >>> run = simulate_fluid(network, until=20)
    >>> round(float(metrics.utilisation(run)[0]), 2)
    1.0
    """
    require_network("simulate_fluid" if resolution == "mean" else "simulate_density", network)
    warmup = check_times(until, warmup, samples)
    recording = record_fluid(
        network,
        until,
        samples,
        resolution=resolution,
        options=options,
        base_rtt=base_rtt,
        warmup=warmup,
        tolerance=tolerance,
    )
    return to_dataset(recording, ENGINES[resolution], warmup, tolerance)


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
    """Simulate a network by the fluid model with the windows of each class as a distribution.

    For CUBIC it is the joint distribution of the window at the last loss and the time since then,
    from which the windows follow.

    Args:
        network: the network.
        until: simulated time, s.
        warmup: time that the metrics exclude, s; a quarter of the run where it is None.
        samples: number of evenly spaced sample times.
        options: modelling options.
        base_rtt: base RTT with which the Vegas senders of a class start, s, by class name; one that
            is too small is never corrected.
        tolerance: relative error of goodput, queues and drops, to which steps are halved; None: one
            run with the default step, whose error is unknown.

    Returns:
        A trajectory, an `xarray.Dataset` with class means and queues over time. Its attribute
        `warnings` has one line for each reason why the model may be inaccurate; `error_estimate`
        has the estimated relative errors of goodput, queues and drops (see `simulate_fluid`).

    Raises:
        InvalidInput: for invalid times or an unknown class.
        TooLarge: for a run that needs too much memory or too many steps.
        SolveFailed: if the solution does not stay finite, or violates an invariant.

    >>> from vegasfluid import Flows, Link, Red, Reno, metrics
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> network = Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)})
    >>> run = simulate_density(network, until=20)
    >>> round(float(metrics.utilisation(run)[0]), 2)
    1.0
    """
    return simulate_fluid(
        network,
        until,
        resolution="distribution",
        warmup=warmup,
        samples=samples,
        options=options,
        base_rtt=base_rtt,
        tolerance=tolerance,
    )


def record_fluid(
    network: Network,
    until: float,
    samples: int,
    *,
    resolution: Resolution = "mean",
    options: FluidOptions = DEFAULT_OPTIONS,
    base_rtt: Mapping[str, float] | None = None,
    warmup: float | None = None,
    tolerance: float | None = TOLERANCE,
) -> Recording:
    """Simulate a network by its fluid model, as plain arrays without labels.

    Args:
        network: the network.
        until: simulated time, s.
        samples: number of evenly spaced sample times.
        resolution: whether each class is represented by its mean window or by the distribution of
            its windows.
        options: modelling options.
        base_rtt: base RTT with which the Vegas senders of a class start, s, by class name.
        warmup: time that error estimates exclude, s; a quarter of the run where it is None.
        tolerance: relative error of goodput, queues and drops, to which steps are halved; None: one
            run with the default step, whose error is unknown.

    Returns:
        Times (s): evenly spaced, and the end of the warm-up; arrays (time, flow) and (time, link)
        by names of variables; and the estimated relative errors, None without a tolerance.

    Raises:
        InvalidInput: for invalid times or an unknown class.
        TooLarge: for a run that needs too much memory or too many steps.
        SolveFailed: if the solution does not stay finite, or violates an invariant.
    """
    model = build(network, options=options, resolution=resolution, base_rtt=base_rtt)
    floats, vector_field = model.as_floats(), model.vector_field

    def run(grid: TimeGrid) -> Recording:
        """One run with the steps of a grid, as plain arrays; SolveFailed if it fails."""
        solution = floats.integrate(grid)
        try:
            dde.check(solution)
        except SolveFailed as failure:
            raise SolveFailed(f"the fluid model could not be integrated: {failure}") from failure
        return to_recording(network, solution, vector_field)

    warmup = check_times(until, warmup, samples)
    grid = model.time_grid(until, samples)
    grid = grid._replace(warmup=warmup, finest=grid.step / SHARING)
    if tolerance is None:
        return run(grid)
    most = most_steps(vector_field.layout.size)
    return refined(run, grid, check_tolerance(tolerance), warmup, most)


def to_dataset(
    recording: Recording, engine: str, warmup: float, tolerance: float | None = TOLERANCE
) -> xr.Dataset:
    """Trajectory of a recording of a fluid run, with its warnings as an attribute.

    Args:
        recording: recording of a fluid run.
        engine: name of the engine, `fluid` or `density`.
        warmup: time that the metrics exclude, s.
        tolerance: largest relative error of the run; None: the error was not estimated.

    Returns:
        The trajectory, with the attributes `engine` and `warmup` (s). If errors were estimated, it
        has `error_estimate` and `tolerance`, too; if there are warnings, `warnings`.
    """
    attributes: dict[str, Any] = {"engine": engine, "warmup": warmup}
    if recording.error is not None and tolerance is not None:
        attributes |= {"error_estimate": list(recording.error), "tolerance": tolerance}
    if warnings := validity_warnings(recording, warmup, tolerance or TOLERANCE):
        attributes["warnings"] = "\n".join(warnings)
    return make_trajectory(recording, attributes)
