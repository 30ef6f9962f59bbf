"""Equations without delays, clamps and switches are handed to diffrax."""

from __future__ import annotations

import diffrax
import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import dde
from vegasfluid.errors import InvalidInput

TS = jnp.linspace(0.0, 3.0, 7)
CONTROLLER = diffrax.PIDController(rtol=1e-6, atol=1e-8)


def logistic(t, y, history, rate):
    return rate * y * (1 - y) + 0.1 * jnp.sin(t)


def by_diffrax(solver, saveat, **options):
    term = diffrax.ODETerm(lambda t, y, rate: logistic(t, y, None, rate))
    return diffrax.diffeqsolve(
        term, solver, 0.0, 3.0, 0.1, jnp.array([0.1, 0.3]), 1.7, saveat=saveat,
        stepsize_controller=CONTROLLER, **options,
    )  # fmt: skip


def ours(solver, saveat, **options):
    return dde.solve(
        logistic, solver, 0.0, 3.0, 0.1, jnp.array([0.1, 0.3]), 1.7, saveat=saveat,
        stepsize_controller=CONTROLLER, **options,
    )  # fmt: skip


@pytest.mark.parametrize("solver", [diffrax.Tsit5(), diffrax.Kvaerno5(), diffrax.Heun()])
def test_the_results_are_those_of_diffrax(solver):
    saveat = diffrax.SaveAt(t0=True, ts=TS, t1=True)
    found, expected = ours(solver, saveat), by_diffrax(solver, saveat)
    np.testing.assert_allclose(found.ys, expected.ys, rtol=1e-14, atol=0)
    np.testing.assert_array_equal(found.ts, expected.ts)
    assert found.outcome == dde.Outcome.SUCCESS
    assert np.isnan(found.time)
    for name, theirs in (("steps", "num_accepted_steps"), ("rejected", "num_rejected_steps")):
        assert int(found.stats[name]) == int(expected.stats[theirs])


def test_dense_output():
    saveat = diffrax.SaveAt(dense=True)
    found, expected = ours(diffrax.Tsit5(), saveat), by_diffrax(diffrax.Tsit5(), saveat)
    times = jnp.array([[0.1, 1.0], [2.0, 2.9]])
    assert found.evaluate(times).shape == (2, 2, 2)
    np.testing.assert_allclose(found.evaluate(2.0), expected.evaluate(2.0), rtol=1e-14)
    np.testing.assert_allclose(found.evaluate(times)[1, 0], expected.evaluate(2.0), rtol=1e-14)
    assert np.isnan(found.evaluate(jnp.array([-1.0, 4.0]))).all()


def test_batch():
    rates = jnp.array([0.5, 1.7, 3.0])
    found = dde.solve_batch(
        logistic, diffrax.Kvaerno5(), 0.0, 3.0, 0.1, jnp.tile(jnp.array([0.1, 0.3]), (3, 1)),
        rates, saveat=diffrax.SaveAt(ts=TS), stepsize_controller=CONTROLLER, chunk=2,
    )  # fmt: skip
    expected = by_diffrax(diffrax.Kvaerno5(), diffrax.SaveAt(ts=TS))
    assert found.ys.shape == (3, 7, 2)
    np.testing.assert_allclose(found.ys[1], expected.ys, rtol=1e-12)


def test_stiff_equation_is_solved_by_an_implicit_method():
    """Y' = -1e6 (y - cos t) is cos t but for 1e-6; an explicit method would need 1e6 steps."""
    found = dde.solve(
        lambda t, y, history, args: -1e6 * (y - jnp.cos(t)), diffrax.Kvaerno5(),
        0.0, 2.0, None, jnp.ones(1), stepsize_controller=CONTROLLER,
    )  # fmt: skip
    assert float(found.ys[0, 0]) == pytest.approx(np.cos(2.0), abs=3e-6)
    assert int(found.stats["steps"]) < 300


def test_delay_free_equation_with_a_clamp_is_ours():
    """Diffrax has no clamps: y' = -1 from 1 stays at 0; and an implicit method is refused."""
    options = {"clamps": [dde.Clamp(0, lower=0.0)]}
    found = dde.solve(
        lambda t, y, history, args: -jnp.ones(1), diffrax.Bosh3(), 0.0, 3.0, None, jnp.ones(1),
        saveat=diffrax.SaveAt(ts=TS), **options,
    )  # fmt: skip
    np.testing.assert_allclose(found.ys[:, 0], np.maximum(1 - np.asarray(TS), 0), atol=1e-12)
    with pytest.raises(InvalidInput, match="explicit"):
        dde.solve(
            lambda t, y, history, args: -jnp.ones(1), diffrax.Kvaerno5(),
            0.0, 3.0, None, jnp.ones(1), **options,
        )  # fmt: skip


def test_failures_of_diffrax_have_our_outcomes():
    found = ours(diffrax.Tsit5(), None, max_steps=3, throw=False)
    assert found.outcome == dde.Outcome.MAX_STEPS_REACHED
    start = dde.solve(
        logistic, diffrax.Tsit5(), 0.0, 3.0, 0.1, jnp.array([jnp.nan]), 1.7, throw=False
    )
    assert start.outcome == dde.Outcome.START_NOT_FINITE
    back = dde.solve(logistic, diffrax.Tsit5(), 0.0, -3.0, 0.1, jnp.array([0.5]), 1.7, throw=False)
    assert back.outcome == dde.Outcome.TIMES_REVERSED
