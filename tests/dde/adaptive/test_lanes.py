"""Lane kernels and XLA solve the same equations with the same steps, and who solves what."""

from __future__ import annotations

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.dde.problems import options_of
from benchmarks.dde.switched_systems import DDETST_B2, DDETST_C2, RELAY, RENO_RED
from tests.dde.adaptive.solving import SYSTEMS, tolerance
from vegasfluid import dde
from vegasfluid.dde.adaptive import solve_arrays

REVERSE = diffrax.RecursiveCheckpointAdjoint()
QUICK = (DDETST_B2,)
SENSITIVE = (DDETST_C2, RELAY)
"""They multiply rounding errors, or their events coincide: a step may be accepted or not."""
TIMES = 21
LONGEST = 20.0
"""End of the solves after their start: later, systems that multiply errors show rounding errors."""


def forbidden(monkeypatch, name):
    """Let a function that solves fail; what was compiled with it is let go."""

    def refuse(*arguments):
        raise AssertionError(f"{name} was asked to solve")

    monkeypatch.setattr(solve_arrays, name, refuse)
    jax.clear_caches()


@pytest.fixture
def no_xla(monkeypatch):
    forbidden(monkeypatch, "by_xla")


@pytest.fixture
def no_lanes(monkeypatch):
    forbidden(monkeypatch, "by_lanes")
    forbidden(monkeypatch, "by_lanes_in_reverse")


def arguments_of(system):
    return jax.tree.map(lambda value: jnp.asarray(value, float)[None], system.args)


def solved(system, chunk, args=None, **options):
    """The solution by lane kernels (None), or by XLA."""
    end = min(system.t1, system.t0 + LONGEST)
    args = arguments_of(system) if args is None else args
    return dde.solve_batch(
        system.rhs,
        diffrax.Tsit5(),
        system.t0,
        end,
        None,
        jnp.asarray(system.y0)[None],
        args,
        **options_of(system),
        saveat=diffrax.SaveAt(ts=jnp.linspace(system.t0, end, TIMES), t1=True),
        stepsize_controller=tolerance(1e-6),
        chunk=chunk,
        **options,
    )


@pytest.mark.parametrize(
    "system",
    [
        pytest.param(system, marks=[] if system in QUICK else [pytest.mark.slow])
        for system in SYSTEMS
    ],
    ids=lambda system: system.name,
)
def test_the_steps_are_those_of_xla(system):
    lanes, xla = solved(system, None), solved(system, 1)
    sensitive = system in SENSITIVE
    for name in ("num_accepted_steps", "num_rejected_steps", "num_events"):
        assert lanes.stats[name] == xla.stats[name] or sensitive
    size = np.abs(xla.ys).max(axis=(0, 1))
    assert np.all(np.abs(lanes.ys - xla.ys) <= (1e-5 if sensitive else 1e-9) * size)
    np.testing.assert_array_equal(lanes.ts, xla.ts)


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("system", [RENO_RED, DDETST_B2], ids=lambda system: system.name)
def test_gradients_in_reverse_mode_are_those_of_xla(system):
    def final(args, chunk):
        return solved(system, chunk, args, adjoint=REVERSE, max_steps=2048).ys[0, -1].sum()

    args = arguments_of(system)
    lanes, xla = (jax.jit(jax.grad(final), static_argnums=1)(args, chunk) for chunk in (None, 1))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-12), lanes, xla)


def delayed(t, y, history, rate):
    return -rate * history(t - 1.0)


def solve(rhs=delayed, args=1.0, **options):
    return dde.solve(rhs, diffrax.Bosh3(), 0.0, 2.0, None, jnp.ones(1), args, **options)


@pytest.mark.usefixtures("no_xla")
def test_lane_kernels_solve_one_equation_a_batch_and_derivatives():
    assert solve().ys[0, 0] == pytest.approx(-0.5)
    slope = jax.jacfwd(lambda rate: solve(args=rate).ys[0, 0])(1.0)
    assert slope == pytest.approx(-2 + 1.0, rel=1e-3)  # y(2) = 1 - 2 r + r^2 / 2
    both = jax.vmap(lambda rate: solve(args=rate, throw=False).ys[0, 0])(jnp.array([1.0, 2.0]))
    assert both == pytest.approx([-0.5, -1.0], abs=1e-3)


@pytest.mark.slow
@pytest.mark.usefixtures("no_xla")
def test_lane_kernels_compute_gradients_and_their_derivatives():
    def at_end(rate):
        options = {"adjoint": REVERSE, "max_steps": 64, "throw": False}
        return solve(args=rate, stepsize_controller=tolerance(1e-6), **options).ys[0, 0]

    slope = jax.jit(jax.grad(at_end))
    assert slope(1.0) == pytest.approx(-2 + 1.0, rel=1e-6)  # y(2) = 1 - 2 r + r^2 / 2
    assert jax.jit(jax.jacfwd(slope))(1.0) == pytest.approx(1.0, rel=1e-6)


def by_solve(t, y, history, rate):
    """LAPACK, which a lane kernel cannot call."""
    return jnp.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 1.0]]), -2 * rate * history(t - 1.0))


@pytest.mark.usefixtures("no_lanes")
@pytest.mark.parametrize("adjoint", [None, REVERSE], ids=["forward", "reverse"])
def test_xla_solves_with_a_progress_meter(adjoint):
    options = {"progress_meter": diffrax.TextProgressMeter(), "adjoint": adjoint, "max_steps": 64}
    assert solve(**options).ys[0, 0] == pytest.approx(-0.5)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_xla_solves_what_a_lane_kernel_cannot_contain():
    found = dde.solve(by_solve, diffrax.Bosh3(), 0.0, 2.0, None, jnp.ones(2), 1.0)
    assert found.ys[0, 0] == pytest.approx(-0.5)


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.usefixtures("no_lanes")
def test_a_chunk_is_xlas():
    found = dde.solve_batch(
        delayed, diffrax.Bosh3(), 0.0, 2.0, None, jnp.ones((2, 1)), jnp.array([1.0, 2.0]), chunk=2
    )
    assert found.ys[:, 0, 0] == pytest.approx([-0.5, -1.0], abs=1e-3)
