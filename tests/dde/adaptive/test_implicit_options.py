"""Implicit methods with the options of `dde.solve`: order, events, failures and invalid input."""

from __future__ import annotations

import functools
import math

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.dde.adaptive.solving import tolerance
from vegasfluid import dde
from vegasfluid.errors import InvalidInput, Unsupported

SLOW = pytest.mark.slow
FINDER = diffrax.VeryChord(rtol=1e-13, atol=1e-13)


@functools.cache
def oscillation_by(solver):
    """Y' = -y(t - pi/2) with the past cos t, saved between the steps, by the step's length."""

    @jax.jit
    def run(step):
        return dde.solve(
            lambda t, y, history, args: -history.ago(math.pi / 2), solver, 0.0, 6.0, step,
            jnp.ones(1), initial_history=lambda s, args: jnp.cos(s)[None],
            saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 6.0, 61)),
            stepsize_controller=diffrax.ConstantStepSize(),
        )  # fmt: skip

    return lambda step: np.abs(run(step).ys[:, 0] - np.cos(np.linspace(0.0, 6.0, 61))).max()


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize(
    ("solver", "order"),
    [
        (diffrax.ImplicitEuler, 1),
        (diffrax.Kvaerno3, 3),
        (diffrax.Kvaerno4, 4),
        (diffrax.Kvaerno5, 5),
    ],
)
def test_order(solver, order):
    """Of delayed values too, which the dense output gives."""
    error = oscillation_by(solver(root_finder=FINDER))
    measured = math.log2(error(0.2) / error(0.025)) / 3
    assert measured > order - 0.25


@pytest.mark.slow
@pytest.mark.unoptimised
def test_bound_and_event():
    """A stiff relaxation of a queue to t, from below its bound on; the end where it is 3.

    Y' = -1e5 (y - (t - 1)) with y >= 0 is 0 until t = 1, later t - 1 - 1e-5 (up to a transient).
    """
    solution = dde.solve(
        lambda t, y, history, args: -1e5 * (y - (t - 1)), diffrax.Kvaerno5(), 0.0, 9.0, None,
        jnp.zeros(1), bounds=[dde.Bound(0, lower=0.0)], saveat=diffrax.SaveAt(steps=True, t1=True),
        event=diffrax.Event(lambda t, y, args, history: history(t - 1.0)[0] - 2.0), max_steps=512,
    )  # fmt: skip
    reached = np.asarray(solution.ts)[np.isfinite(solution.ts)]
    assert reached[-1] == pytest.approx(4.00001, abs=1e-6)
    ys = np.asarray(solution.ys)[: len(reached), 0]
    known = np.maximum(reached - 1 - 1e-5, 0.0)
    np.testing.assert_allclose(ys, known, atol=1.1e-5, rtol=0)
    assert np.all(ys >= 0)
    assert len(reached) < 100


@pytest.mark.slow
@pytest.mark.unoptimised
def test_reset_and_guard():
    """A stiff y follows x, which grows at rate 1, from t = 2 on falls by half, then at rate 2.

    Guard: x >= 1.5 changes its rate. X is t to 1.5, then 1.5 + 2 (t - 1.5) = 2.5 at t = 2; half of
    it, 1.25, is below the guard: rate 1 until 1.5 at t = 2.25, then 2: 3.0 at t = 3.
    """

    def rhs(t, y, history, args, above):
        return jnp.stack([jnp.where(above[0], 2.0, 1.0), -1e4 * (y[1] - y[0])])

    halved = dde.Reset(
        indicator=lambda t, y, history, args: t - 2.0,
        effect=lambda t, y, args: y.at[0].multiply(0.5),
        direction=True,
    )
    solution = dde.solve(
        rhs, diffrax.Kvaerno3(), 0.0, 3.0, None, jnp.zeros(2), resets=[halved],
        guards=lambda t, y, history, args: y[:1] - 1.5,
    )  # fmt: skip
    np.testing.assert_allclose(solution.ys[-1], [3.0, 3.0 - 2e-4], atol=2e-6)
    assert solution.stats["num_events"] >= 3


@SLOW
def test_a_batch_has_its_own_newton_iterations():
    """Y' = -k (y - y(t - 1) / 2 - 1) from the equilibrium 2 plus one: instances far apart."""
    solution = dde.solve_batch(
        lambda t, y, history, k: -k * (y - history(t - 1.0) / 2 - 1), diffrax.Kvaerno3(),
        0.0, 0.5, None, jnp.full((3, 1), 3.0), jnp.array([1.0, 1e3, 1e6]), chunk=3,
    )  # fmt: skip
    known = 2.5 + 0.5 * np.exp(-0.5 * np.array([1.0, 1e3, 1e6]))
    np.testing.assert_allclose(solution.ys[:, 0, 0], known, atol=2e-6)


@SLOW
def test_single_precision():
    solution = dde.solve(
        lambda t, y, history, k: -1e4 * (y - history(t - 1.0) / 2 - 1), diffrax.Kvaerno3(),
        0.0, 3.5, None, jnp.zeros(1, jnp.float32), stepsize_controller=tolerance(1e-3),
    )  # fmt: skip
    assert solution.ys.dtype == jnp.float32
    assert float(solution.ys[-1, 0]) == pytest.approx(2 * (1 - 2.0**-4), abs=3e-3)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_newton_failure_is_an_outcome():
    """In a step of 2 from 0 by implicit Euler, y = 2 (y^2 + 1) has no real solution."""
    solution = dde.solve(
        lambda t, y, history, args: y**2 + 1 + history(t - 9.0),
        diffrax.ImplicitEuler(root_finder=FINDER), 0.0, 8.0, 2.0, jnp.zeros(1), throw=False,
        stepsize_controller=diffrax.ConstantStepSize(),
    )  # fmt: skip
    assert solution.result == dde.Outcome.NEWTON_FAILED


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_step_whose_newton_iteration_fails_is_repeated():
    """The first step of 2, as above, is too long for y' = y^2 + 1, whose solution is tan t."""
    solution = dde.solve(
        lambda t, y, history, args: y**2 + 1 + history(t - 9.0), diffrax.Kvaerno5(),
        0.0, 1.0, 2.0, jnp.zeros(1),
    )  # fmt: skip
    assert float(solution.ys[-1, 0]) == pytest.approx(math.tan(1.0), abs=2e-5)
    assert solution.stats["num_rejected_steps"] > 0


def late(t, y, history, args):
    return -history(t - 1.0)


def test_constant_steps_need_tolerances_of_the_root_finder():
    with pytest.raises(InvalidInput, match=r"solver must be .*root_finder=VeryChord"):
        dde.solve(
            late, diffrax.Kvaerno3(), 0.0, 1.0, 0.1, jnp.ones(1),
            stepsize_controller=diffrax.ConstantStepSize(),
        )  # fmt: skip


def test_reverse_mode_is_refused_with_the_remedy():
    with pytest.raises(Unsupported, match=r"reverse mode with Kvaerno3.*jax.jacfwd"):
        dde.solve(
            late, diffrax.Kvaerno3(), 0.0, 1.0, 0.1, jnp.ones(1),
            adjoint=diffrax.RecursiveCheckpointAdjoint(),
        )  # fmt: skip
