"""Fluid runs on one grid of times, so that networks of one structure share a compiled program.

`simulate_fluid` chooses the step and the bounds on lags by the network, and each choice is another
program to compile. Here they are the same for all networks for which they are right.
"""

from __future__ import annotations

import xarray as xr

from vegasfluid import Network, dde
from vegasfluid.fluid import FluidOptions, build
from vegasfluid.fluid.delays import longest_delay, shortest_delay
from vegasfluid.fluid.options import DEFAULT_OPTIONS
from vegasfluid.fluid.output import to_recording
from vegasfluid.fluid.simulate import to_dataset
from vegasfluid.fluid.time_grid import TimeGrid, mean_field_grid
from vegasfluid.run_options import DEFAULT_SAMPLES, check_times

__all__ = ["LAGS", "STEP", "simulate_on_common_grid"]

LAGS = (0.05, 5.0)
"""The least and the longest lag, s."""
STEP = 0.0198
"""Seconds: what `simulate_fluid` takes where round trips are longer and buffers not small."""


def simulate_on_common_grid(
    network: Network,
    until: float,
    *,
    warmup: float | None = None,
    samples: int = DEFAULT_SAMPLES,
    options: FluidOptions = DEFAULT_OPTIONS,
    step: float = STEP,
    lags: tuple[float, float] = LAGS,
    aligned: bool = False,
) -> xr.Dataset:
    """What `simulate_fluid` gives, with a step and bounds on lags that are chosen by hand.

    Args:
        network: what is connected to what.
        until: simulated time, s.
        warmup: time that the metrics leave out, s; a quarter of the run where it is None.
        samples: number of evenly spaced sample times.
        options: switches of the fluid model (`FluidOptions`).
        step: s; not above the network's own.
        lags: the least and the longest, s; the network's own lie between them.
        aligned: whether samples are ends of steps.
    """
    assert step <= mean_field_grid(network, until).step + 1e-12
    assert lags[0] <= shortest_delay(network) + 1e-12
    assert longest_delay(network) <= lags[1]
    model = build(network, options=options, delay_bounds=lags)
    grid = TimeGrid(until, samples, step, lags[1], aligned=aligned)
    solution = model.integrate(grid)
    dde.check(solution)
    recording = to_recording(network, solution, model.vector_field)
    return to_dataset(recording, "fluid", check_times(until, warmup, samples))
