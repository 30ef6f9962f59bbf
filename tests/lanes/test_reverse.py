"""Reverse mode by lane kernels against JAX's own derivatives of the same functions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid.lanes.builder import NoLaneKernel
from vegasfluid.lanes.primitive import LaneKernelWarning
from vegasfluid.lanes.reverse import by_lanes_in_reverse

STARTS = jnp.array([0.3, 0.6, 0.9])
RATE = 3.2


def logistic(start, rate, count=4):
    """The logistic map after some rounds, and the number of rounds, which has no derivative."""
    end, _ = jax.lax.scan(lambda x, _: (rate * x * (1 - x), None), start, None, length=count)
    return end, jnp.int32(count)


def total(function, starts, rate):
    """Sum of the map's values for all starts, by a function of a batch."""
    return jnp.sum(function(lambda start: logistic(start, rate), starts)[0])


def by_lanes(function, *arguments):
    return by_lanes_in_reverse(function, function, *arguments)


def by_jax(function, *arguments):
    return jax.vmap(function)(*arguments)


@pytest.mark.parametrize("which", [0, 1, (0, 1)])
def test_gradients_by_arguments_and_by_arrays_closed_over_are_jaxs(which):
    found = jax.jit(jax.grad(lambda *at: total(by_lanes, *at), which))(STARTS, RATE)
    expected = jax.grad(lambda *at: total(by_jax, *at), which)(STARTS, RATE)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), found, expected)


def test_the_derivatives_are_those_of_the_differentiable_function():
    """A loop with an unknown number of rounds has no reverse mode, but its value is the same."""

    def looped(start):
        return jax.lax.while_loop(lambda x: x < 10, lambda x: 2 * x, start)

    def written_out(start):
        return jax.lax.scan(lambda x, _: (jnp.where(x < 10, 2 * x, x), None), start, None, 9)[0]

    def end(starts):
        return jnp.sum(by_lanes_in_reverse(looped, written_out, starts) ** 2)

    value, slopes = jax.jit(jax.value_and_grad(end))(STARTS)
    starts = np.asarray(STARTS)
    factors = 2 ** np.ceil(np.log2(10 / starts))
    assert float(value) == pytest.approx(np.sum((starts * factors) ** 2), rel=1e-14)
    np.testing.assert_allclose(slopes, 2 * starts * factors**2, rtol=1e-14)


def test_a_batch_of_gradients_is_one_call():
    rates = jnp.array([2.5, 3.7])
    found = jax.vmap(jax.grad(lambda rate: total(by_lanes, STARTS, rate)))(rates)
    expected = jax.vmap(jax.grad(lambda rate: total(by_jax, STARTS, rate)))(rates)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_second_derivatives_are_forward_over_reverse():
    slope = jax.grad(lambda rate: total(by_lanes, STARTS, rate))
    found = jax.jit(jax.jacfwd(slope))(RATE)
    expected = jax.hessian(lambda rate: total(by_jax, STARTS, rate))(RATE)
    assert float(found) == pytest.approx(float(expected), rel=1e-11)


def test_a_result_that_nothing_depends_on_has_no_gradient():
    def rounds(starts):
        return jnp.sum(by_lanes(lambda start: logistic(start, RATE), starts)[1].astype(float))

    np.testing.assert_array_equal(jax.grad(rounds)(STARTS), 0.0)


def test_what_no_kernel_can_contain_is_refused_and_its_derivative_left_to_xla():
    def solved(start):
        return jnp.linalg.solve(jnp.eye(2) * start, jnp.ones(2))[0]

    with pytest.raises(NoLaneKernel):
        by_lanes(solved, STARTS)

    def slope(starts):
        return jax.grad(lambda x: jnp.sum(by_lanes_in_reverse(lambda s: 1 / s, solved, x)))(starts)

    with pytest.warns(LaneKernelWarning):
        found = jax.jit(slope)(STARTS)
    np.testing.assert_allclose(found, -1 / STARTS**2, rtol=1e-12)
