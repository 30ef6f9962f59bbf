"""What a solve returns: states at times, at steps, anywhere; none is lost."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.dde.systems import EXPONENTIAL, ROOT, step_polynomial
from tests.dde.adaptive.solving import tolerance
from vegasfluid import dde

BOSH3 = diffrax.Bosh3()
END = 3.5
FINE = tolerance(1e-6)


class Decay(NamedTuple):
    """Y' = -decay y - rate y(t - 1), defined until `end`; exp(root t) before 0."""

    decay: Any = 0.0
    rate: Any = 1.0
    end: Any = 1e9
    root: Any = 0.0


def rhs(t, y, history, args):
    return -args.decay * y - args.rate * history(t - 1.0) + 0 * jnp.sqrt(args.end - t)


def initial_history(s, args):
    return jnp.exp(args.root * s)[None]


def solve(saveat, t1=END, args=None, **options):
    options = {"stepsize_controller": FINE, "max_steps": 200} | options
    args = jax.tree.map(jnp.asarray, args or Decay())
    return dde.solve(rhs, BOSH3, 0.0, t1, None, jnp.ones(1), args,
                     initial_history=initial_history, saveat=saveat, **options)  # fmt: skip


def everywhere(ts, t1=END, **options):
    """A solve saved at 32 times, at both ends, and anywhere."""
    assert len(ts) == 32
    saveat = diffrax.SaveAt(t0=True, ts=jnp.asarray(ts), t1=True, dense=True)
    return solve(saveat, t1, **options)


def with_a_short_ring(ts, t1=END, **options):
    """A solve saved at up to 701 times, whose history keeps 32 steps."""
    padded = np.pad(np.asarray(ts, float), (0, 701 - len(ts)), mode="edge")
    return solve(
        diffrax.SaveAt(ts=jnp.asarray(padded)), t1, history_capacity=32, max_steps=1000,
        stepsize_controller=diffrax.PIDController(rtol=1e-6, atol=1e-6, dtmax=0.2), **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def dense():
    return everywhere(np.linspace(0.0, END, 33)[1:])


@functools.cache
def stepped():
    return solve(diffrax.SaveAt(steps=True))


@jax.jit
def evaluate(solution, ts):
    """Its dense output, compiled: operation by operation takes several times as long."""
    return solution.evaluate(ts)


def known(ts):
    return step_polynomial(np.asarray(ts))


@pytest.mark.slow
@pytest.mark.unoptimised
def test_only_the_end_by_default():
    solution = solve(None)
    np.testing.assert_array_equal(solution.ts, [END])
    np.testing.assert_allclose(solution.ys, known([END]), rtol=0, atol=1e-5)
    assert solution.interpolation is None


def test_without_a_progress_meter_nothing_is_printed(capfd):
    jax.block_until_ready(solve(None))
    assert capfd.readouterr().out == ""


def test_start_and_end_are_exactly_there(dense):
    np.testing.assert_array_equal(dense.ts[jnp.array([0, -1])], [0.0, END])
    np.testing.assert_array_equal(dense.ys[0], [1.0])
    np.testing.assert_allclose(dense.ys[-1], known(END), rtol=0, atol=1e-5)


def test_dense_output_is_the_solution_inside_and_nan_outside(dense):
    ts = np.linspace(0.0, END, 300).reshape(3, 100)
    ys = evaluate(dense, jnp.asarray(ts))
    assert ys.shape == (3, 100, 1)
    np.testing.assert_allclose(ys, known(ts), rtol=0, atol=2e-5)
    outside = evaluate(dense, jnp.array([-1.0, -1e-6, END + 1e-6, 100.0]))
    assert np.isnan(outside).all()
    assert dense.evaluate(0.5).shape == (1,)
    assert float(dense.evaluate(0.5)[0]) == pytest.approx(0.5, abs=1e-9)
    np.testing.assert_array_equal(
        evaluate(dense, jnp.array([-1.0, 0.0, END, 100.0]))[1:3], dense.ys[jnp.array([0, -1])]
    )


def test_dense_output_can_be_compiled_and_differentiated(dense):
    slope = jax.jit(jax.jacfwd(lambda t: dense.evaluate(t)[0]))
    assert float(slope(jnp.asarray(0.6))) == pytest.approx(-1.0, abs=1e-5)
    assert float(slope(jnp.asarray(1.6))) == pytest.approx(-0.4, abs=1e-3)
    slopes = [slope(jnp.asarray(time)) for time in (0.6, 1.6)]
    found = jax.jit(dense.derivative)(jnp.array([0.6, 1.6]))
    np.testing.assert_allclose(found[:, 0], slopes, rtol=1e-12)


def test_times_and_statistics(dense):
    assert (float(dense.t0), float(dense.t1)) == (0.0, END)
    stats = {name: int(value) for name, value in dense.stats.items()}
    assert stats["num_steps"] == stats["num_accepted_steps"] + stats["num_rejected_steps"]
    assert stats["max_steps"] >= stats["num_steps"]


def test_steps_are_the_ends_of_the_steps(dense):
    ts, ys = np.asarray(stepped().ts), np.asarray(stepped().ys)
    count = int(stepped().stats["num_accepted_steps"])
    assert (len(ts), len(ys)) == (200, 200)
    assert np.all(np.diff(ts[:count]) > 0)
    assert ts[0] > 0
    assert ts[count - 1] == END
    assert not np.isfinite(ts[count:]).any()
    assert np.isnan(ys[count:]).all()
    np.testing.assert_allclose(ys[:count], known(ts[:count]), rtol=0, atol=1e-5)
    np.testing.assert_allclose(ys[:count], evaluate(dense, ts)[:count], rtol=0, atol=1e-14)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_start_and_a_function_of_every_third_step():
    save = diffrax.SaveAt(t0=True, steps=3, fn=lambda t, y, args: {"t": t, "twice": 2 * y[0]})
    solution = solve(save)
    ts, count = np.asarray(stepped().ts), int(stepped().stats["num_accepted_steps"])
    thirds = ts[2:count:3]
    expected = np.array([0.0, *thirds])
    kept = slice(len(thirds) + 1)
    np.testing.assert_array_equal(solution.ts[kept], expected)
    np.testing.assert_array_equal(solution.ys["t"][kept], expected)
    states = np.array([1.0, *stepped().ys[2:count:3, 0]])
    np.testing.assert_array_equal(solution.ys["twice"][kept], 2 * states)


@pytest.mark.parametrize(
    "every",
    [
        pytest.param(2, marks=pytest.mark.slow),
        pytest.param(3, marks=pytest.mark.slow),
        pytest.param(5, marks=pytest.mark.slow),
    ],
)
def test_steps_in_between_and_the_end(every):
    """The end is there once, even if the last step is none of those that were asked for."""
    solution = solve(diffrax.SaveAt(steps=every, t1=True))
    found = np.asarray(solution.ts)
    found = found[np.isfinite(found)]
    assert found[-1] == END
    assert np.all(np.diff(found) > 0)
    count = int(stepped().stats["num_accepted_steps"])
    assert len(found) == -(-count // every)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_parts_with_functions_and_times_of_their_own():
    """Each part gets its times in its order, though those of the parts are interleaved."""
    first, second = jnp.array([0.25, 1.0, 3.0]), jnp.array([0.5, 1.0])
    parts = {
        "twice": diffrax.SubSaveAt(ts=first, fn=lambda t, y, args: 2 * y[0]),
        "both": (diffrax.SubSaveAt(t0=True, ts=second, t1=True), diffrax.SubSaveAt(t1=True)),
    }
    solution = solve(diffrax.SaveAt(subs=parts))
    np.testing.assert_array_equal(solution.ts["twice"], first)
    np.testing.assert_allclose(solution.ys["twice"], 2 * known(first)[:, 0], rtol=0, atol=1e-5)
    for part, ts in zip((0, 1), ([0.0, 0.5, 1.0, END], [END]), strict=True):
        np.testing.assert_array_equal(solution.ts["both"][part], ts)
        np.testing.assert_allclose(solution.ys["both"][part], known(ts), rtol=0, atol=1e-5)


def test_times_at_nodes_between_them_and_at_the_ends():
    """Also the same time twice, and many more than a step's worth at once."""
    nodes = np.asarray(stepped().ts)[: int(stepped().stats["num_accepted_steps"])]
    crowd = np.linspace(2.0, 2.001, 150)
    ts = np.sort(np.concatenate([[0.0, 0.0, 1.0, 1.0, 2.0, END, END], nodes, crowd]))
    solution = with_a_short_ring(ts)
    count = len(ts)
    np.testing.assert_array_equal(solution.ts[:count], ts)
    ys = np.asarray(solution.ys)[:count]
    np.testing.assert_allclose(ys, known(ts), rtol=0, atol=1e-5)
    np.testing.assert_array_equal(ys[:2], np.ones((2, 1)))


@pytest.mark.parametrize(
    "count",
    [pytest.param(1, marks=pytest.mark.slow), 32, pytest.param(500, marks=pytest.mark.slow)],
)
def test_any_number_of_times(count, dense):
    ts = np.linspace(0.0, END, count + 1)[1:]
    saveat = diffrax.SaveAt(t0=True, ts=jnp.asarray(ts), t1=True)
    solution = dense if count == 32 else solve(saveat)
    np.testing.assert_array_equal(solution.ts, [0.0, *ts, END])
    np.testing.assert_allclose(solution.ys, known([0.0, *ts, END]), rtol=0, atol=1e-5)


def test_times_survive_a_ring_that_wraps():
    """The history keeps 32 steps, the solve makes more than a hundred, and nothing is lost."""
    ts = np.linspace(0.0, 30.0, 701)
    args = Decay(decay=1.0, rate=-(ROOT + 1) * math.exp(ROOT), root=ROOT)
    solution = with_a_short_ring(ts, 30.0, args=args)
    assert int(solution.stats["num_accepted_steps"]) > 100
    np.testing.assert_allclose(solution.ys, EXPONENTIAL.exact(ts), rtol=0, atol=2e-5)


def test_end_at_the_start():
    """Nothing to solve: the state at t0, wherever it is asked for."""
    solution = everywhere(np.zeros(32), t1=0.0)
    assert solution.result == dde.Outcome.SUCCESS
    np.testing.assert_array_equal(solution.ys, np.ones((34, 1)))
    assert int(solution.stats["num_accepted_steps"]) == 0


def test_times_beyond_a_failure_are_nan():
    ts = np.linspace(0.0, END, 32)
    solution = everywhere(ts, args=Decay(end=2.0), throw=False)
    reached = ts < 1.6
    np.testing.assert_allclose(solution.ys[1:-1][reached], known(ts[reached]), rtol=0, atol=1e-5)
    assert np.isnan(solution.ys[1:][np.array([*(ts > 2.1), True])]).all()
    assert np.isnan(evaluate(solution, jnp.array([2.1, 2.5, 3.0, 3.2]))).all()
    assert float(solution.evaluate(0.5)[0]) == pytest.approx(0.5, abs=1e-8)
