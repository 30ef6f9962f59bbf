"""Distributed delays: integrals over a window of the past, by `history.integral`."""

from __future__ import annotations

import functools

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tests.dde.adaptive.solving import tolerance
from vegasfluid import dde
from vegasfluid.errors import InvalidInput

TS = np.array([0.5, 1.0, 1.5, 3.3, 5.9])


@functools.cache
def growing_window():
    """Y' = minus the integral of y from max(0, t - 1) to t, y(0) = 1 (jitcdde issue 11).

    That is y'' = -y up to 1 and y'' = y(t - 1) - y after: by the method of steps in SciPy.
    """
    piece, y, found = (lambda t: np.array([np.cos(t)])), [np.cos(1.0), -np.sin(1.0)], []
    for n in range(6):
        if n:
            before = piece
            piece = solve_ivp(
                lambda t, u, before=before: [u[1], before(t - 1)[0] - u[0]],
                (n, n + 1), y, method="DOP853", rtol=1e-12, atol=1e-13, dense_output=True,
                max_step=0.05,
            ).sol  # fmt: skip
            y = piece(n + 1)
        found += [piece(t)[0] for t in TS if n < t <= n + 1]
    return np.array(found)


def solved(rhs, solver, rtol, **options):
    return dde.solve(
        rhs, solver, 0.0, 6.0, None, jnp.ones(1), saveat=diffrax.SaveAt(ts=jnp.asarray(TS)),
        stepsize_controller=tolerance(rtol, rtol / 100), **options,
    )  # fmt: skip


def full_window(t, y, history, args):
    return -history.integral(t - 1.0, t)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_window_that_grows_until_it_is_full():
    """Written with a past of 0, so that the window always has its full width."""
    found = solved(full_window, diffrax.Bosh3(), 1e-7, initial_history=lambda s, args: jnp.zeros(1))
    np.testing.assert_allclose(found.ys[:, 0], growing_window(), rtol=0, atol=2e-7)
    assert growing_window()[1] == pytest.approx(0.5403023059, abs=1e-10)


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("past_of_zero", [True, False])
def test_a_window_does_not_multiply_the_steps(past_of_zero):
    """With 16 lags in its place the solve took 1808 steps, and had an error of 1e-7."""

    def switched(t, y, history, args, above):
        return -history.integral(jnp.where(above[0], t - 1.0, 0.0), t)

    if past_of_zero:
        options = {"initial_history": lambda s, args: jnp.zeros(1)}
        found = solved(full_window, diffrax.Tsit5(), 1e-9, **options)
    else:
        guards = lambda t, y, history, args: jnp.stack([t - 1.0])  # noqa: E731
        found = solved(switched, diffrax.Tsit5(), 1e-9, guards=guards)
    np.testing.assert_allclose(found.ys[:, 0], growing_window(), rtol=0, atol=5e-9)
    assert int(found.stats["num_accepted_steps"]) < 102


def fading(gain, t):
    """The solution of y'' + y' + gain y = 0 with y(0) = 1 and y'(0) = 0."""
    rate = jnp.sqrt(gain - 0.25)
    return jnp.exp(-t / 2) * (jnp.cos(rate * t) + jnp.sin(rate * t) / (2 * rate))


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_kernel_and_its_derivatives():
    """Y' = -gain x the integral of exp(s - t) y(s) from 0 to t is an oscillator."""

    def rhs(t, y, history, gain):
        return -gain * history.integral(0.0, t, lambda s, y: jnp.exp(s - t) * y, panels=1)

    def end(gain, adjoint=None):
        return dde.solve(
            rhs, diffrax.Bosh3(), 0.0, 2.0, None, jnp.ones(1), gain, adjoint=adjoint,
            stepsize_controller=tolerance(1e-7), max_steps=1024,
        ).ys[-1, 0]  # fmt: skip

    gain = jnp.float64(2.0)
    value, forward = jax.jvp(end, (gain,), (jnp.ones(()),))
    known, slope = jax.value_and_grad(fading)(gain, 2.0)
    assert float(value) == pytest.approx(float(known), abs=1e-6)
    assert float(forward) == pytest.approx(float(slope), abs=1e-5)
    reverse = jax.grad(end)(gain, diffrax.RecursiveCheckpointAdjoint())
    assert float(reverse) == pytest.approx(float(forward), rel=1e-9)


@pytest.mark.parametrize("options", [{"nodes": 0}, {"panels": 1.5}])
def test_wrong_numbers_of_nodes_are_refused(options):
    with pytest.raises(InvalidInput, match=rf"history.integral: {next(iter(options))} must be"):
        dde.solve(
            lambda t, y, history, args: history.integral(t - 1.0, t, **options),
            diffrax.Bosh3(), 0.0, 1.0, None, jnp.ones(1),
        )  # fmt: skip
