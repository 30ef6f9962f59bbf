"""The density model: no flow is lost, and the spread of windows is that of the process itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from tests.congestion.drawn import cubic_alone
from tests.fluid.test_synchronised_losses import senders_with_losses
from vegasfluid import (
    Cubic,
    Flows,
    Link,
    Network,
    Red,
    Reno,
    Vegas,
    metrics,
    simulate_density,
    simulate_packets,
)
from vegasfluid import simulate_fluid as simulate_mean
from vegasfluid.fluid import build
from vegasfluid.fluid.density import Density
from vegasfluid.fluid.epoch_mesh import make_epoch_mesh
from vegasfluid.fluid.mesh import advect, deposit, make_mesh
from vegasfluid.fluid.model import integrated, solution_of
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.output import to_recording
from vegasfluid.fluid.pytrees import register_values
from vegasfluid.fluid.rtt_noise import RttNoise
from vegasfluid.fluid.senders import LossSignals, SenderSignals
from vegasfluid.fluid.simulate import to_dataset
from vegasfluid.fluid.time_grid import TimeGrid, density_grid
from vegasfluid.fluid.vector_field import VectorField
from vegasfluid.fluid.window_mesh import WindowMesh

MESH = make_mesh(500.0)
NETWORK = Network(
    Link(2000.0, 600, Red(min_thresh=60, max_thresh=260, max_drop=0.05)),
    {
        "reno": Flows(10, Reno(recovery="newreno"), base_rtt=0.08, initial_ssthresh=10.0),
        "vegas": Flows(10, Vegas(6, 8), base_rtt=0.08, initial_ssthresh=10.0),
    },
)


def test_windows_of_epochs_are_the_cubic_s_up_to_the_largest_that_has_a_cell() -> None:
    """RFC 9438, section 4.2: W_max + C (t - K)^3, and W_max (1 - beta) = C K^3."""
    law = Cubic(beta=0.7, friendly=False)
    mesh = make_epoch_mesh(law, 100.0, 1.0).for_law(law)
    lost, ages = mesh.loss_windows.centres[:, np.newaxis], mesh.ages.centres
    after_loss = lost + 0.4 * (ages - np.cbrt(0.3 * lost / 0.4)) ** 3
    assert after_loss.min() < 50.0
    assert after_loss.max() > 150.0
    states = mesh.states(law, None, np.array([0.1]))
    found = np.asarray(states.cwnd).reshape(mesh.shape)[0]
    np.testing.assert_allclose(found, np.minimum(after_loss, lost[-1]), rtol=1e-9)


def test_cells_cover_the_windows_without_gaps() -> None:
    widths = MESH.widths
    assert MESH.centres[0] == 1.0
    assert MESH.edges[-1] >= 500.0
    assert np.all(np.diff(widths) > -1e-9)
    assert np.all(widths <= np.maximum(0.5, 0.031 * MESH.edges[1:]))


@pytest.mark.parametrize("ratio", [1.03, 1.1, 1.15])
def test_meshes_of_other_ranges_have_the_same_number_of_cells(ratio: float) -> None:
    """So that they share compiled code: no narrower, and at most 8 % more or fewer than needed."""
    ranges = np.geomspace(20.0, 3000.0, 400)
    sizes = set()
    for largest in ranges:
        mesh = make_mesh(largest, finest=0.5, ratio=ratio)
        sizes.add(len(mesh.centres))
        # Up to 0.5 / (ratio - 1) cells are equally wide; the ratio holds above.
        equal = 0.5 / (ratio - 1)
        needed = equal / 0.5 + np.log(max(largest / equal, 1.0)) / np.log(ratio)
        assert abs(len(mesh.centres) / needed - 1) < 0.08 + 2 / needed
        assert mesh.edges[-1] >= largest
        assert mesh.widths.min() >= 0.5 * (1 - 1e-9)
        assert np.all(np.diff(mesh.widths) > -1e-9)
    assert len(sizes) < 15


def test_a_jump_keeps_mass_and_mean() -> None:
    masses = jnp.array([[0.2, 0.5, 0.3]])
    windows = jnp.array([[3.3, 40.0, 401.7]])
    found = deposit(masses, windows, MESH)
    assert float(found.sum()) == pytest.approx(1.0, rel=1e-12)
    assert float((found * MESH.centres).sum()) == pytest.approx(float((masses * windows).sum()))


@pytest.mark.parametrize("speed", [2.0, -2.0])
def test_what_moves_keeps_mass_and_speed_and_form(speed: float) -> None:
    """A hump that moves evenly is the same hump elsewhere, and its mean moves at the speed."""
    centres, widths = MESH.centres, MESH.widths
    start = 60.0 if speed > 0 else 100.0
    masses = np.exp(-(((centres - start) / 8) ** 2)) * widths
    masses = jnp.asarray(masses / masses.sum())[None]
    speeds = jnp.full((1, centres.size - 1), speed)

    def step(masses, _):  # Heun
        first = masses + 0.1 * advect(masses, speeds, MESH)
        second = first + 0.1 * advect(first, speeds, MESH)
        return (masses + second) / 2, None

    after, _ = jax.lax.scan(step, masses, None, length=200)
    assert float(after.sum()) == pytest.approx(1.0, rel=1e-9)
    assert float(after.min()) > -1e-9
    mean = float((after * centres).sum())
    assert mean == pytest.approx(start + 20 * speed, rel=0.005)
    spread = float((after * (centres - mean) ** 2).sum()) ** 0.5
    assert spread == pytest.approx(8 / 2**0.5, rel=0.15)


CUBIC = Network(
    Link(2000.0, 600, Red(min_thresh=60, max_thresh=260, max_drop=0.05)),
    {
        "cubic": Flows(10, Cubic(), base_rtt=0.08, initial_ssthresh=10.0),
        "vegas": Flows(10, Vegas(6, 8), base_rtt=0.08, initial_ssthresh=10.0),
    },
)


NETWORKS = {"reno": NETWORK, "cubic": CUBIC}


@pytest.fixture(params=["reno", pytest.param("cubic", marks=pytest.mark.slow)])
def competitor(request) -> str:
    return request.param


@pytest.fixture
def network(competitor: str) -> Network:
    return NETWORKS[competitor]


class Solved(NamedTuple):
    """A run with the distributions of its flows, and the same in the mean model.

    Args:
        field: equations.
        state: whole states, at each sample time.
        run: what is recorded of it.
        mean: the run of the mean model.
    """

    field: VectorField
    state: Any
    run: xr.Dataset
    mean: xr.Dataset


@cache
def solved_for(competitor: str) -> Solved:
    network = NETWORKS[competitor]
    model = build(network, resolution="distribution")
    field, grid = model.vector_field, density_grid(network, 60.0)
    solution = model.integrate(grid, whole=True)
    moments = jax.jit(jax.vmap(field.save))(solution.ts, solution.ys)
    recording = to_recording(network, solution._replace(ys=moments), field)
    run = to_dataset(recording, "density", 15.0)
    state = field.layout.unpack(np.asarray(solution.ys))
    return Solved(field, state, run, simulate_mean(network, until=60.0))


@pytest.fixture
def solved(competitor: str) -> Solved:
    return solved_for(competitor)


def masses_late(solved: Solved) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The middles of the cells of windows of each class, and the share of its flows in each, in the
    mean of the last third of the run.
    """
    for kind, part in zip(solved.field.populations, solved.state.classes, strict=True):
        yield kind.mesh.windows.centres, (part.growing + part.recovering)[-133:].mean(axis=0)[0]


@pytest.mark.slow
@pytest.mark.unoptimised
def test_no_flow_is_lost(solved) -> None:
    assert all(isinstance(kind, Density) for kind in solved.field.populations)
    for part in solved.state.classes:
        total = part.growing.sum(-1) + part.recovering.sum(-1) + part.shared.slow_start
        np.testing.assert_allclose(total, 1.0, atol=1e-9)
        assert part.growing.min() > -1e-6
        assert part.recovering.min() > -1e-6


@pytest.mark.parametrize("competitor", ["reno"])
def test_the_spread_of_windows(solved) -> None:
    """Reno's windows: standard deviation over mean of additive increase under independent losses.

    By the moments of theory (E[W^2] p = 2 at each packet, in time E[W] = 1.3098 / sqrt(p), and
    E[W^2] = 2 / p by the balance of growth and losses): sqrt(2 / 1.3098^2 - 1) = 0.407. Vegas's
    do not spread, because of its thresholds.
    """
    spread = []
    for windows, masses in masses_late(solved):
        mean = (masses * windows).sum()
        spread.append((masses * (windows - mean) ** 2).sum() ** 0.5 / mean)
    assert spread[0] == pytest.approx(0.407, rel=0.06)
    assert spread[1] < 0.8 * spread[0]


@pytest.mark.parametrize("competitor", ["reno"])
def test_a_run_has_the_moments_of_its_windows(solved) -> None:
    """Mean and standard deviation; in the mean model all flows of a group are alike."""
    late = solved.run.isel(time=slice(-133, None))
    for number, (windows, masses) in enumerate(masses_late(solved)):
        mean, square = (masses * windows).sum(), (masses * windows**2).sum()
        cwnd, spread = (late[name].values[:, number] for name in ("cwnd", "cwnd_spread"))
        assert cwnd.mean() == pytest.approx(mean, rel=1e-6)
        assert (spread**2 + cwnd**2).mean() == pytest.approx(square, rel=1e-6)
    np.testing.assert_allclose(solved.mean["cwnd_spread"], 0.0, atol=1e-6)


@pytest.mark.study
def test_a_run_tells_the_spread_of_windows_as_packets_do(network) -> None:
    """The competitor's to 20 percent, Vegas's to a packet."""
    whole, packets = (
        run(network, until=100.0)["cwnd_spread"].sel(time=slice(40, None)).mean("time").values
        for run in (simulate_density, simulate_packets)
    )
    assert whole[0] == pytest.approx(packets[0], rel=0.2)
    assert whole[1] == pytest.approx(packets[1], abs=1.0)


def test_it_agrees_with_the_mean_model(solved) -> None:
    for item in (metrics.utilisation, metrics.mean_queue):
        np.testing.assert_allclose(item(solved.run), item(solved.mean), rtol=0.05)
    ratios = (metrics.goodput_ratio(run, "vegas") for run in (solved.run, solved.mean))
    assert next(ratios) == pytest.approx(next(ratios), rel=0.1)


@pytest.mark.slow
def test_its_derivative_is_that_of_central_differences(network) -> None:
    model = build(network, resolution="distribution")
    grid = TimeGrid(10.0, 11, 0.03, model.parameters.delay_bounds.longest)

    def queue(max_drop):
        law = Red(min_thresh=60, max_thresh=260, max_drop=max_drop)
        changed = replace(model, parameters=model.parameters._replace(aqm=(law,)))
        return jnp.sum(changed.solve(10.0, grid=grid).states.queue_integral[-1])

    width = 1e-6
    both = jax.jit(lambda max_drop: jax.jvp(queue, (max_drop,), (1.0,)))
    _, slope = both(0.05)
    difference = (both(0.05 + width)[0] - both(0.05 - width)[0]) / (2 * width)
    assert abs(float(slope)) > 1.0
    assert float(slope) == pytest.approx(float(difference), rel=1e-3)


@pytest.mark.optimised
@pytest.mark.slow
@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("beta", [0.7, 0.8])
def test_cubic_under_independent_losses(fast: bool, beta: float) -> None:
    """The stationary distribution has the mean window of the process drawn, flow by flow."""
    law, rtt, prob, width = Cubic(beta=beta, fast_convergence=fast, friendly=False), 0.1, 1e-4, 0.05
    register_values()
    kind = Density.of(law, make_epoch_mesh(law, 1500.0, width))
    one, none = jnp.ones(1), jnp.zeros(1)
    senders = SenderSignals(
        rtt=rtt * one,
        measured_rtt=rtt * one,
        rate=none,
        losses=LossSignals(none, prob * one),
        noise=RttNoise(none, none, none, none),
        in_recovery=none,
        rate_limit=1e9 * one,
        ssthresh=1e9 * one,
        min_rto=0.2 * one,
        ack_every=one,
        synchronised=np.zeros(1),
        recovered=none,
        timeout_exits=none,
    )
    begun = kind.initial_state(150 * one, rtt * one)
    step = 0.9 * width

    def euler(state, _):
        rate = kind.derivative(state, senders, FluidOptions()).state
        return jax.tree.map(lambda at, by: at + step * by, state, rate), None

    steady_state, _ = jax.jit(lambda at: jax.lax.scan(euler, at, None, length=round(200 / step)))(
        begun
    )
    windows = kind.mesh.states(law, steady_state.shared, rtt * one).cwnd
    assert float(steady_state.shared.slow_start[0]) < 1e-6
    mean = float(jnp.sum(steady_state.growing * windows) / jnp.sum(steady_state.growing))
    assert mean == pytest.approx(cubic_alone(law, rtt, prob), rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("law", [Reno(), Cubic()], ids=["windows", "epochs"])
def test_the_lane_kernel_and_xla_compute_the_same(law: Any) -> None:
    """Over one second: rounding errors grow where windows oscillate."""
    classes = {"other": Flows(2, law, base_rtt=0.05), "vegas": NETWORK.flows["vegas"]}
    density = build(replace(NETWORK, flows=classes), resolution="distribution").as_floats()
    grid = density.time_grid(1.0, 11)
    steps = grid.schedule(jnp.float64)
    ours = integrated(density, steps, whole=False)
    by_xla = jax.jit(partial(solution_of, whole=False))(density, steps)
    assert int(ours.result) == int(by_xla.result) == 0
    np.testing.assert_allclose(ours.ys, by_xla.ys, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("synchronised", [0.0, 0.5, 1.0])
def test_of_a_window_all_packets_but_one_are_clocked(synchronised: float) -> None:
    """Random losses are the same for all; synchronised ones follow growth; by hand.

    Of a window of 4, the part of its losses that follows growth is 3/4 on such queues.
    """
    kind = Density.of(Reno(), WindowMesh(MESH))
    senders = senders_with_losses(synchronised)  # 0.5 losses/s, one in a million packets
    cwnd, growth, rate, mean = (jnp.array([[value]]) for value in (4.0, 6.0, 1e5, 3.0))
    found = kind.loss_event_rate(cwnd, growth, senders, rate, mean)
    part = 0.75 * synchronised
    assert float(found[0, 0]) == pytest.approx((1 - part) * 0.1 + part * 0.5 * 2)
