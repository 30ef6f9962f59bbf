"""The user's functions, traced and run with a reader whose past is known: y(s) = (sin s, 3)."""

from __future__ import annotations

from contextlib import contextmanager

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from vegasfluid.dde.adaptive.history import History
from vegasfluid.dde.adaptive.program import traced_program
from vegasfluid.dde.adaptive.quadrature import gauss_nodes
from vegasfluid.dde.adaptive.states import StructuredHistory, vector_and_form
from vegasfluid.errors import InvalidInput, Unsupported

TIME = 2.0
HISTORY = History(2, jnp.zeros(0).dtype)
LAGS = jnp.array([0.25, 0.5, 1.0])


class Sine:
    """Serves reads of y(s) = (sin s, 3), and notes which of them count."""

    def __init__(self):
        self.counts, self.counted = True, []

    def read(self, times, *, ago, derivative):
        self.counted.append(bool(self.counts))
        s = TIME - times if ago else times
        first, second = (jnp.cos(s), jnp.zeros_like(s)) if derivative else (jnp.sin(s), 3 + 0 * s)
        return jnp.stack([first, second], -1)

    def windows(self, starts, ends, *, nodes, panels):
        assert panels == 1
        points, weights = gauss_nodes(nodes)
        width = (ends - starts)[..., None, None]
        times = starts[..., None, None] + width * points
        return times, width * weights, self.read(times, ago=False, derivative=False)

    @contextmanager
    def counting_if(self, condition):
        before, self.counts = self.counts, self.counts and bool(condition)
        yield
        self.counts = before


def results(function, *given):
    """The results of a traced function of `given`, run with the past that is known."""
    return traced_program(function, *given).run(Sine(), (), *given)


def y(s):
    return np.stack([np.sin(s), 3 + 0 * np.asarray(s)], -1)


def test_reads_of_one_time_of_many_and_by_lags():
    assert_allclose(results(HISTORY, 1.5), y(1.5))
    assert_allclose(results(HISTORY, LAGS.reshape(3, 1)), y(LAGS.reshape(3, 1)))
    assert_allclose(results(HISTORY.ago, LAGS), y(TIME - LAGS))
    assert_allclose(results(HISTORY.derivative, 1.5), [np.cos(1.5), 0])
    assert_allclose(results(HISTORY.derivative_ago, 0.5), [np.cos(1.5), 0])


def test_vmap():
    assert_allclose(results(jax.vmap(HISTORY), LAGS), y(LAGS))
    table = jnp.stack([LAGS, 2 * LAGS])
    assert_allclose(results(jax.vmap(HISTORY, 1), table), y(table.T))
    nested = jax.vmap(jax.vmap(HISTORY, out_axes=1), 1)
    assert_allclose(results(nested, table), np.moveaxis(y(table.T), 1, 2))
    constant = jax.vmap(lambda lag, s: lag + HISTORY(s), (0, None))
    assert_allclose(results(constant, LAGS, 1.5), LAGS[:, None] + y(1.5))


def test_compiled_and_repeated_functions():
    assert_allclose(results(jax.jit(HISTORY), 1.5), y(1.5))
    passed_on = jax.jit(lambda history, s: history(s))
    assert_allclose(results(lambda s: passed_on(HISTORY, s), 1.5), y(1.5))
    repeated = jax.checkpoint(lambda s: jnp.exp(HISTORY(s)))
    assert_allclose(results(repeated, 1.5), np.exp(y(1.5)))
    derivative = jax.grad(lambda s: repeated(s)[0])
    assert_allclose(results(derivative, 1.5), np.exp(np.sin(1.5)) * np.cos(1.5))


@pytest.mark.parametrize("which", [0, 1, 2])
def test_branches(which):
    """Only reads in the branch that is taken count."""
    branches = [lambda s: 2 * HISTORY(s), lambda s: HISTORY.ago(s), lambda s: jnp.stack([s, s])]
    program = traced_program(lambda which, s: jax.lax.switch(which, branches, s), which, 0.5)
    reader = Sine()
    found = program.run(reader, (), jnp.asarray(which), 0.5)
    assert_allclose(found, [2 * y(0.5), y(1.5), [0.5, 0.5]][which])
    assert reader.counted == [which == 0, which == 1]


def test_nested_conditions():
    def nested(s):
        def inner():
            return jax.lax.cond(s > 5, lambda: HISTORY(s), lambda: 2 * HISTORY(s))

        return jax.lax.cond(s > 1, inner, lambda: HISTORY(-s)) + HISTORY(s)

    program, reader = traced_program(nested, 1.5), Sine()
    assert_allclose(program.run(reader, (), jnp.asarray(1.5)), 3 * y(1.5))
    assert sorted(reader.counted) == [False, False, True, True]
    assert reader.counted[-1]


def test_conditions_of_a_batch():
    choice = jax.vmap(lambda s: jax.lax.cond(s > 0.4, HISTORY, lambda s: -HISTORY(s), s))
    signs = np.array([-1, 1, 1])[:, None]
    assert_allclose(results(choice, LAGS), signs * y(LAGS))


def test_loops():
    def sums(lags):
        return jax.lax.scan(
            lambda sum, lag: (sum + HISTORY(lag), (HISTORY(lag), sum)), jnp.zeros(2), lags
        )

    total, (each, before) = results(sums, LAGS)
    assert_allclose(total, y(LAGS).sum(0))
    assert_allclose(each, y(LAGS))
    assert_allclose(before, np.cumsum(y(LAGS), 0) - y(LAGS))

    def last_first(lags):
        return jax.lax.scan(
            lambda sum, lag: (sum / 2 + HISTORY(lag), sum), jnp.zeros(2), lags, reverse=True
        )

    total, before = results(last_first, LAGS)
    values = y(LAGS)
    assert_allclose(total, values[2] / 4 + values[1] / 2 + values[0])
    assert_allclose(before, [values[2] / 2 + values[1], values[2], [0, 0]])

    def counted(s):
        return jax.lax.fori_loop(0, 3, lambda number, sum: sum + HISTORY(s), jnp.zeros(2))

    assert_allclose(results(counted, 1.5), 3 * y(1.5))
    assert_allclose(results(lambda lags: jax.lax.map(HISTORY, lags), LAGS), y(LAGS))
    assert results(lambda lags: jax.lax.map(HISTORY, lags), jnp.zeros(0)).shape == (0, 2)


def test_derivatives_within_a_function():
    assert_allclose(results(jax.jacfwd(HISTORY), 1.5), [np.cos(1.5), 0])
    assert_allclose(results(jax.jacrev(HISTORY.ago), 0.5), [-np.cos(1.5), 0])

    def energy(y):
        return jnp.sum(y**2 * HISTORY(1.5))

    assert_allclose(results(jax.grad(energy), jnp.ones(2)), 2 * y(1.5))


def test_windows_of_the_past():
    def window(width):
        return HISTORY.integral(1.5 - width, 1.5, panels=1)

    def exact(width):
        return np.stack([np.cos(1.5 - width) - np.cos(1.5), 3 * width], -1)

    assert_allclose(results(window, 0.5), exact(0.5), rtol=1e-12)
    assert_allclose(results(jax.vmap(window), LAGS), exact(LAGS), rtol=1e-12)

    def squares(width):
        return HISTORY.integral(1.5 - width, 1.5, lambda s, y: s * y[1], panels=1)

    assert_allclose(results(jax.vmap(squares), LAGS), 1.5 * (1.5**2 - (1.5 - LAGS) ** 2))


def test_trees():
    vector, form = vector_and_form("dde.solve", {"a": jnp.ones(()), "b": jnp.ones(1)}, batch=False)
    history = StructuredHistory(History(vector.size, vector.dtype), form)
    found = results(jax.vmap(lambda history, s: history(s), (None, 0)), history, LAGS)
    assert_allclose(found["a"], np.sin(LAGS))
    assert_allclose(found["b"], np.full((3, 1), 3.0))


def test_constants_are_explicit():
    scale = jnp.array([2.0, 5.0])
    program = traced_program(lambda s: scale * HISTORY(s), 1.5)
    assert program.reads()
    assert not program.reads(derivative=True)
    (constant,) = program.constants
    assert constant is scale
    assert_allclose(program.run(Sine(), (10 * scale,), jnp.asarray(1.5)), 10 * scale * y(1.5))


@jax.custom_jvp
def _own_derivative(s):
    return HISTORY(s)


_own_derivative.defjvp(lambda primals, tangents: (HISTORY(primals[0]), HISTORY(tangents[0])))


def _until(s):
    return jax.lax.while_loop(lambda y: y[0] < 0, lambda y: HISTORY(y[0]), jnp.stack([s, s]))


INVALID = [
    (_until, r"history inside while is not supported: .*fori_loop of known length"),
    (_own_derivative, r"history inside custom_jvp_call is not supported"),
    (jax.jacfwd(HISTORY.derivative), r"history.derivative: differentiation by its time in rhs"),
    (
        jax.jacfwd(lambda s: HISTORY.integral(s, TIME)),
        r"history.integral: differentiation by its ends in rhs",
    ),
]


@pytest.mark.parametrize(("function", "message"), INVALID)
def test_what_is_not_supported_is_refused(function, message):
    with pytest.raises(Unsupported, match=message):
        results(function, 1.5)


def test_a_window_has_numbers_as_ends():
    with pytest.raises(InvalidInput, match=r"start must be one number; use jax.vmap"):
        results(lambda lags: HISTORY.integral(lags, TIME), LAGS)


def test_a_history_has_no_values_outside_a_solve():
    for read in (lambda: HISTORY(1.0), lambda: HISTORY.integral(0.0, 1.0)):
        with pytest.raises(InvalidInput, match="history must be called by the functions given"):
            read()
