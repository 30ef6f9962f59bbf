"""A batch is its instances, however it is cut into chunks."""

from __future__ import annotations

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.dde.adaptive.solving import tolerance
from vegasfluid import dde

BOSH3 = diffrax.Bosh3()
LAGS = np.array([0.2, 1.0, 0.05, 3.0, 0.7, 1.3, 0.4])
RATES = np.array([1.0, 0.5, 2.0, 0.3, 1.5, 0.9, 0.1])
STARTS = np.array([0.0, 1.0, -2.0, 0.5, 0.0, 10.0, 3.0])
ENDS = STARTS + np.array([4.0, 2.0, 3.0, 5.0, 1.0, 4.0, 2.5])
Y0 = np.stack([np.linspace(0.5, 2.0, 7), np.linspace(1.0, 0.2, 7)], axis=1)
FINE = tolerance(1e-7)


def rhs(t, y, history, args):
    """A level that is emptied at a delayed rate, bounded below by 0, and a delayed reader of it."""
    lag, rate = args
    old = history.ago(lag)
    return jnp.stack([jnp.sin(rate * old[1]) - 0.7, rate * (old[0] - y[1])])


OPTIONS = {
    "bounds": [dde.Bound(0, lower=0.0)],
    "stepsize_controller": FINE,
    "saveat": diffrax.SaveAt(t1=True),
}
DENSE = {"saveat": diffrax.SaveAt(t1=True, dense=True), "max_steps": 2000}
STEP = 0.01


def in_batch(t0=STARTS, t1=ENDS, dt0=STEP, **options):
    args = (jnp.asarray(LAGS), jnp.asarray(RATES))
    return dde.solve_batch(rhs, BOSH3, t0, t1, dt0, Y0, args, **OPTIONS | options)


@pytest.fixture(scope="module")
def one_by_one():
    run = jax.jit(
        lambda t0, t1, y0, *args: dde.solve(rhs, BOSH3, t0, t1, STEP, y0, args, **OPTIONS)
    )
    each = zip(STARTS, ENDS, Y0, LAGS, RATES, strict=True)
    found = [run(*map(jnp.asarray, own)) for own in each]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *found)


def agree(found, expected):
    np.testing.assert_allclose(found.ys, expected.ys, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.ts, expected.ts)
    np.testing.assert_array_equal(found.result, expected.result)
    for name in set(expected.stats) - {"max_steps"}:
        np.testing.assert_array_equal(found.stats[name], expected.stats[name])


@pytest.mark.slow
@pytest.mark.unoptimised
def test_instances_are_different(one_by_one):
    """Their steps and events differ, so that the tests below are meaningful."""
    assert len(set(one_by_one.stats["num_accepted_steps"].tolist())) > 4
    assert one_by_one.stats["num_events"].max() >= 2
    assert np.min(one_by_one.ys[:, 0, 0]) == 0


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "chunk", [None, *(pytest.param(chunk, marks=SLOW) for chunk in (1, 3, 100))]
)
def test_batch_is_its_instances(one_by_one, chunk):
    """Three does not divide seven."""
    agree(in_batch(chunk=chunk), one_by_one)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_chunks_are_compiled_once(caplog):
    """Another batch of the same shapes runs the program of the first."""
    in_batch(chunk=3)
    with jax.log_compiles():
        in_batch(t1=ENDS - 0.5, chunk=3)
    assert "Compiling" not in caplog.text


@pytest.mark.slow
@pytest.mark.unoptimised
def test_one_time_for_all():
    """As many times as instances, or one of each; the instances are chosen by default."""
    same = in_batch(0.0, 2.0, **DENSE)
    spread = in_batch(np.zeros(7), np.full(7, 2.0), np.full(7, STEP), **DENSE)
    np.testing.assert_array_equal(same.ys, spread.ys)
    assert same.ts.shape == (7, 1)
    assert same.result.shape == (7,)


@pytest.mark.slow
def test_vmap_of_solve(one_by_one):
    """The same lane kernel."""

    def one(t0, t1, y0, *args):
        return dde.solve(rhs, BOSH3, t0, t1, STEP, y0, args, throw=False, **OPTIONS)

    found = jax.jit(jax.vmap(one))(STARTS, ENDS, Y0, LAGS, RATES)
    agree(found, one_by_one)


def test_dense_output_of_a_batch(one_by_one):
    """And what is saved, of a batch cut into the chunks that are chosen by default."""
    found = in_batch(**DENSE)
    agree(found, one_by_one)
    ys = jax.jit(lambda batch, times: batch.evaluate(times))(found, jnp.asarray(ENDS))
    assert ys.shape == (7, 7, 2)
    own = np.asarray(ys)[np.arange(7), np.arange(7)]
    np.testing.assert_allclose(own, one_by_one.ys[:, 0], rtol=0, atol=1e-12)
    outside = (ENDS[None] > ENDS[:, None] + 1e-9) | (ENDS[None] < STARTS[:, None] - 1e-9)
    np.testing.assert_array_equal(np.isnan(ys[..., 0]), outside)


def oscillating(t, y, history, rate):
    return -0.5 * history(t - 1.0) * jnp.cos(rate * t)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_vmap_of_solve_is_a_batch():
    """Without events instances step side by side; the starts are chosen."""
    options = {"stepsize_controller": tolerance(1e-5), "history_capacity": 256, "throw": False}
    rates = jnp.array([0.1, 2.0])

    def one(y0, rate):
        return dde.solve(oscillating, BOSH3, 0.0, 3.0, None, y0, rate, **options)

    found = jax.jit(jax.vmap(one))(jnp.ones((2, 1)), rates)
    ys = dde.solve_batch(oscillating, BOSH3, 0.0, 3.0, None, jnp.ones((2, 1)), rates, **options)
    agree(found, ys)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_ring_need_not_be_longer_for_company():
    """An instance that makes few steps beside one that makes many loses no history."""
    rates = jnp.array([0.1, 100.0])
    found = dde.solve_batch(
        oscillating, BOSH3, 0.0, 3.0, None, jnp.ones((2, 1)), rates, history_capacity=256,
        throw=False, stepsize_controller=tolerance(1e-5),
    )  # fmt: skip
    few, many = np.asarray(found.stats["num_accepted_steps"])
    assert many > 256
    assert many > 5 * few
    np.testing.assert_array_equal(found.result, [0, 0])
