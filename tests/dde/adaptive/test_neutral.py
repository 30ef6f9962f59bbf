"""Neutral equations: the right-hand side reads the derivative of the past."""

from __future__ import annotations

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.dde import neutral_systems
from benchmarks.dde.systems import System
from benchmarks.dde_accuracy import error_over_tolerance
from tests.dde.adaptive.solving import tolerance
from vegasfluid import dde

SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("system", "solver"),
    [
        pytest.param(neutral_systems.CONSTANT_LAG, diffrax.Tsit5(), marks=SLOW),
        pytest.param(neutral_systems.CONSTANT_LAG, diffrax.Kvaerno5(), marks=SLOW),
        pytest.param(neutral_systems.ACCUMULATING, diffrax.Tsit5(), marks=SLOW),
    ],
    ids=lambda value: value.name if isinstance(value, System) else type(value).__name__,
)
def test_errors_follow_the_tolerance(system, solver):
    ts = np.linspace(system.t0, system.t1, 41)

    @jax.jit
    def run(rtol):
        return dde.solve(
            system.rhs, solver, system.t0, system.t1, None, jnp.asarray(system.y0),
            stepsize_controller=tolerance(rtol), initial_history=system.initial_history,
            saveat=diffrax.SaveAt(ts=jnp.asarray(ts)),
        )  # fmt: skip

    for rtol in (1e-4, 1e-6, 1e-9):
        exact = system.exact(ts)  # the controller allows rtol (1 + |y|) in a step
        atol = 10 * rtol * (1 + np.abs(exact).max())
        np.testing.assert_allclose(run(rtol).ys, exact, rtol=0, atol=atol)


def test_the_dense_output_is_under_error_control_in_each_component():
    """Y' = 0.9 y'(t - 1) + cos 3t - 0.9 cos 3(t - 1) is solved by sin(3t) / 3; one rests.

    The error of the derivative that is read enters the equation: a component without one must not
    hide it.
    """
    ts = jnp.linspace(0.0, 6.0, 25)

    def rhs(t, y, history, args):
        read = 0.9 * history.derivative_ago(1.0)[1]
        return jnp.stack([0.0 * t, read + jnp.cos(3 * t) - 0.9 * jnp.cos(3 * (t - 1))])

    found = dde.solve(
        rhs, diffrax.Tsit5(), 0.0, 6.0, None, jnp.zeros(2), max_steps=512,
        initial_history=lambda s, args: jnp.stack([0.0 * s, jnp.sin(3 * s) / 3]),
        saveat=diffrax.SaveAt(ts=ts), stepsize_controller=diffrax.PIDController(4e-5, 4e-5),
    )  # fmt: skip
    np.testing.assert_array_equal(found.ys[:, 0], 0.0)
    np.testing.assert_allclose(found.ys[:, 1], jnp.sin(3 * ts) / 3, rtol=0, atol=3e-4)


@SLOW
@pytest.mark.parametrize("system", neutral_systems.SYSTEMS[1:], ids=lambda system: system.name)
def test_errors_are_within_ten_tolerances(system):
    errors = [error_over_tolerance(system, "Tsit5", rtol) for rtol in (1e-4, 1e-6, 1e-9)]
    assert max(errors) < 10


@pytest.mark.slow
@pytest.mark.unoptimised
def test_jumps_of_the_derivative_return_undiminished():
    """Y'(t) = y'(t - 1) with the past s^2 / 2 jumps at each whole t: a saw-tooth of parabolas.

    From 0 on y' is that of s^2 / 2 on the lag before, which is s from -1 to 0: t - n - 1 on lag n.
    """
    solution = dde.solve(
        lambda t, y, history, args: history.derivative_ago(1.0), diffrax.Tsit5(), 0.0, 9.5, None,
        jnp.zeros(1), initial_history=lambda s, args: (s**2 / 2)[None],
        saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 9.5, 39), dense=True), max_steps=512,
        stepsize_controller=tolerance(1e-8),
    )  # fmt: skip
    lags, within = np.divmod(np.linspace(0.0, 9.5, 39), 1)
    known = -lags / 2 + within**2 / 2 - within
    np.testing.assert_allclose(solution.ys[:, 0], known, rtol=0, atol=2e-6)
    slopes = jax.vmap(jax.jacfwd(solution.evaluate))(jnp.array([8.75, 9.25]))
    np.testing.assert_allclose(slopes[:, 0], [-0.25, -0.75], rtol=0, atol=1e-5)


@pytest.mark.slow
def test_reverse_mode_equals_forward_mode():
    """By the coefficient of the derivative, the lag and the past; both against differences."""

    def end(args, adjoint=None):
        return dde.solve(
            lambda t, y, history, args: -y + args[0] * history.derivative(t - args[1]),
            diffrax.Tsit5(), 0.0, 1.8, 0.05, jnp.ones(1), args,
            initial_history=lambda s, args: jnp.exp(args[2] * s)[None],
            stepsize_controller=diffrax.ConstantStepSize(), adjoint=adjoint, max_steps=128,
        ).ys[-1, 0]  # fmt: skip

    at = jnp.array([0.5, 1.0, 0.7])
    forward = jax.jacfwd(end)(at)
    reverse = jax.grad(end)(at, diffrax.RecursiveCheckpointAdjoint())
    np.testing.assert_allclose(forward, reverse, rtol=1e-11)
    apart = [(end(at + d) - end(at - d)) / 2e-4 for d in 1e-4 * jnp.eye(3)]
    np.testing.assert_allclose(forward, apart, rtol=0, atol=3e-6)
