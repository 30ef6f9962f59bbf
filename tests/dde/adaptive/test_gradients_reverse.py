"""Reverse mode against forward mode, closed forms, and itself without its history term."""

from __future__ import annotations

import math

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.dde.adaptive.solving import given, tolerance
from tests.dde.switched_systems import EMPTIED
from vegasfluid import dde
from vegasfluid.dde.adaptive import adjoint

REVERSE = diffrax.RecursiveCheckpointAdjoint()
TIMES = diffrax.SaveAt(ts=jnp.linspace(0.0, 6.0, 13), t1=True)


def late(t, y, history, args):
    """Two components; the lag is an argument, and by the state too."""
    rate, lag = args
    past = history(t - lag * (1 + 0.1 * y[1] ** 2))
    return jnp.stack([-rate * past[0], y[0] - past[1]])


def weighed(args, y0, mode, max_steps=256):
    """A number that depends on all saved states."""
    found = dde.solve(
        late, diffrax.Tsit5(), 0.0, 6.0, None, y0, args,
        saveat=TIMES, adjoint=mode, max_steps=max_steps, stepsize_controller=tolerance(1e-8),
    )  # fmt: skip
    weights = jnp.arange(1.0, 1.0 + found.ys.size).reshape(found.ys.shape)
    return jnp.sum(jnp.sin(found.ys) * weights)


ARGS, START = (1.0, 1.3), jnp.array([1.0, 0.5])


def flat(tree):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])


@pytest.fixture(scope="module")
def forward():
    return flat(jax.jacfwd(weighed, argnums=(0, 1))(ARGS, START, None))


def test_reverse_agrees_with_forward(forward):
    """Both are the derivative of the same steps."""
    reverse = flat(jax.grad(weighed, argnums=(0, 1))(ARGS, START, REVERSE))
    np.testing.assert_allclose(reverse, forward, rtol=1e-9)


def test_without_the_history_term_it_is_wrong(forward, monkeypatch):
    """The run is long enough for the history to matter: this derivative is another equation's."""

    def deaf(pieces, shares):
        return handed(pieces, jax.tree.map(jnp.zeros_like, shares))

    handed = adjoint._handed
    monkeypatch.setattr(adjoint, "_handed", deaf)
    traced_anew = 257
    gradient = jax.grad(weighed, argnums=(0, 1))(ARGS, START, REVERSE, traced_anew)
    reverse = flat(gradient)
    assert np.abs(reverse / forward - 1).max() > 0.1


def test_exponential_by_its_rate():
    """Y = exp(rate t) solves y' = rate exp(rate) y(t - 1), past included."""
    expected = 4 * math.exp(4 * 0.3)

    def value(rate):
        found = dde.solve(
            lambda t, y, history, rate: rate * jnp.exp(rate) * history(t - 1.0),
            diffrax.Tsit5(), 0.0, 4.0, None, jnp.ones(1), rate,
            past=lambda s, rate: jnp.exp(rate * s)[None],
            adjoint=REVERSE, max_steps=128, stepsize_controller=tolerance(1e-10),
        )  # fmt: skip
        return found.ys[-1, 0]

    assert jax.grad(value)(0.3) == pytest.approx(expected, rel=1e-7)


def filled(rate, mode, batch):
    """A queue that empties and fills again, in a batch of rates."""
    options = given(EMPTIED) | {"clamps": [dde.Clamp(0, lower=0.0)]}

    def rhs(t, y, history, rate):
        return rate * jnp.cos(t)[None] - 0.5 + 0.1 * history(t - 0.7)

    found = dde.solve_batch(
        rhs, diffrax.Tsit5(), 0.0, 9.0, None, jnp.zeros((batch, 1)), rate, chunk=batch,
        adjoint=mode, max_steps=512, stepsize_controller=tolerance(1e-8), **options,
    )  # fmt: skip
    return jnp.sum(found.ys)


def test_through_events_and_in_batches():
    batch = 3
    rates = jnp.linspace(1.0, 1.2, batch)
    reverse = jax.grad(filled)(rates, REVERSE, batch)
    forward = jax.jacfwd(filled)(rates, None, batch)
    np.testing.assert_allclose(reverse, forward, rtol=1e-8)


def test_through_a_lag_that_vanishes():
    """The steps that read within themselves are implicit; so is their derivative."""

    def value(rate, mode):
        found = dde.solve(
            lambda t, y, history, rate: -rate * history(t / 2),
            diffrax.Tsit5(), 0.0, 2.0, None, jnp.ones(1), rate,
            adjoint=mode, max_steps=1024, stepsize_controller=tolerance(1e-8),
        )  # fmt: skip
        return found.ys[-1, 0]

    forward = float(jax.jacfwd(value)(1.5, None))
    assert float(jax.grad(value)(1.5, REVERSE)) == pytest.approx(forward, rel=1e-7)
