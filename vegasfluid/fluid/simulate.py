"""Integrate the fluid model of a network."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vegasfluid import dde
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid import equations
from vegasfluid.fluid.pose import Posed, Shape, flows_of_groups, pose
from vegasfluid.network import Network
from vegasfluid.times import DEFAULT_SAMPLES, check_times
from vegasfluid.trajectory import Recording, make_trajectory

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Grid", "grid_for", "integrate", "record_fluid", "simulate_fluid"]

LARGEST_STEP = 0.02
"""Seconds; a queue's filling must be seen even where round trips are long."""
AVERAGING_STEPS = 1.5
"""The largest step in time constants of RED's average (the method is stable up to 2.78)."""


class Grid(NamedTuple):
    """Where the solution is wanted, and how finely it is integrated; all concrete.

    Args:
        until: s.
        samples: number of evenly spaced sample times from 0 to `until`.
        step: largest step, s.
        longest_lag: bound on the round-trip time, s.
    """

    until: float
    samples: int
    step: float
    longest_lag: float


def grid_for(network: Network, until: float, samples: int = DEFAULT_SAMPLES) -> Grid:
    """A grid on which the network's equations are integrated well.

    The step is no longer than the shortest round trip (the method's history must be known), and
    short against the queue law's averaging.
    """
    rtts = [rtt for name in network.flows for rtt in network.base_rtts(name)]
    link = network.link
    averaging = -math.log1p(-getattr(link.aqm, "weight", 0.0)) * link.capacity
    limits = [min(rtts), LARGEST_STEP]
    if averaging > 0:
        limits.append(AVERAGING_STEPS / averaging)
    longest = max(rtts) + link.buffer / link.capacity
    return Grid(until, samples, 0.99 * min(limits), 1.01 * longest)


@partial(jax.jit, static_argnames=("shape", "grid"))
def integrate(posed: Posed, shape: Shape, grid: Grid) -> dde.Solution:
    """Solve the equations; compiled, and open to `jax.vmap`, `jax.jvp` and `jax.grad`.

    Args:
        posed: the numbers, which may be traced.
        shape: the structure.
        grid: sample times and step.

    Returns:
        A solution whose states `equations.unpack` reads.
    """
    posed = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), posed)
    return dde.solve_fixed(
        lambda t, y, history, args: equations.right_hand_side(t, y, history, args, shape),
        equations.initial(posed),
        posed,
        save_at=np.linspace(0.0, grid.until, grid.samples),
        step=grid.step,
        longest_lag=grid.longest_lag,
        project=lambda y: equations.project(y, posed),
    )


def simulate_fluid(
    network: Network,
    until: float,
    *,
    warmup: float | None = None,
    samples: int = DEFAULT_SAMPLES,
) -> xr.Dataset:
    """Integrate the fluid model of a network.

    Args:
        network: one link that every flow crosses, bulk data one way.
        until: simulated time, s.
        warmup: time that the metrics leave out, s; a quarter of the run where it is None.
        samples: number of evenly spaced sample times.

    Returns:
        A trajectory (see `vegasfluid.trajectory`).

    Raises:
        InvalidInput: where the times make no sense.
        NotServed: where the network has something that this simulator does not serve yet.
        SolveFailed: where the solution leaves the finite numbers.

    >>> from vegasfluid import Flows, Link, Red, Reno, metrics
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> network = Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)})
    >>> run = simulate_fluid(network, until=20)
    >>> round(float(metrics.utilisation(run)[0]), 2)
    1.0
    """
    warmup = check_times(until, warmup, samples)
    recording = record_fluid(network, until, samples)
    return make_trajectory(*recording, {"engine": "fluid", "warmup": warmup})


def record_fluid(network: Network, until: float, samples: int) -> Recording:
    """Integrate the fluid model of a network, as plain arrays at evenly spaced times."""
    posed, shape = pose(network)
    solution = integrate(posed, shape, grid_for(network, until, samples))
    try:
        dde.check(solution)
    except SolveFailed as failed:
        raise SolveFailed(f"the fluid model could not be integrated: {failed}") from failed
    return record(network, solution)


def record(network: Network, solution: dde.Solution) -> Recording:
    """The states of a solution as plain arrays."""
    group_of = flows_of_groups(network)
    groups = int(group_of.max()) + 1
    state = equations.unpack(np.asarray(solution.ys), groups)
    count = np.bincount(group_of)
    flows = {name: getattr(state, name)[:, group_of] for name in ("cwnd", "delivered", "dropped")}
    flows["rtt"] = round_trips(network, state.queue)
    flows["retransmitted"] = flows["dropped"]
    flows["sent"] = flows["delivered"] + flows["dropped"]
    flows["timeouts"] = np.zeros_like(flows["cwnd"])
    links = {
        "queue": state.queue,
        "avg_queue": state.avg_queue,
        "admitted": state.delivered @ count,
        "lost": state.dropped @ count,
        "waited": state.waited,
        "backlog": state.queue,
    }
    links["work"] = links["admitted"]
    columns = {name: values[:, np.newaxis] for name, values in links.items()}
    return Recording(network, np.asarray(solution.ts), flows, columns)


def round_trips(network: Network, queue: Float[Array, " time"]) -> np.ndarray:
    """The round-trip time of each flow, s; (time, flow)."""
    base = np.concatenate([network.base_rtts(name) for name in network.flows])
    return base + np.asarray(queue)[:, np.newaxis] / network.link.capacity
