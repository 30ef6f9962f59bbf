"""A solve that fails reports why and when; invalid input is rejected beforehand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import dde
from vegasfluid.errors import InvalidInput, SolveFailed

jax.config.update("jax_enable_x64", True)

STEP = 0.05
TIMES = np.linspace(0.0, 10.0, 6)


def by_lag(lag):
    return lambda t, y, history, args: -history(t - lag(t))


def solved(rhs, ts=TIMES, y0=(1.0,), **options):
    options = {"dt0": STEP, "longest_lag": 1.0} | options
    return dde.solve_fixed(rhs, jnp.array(y0), ts=ts, **options)


def test_success_has_no_time():
    solution = solved(by_lag(lambda t: 1.0))
    assert solution.result == dde.Outcome.SUCCESS
    assert np.isnan(solution.time)
    assert dde.check(solution) is solution


def test_growing_lag_becomes_too_long():
    solution = solved(by_lag(lambda t: 0.5 + 0.1 * t))
    assert solution.result == dde.Outcome.LAG_TOO_LONG
    assert 5.0 < solution.time < 5.0 + 2 * STEP


def test_too_long_lag_is_cut_to_the_longest():
    cut = solved(by_lag(lambda t: jnp.where(t < 3, 1.0, 1.7)))
    assert cut.result == dde.Outcome.LAG_TOO_LONG
    assert cut.time == pytest.approx(3.0, abs=1.5 * STEP)
    np.testing.assert_allclose(cut.ys, solved(by_lag(lambda t: 1.0)).ys, atol=1e-12)


def test_shrinking_lag_becomes_too_short():
    solution = solved(by_lag(lambda t: 1.0 - 0.1 * t))
    assert solution.result == dde.Outcome.LAG_TOO_SHORT
    assert 10.0 - STEP / 0.1 <= solution.time <= 10.0 - STEP / 0.1 + 2 * STEP


def test_vanishing_lag_of_ddetst_d1_is_flagged():
    """The lag t - exp(1 - 1/t) is 0 at t = 1, about (t - 1)^2 / 2 near it."""

    def rhs(t, y, history, args):
        delayed = history(jnp.exp(1 - y[1]))[1]
        return jnp.stack([y[1], -delayed * y[1] ** 2 * jnp.exp(1 - y[1])])

    solution = dde.solve_fixed(
        rhs,
        jnp.array([jnp.log(0.1), 10.0]),
        ts=np.array([0.1, 5.0]),
        dt0=1e-3,
        longest_lag=4.0,
        initial_history=lambda s: jnp.stack([jnp.log(s), 1 / s]),
    )
    assert solution.result == dde.Outcome.LAG_TOO_SHORT
    assert solution.time == pytest.approx(1 - np.sqrt(2e-3), abs=3e-3)


@pytest.mark.parametrize("lag", [STEP, 1.0])
def test_lags_at_their_bounds_are_served(lag):
    assert solved(by_lag(lambda t: lag)).result == dde.Outcome.SUCCESS


def test_lags_at_their_bounds_are_served_far_from_time_zero():
    solution = solved(by_lag(lambda t: 1.0), 1e6 + np.linspace(0.0, 10.0, 6))
    assert solution.result == dde.Outcome.SUCCESS


def test_blow_up_is_not_finite():
    """Y' = y^2 from 1 is 1 / (1 - t)."""
    solution = solved(lambda t, y, history, args: y**2)
    assert solution.result == dde.Outcome.NOT_FINITE
    assert 1.0 < solution.time < 1.0 + 6 * STEP


def test_start_that_is_not_finite_is_found():
    solution = solved(by_lag(lambda t: 1.0), y0=(np.nan,))
    assert (solution.result, solution.time) == (dde.Outcome.NOT_FINITE, 0.0)


def test_the_last_step_is_checked():
    solution = solved(lambda t, y, history, args: jnp.where(t > 9.99, jnp.nan, y * 0))
    assert (solution.result, solution.time) == (dde.Outcome.NOT_FINITE, 10.0)


def test_projection_does_not_hide_a_nan():
    solution = solved(
        lambda t, y, history, args: jnp.sqrt(5.0 - t) + 0 * y,
        project=lambda before, y: jnp.where(y > 0, y, 0.0),
    )
    assert solution.result == dde.Outcome.NOT_FINITE
    assert solution.time == pytest.approx(5.0, abs=1.5 * STEP)


def test_projection_is_applied_after_each_step():
    solution = solved(
        lambda t, y, history, args: -jnp.ones(1), project=lambda before, y: y.clip(0.0)
    )
    np.testing.assert_allclose(solution.ys[:, 0], [1, 0, 0, 0, 0, 0])


def test_first_fault_counts():
    """The lag is too long from t = 2 on, the state not finite from t = 5 on."""
    solution = solved(
        lambda t, y, history, args: -history(0.75 * t - 0.5) * jnp.where(t > 5, jnp.nan, 1.0)
    )
    assert solution.result == dde.Outcome.LAG_TOO_LONG


def test_check_tells_what_when_and_which():
    solution = solved(lambda t, y, history, args: y**2)
    with pytest.raises(SolveFailed, match=r"^dde.solve failed at t = 1\.\d+: the state was not"):
        dde.check(solution)
    batch = jax.vmap(lambda y0: solved(lambda t, y, history, args: y**2, y0=(y0,)))
    with pytest.raises(SolveFailed, match=r"number 1 of 3; 2 failed"):
        dde.check(batch(jnp.array([-1.0, 1.0, 2.0])))


def test_history_inside_vmap_is_rejected_by_jax():
    def rhs(t, y, history, args):
        return -jax.vmap(history)(t - jnp.array([0.5, 1.0])).sum(0)

    with pytest.raises(jax.errors.UnexpectedTracerError):
        solved(rhs)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dt0", {"dt0": 0.0}),
        ("dt0", {"dt0": -0.1}),
        ("dt0", {"dt0": float("nan")}),
        ("dt0", {"dt0": 1e-12}),
        ("dt0", {"y0": np.ones(1, np.float32), "dt0": 1e-5}),
        ("longest_lag", {"longest_lag": 0.0}),
        ("longest_lag", {"longest_lag": float("inf")}),
        ("longer_steps", {"longer_steps": (2.0, 0)}),
        ("longer_steps", {"longer_steps": (2.0, -2)}),
        ("longer_steps", {"longer_steps": (2.0, 2.5)}),
        ("longer_steps", {"longer_steps": (float("nan"), 2)}),
        ("longer_steps", {"longer_steps": 2}),
        ("history_components", {"history_components": 2}),
        ("history_components", {"history_components": 0.5}),
        ("history_components", {"history_components": 1.0}),
        ("ts", {"ts": np.array([0.0, 1.0, 3.0])}),
        ("ts", {"ts": np.array([1.0, 0.0])}),
        ("ts", {"ts": np.array([0.0, 0.0])}),
        ("ts", {"ts": np.array([0.0])}),
        ("ts", {"ts": np.array([0.0, np.nan])}),
        ("ts", {"ts": np.zeros((2, 2))}),
        ("y0", {"y0": 1.0}),
        ("y0", {"y0": [[1.0]]}),
        ("y0", {"y0": [1]}),
        ("y0", {"y0": np.zeros(0)}),
        ("initial_history", {"initial_history": lambda s: s}),
        ("project", {"project": lambda before, y: y[0]}),
        ("rhs", {"rhs": lambda t, y, history, args: y[0]}),
        ("rhs", {"rhs": lambda t, y, history, args: [1.0]}),
    ],
)
def test_invalid_input_is_rejected(name, options):
    with pytest.raises(InvalidInput) as error:
        solved(**{"rhs": by_lag(lambda t: 1.0)} | options)
    assert (error.value.whose, error.value.name) == ("dde.solve", name)
