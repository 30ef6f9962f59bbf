"""Solves whose functions read the history inside conditions and loops, or close over arrays."""

from __future__ import annotations

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from vegasfluid import dde

REVERSE = diffrax.RecursiveCheckpointAdjoint()


def at_end(rhs, args=None, *, t1=3.0, y0=None, **options):
    """The state at t1."""
    y0 = jnp.ones(1) if y0 is None else y0
    controller = diffrax.PIDController(rtol=1e-9, atol=1e-9)
    options = {"stepsize_controller": controller, "max_steps": 256} | options
    solution = dde.solve(rhs, diffrax.Tsit5(), 0.0, t1, None, y0, args, **options)
    return jax.tree.map(lambda leaf: leaf[-1], solution.ys)


# y' = -y(t - 1) with y = 1 up to 0 is -1/6 at 3, by the method of steps.


@pytest.mark.slow
def test_the_history_may_be_read_inside_conditions_and_loops():
    def rhs(t, y, history, args):
        by_map = jnp.mean(jax.vmap(lambda lag: history(t - lag))(jnp.ones(2)), axis=0)
        by_loop = jax.lax.fori_loop(0, 2, lambda number, y: y + history.ago(1.0) / 2, 0.0 * y)
        return jax.lax.cond(t < 10, lambda: -(by_map + by_loop) / 2, lambda: y)

    assert_allclose(at_end(rhs), [-1 / 6], rtol=1e-9)


@pytest.mark.slow
def test_reads_in_a_vmap_find_their_rows_each():
    """Lags far apart: the searches for their rows take different numbers of iterations."""
    lags = jnp.array([0.01, 0.5, 1.0, 2.0])

    def together(t, y, history, args):
        return -jnp.mean(history(t - lags), axis=0)

    def each(t, y, history, args):
        return -jnp.mean(jax.vmap(lambda lag: history(t - lag))(lags), axis=0)

    assert_allclose(at_end(each), at_end(together), rtol=1e-12)


@pytest.mark.slow
def test_a_read_in_a_branch_that_is_not_taken_is_no_fault():
    def rhs(t, y, history, future):
        return jax.lax.cond(future, lambda: history(t + 1.0), lambda: -history(t - 1.0))

    options = {"throw": False, "stepsize_controller": diffrax.PIDController(rtol=1e-9, atol=1e-9)}
    both = dde.solve_batch(
        rhs,
        *(diffrax.Tsit5(), 0.0, 3.0, None, jnp.ones((2, 1)), jnp.array([False, True])),
        **options,
    )
    assert both.result.tolist() == [dde.Outcome.SUCCESS, dde.Outcome.LAG_NEGATIVE]
    assert_allclose(both.ys[0, -1], [-1 / 6], rtol=1e-9)


# y' = -r y(t - 1) with y = c up to 0: on (0, 2), y = c (1 - r t + r^2 max(t - 1, 0)^2 / 2).
RATE, PAST = 0.8, 1.5
BY_RATE = PAST * (-2.0 + RATE)
BY_PAST = 1 - 2 * RATE + RATE**2 / 2


def closing_over(rate, past, adjoint):
    """y(2), with both parameters closed over."""
    return at_end(
        lambda t, y, history, args: -rate * history(t - 1.0),
        t1=2.0,
        y0=past * jnp.ones(1),
        initial_history=lambda s, args: past * jnp.ones(1),
        adjoint=adjoint,
    )[0]


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("adjoint", [None, REVERSE])
def test_derivatives_by_closed_over_parameters(adjoint):
    differentiate = jax.jacfwd if adjoint is None else jax.grad
    gradient = differentiate(closing_over, argnums=(0, 1))(RATE, PAST, adjoint)
    assert_allclose(gradient, [BY_RATE, BY_PAST], rtol=1e-7)


@pytest.mark.slow
def test_derivatives_by_the_arrays_of_a_module_that_is_the_right_hand_side():
    class Decay(eqx.Module):
        rate: jax.Array

        def __call__(self, t, y, history, args):
            return -self.rate * history(t - 1.0)

    module = Decay(jnp.asarray(RATE))

    def loss(rhs):
        return at_end(rhs, t1=2.0, y0=PAST * jnp.ones(1), adjoint=REVERSE)[0]

    assert_allclose(eqx.filter_grad(loss)(module).rate, BY_RATE, rtol=1e-7)


def switched(size, when, kick, adjoint):
    """y(3) of y' = above, with a guard at time `when`; a reset at 2 multiplies by `kick`."""
    reset = dde.Reset(lambda t, y, history, args: t - 2.0, lambda t, y, args: y * kick, True)
    return at_end(
        lambda t, y, history, args, above: jnp.where(above, size, 0.0) + 0.0 * history(t - 0.5),
        guards=lambda t, y, history, args: (t - when)[None],
        resets=[reset],
        adjoint=adjoint,
    )[0]


@pytest.mark.slow
@pytest.mark.parametrize("adjoint", [None, REVERSE])
def test_guards_and_resets_may_close_over_parameters(adjoint):
    # y = (1 + size (2 - when)) kick + size
    differentiate = jax.jacfwd if adjoint is None else jax.grad
    gradient = differentiate(switched, argnums=(0, 1, 2))(0.5, 1.25, 3.0, adjoint)
    assert_allclose(gradient, [0.75 * 3 + 1, -0.5 * 3, 1 + 0.5 * 0.75], rtol=1e-9)


@pytest.mark.slow
def test_a_projection_may_close_over_a_parameter():
    def end(least):
        options = {"project": lambda y, args: jnp.maximum(y, least), "adjoint": REVERSE}
        return at_end(lambda t, y, history, args: -history(t - 1.0), t1=1.0, **options)[0]

    assert_allclose(jax.value_and_grad(end)(0.25), (0.25, 1.0), rtol=1e-9)


@pytest.mark.slow
def test_functions_may_close_over_arrays_that_are_batched_and_linearised():
    # y' = 0 on (0, 1) from the value of the past at `start`: what least squares does to a solve.
    times, data = jnp.linspace(0.0, 4.0, 5), jnp.array([1.0, 2.0, 4.0, 8.0, 16.0])

    def end(scale, start):
        return at_end(
            lambda t, y, history, args: scale * history(t - 1.0),
            t1=1.0,
            y0=jnp.zeros(1),
            initial_history=lambda s, args: jnp.interp(start + s, times, scale * data)[None],
        )[0]

    starts = jnp.array([1.0, 2.0, 3.0])
    values, push = jax.linearize(lambda scale: jax.vmap(lambda s: end(scale, s))(starts), 2.0)
    means = np.array([1.5, 3.0, 6.0])  # of the data between start - 1 and start
    assert_allclose(values, 4 * means, rtol=1e-6)
    assert_allclose(push(1.0), 4 * means, rtol=1e-6)


@pytest.mark.slow
def test_a_batch_may_close_over_a_parameter():
    def ends(rate):
        solution = dde.solve_batch(
            lambda t, y, history, args: -rate * args * history(t - 1.0),
            *(diffrax.Tsit5(), 0.0, 2.0, None, PAST * jnp.ones((2, 1)), jnp.array([1.0, 0.0])),
            adjoint=REVERSE,
            max_steps=256,
        )
        return solution.ys[:, -1, 0]

    assert_allclose(jax.jacrev(ends)(RATE), [BY_RATE, 0.0], rtol=1e-5, atol=1e-12)
