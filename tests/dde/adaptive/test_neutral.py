"""Neutral equations: the right-hand side reads the derivative of the past."""

from __future__ import annotations

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.dde.adaptive.solving import tolerance
from vegasfluid import dde

SLOW = pytest.mark.slow


def accumulating(t):
    """The solution of DDETST F2, y'(t) = y'(2 t - 1/2), whose breaks accumulate at 1/2.

    On the interval from (1 - 2^-i) / 2 on it is y(2 t - 1/2) / 2 and a constant.
    """
    if t <= 0.25:
        return np.exp(-(t**2))
    first = 0.25
    while (first + 0.5) / 2 <= t:
        first = (first + 0.5) / 2
    start = accumulating(np.nextafter(first, 0.0)) - accumulating(2 * first - 0.5) / 2
    return start + accumulating(2 * t - 0.5) / 2


def explicit_lag(t, y, history, args):
    """Y'(t) = -y(t) + y'(t - 1) / 2 with the past 1 + s."""
    return -y + 0.5 * history.derivative(t - 1.0)


def by_steps(t):
    """Its solution, lag by lag: c + (a_0 + a_1 s + ...) exp(-s) with s from the lag's start."""
    constant, powers = 0.5, [0.5]
    while t > 1:
        # Y' + y = d/2: d is the derivative, lag by lag, and the start is the end of the last lag.
        end = constant + sum(powers) * np.exp(-1.0)
        slope = [-first for first in powers]
        for power in range(1, len(powers)):
            slope[power - 1] += power * powers[power]
        integral = [0.5 * each / (power + 1) for power, each in enumerate(slope)]
        constant, powers, t = 0.0, [end, *integral], t - 1
    return constant + sum(each * t**power for power, each in enumerate(powers)) * np.exp(-t)


def ddetst_f1(t, y, history, args):
    late = history(t / 2) ** (2 * jnp.cos(t))
    slope = jnp.log(history.derivative(t / 2)) - jnp.log(2 * jnp.cos(t))
    return 2 * jnp.cos(2 * t) * late + slope - jnp.sin(t)


def ddetst_h1(t, y, history, args):
    late = history.derivative(t * y[0] ** 2 / (1 + y[0] ** 2))
    falling = 4 * t * y**2 / (4 + jnp.log(jnp.cos(2 * t)) ** 2)
    return -falling + jnp.tan(2 * t) + jnp.arctan(late) / 2


def ddetst_h2(t, y, history, args):
    past, share, sine = t * y[0] ** 2, 0.5, jnp.sin(t)
    fed = jnp.cos(t) * (1 + history(past)) + share * y * history.derivative(past)
    return fed + (1 - share) * sine * jnp.cos(t * sine**2) - jnp.sin(t + t * sine**2)


PROBLEMS = {
    "constant lag": (explicit_lag, 0.0, 4.0, lambda s: 1 + s, np.vectorize(by_steps)),
    "F1": (ddetst_f1, 0.0, 1.0, lambda s: jnp.exp(jnp.sin(2 * s)), lambda t: np.exp(np.sin(2 * t))),
    "F2": (
        lambda t, y, history, args: history.derivative(2 * t - 0.5),
        0.25, 0.499, lambda s: jnp.exp(-(s**2)), np.vectorize(accumulating),
    ),
    "G1": (
        lambda t, y, history, args: -history.derivative(t - y[0] ** 2 / 4),
        0.0, 0.9, lambda s: 1 - s, lambda t: 1 + t,
    ),
    "G2": (
        lambda t, y, history, args: -history.derivative(y[0] - 2),
        0.0, 1.0, lambda s: 1 - s, lambda t: 1 + t,
    ),
    "H1": (ddetst_h1, 0.0, 0.225 * np.pi, lambda s: 0 * s, lambda t: -np.log(np.cos(2 * t)) / 2),
    "H4": (ddetst_h2, 0.0, np.pi, lambda s: s, np.sin),
}  # fmt: skip
"""DDETST's neutral problems with closed forms: right-hand side, t0, t1, past, solution."""


@pytest.mark.parametrize(
    ("name", "solver"),
    [
        ("constant lag", diffrax.Tsit5()),
        pytest.param("constant lag", diffrax.Kvaerno5(), marks=SLOW),
        pytest.param("constant lag", diffrax.Dopri8(), marks=SLOW),
        ("F2", diffrax.Tsit5()),
        *(pytest.param(name, diffrax.Tsit5(), marks=SLOW) for name in ("F1", "G1", "G2")),
        *(pytest.param(name, diffrax.Tsit5(), marks=SLOW) for name in ("H1", "H4")),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_errors_follow_the_tolerance(name, solver):
    rhs, t0, t1, past, exact = PROBLEMS[name]
    ts = np.linspace(t0, t1, 41)

    @jax.jit
    def run(rtol):
        return dde.solve(
            rhs, solver, t0, t1, None, past(jnp.full(1, t0)), stepsize_controller=tolerance(rtol),
            initial_history=lambda s, args: past(s)[None],
            saveat=diffrax.SaveAt(ts=jnp.asarray(ts)),
        )  # fmt: skip

    for rtol in (1e-4, 1e-6, 1e-9):
        np.testing.assert_allclose(run(rtol).ys[:, 0], exact(ts), rtol=0, atol=10 * rtol)


def test_jumps_of_the_derivative_return_undiminished():
    """Y'(t) = y'(t - 1) with the past s^2 / 2 jumps at each whole t: a saw-tooth of parabolas.

    From 0 on y' is that of s^2 / 2 on the lag before, which is s from -1 to 0: t - n - 1 on lag n.
    """
    solution = dde.solve(
        lambda t, y, history, args: history.derivative_ago(1.0), diffrax.Tsit5(), 0.0, 9.5, None,
        jnp.zeros(1), initial_history=lambda s, args: (s**2 / 2)[None],
        saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 9.5, 39), dense=True), max_steps=256,
    )  # fmt: skip
    lags, within = np.divmod(np.linspace(0.0, 9.5, 39), 1)
    known = -lags / 2 + within**2 / 2 - within
    np.testing.assert_allclose(solution.ys[:, 0], known, rtol=0, atol=1e-5)
    slopes = jax.vmap(jax.jacfwd(solution.evaluate))(jnp.array([8.75, 9.25]))
    np.testing.assert_allclose(slopes[:, 0], [-0.25, -0.75], rtol=0, atol=1e-5)


@pytest.mark.slow
def test_reverse_mode_equals_forward_mode():
    """By the coefficient of the derivative, the lag and the past; both against differences."""

    def end(args, adjoint=None):
        return dde.solve(
            lambda t, y, history, args: -y + args[0] * history.derivative(t - args[1]),
            diffrax.Tsit5(), 0.0, 1.8, 0.1, jnp.ones(1), args,
            initial_history=lambda s, args: jnp.exp(args[2] * s)[None],
            stepsize_controller=tolerance(1e-9), adjoint=adjoint, max_steps=128,
        ).ys[-1, 0]  # fmt: skip

    at = jnp.array([0.5, 1.0, 0.7])
    forward = jax.jacfwd(end)(at)
    reverse = jax.grad(end)(at, diffrax.RecursiveCheckpointAdjoint())
    np.testing.assert_allclose(forward, reverse, rtol=1e-11)
    apart = [(end(at + d) - end(at - d)) / 2e-4 for d in 1e-4 * jnp.eye(3)]
    np.testing.assert_allclose(forward, apart, rtol=0, atol=3e-6)
