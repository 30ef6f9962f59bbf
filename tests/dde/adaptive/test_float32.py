"""Single precision: times in two parts, lags measured from the current step."""

from __future__ import annotations

import math
from dataclasses import replace

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.dde.switched_systems import RENO_RED, reno_red
from tests.dde.adaptive.solving import answer, given, tolerance
from vegasfluid import dde


def rhs(t, y, history, args, above):
    lag = args.propagation + y[1] / args.capacity
    old = history.ago(lag)
    return reno_red(t, y, lambda s: old, args, above)


def guards(t, y, history, args):
    average = history.ago(args.propagation + y[1] / args.capacity)[2]
    return average - jnp.stack([args.min_thresh, args.max_thresh, 2 * args.max_thresh])


@pytest.fixture(scope="module")
def errors():
    """Largest error in Reno over RED, as a share of the component's size, by tolerance."""
    ts, ys = answer(RENO_RED)
    single = jnp.float32
    system = replace(RENO_RED, rhs=rhs, guards=guards)
    options = given(system) | {
        "initial_history": lambda s, args: jnp.array([1.0, 0.0, 0.0], single),
        "saveat": diffrax.SaveAt(ts=jnp.asarray(ts, single)),
    }
    args = jax.tree.map(single, RENO_RED.args)

    @jax.jit
    def run(rtol):
        return dde.solve(
            rhs, diffrax.Tsit5(), single(0), single(100), None, jnp.array(RENO_RED.y0, single),
            args, stepsize_controller=tolerance(rtol), **options,
        )  # fmt: skip

    found = {rtol: run(single(rtol)) for rtol in (1e-4, 1e-5, 1e-6, 3e-7, 1e-7)}
    for solution in found.values():
        assert (solution.ys.dtype, solution.ts.dtype) == (single, single)
    scale = np.abs(ys).max(0)
    return {
        rtol: (np.abs(np.asarray(solution.ys, float) - ys) / scale).max()
        for rtol, solution in found.items()
    }


@pytest.mark.slow
def test_tight_tolerances_reach_the_bound_of_single_precision(errors):
    """A step of a plain float32 clock at 100 s would be 8 us, and errors 2e-3 and growing."""
    assert errors[3e-7] < 3e-4
    assert errors[1e-7] < 3e-4


@pytest.mark.slow
def test_the_error_does_not_grow_as_the_tolerance_shrinks(errors):
    floor = 3e-4  # rounding in single precision; errors are below it from 1e-5 on
    assert errors[1e-5] < min(errors[1e-4], floor)
    assert errors[1e-6] < max(errors[1e-5], floor)
    assert errors[3e-7] < max(errors[1e-6], floor)
    assert errors[1e-7] < max(errors[3e-7], floor)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_ten_thousand_steps_stay_in_phase():
    """Y' = -a y(t - lag) with a lag = pi/2 is cos(a t).

    In a plain float32 clock the steps of 0.01 would be up to 4e-4 of themselves wrong.
    """
    single, rate, end = jnp.float32, 5.0, 100.0
    ts = np.linspace(0.0, end, 101)
    found = dde.solve(
        lambda t, y, history, args: -args * history.ago(single(math.pi / 2 / rate)),
        diffrax.Tsit5(), single(0), single(end), single(0.01), jnp.ones(1, single), single(rate),
        initial_history=lambda s, args: jnp.cos(args * s)[None],
        saveat=diffrax.SaveAt(ts=jnp.asarray(ts, single)),
        stepsize_controller=diffrax.ConstantStepSize(),
    )  # fmt: skip
    assert (found.ys.dtype, found.ts.dtype) == (single, single)
    np.testing.assert_allclose(found.ys[:, 0], np.cos(rate * ts), rtol=0, atol=3e-4)
