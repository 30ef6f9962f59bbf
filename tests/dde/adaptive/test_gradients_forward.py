"""Derivatives in forward mode, with events, breaking points and vanishing branches in between."""

from __future__ import annotations

import math

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.dde.adaptive.solving import given, tolerance
from tests.dde.switched_systems import RENO_RED, Red
from vegasfluid import dde

BOSH3 = diffrax.Bosh3()
FINE = tolerance(1e-9)
TS = np.array([0.5, 1.0, 1.7, 2.9, 3.9])


def solved(rhs, t1, y0, args, ts=TS, solver=BOSH3, **options):
    options = {"stepsize_controller": FINE, "saveat": diffrax.SaveAt(ts=jnp.asarray(ts))} | options
    return dde.solve(rhs, solver, 0.0, t1, None, y0, args, **options).ys


def powers(t, lag, rate):
    """The terms of the solution of y' = -rate y(t - lag) from 1, and their derivatives by lag."""
    terms, by_lag = [1.0], [0.0]
    for k in range(1, 30):
        u = max(t - (k - 1) * lag, 0.0)
        terms.append((-rate) ** k * u**k / math.factorial(k))
        by_lag.append(-(k - 1) * (-rate) ** k * u ** (k - 1) / math.factorial(k - 1))
    return np.array(terms), np.array(by_lag)


def test_start_rate_and_lag():
    """By a start that is also the past, by a factor, and by the lag that moves the breaks."""

    def run(y0, rate, lag):
        return solved(
            lambda t, y, history, own: -own[0] * history(t - own[1]), 4.0, y0, (rate, lag)
        )

    lag, rate = 0.8, 1.1
    point = (jnp.array([1.5]), jnp.asarray(rate), jnp.asarray(lag))
    by_start, by_rate, by_lag = jax.jit(jax.jacfwd(run, argnums=(0, 1, 2)))(*point)
    for number, t in enumerate(TS):
        terms, slopes = powers(t, lag, rate)
        assert float(by_start[number, 0, 0]) == pytest.approx(terms.sum(), abs=1e-7)
        known = 1.5 * terms @ np.arange(len(terms)) / rate
        assert float(by_rate[number, 0]) == pytest.approx(known, abs=1e-7)
        assert float(by_lag[number, 0]) == pytest.approx(1.5 * slopes.sum(), abs=1e-6)


def test_bound_of_a_clamp_and_what_reads_it_late():
    """Q' = sin t from 1/2 up to a bound u, z' = q(t - 1).

    q is u from c = acos(3/2 - u) to pi, then u - 1 - cos t until it is 0; z collects that later.
    """
    bound = 0.9

    def rhs(t, y, history, own):
        return jnp.stack([jnp.sin(t), history(t - 1.0)[0]])

    ts = np.array([0.5, 2.0, 4.0, 5.5, 6.2])
    clamps = [dde.Clamp(0, lower=0.0, upper=lambda own: own)]

    def run(bound):
        return solved(rhs, 6.2, jnp.array([0.5, 0.0]), bound, ts=ts, clamps=clamps)

    found = jax.jit(jax.jacfwd(run))(jnp.asarray(bound))
    met, empty = math.acos(1.5 - bound), 2 * math.pi - math.acos(bound - 1)
    assert met < 2.0 < 4.0 < empty < 5.5
    by_bound = ((ts > met) & (ts < empty)).astype(float)
    collected = np.clip(ts - 1 - met, 0.0, empty - met)
    np.testing.assert_allclose(found[:, 0], by_bound, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found[:, 1], collected, rtol=0, atol=1e-7)


def test_threshold_of_a_switch():
    """Y' = 1 below c and 2 y above: t, then c exp(2 (t - c))."""

    def rhs(t, y, history, threshold, above):
        return jnp.where(above, 2 * y, jnp.ones_like(y))

    def run(threshold):
        return solved(
            rhs, 2.0, jnp.zeros(1), threshold, ts=np.array([0.5, 1.0, 1.5, 2.0]),
            switches=lambda t, y, history, threshold: y - threshold,
        )  # fmt: skip

    ys, found = jax.jit(lambda c: jax.jvp(run, (c,), (jnp.ones_like(c),)))(jnp.asarray(0.7))
    grown = 0.7 * np.exp(2 * (np.array([1.0, 1.5, 2.0]) - 0.7))
    np.testing.assert_allclose(ys[:, 0], [0.5, *grown], rtol=1e-7)
    np.testing.assert_allclose(found[:, 0], [0.0, *(grown * (1 / 0.7 - 2))], rtol=1e-6, atol=1e-9)


def test_ends_of_the_solve():
    """By t1 the derivative is the slope; by t0, with the state given there, minus that slope."""

    def run(t0, t1):
        return dde.solve(
            lambda t, y, history, args: -y + 0 * history(t - 1.0), BOSH3, t0, t1, None,
            jnp.ones(1), stepsize_controller=FINE,
        ).ys[0, 0]  # fmt: skip

    by_start, by_end = jax.jit(jax.jacfwd(run, argnums=(0, 1)))(jnp.asarray(0.0), jnp.asarray(1.5))
    assert float(by_start) == pytest.approx(math.exp(-1.5), abs=1e-7)
    assert float(by_end) == pytest.approx(-math.exp(-1.5), abs=1e-7)


def test_reno_over_red_against_central_differences():
    """Until 12 s the queue empties thrice, and its kinks come back through the lag.

    A direction in which RED's steepness and the lag itself change.
    """

    def run(share):
        args = Red(*RENO_RED.args)
        args = args._replace(
            max_prob=args.max_prob * jnp.exp(share), propagation=args.propagation + 0.1 * share
        )
        return solved(
            RENO_RED.rhs, 12.0, jnp.asarray(RENO_RED.y0), args,
            ts=np.array([2.0, 4.0, 5.4, 8.0, 12.0]), stepsize_controller=FINE,
            solver=diffrax.Tsit5(), rows=4096, **given(RENO_RED),
        )  # fmt: skip

    both = jax.jit(lambda share: jax.jvp(run, (share,), (jnp.ones_like(share),)))
    gap = 1e-4
    found = both(jnp.asarray(0.0))[1]
    central = (both(jnp.asarray(gap))[0] - both(jnp.asarray(-gap))[0]) / (2 * gap)
    size = np.abs(central).max(0)
    assert np.all(size > 1)
    np.testing.assert_allclose(found / size, central / size, rtol=0, atol=1e-4)
