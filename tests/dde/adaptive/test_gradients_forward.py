"""Derivatives in forward mode, with events, breaking points and vanishing branches in between."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.dde.switched_systems import RENO_RED, Red
from tests.dde.adaptive.solving import given, tolerance
from vegasfluid import dde

BOSH3 = diffrax.Bosh3()
FINE = tolerance(1e-9)
FAR = 1e9


class Numbers(NamedTuple):
    """Of y' = -decay y - rate y(t - lag) + wave sin t + growth (1 below a threshold, 2 y above).

    y is bounded by `lower` and `upper`; z' = y(t - lag).
    """

    t0: Any = 0.0
    t1: Any = 4.0
    start: Any = 0.0
    decay: Any = 0.0
    rate: Any = 0.0
    lag: Any = 1.0
    wave: Any = 0.0
    growth: Any = 0.0
    threshold: Any = FAR
    lower: Any = -FAR
    upper: Any = FAR


def rhs(t, y, history, own, above):
    old = history(t - own.lag)[0]
    kinked = own.growth * jnp.where(above[0], 2 * y[0], 1.0)
    slope = kinked - own.decay * y[0] - own.rate * old + own.wave * jnp.sin(t)
    return jnp.stack([slope, old])


def solve(numbers, ts):
    """The states at five times, and at the end."""
    return dde.solve(
        rhs, BOSH3, numbers.t0, numbers.t1, None,
        jnp.stack([numbers.start, jnp.zeros_like(numbers.start)]), numbers,
        guards=lambda t, y, history, own: y[:1] - own.threshold,
        bounds=[dde.Bound(0, lower=lambda own: own.lower, upper=lambda own: own.upper)],
        stepsize_controller=FINE, saveat=diffrax.SaveAt(ts=ts, t1=True),
    ).ys  # fmt: skip


@jax.jit
def along(numbers, direction, ts):
    """The states, and their derivative in a direction."""
    return jax.jvp(lambda moved: solve(moved, ts), (numbers,), (direction,))


def derivative(numbers, name, ts):
    """The states at five times and at the end, and their derivative by one of the numbers."""
    zero = Numbers(*[0.0] * len(numbers))
    given = jax.tree.map(lambda value: jnp.asarray(value, float), numbers)
    direction = jax.tree.map(lambda value: jnp.asarray(value, float), zero._replace(**{name: 1.0}))
    return tuple(map(np.asarray, along(given, direction, jnp.asarray(ts, float))))


def powers(t, lag, rate):
    """The terms of the solution of y' = -rate y(t - lag) from 1, and their derivatives by lag."""
    terms, by_lag = [1.0], [0.0]
    for k in range(1, 30):
        u = max(t - (k - 1) * lag, 0.0)
        terms.append((-rate) ** k * u**k / math.factorial(k))
        by_lag.append(-(k - 1) * (-rate) ** k * u ** (k - 1) / math.factorial(k - 1))
    return np.array(terms), np.array(by_lag)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_start_rate_and_lag():
    """By a start that is also the past, by a factor, and by the lag that moves the breaks."""
    numbers, ts = Numbers(start=1.5, rate=1.1, lag=0.8), [0.5, 1.0, 1.7, 2.9, 3.9]
    by_start, by_rate, by_lag = (
        derivative(numbers, name, ts)[1][:, 0] for name in ("start", "rate", "lag")
    )
    for number, t in enumerate([*ts, 4.0]):
        terms, slopes = powers(t, numbers.lag, numbers.rate)
        assert by_start[number] == pytest.approx(terms.sum(), abs=1e-7)
        known = 1.5 * terms @ np.arange(len(terms)) / numbers.rate
        assert by_rate[number] == pytest.approx(known, abs=1e-7)
        assert by_lag[number] == pytest.approx(1.5 * slopes.sum(), abs=1e-6)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_bound_of_a_clamp_and_what_reads_it_late():
    """Q' = sin t from 1/2 up to a bound u, z' = q(t - 1).

    q is u from c = acos(3/2 - u) to pi, then u - 1 - cos t until it is 0; z collects that later.
    """
    bound, ts = 0.9, np.array([0.5, 2.0, 4.0, 5.5, 6.2])
    numbers = Numbers(t1=6.2, start=0.5, wave=1.0, lower=0.0, upper=bound)
    found = derivative(numbers, "upper", ts)[1][:5]
    reached, empty = math.acos(1.5 - bound), 2 * math.pi - math.acos(bound - 1)
    assert reached < 2.0 < 4.0 < empty < 5.5
    by_bound = ((ts > reached) & (ts < empty)).astype(float)
    collected = np.clip(ts - 1 - reached, 0.0, empty - reached)
    np.testing.assert_allclose(found[:, 0], by_bound, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found[:, 1], collected, rtol=0, atol=1e-7)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_threshold_of_a_switch():
    """Y' = 1 below c and 2 y above: t, then c exp(2 (t - c))."""
    numbers = Numbers(t1=2.0, growth=1.0, threshold=0.7)
    ts = np.array([0.5, 1.0, 1.5, 1.8, 2.0])
    ys, found = (values[:5, 0] for values in derivative(numbers, "threshold", ts))
    grown = 0.7 * np.exp(2 * (ts[1:] - 0.7))
    np.testing.assert_allclose(ys, [0.5, *grown], rtol=1e-7)
    np.testing.assert_allclose(found, [0.0, *(grown * (1 / 0.7 - 2))], rtol=1e-6, atol=1e-9)


def test_ends_of_the_solve():
    """By t1 the derivative is the slope; by t0, with the state given there, minus that slope."""
    numbers, ts = Numbers(t1=1.5, start=1.0, decay=1.0), np.full(5, 1.0)
    by_start, by_end = (derivative(numbers, name, ts)[1][-1, 0] for name in ("t0", "t1"))
    assert by_start == pytest.approx(math.exp(-1.5), abs=1e-7)
    assert by_end == pytest.approx(-math.exp(-1.5), abs=1e-7)


@pytest.mark.slow
def test_reno_over_red_against_central_differences():
    """Until 12 s the queue empties thrice, and its kinks come back through the lag.

    A direction in which RED's steepness and the lag itself change.
    """

    def run(share):
        args = Red(*RENO_RED.args)
        args = args._replace(
            max_prob=args.max_prob * jnp.exp(share), propagation=args.propagation + 0.1 * share
        )
        ts = jnp.array([2.0, 4.0, 5.4, 8.0, 12.0])
        return dde.solve(
            RENO_RED.rhs, diffrax.Tsit5(), 0.0, 12.0, None, jnp.asarray(RENO_RED.y0), args,
            saveat=diffrax.SaveAt(ts=ts), stepsize_controller=FINE, history_capacity=4096,
            **given(RENO_RED),
        ).ys  # fmt: skip

    both = jax.jit(lambda share: jax.jvp(run, (share,), (jnp.ones_like(share),)))
    gap = 1e-4
    found = both(jnp.asarray(0.0))[1]
    central = (both(jnp.asarray(gap))[0] - both(jnp.asarray(-gap))[0]) / (2 * gap)
    size = np.abs(central).max(0)
    assert np.all(size > 1)
    np.testing.assert_allclose(found / size, central / size, rtol=0, atol=1e-4)
