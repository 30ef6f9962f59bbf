"""What a solve returns: states at times, at steps, anywhere; none is lost."""

from __future__ import annotations

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.dde.adaptive.solving import tolerance
from tests.dde.systems import EXPONENTIAL, step_polynomial
from vegasfluid import dde

BOSH3 = diffrax.Bosh3()
END = 3.5
FINE = tolerance(1e-6)


def solve(saveat, t1=END, **options):
    options = {"stepsize_controller": FINE} | options
    return dde.solve(
        lambda t, y, history, args: -history(t - 1.0), BOSH3,
        0.0, t1, None, jnp.ones(1), saveat=saveat, **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def dense():
    return solve(diffrax.SaveAt(t0=True, t1=True, dense=True))


@pytest.fixture(scope="module")
def stepped():
    return solve(diffrax.SaveAt(steps=True), max_steps=200)


def known(ts):
    return step_polynomial(np.asarray(ts))


def test_only_the_end_by_default():
    solution = solve(None)
    np.testing.assert_array_equal(solution.ts, [END])
    np.testing.assert_allclose(solution.ys, known([END]), rtol=0, atol=1e-5)
    assert solution.curve is None


def test_start_and_end_are_exactly_there(dense):
    np.testing.assert_array_equal(dense.ts, [0.0, END])
    np.testing.assert_array_equal(dense.ys[0], [1.0])
    np.testing.assert_allclose(dense.ys[1], known(END), rtol=0, atol=1e-5)


def test_dense_output_is_the_solution_inside_and_nan_outside(dense):
    ts = np.linspace(0.0, END, 300).reshape(3, 100)
    ys = dense.evaluate(jnp.asarray(ts))
    assert ys.shape == (3, 100, 1)
    np.testing.assert_allclose(ys, known(ts), rtol=0, atol=2e-5)
    outside = dense.evaluate(jnp.array([-1.0, -1e-6, END + 1e-6, 100.0]))
    assert np.isnan(outside).all()
    assert dense.evaluate(0.5).shape == (1,)
    assert float(dense.evaluate(0.5)[0]) == pytest.approx(0.5, abs=1e-9)
    np.testing.assert_array_equal(dense.evaluate(jnp.array([0.0, END])), dense.ys)


def test_dense_output_can_be_compiled_and_differentiated(dense):
    slope = jax.jit(jax.jacfwd(lambda t: dense.evaluate(t)[0]))
    assert float(slope(jnp.asarray(0.6))) == pytest.approx(-1.0, abs=1e-5)
    assert float(slope(jnp.asarray(1.6))) == pytest.approx(-0.4, abs=1e-3)


def test_steps_are_the_ends_of_the_steps(stepped, dense):
    ts, ys = np.asarray(stepped.ts), np.asarray(stepped.ys)
    count = int(stepped.stats["steps"])
    assert (len(ts), len(ys)) == (200, 200)
    assert np.all(np.diff(ts[:count]) > 0)
    assert ts[0] > 0
    assert ts[count - 1] == END
    assert not np.isfinite(ts[count:]).any()
    assert np.isnan(ys[count:]).all()
    np.testing.assert_allclose(ys[:count], known(ts[:count]), rtol=0, atol=1e-5)
    np.testing.assert_allclose(ys[:count], dense.evaluate(ts[:count]), rtol=0, atol=1e-14)


def test_start_and_every_third_step(stepped):
    solution = solve(diffrax.SaveAt(t0=True, steps=3), max_steps=200)
    ts, count = np.asarray(stepped.ts), int(stepped.stats["steps"])
    thirds = ts[2:count:3]
    found = np.asarray(solution.ts)
    np.testing.assert_array_equal(found[: len(thirds) + 1], [0.0, *thirds])
    np.testing.assert_array_equal(solution.ys[1 : len(thirds) + 1], stepped.ys[2:count:3])


def test_every_second_step_and_the_end(stepped):
    """The end is there once, even if the last step is none of those that were asked for."""
    for every in (2, 3):
        solution = solve(diffrax.SaveAt(steps=every, t1=True), max_steps=200)
        found = np.asarray(solution.ts)
        found = found[np.isfinite(found)]
        assert found[-1] == END
        assert np.all(np.diff(found) > 0)
        count = int(stepped.stats["steps"])
        assert len(found) == -(-count // every)


def test_times_at_nodes_between_them_and_at_the_ends(stepped):
    """Also the same time twice, and many more than a step's worth at once."""
    nodes = np.asarray(stepped.ts)[: int(stepped.stats["steps"])]
    crowd = np.linspace(2.0, 2.001, 150)
    ts = np.sort(np.concatenate([[0.0, 0.0, 1.0, 1.0, 2.0, END, END], nodes, crowd]))
    solution = solve(diffrax.SaveAt(ts=jnp.asarray(ts)))
    np.testing.assert_array_equal(solution.ts, ts)
    np.testing.assert_allclose(solution.ys, known(ts), rtol=0, atol=1e-5)
    at_nodes = np.asarray(solution.ys)[np.isin(ts, nodes)]
    np.testing.assert_allclose(at_nodes, known(ts[np.isin(ts, nodes)]), rtol=0, atol=1e-5)
    np.testing.assert_array_equal(solution.ys[:2], np.ones((2, 1)))


@pytest.mark.parametrize("count", [1, 32, 500])
def test_any_number_of_times(count):
    ts = np.linspace(0.0, END, count + 1)[1:]
    solution = solve(diffrax.SaveAt(t0=True, ts=jnp.asarray(ts), t1=True))
    np.testing.assert_array_equal(solution.ts, [0.0, *ts, END])
    np.testing.assert_allclose(solution.ys, known([0.0, *ts, END]), rtol=0, atol=1e-5)


def test_times_survive_a_ring_that_wraps():
    """The history keeps 16 steps, the solve makes more than a hundred, and nothing is lost."""
    ts = np.linspace(0.0, 30.0, 701)
    solution = dde.solve(
        EXPONENTIAL.rhs, BOSH3, 0.0, 30.0, None, jnp.ones(1), EXPONENTIAL.args,
        past=EXPONENTIAL.past, rows=16, saveat=diffrax.SaveAt(ts=jnp.asarray(ts)),
        stepsize_controller=diffrax.PIDController(rtol=1e-6, atol=1e-6, dtmax=0.2),
    )  # fmt: skip
    assert int(solution.stats["steps"]) > 100
    np.testing.assert_allclose(solution.ys, EXPONENTIAL.exact(ts), rtol=0, atol=2e-5)


def test_function_of_the_state_is_saved():
    saveat = diffrax.SaveAt(
        ts=jnp.array([0.5, 1.0]), fn=lambda t, y, args: {"t": t, "twice": 2 * y[0]}
    )
    solution = solve(saveat)
    np.testing.assert_allclose(solution.ys["t"], [0.5, 1.0])
    np.testing.assert_allclose(solution.ys["twice"], [1.0, 0.0], atol=1e-9)


def test_end_at_the_start():
    """Nothing to solve: the state at t0, wherever it is asked for."""
    saveat = diffrax.SaveAt(t0=True, ts=jnp.zeros(2), t1=True)
    solution = solve(saveat, t1=0.0)
    assert solution.outcome == dde.Outcome.SUCCESS
    np.testing.assert_array_equal(solution.ys, np.ones((4, 1)))
    assert int(solution.stats["steps"]) == 0


def test_times_beyond_a_failure_are_nan():
    solution = dde.solve(
        lambda t, y, history, args: -history(t - 1.0) + 0 * jnp.sqrt(2.0 - t), BOSH3,
        0.0, END, None, jnp.ones(1), throw=False,
        saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, END, 8), t1=True, dense=True),
    )  # fmt: skip
    np.testing.assert_allclose(solution.ys[:4], known([0.0, 0.5, 1.0, 1.5]), rtol=0, atol=1e-5)
    assert np.isnan(solution.ys[5:]).all()
    assert np.isnan(solution.evaluate(jnp.array([2.1, 3.0]))).all()
    assert float(solution.evaluate(0.5)[0]) == pytest.approx(0.5, abs=1e-8)
