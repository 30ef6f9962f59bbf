"""Lane kernels and XLA solve the same equations with the same steps, and who solves what."""

from __future__ import annotations

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.dde.problems import options_of
from benchmarks.dde.switched_systems import DDETST_B2, DDETST_C1, DDETST_C2, RELAY
from tests.dde.adaptive.solving import SYSTEMS, tolerance
from vegasfluid import dde
from vegasfluid.dde.adaptive import solve_arrays

QUICK = (DDETST_B2,)
SENSITIVE = (DDETST_C1, DDETST_C2, RELAY)
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


def solved(system, chunk):
    """The solution by lane kernels (None), or by XLA."""
    end = min(system.t1, system.t0 + LONGEST)
    args = jax.tree.map(lambda value: jnp.asarray(value, float)[None], system.args)
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


def by_solve(t, y, history, rate):
    """LAPACK, which a lane kernel cannot call."""
    return jnp.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 1.0]]), -2 * rate * history(t - 1.0))


@pytest.mark.usefixtures("no_lanes")
@pytest.mark.parametrize(
    "options",
    [
        {"adjoint": diffrax.RecursiveCheckpointAdjoint(), "max_steps": 64},
        pytest.param({"progress_meter": diffrax.TextProgressMeter()}, marks=pytest.mark.slow),
    ],
    ids=["reverse mode", "progress"],
)
def test_xla_solves_what_needs_it(options):
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
