"""Fluid runs on one grid of times, so that networks of one structure share a compiled program.

`simulate_fluid` chooses the step and the bounds on lags by the network, and each choice is another
program to compile. Here they are the same for all networks for which they are right.
"""

from __future__ import annotations

import xarray as xr

from vegasfluid import Network, dde
from vegasfluid.fluid import Closure
from vegasfluid.fluid.closure import DEFAULT_CLOSURE
from vegasfluid.fluid.grid import Grid, grid_for
from vegasfluid.fluid.pose import as_floats, least_lag, longest_lag, pose
from vegasfluid.fluid.recording import record
from vegasfluid.fluid.simulate import integrate, labelled, system_of
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
    closure: Closure = DEFAULT_CLOSURE,
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
        closure: how losses are counted.
        step: s; not above the network's own.
        lags: the least and the longest, s; the network's own lie between them.
        aligned: whether samples are ends of steps.
    """
    assert step <= grid_for(network, until).step + 1e-12
    assert lags[0] <= least_lag(network) + 1e-12
    assert longest_lag(network) <= lags[1]
    posed, plan = pose(network, lags=lags)
    grid = Grid(until, samples, step, lags[1], aligned=aligned)
    solution = integrate(as_floats(posed), plan, grid, closure)
    dde.check(solution)
    recording = record(network, solution, system_of(posed, plan, closure))
    return labelled(recording, "fluid", check_times(until, warmup, samples))
