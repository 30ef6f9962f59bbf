"""Equations without delays, clamps and switches are handed to diffrax."""

from __future__ import annotations

import functools

import diffrax
import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import dde

TSIT5, KVAERNO5, HEUN = diffrax.Tsit5(), diffrax.Kvaerno5(), diffrax.Heun()
TS = jnp.linspace(0.0, 3.0, 7)
START = jnp.array([0.1, 0.3])
CONTROLLER = diffrax.PIDController(rtol=1e-6, atol=1e-8)


def saved(solver):
    return diffrax.SaveAt(t0=True, ts=TS, t1=True, dense=solver is TSIT5)


def rhs(t, y, history, args):
    """Logistic growth at a rate, forced; and pulled to cos t."""
    rate, pull = args
    return rate * y * (1 - y) + 0.1 * jnp.sin(t) - pull * (y - jnp.cos(t))


@functools.cache
def by_diffrax(solver):
    term = diffrax.ODETerm(lambda t, y, args: rhs(t, y, None, args))
    return diffrax.diffeqsolve(
        term, solver, 0.0, 3.0, 0.1, START, (1.7, 0.0), saveat=saved(solver),
        stepsize_controller=CONTROLLER,
    )  # fmt: skip


def ours(solver, t1=3.0, y0=START, rate=1.7, pull=0.0, **options):
    args = (jnp.asarray(rate), jnp.asarray(pull))
    options = {"saveat": saved(solver), "throw": False} | options
    return dde.solve(rhs, solver, 0.0, t1, 0.1, y0, args, stepsize_controller=CONTROLLER,
                     **options)  # fmt: skip


@pytest.mark.parametrize(
    "solver", [pytest.param(each, marks=pytest.mark.slow) for each in (TSIT5, KVAERNO5, HEUN)]
)
def test_the_results_are_those_of_diffrax(solver):
    found, expected = ours(solver), by_diffrax(solver)
    np.testing.assert_allclose(found.ys, expected.ys, rtol=1e-14, atol=0)
    np.testing.assert_array_equal(found.ts, expected.ts)
    assert found.result == dde.Outcome.SUCCESS
    assert np.isnan(found.time)
    for name in ("num_steps", "num_accepted_steps", "num_rejected_steps"):
        assert int(found.stats[name]) == int(expected.stats[name])


@pytest.mark.slow
@pytest.mark.unoptimised
def test_dense_output():
    found, expected = ours(TSIT5), by_diffrax(TSIT5)
    times = jnp.array([[0.1, 1.0], [2.0, 2.9]])
    assert found.evaluate(times).shape == (2, 2, 2)
    np.testing.assert_allclose(found.evaluate(2.0), expected.evaluate(2.0), rtol=1e-14)
    np.testing.assert_allclose(found.evaluate(times)[1, 0], expected.evaluate(2.0), rtol=1e-14)
    np.testing.assert_allclose(found.evaluate(0.1, 2.0), expected.evaluate(0.1, 2.0), rtol=1e-14)
    np.testing.assert_allclose(found.derivative(2.0), expected.derivative(2.0), rtol=1e-14)
    assert (found.t0, found.t1) == (expected.t0, expected.t1)
    assert np.isnan(found.evaluate(jnp.array([-1.0, 4.0]))).all()


@pytest.mark.slow
@pytest.mark.unoptimised
def test_batch():
    args = (jnp.array([0.5, 1.7, 3.0]), jnp.zeros(3))
    found = dde.solve_batch(
        rhs, KVAERNO5, 0.0, 3.0, 0.1, jnp.tile(START, (3, 1)), args,
        saveat=diffrax.SaveAt(ts=TS), stepsize_controller=CONTROLLER, chunk=2,
    )  # fmt: skip
    assert found.ys.shape == (3, 7, 2)
    np.testing.assert_allclose(found.ys[1], by_diffrax(KVAERNO5).ys[1:-1], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_stiff_equation_is_solved_by_an_implicit_method():
    """Y' = -1e6 (y - cos t) is cos t but for 1e-6; an explicit method would need 1e6 steps."""
    found = ours(KVAERNO5, y0=jnp.ones(2), rate=0.0, pull=1e6)
    np.testing.assert_allclose(found.ys[-1], np.cos(3.0), rtol=0, atol=3e-6)
    assert int(found.stats["num_accepted_steps"]) < 300


@pytest.mark.slow
@pytest.mark.unoptimised
def test_delay_free_equation_with_a_clamp_is_ours():
    """Diffrax has no clamps: y' = -1 from 1 stays at 0."""
    found = dde.solve(
        lambda t, y, history, args: -jnp.ones(1), diffrax.Bosh3(), 0.0, 3.0, None, jnp.ones(1),
        saveat=diffrax.SaveAt(ts=TS), bounds=[dde.Bound(0, lower=0.0)],
    )  # fmt: skip
    np.testing.assert_allclose(found.ys[:, 0], np.maximum(1 - np.asarray(TS), 0), atol=1e-12)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_failures_of_diffrax_have_our_outcomes():
    short = ours(TSIT5, saveat=None, max_steps=3)
    assert short.result == dde.Outcome.MAX_STEPS_REACHED
    start = ours(TSIT5, y0=jnp.array([0.1, jnp.nan]))
    assert start.result == dde.Outcome.START_NOT_FINITE
    back = ours(TSIT5, t1=-3.0, saveat=None, max_steps=3)
    assert back.result == dde.Outcome.TIMES_REVERSED
    assert "s = -t" in dde.Outcome.TIMES_REVERSED.meaning


def decay_until(end, delayed, saveat, y0=1.0, t1=2.0):
    """Y' = -y, defined until `end`, with constant steps of 0.1; or with a delay without effect."""

    def rhs(t, y, history, args):
        slope = -y + 0 * jnp.sqrt(end - t)
        return slope + 0 * history(t - 5.0) if delayed else slope

    return dde.solve(
        rhs, diffrax.Bosh3(), 0.0, t1, 0.1, jnp.full(1, y0), saveat=saveat, throw=False,
        stepsize_controller=diffrax.ConstantStepSize(), max_steps=30,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("delayed", [False, True])
def test_constant_steps_fail_where_the_state_is_no_longer_finite(delayed):
    """Undefined after 0.73, so that the step from 0.7 is the last one; exp(-t) before."""
    times = diffrax.SubSaveAt(t0=True, ts=jnp.array([0.5, 1.5]), t1=True)
    steps = diffrax.SubSaveAt(steps=True)
    found = decay_until(0.73, delayed, diffrax.SaveAt(subs=[times, steps]))
    assert found.result == dde.Outcome.NOT_FINITE
    assert float(found.time) == pytest.approx(0.7)
    np.testing.assert_allclose(found.ts[0], [0.0, 0.5, 1.5, 2.0])
    np.testing.assert_allclose(found.ys[0][:, 0], [1, np.exp(-0.5), np.nan, np.nan], rtol=1e-4)
    expected = np.append(np.linspace(0.1, 0.7, 7), np.full(23, np.nan))
    np.testing.assert_allclose(found.ts[1], expected)
    np.testing.assert_allclose(found.ys[1][:, 0], np.exp(-expected), rtol=1e-4)


@pytest.mark.unoptimised
@pytest.mark.parametrize(
    ("y0", "t1", "outcome", "ys"),
    [
        (np.nan, 2.0, dde.Outcome.START_NOT_FINITE, [np.nan, np.nan]),
        (1.0, -1.0, dde.Outcome.TIMES_REVERSED, [1.0, np.nan]),
    ],
)
def test_what_fails_at_the_start_has_nan_at_the_end(y0, t1, outcome, ys):
    found = decay_until(9.0, False, diffrax.SaveAt(t0=True, t1=True), y0, t1)
    assert (found.result, found.time) == (outcome, 0.0)
    np.testing.assert_array_equal(found.ts, [0.0, t1])
    np.testing.assert_array_equal(found.ys[:, 0], ys)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_failure_has_the_time_that_was_reached():
    """Y' = y^2 from 1 is 1 / (1 - t): without end at 1."""
    found = dde.solve(
        lambda t, y, history, args: y**2, diffrax.Bosh3(), 0.0, 2.0, None, jnp.ones(1),
        saveat=diffrax.SaveAt(ts=jnp.array([0.5, 1.5]), t1=True), max_steps=200, throw=False,
        stepsize_controller=CONTROLLER,
    )  # fmt: skip
    assert found.result == dde.Outcome.MAX_STEPS_REACHED
    assert 0.9 < float(found.time) <= 1.0
    np.testing.assert_array_equal(found.ts, [0.5, 1.5, 2.0])
    np.testing.assert_allclose(found.ys[:, 0], [2.0, np.nan, np.nan], rtol=1e-4)


@pytest.mark.unoptimised
@pytest.mark.parametrize("delayed", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_slope_that_is_not_finite_from_a_time_on_ends_the_solve_there(delayed):
    """Y' = sqrt(1 - t) from 0 is 2/3 at 1, where it has no slope any more; so says the outcome."""

    def rhs(t, y, history, args):
        slope = jnp.sqrt(1 - t) * jnp.ones(1)
        return slope + 0 * history(t - 5.0) if delayed else slope

    found = dde.solve(
        rhs, diffrax.Bosh3(), 0.0, 2.0, 0.1, jnp.zeros(1), max_steps=300, throw=False,
        stepsize_controller=CONTROLLER, saveat=diffrax.SaveAt(t1=True),
    )  # fmt: skip
    assert found.result == dde.Outcome.NOT_FINITE
    assert float(found.time) == pytest.approx(1.0, abs=1e-6)
    assert np.isnan(found.ys).all()
