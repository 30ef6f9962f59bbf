"""Reverse mode of lane kernels by columns of the Jacobian, beside JAX's own derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from vegasfluid.lanes import lane_kernel, linearised

pytestmark = pytest.mark.optimised

START = jnp.array([0.3, -1.2, 2.0])
RATE = jnp.array(0.7)


def turns(start, rate):
    """A loop whose length JAX does not know, as its own reverse mode demands: none there.

    It returns y after 20 turns, the number of turns, and a sum that does not depend on the rate.
    """

    def turn(carry):
        k, y = carry
        return k + 1, y * 0.9 + 0.1 * jnp.sin(rate * y)

    count, end = lax.while_loop(lambda carry: carry[0] < 20, turn, (0, start))
    return end, count, jnp.sum(start**2)


def written_out(start, rate):
    """The same as an unrolled loop, of which JAX has a reverse mode."""
    y = start
    for _ in range(20):
        y = y * 0.9 + 0.1 * jnp.sin(rate * y)
    return y, 20, jnp.sum(start**2)


def total(function, start, rate):
    """A number that depends on all results that are not whole."""
    end, _, squares = function(start, rate)
    return jnp.sum(end**2) + 0.1 * squares


def both(make, *given):
    """What `make` computes from the lane kernel, and from JAX's operations."""
    return make(lane_kernel(turns))(*given), make(written_out)(*given)


def check(make, *given):
    """The two agree to rounding."""
    for one, other in zip(*map(jax.tree.leaves, both(make, *given)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("which", [0, 1, (0, 1)])
@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_are_those_of_jax(which, compiled):
    def make(function):
        slope = jax.value_and_grad(lambda *at: total(function, *at), which)
        return jax.jit(slope) if compiled else slope

    check(make, START, RATE)


def test_a_gradient_of_each_instance_and_of_all():
    """The rate is shared by the lanes, or differs between them; starts differ."""
    starts = jnp.stack([START, START + 1, START * 2, -START])
    rates = RATE + jnp.arange(4.0) / 10
    for axes, rate in (((0, None), RATE), ((0, 0), rates)):
        check(
            lambda f, a=axes: jax.vmap(jax.grad(lambda *at: total(f, *at), (0, 1)), a), starts, rate
        )
        of_all = lambda f, a=axes: lambda *at: jnp.sum(jax.vmap(lambda *x: total(f, *x), a)(*at))  # noqa: E731
        check(lambda f, of_all=of_all: jax.jit(jax.grad(of_all(f), (0, 1))), starts, rate)


def test_second_derivatives():
    for outer in (jax.jacfwd, jax.jacrev):
        check(lambda f, o=outer: o(jax.grad(lambda *at: total(f, *at), 1), 1), START, RATE)


def test_linear_parts_of_all_results():
    """A cotangent for each result, and one for the whole number, which has none."""

    def make(function):
        def back(start, rate):
            results, pull = jax.vjp(function, start, rate)
            whole = np.zeros(jnp.shape(results[1]), jax.dtypes.float0)
            return pull((jnp.cos(start), whole, jnp.array(0.5)))

        return back

    check(make, START, RATE)


def test_what_is_not_differentiated_stays_a_lane_kernel(monkeypatch):
    """Also inside a function that is differentiated, where JAX asks for what is known already."""
    monkeypatch.setattr(linearised, "by_xla", None)
    slope = jax.jit(jax.grad(lambda x: x**2 + jnp.sum(lane_kernel(turns)(START, RATE)[0])))
    assert float(slope(3.0)) == 6.0


@pytest.mark.parametrize("count", [8, 9, 33, linearised.MOST_COLUMNS])
def test_more_columns_than_a_lane_has_tangents(count):
    def mixed(x):
        return lax.fori_loop(0, 30, lambda k, y: y + 0.01 * jnp.roll(y, 1) * x, x)

    x = jnp.linspace(0.5, 1.5, count)
    found = jax.grad(lambda x: jnp.sum(lane_kernel(mixed)(x) ** 2))(x)
    np.testing.assert_allclose(found, jax.grad(lambda x: jnp.sum(mixed(x) ** 2))(x), rtol=1e-12)


def test_more_columns_are_left_to_xla(monkeypatch):
    """Columns would take longer; so reverse mode needs loops of a known length there."""
    used = []
    real = linearised.by_xla
    monkeypatch.setattr(linearised, "by_xla", lambda *a, **k: used.append(1) or real(*a, **k))
    x = jnp.linspace(0.5, 1.5, linearised.MOST_COLUMNS + 1)
    powers = lambda x: lax.fori_loop(0, 3, lambda _, y: y * x, x)  # noqa: E731
    found = jax.grad(lambda x: jnp.sum(lane_kernel(powers)(x)))(x)
    np.testing.assert_allclose(found, 4 * x**3, rtol=1e-13)
    assert used
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        jax.grad(lambda start: total(lane_kernel(turns), start, RATE))(x)
