"""Against independent engines and published behaviour."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import root

from vegasfluid import dde

jax.config.update("jax_enable_x64", True)

LAG = 17.0


def mackey_glass(delayed, y):
    return 0.2 * delayed / (1 + delayed**10) - 0.1 * y


def mackey_glass_by_steps(spans):
    """SciPy's DOP853 from one multiple of the lag to the next; state at the ends."""
    ends, initial_history = [1.2], None
    for span in range(spans):

        def slope(t, y, initial_history=initial_history):
            return mackey_glass(1.2 if initial_history is None else initial_history(t - LAG), y)

        between = (span * LAG, (span + 1) * LAG)
        part = solve_ivp(
            slope, between, ends[-1:], "DOP853", dense_output=True, rtol=1e-12, atol=1e-13
        )
        initial_history = part.sol
        ends.append(part.y[0, -1])
    return np.array(ends)


def test_mackey_glass_agrees_with_the_method_of_steps():
    spans = 12
    solution = dde.solve_fixed(
        lambda t, y, history, args: mackey_glass(history(t - LAG), y),
        jnp.array([1.2]),
        ts=LAG * np.arange(spans + 1),
        dt0=LAG / 400,
        longest_lag=LAG,
    )
    found = np.asarray(dde.check(solution).ys)[:, 0]
    np.testing.assert_allclose(found, mackey_glass_by_steps(spans), rtol=0, atol=2e-7)


FLOWS, CAPACITY, PROPAGATION, MIN_THRESH = 60, 3750.0, 0.2, 150.0


def reno_red(t, y, history, slope):
    """Misra, Gong and Towsley without averaging; state (window, queue)."""
    window, queue = y
    rtt = PROPAGATION + queue / CAPACITY
    old_window, old_queue = history(t - rtt)
    drop_prob = slope * jnp.maximum(old_queue - MIN_THRESH, 0.0)
    losses = old_window / (PROPAGATION + old_queue / CAPACITY) * drop_prob
    return jnp.stack([1 / rtt - window * losses / 2, FLOWS * window / rtt - CAPACITY])


def leading_root(window, gain):
    """Leading root z = s R of the characteristic equation, linearised by hand."""

    def equation(parts):
        z = complex(*parts)
        back = np.exp(-z)
        value = (z + (1 + back) / window) * (z + 1) + (1 - back) / window + gain * back
        return [value.real, value.imag]

    return complex(*root(equation, [0.0, 0.86], tol=1e-13).x)


def measured_root(samples, gap):
    """The complex rate of a decaying or growing oscillation about 0."""
    before, here, after = samples[:-2], samples[1:-1], samples[2:]
    (sum_, product), *_ = np.linalg.lstsq(np.stack([here, before], 1), after, rcond=None)
    return np.log(complex(*sorted(np.roots([1, -sum_, -product]), key=np.imag)[-1:])) / gap


@pytest.mark.parametrize("gain", [1.067, 1.237, 1.339])
def test_small_oscillations_follow_the_characteristic_equation(gain):
    """Reno over RED, lag dependent on the queue: damping and frequency about the equilibrium."""
    queue = MIN_THRESH + FLOWS / gain
    rtt = PROPAGATION + queue / CAPACITY
    window = rtt * CAPACITY / FLOWS
    slope = 2 / window**2 / (queue - MIN_THRESH)
    ts = np.arange(0.0, 40.0, 0.1)
    solution = dde.solve_fixed(
        reno_red,
        jnp.array([window, queue * (1 + 1e-6)]),
        slope,
        ts=ts,
        dt0=0.005,
        longest_lag=0.4,
        initial_history=lambda s: jnp.array([window, queue]),
    )
    late = np.asarray(dde.check(solution).ys)[100:, 1] - queue
    expected = leading_root(window, gain)
    assert measured_root(late, 0.1) * rtt == pytest.approx(expected, abs=2e-3)


def reno_averaged_red(t, y, history, args):
    """The same with RED's average, gentle, as in the paper's example; state (W, q, average)."""
    window, queue, average = y
    rtt = PROPAGATION + queue / CAPACITY
    old_window, old_queue, old_average = history(t - rtt)
    drop_prob = jnp.interp(old_average, jnp.array([150.0, 200, 400]), jnp.array([0.0, 0.1, 1]))
    losses = old_window / (PROPAGATION + old_queue / CAPACITY) * drop_prob
    filling = FLOWS * window / rtt - CAPACITY
    filling = jnp.where(queue <= 0, jnp.maximum(filling, 0.0), filling)
    averaging = -np.log1p(-1.33e-4) * CAPACITY
    return jnp.stack([1 / rtt - window * losses / 2, filling, averaging * (queue - average)])


def test_clamped_queue_idles_for_about_half_of_the_time():
    """Known from two other solvers: the queue is empty for 49 % of 100 s."""
    solution = dde.solve_fixed(
        reno_averaged_red,
        jnp.array([1.0, 0.0, 0.0]),
        ts=np.linspace(0.0, 100.0, 10001),
        dt0=0.005,
        longest_lag=1.0,
        project=lambda before, y: y.at[1].max(0.0),
    )
    queue = np.asarray(dde.check(solution).ys)[:, 1]
    assert queue.min() == 0
    assert np.mean(queue == 0) == pytest.approx(0.49, abs=0.01)
