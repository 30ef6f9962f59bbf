"""Reverse mode against closed forms, forward mode, and itself without its history term."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

from tests.dde.adaptive.solving import tolerance
from vegasfluid import dde
from vegasfluid.dde.adaptive import adjoint

REVERSE = diffrax.RecursiveCheckpointAdjoint()
BOSH3, TSIT5 = diffrax.Bosh3(), diffrax.Tsit5()


class Numbers(NamedTuple):
    """Of y' = f(t) - rate y(s), s = (1 - shrink) t - lag - bend y^2.

    f is such that height sin t is the solution for any rate, lag and bend, if that is y before 0.
    The past is base exp(growth s) + height sin s.
    """

    rate: Any
    lag: Any = 0.0
    bend: Any = 0.0
    shrink: Any = 0.0
    base: Any = 0.0
    growth: Any = 0.0
    height: Any = 0.0


def initial_history(s, own):
    return (own.base * jnp.exp(own.growth * s) + own.height * jnp.sin(s))[None]


def rhs(t, y, history, own):
    known = own.height * jnp.sin(t)
    read = own.height * jnp.sin(t - own.lag - own.bend * known**2)
    force = own.height * jnp.cos(t) + own.rate * read
    return force - own.rate * history((1 - own.shrink) * t - own.lag - own.bend * y[0] ** 2)


@jax.jit
def value_and_gradient(numbers, t1, t0):
    """The state at t1, and its derivatives by all numbers and by t0."""

    def end(own, t0):
        return dde.solve(
            rhs, TSIT5, t0, t1, None, own.base[None], own, initial_history=initial_history,
            adjoint=REVERSE, max_steps=1024, stepsize_controller=tolerance(1e-10),
        ).ys[-1, 0]  # fmt: skip

    return jax.value_and_grad(end, argnums=(0, 1))(numbers, t0)


def gradients(t1, t0, **numbers):
    """The derivatives of the state at t1 by all numbers, and by t0."""
    given = jax.tree.map(lambda value: jnp.asarray(value, float), Numbers(**numbers))
    times = (jnp.asarray(time, float) for time in (t1, t0))
    return jax.tree.map(float, value_and_gradient(given, *times))[1]


def gradient(t1, **numbers):
    """The derivatives of the state at t1 by all numbers, from 0 on."""
    return gradients(t1, 0.0, **numbers)[0]


@pytest.mark.slow
@pytest.mark.unoptimised
def test_exponential_by_its_rate():
    """Y = exp(r t) solves y' = r exp(r) y(t - 1), past included."""
    r = 0.3
    found = gradient(4.0, rate=-r * math.exp(r), lag=1.0, base=1.0, growth=r)
    by_r = found.growth - (1 + r) * math.exp(r) * found.rate
    assert by_r == pytest.approx(4 * math.exp(4 * r), rel=1e-7)
    assert found.base == pytest.approx(math.exp(4 * r), rel=1e-7)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_by_a_start_where_the_state_jumps():
    """From exp(g s) to 1 at s; what reads that a lag of 1 later has a kink, which moves with s.

    By the method of steps: 1 - r I(s, t) up to s + 1, where I(a, b) integrates exp(g (v - 1)) from
    a to b, and until s + 2 less r (1 - r I(s, w)), integrated over w from s to t - 1.
    """
    r, g, t = 0.8, 0.6, 2.1

    def y(s):
        def integral(a, b):
            return (math.exp(g * (b - 1)) - math.exp(g * (a - 1))) / g

        twice = integral(s, t - 1) / g - (t - 1 - s) * math.exp(g * (s - 1)) / g
        return 1 - r * integral(s, s + 1) - r * ((t - 1 - s) - r * twice)

    by_start = (y(0.5 + 1e-5) - y(0.5 - 1e-5)) / 2e-5
    found = gradients(t, 0.5, rate=r, lag=1.0, base=1.0, growth=g)[1]
    assert found == pytest.approx(by_start, rel=1e-7)


def pantograph_terms(rate, t):
    """The terms of the solution of y' = -rate y(t/2) from 1; sums of them are its derivatives."""
    orders = range(30)
    return np.array([(-rate * t) ** k / math.factorial(k) / 2 ** (k * (k - 1) / 2) for k in orders])


@pytest.mark.slow
@pytest.mark.unoptimised
def test_through_a_lag_that_vanishes():
    """The steps that read within themselves are implicit; so is their derivative."""
    rate, t = 1.5, 2.0
    found = gradient(t, rate=rate, shrink=0.5, base=1.0)
    known = pantograph_terms(rate, t) @ np.arange(30) / rate
    assert found.rate == pytest.approx(known, rel=1e-7)


def test_by_the_start_through_a_lag_that_vanishes_there():
    found = gradient(2.0, rate=1.5, shrink=0.5, base=1.0)
    assert found.base == pytest.approx(pantograph_terms(1.5, 2.0).sum(), rel=1e-7)


def test_through_a_lag_by_the_state():
    """The solution is height sin t, for any rate, lag and bend: they weigh what cancels."""
    t = 5.0
    found = gradient(t, rate=0.5, lag=1.0, bend=0.5, height=1.0)
    assert found.height == pytest.approx(math.sin(t), abs=1e-7)
    np.testing.assert_allclose([found.rate, found.lag, found.bend], 0.0, rtol=0, atol=1e-7)


class Taped(NamedTuple):
    """What was recorded where a step began."""

    step: Any
    modes: Any
    interval: Any


def test_a_step_ends_with_what_the_next_begins_with_and_the_last_with_the_end(monkeypatch):
    """Of four rows, which begin with modes 0, 10, 20 and 30 and with intervals 0, 100, 200, 300."""
    row, last = jnp.arange(1, 4, dtype=jnp.int32), jnp.full(3, 3, jnp.int32)
    tape = SimpleNamespace(read=lambda row, like: Taped(jnp.ones(3), 10 * row, 100 * row))
    breaks = SimpleNamespace(interval=lambda clock: -200 * jnp.ones_like(last))
    node = SimpleNamespace(
        clock=None,
        modes=-20 * jnp.ones_like(last),
        start_values=SimpleNamespace(active_breaks=breaks),
    )
    ring = SimpleNamespace(pieces=jnp.zeros((3, 4, 4)))
    end: Any = SimpleNamespace(ring=ring, tape=tape, row=last, node=node)
    problem: Any = SimpleNamespace(y0=np.zeros((1, 3)))
    monkeypatch.setattr(adjoint, "blank_entry", lambda *given: None)
    found = adjoint._row(problem, end, row)
    assert found.entry.modes.tolist() == [10, 20, 30]
    assert found.modes.tolist() == [20, 30, -20]
    assert found.interval.tolist() == [200, 300, -200]


def filling(t, y, history, rate):
    """A queue that empties and fills again, and what reads it late."""
    return jnp.stack([rate * jnp.cos(t) - 0.5, history(t - 0.7)[0]])


@pytest.mark.slow
@pytest.mark.unoptimised
def test_through_events_and_in_batches():
    """Of q from 0, which is emptied once, and is filled from where rate cos t is 1/2 again."""
    end, late = 7.5, 6.8
    rates = np.linspace(1.0, 1.2, 3)

    def filled(rates):
        found = dde.solve_batch(
            filling, BOSH3, 0.0, end, None, jnp.zeros((3, 2)), rates, chunk=3,
            bounds=[dde.Bound(0, lower=0.0)], adjoint=REVERSE, max_steps=4096,
            stepsize_controller=tolerance(1e-8),
        )  # fmt: skip
        return found.ys[:, 0]

    ys, back = jax.vjp(jax.jit(filled), jnp.asarray(rates))
    by_queue, by_reader = (
        np.asarray(jax.jit(back)(jnp.zeros_like(ys).at[:, part].set(1.0))[0]) for part in (0, 1)
    )
    for rate, queue, reader in zip(rates, by_queue, by_reader, strict=True):
        empty = brentq(lambda t, rate=rate: rate * math.sin(t) - t / 2, 1.0, 3.0)
        start = 2 * math.pi - math.acos(0.5 / rate)
        assert queue == pytest.approx(math.sin(end) - math.sin(start), rel=1e-6)
        first = 1 - math.cos(empty)
        second = math.cos(start) - math.cos(late) - (late - start) * math.sin(start)
        assert reader == pytest.approx(first + second, rel=1e-6)


TIMES = diffrax.SaveAt(ts=jnp.linspace(0.0, 6.0, 13), t1=True)


def late(t, y, history, args):
    """Two components; the lag is an argument, and by the state too."""
    rate, lag = args
    initial_history = history(t - lag * (1 + 0.1 * y[1] ** 2))
    return jnp.stack([-rate * initial_history[0], y[0] - initial_history[1]])


def weighed(args, y0, mode):
    """A number that depends on all saved states."""
    found = dde.solve(
        late, TSIT5, 0.0, 6.0, None, y0, args,
        saveat=TIMES, adjoint=mode, max_steps=256, stepsize_controller=tolerance(1e-8),
    )  # fmt: skip
    weights = jnp.arange(1.0, 1.0 + found.ys.size).reshape(found.ys.shape)
    return jnp.sum(jnp.sin(found.ys) * weights)


def flat(tree):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])


def derivatives(transform, mode):
    args, start = (jnp.asarray(1.0), jnp.asarray(1.3)), jnp.array([1.0, 0.5])
    number = transform(lambda *given: weighed(*given, mode), argnums=(0, 1))
    return flat(jax.jit(number)(args, start))


@pytest.fixture(scope="module")
def forward():
    return derivatives(jax.jacfwd, None)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_reverse_agrees_with_forward(forward):
    """Both are the derivative of the same steps."""
    np.testing.assert_allclose(derivatives(jax.grad, REVERSE), forward, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_without_the_history_term_it_is_wrong(forward, monkeypatch):
    """The run is long enough for the history to matter: this derivative is another equation's."""

    def deaf(pieces, shares):
        return handed(pieces, jax.tree.map(jnp.zeros_like, shares))

    handed = adjoint.add_read_cotangents
    monkeypatch.setattr(adjoint, "add_read_cotangents", deaf)
    jax.clear_caches()
    reverse = derivatives(jax.grad, REVERSE)
    jax.clear_caches()
    assert np.abs(reverse / forward - 1).max() > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("step", [1.0, 0.5])
def test_steps_as_long_as_the_lag(step):
    """Each step ends where the lag passes the step's own start, a breaking point.

    y' = -r y(t - L), y = 0 before 0 and 1 at 0: on (2 L, 3 L) y is
    1 - r (t - L) + r^2 (t - 2 L)^2 / 2, which Bosh3's steps give exactly.
    """

    def end(rate, lag):
        solution = dde.solve(
            lambda t, y, history, args: -args[0] * history(t - args[1]),
            *(BOSH3, 0.0, 3.0, step, jnp.ones(1), (rate, lag)),
            initial_history=lambda s, args: jnp.zeros(1),
            stepsize_controller=diffrax.ConstantStepSize(),
            adjoint=REVERSE,
            max_steps=16,
        )
        return solution.ys[-1, 0]

    value, gradient = jax.value_and_grad(end, (0, 1))(1.0, 1.0)
    assert value == pytest.approx(1 - 2 + 1 / 2, rel=1e-12)
    np.testing.assert_allclose(gradient, [-2 + 1, 1 - 2], rtol=1e-12)
