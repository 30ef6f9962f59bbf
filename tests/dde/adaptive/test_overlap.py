"""Lags that vanish, or are shorter than the step."""

from __future__ import annotations

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import lambertw

from benchmarks.dde.systems import DDETST_B1, DDETST_D1, PANTOGRAPH
from tests.dde.adaptive.solving import FEW, at_answers, errors, tolerance
from vegasfluid import dde

LAGS = np.array([0.0, 1e-12, 1e-9, 1e-6, 1e-3, 0.03, 0.3])
TS = np.linspace(0.0, 5.0, 11)


def decay_rate(lag):
    """The root s of s = -exp(-s lag) nearest to -1: y' = -y(t - lag) has the solution exp(s t)."""
    return lambertw(-lag).real / lag if lag else -1.0


@pytest.fixture(scope="module")
def by_lag():
    """Y' = -y(t - lag) with its exponential as the past, for all lags and a few tolerances."""

    @jax.jit
    def run(rtol):
        rates = jnp.asarray([decay_rate(lag) for lag in LAGS])
        return dde.solve_batch(
            lambda t, y, history, args: -history.ago(args[0]), diffrax.Tsit5(),
            0.0, 5.0, None, jnp.ones((len(LAGS), 1)), (jnp.asarray(LAGS), rates),
            initial_history=lambda s, args: jnp.exp(args[1] * s)[None], throw=False,
            saveat=diffrax.SaveAt(ts=jnp.asarray(TS)), stepsize_controller=tolerance(rtol),
        )  # fmt: skip

    return {rtol: run(jnp.asarray(rtol)) for rtol in (1e-4, 1e-6, 1e-8, 1e-10)}


@pytest.mark.slow
@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8, 1e-10])
def test_lags_shorter_than_the_step(by_lag, rtol):
    solution = by_lag[rtol]
    assert np.all(solution.result == dde.Outcome.SUCCESS)
    known = np.exp(np.array([decay_rate(lag) for lag in LAGS])[:, None] * TS)
    np.testing.assert_allclose(solution.ys[..., 0], known, rtol=0, atol=20 * rtol)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_short_lags_do_not_shorten_the_steps(by_lag):
    """As many steps as the ordinary equation y' = -y, give or take the jumps of derivatives."""
    plain = dde.solve(
        lambda t, y, history, args: -y, diffrax.Tsit5(), 0.0, 5.0, None, jnp.ones(1),
        stepsize_controller=tolerance(1e-8),
    )  # fmt: skip
    steps = np.asarray(by_lag[1e-8].stats["num_accepted_steps"])
    assert plain.stats["num_accepted_steps"] > 15
    assert np.all(steps <= 1.5 * int(plain.stats["num_accepted_steps"]) + 6)


def test_lag_of_nothing_is_the_ordinary_equation(by_lag):
    limit = np.asarray(by_lag[1e-10].ys)[:, :, 0]
    np.testing.assert_allclose(limit[0], np.exp(-TS), rtol=0, atol=1e-9)
    np.testing.assert_allclose(limit[1], limit[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "system",
    [DDETST_B1, *(pytest.param(each, marks=pytest.mark.slow) for each in (PANTOGRAPH, DDETST_D1))],
    ids=lambda s: s.name,
)
def test_lag_that_vanishes(system):
    """At t0, or on the way: the lag is 0 there, and again longer than the step afterwards."""
    for rtol in (1e-4, 1e-6, 1e-8):
        family = FEW if system in FEW.systems else None
        found = at_answers(system, diffrax.Bosh3(), rtol, family=family)
        assert found.result == dde.Outcome.SUCCESS
        assert errors(system, found.ys).max() < 200 * rtol
