"""Neutral equations with known solutions: the right-hand side reads dy/dt of the past.

Sources and their reliability are as in `systems.py`: the letters are those of DDETST from memory,
and each solution is verified by substitution (`tests/dde/test_systems.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from benchmarks.dde.systems import CHECKED, System

__all__ = [
    "ACCUMULATING",
    "BY_STATE",
    "CONSTANT_LAG",
    "DDETST_F1",
    "DDETST_G2",
    "DDETST_H1",
    "DDETST_H4",
    "SYSTEMS",
]


def of_one(past: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the initial history with the one component `past(s)`."""
    return lambda s, args: past(jnp.asarray(s))[..., None]


def each(exact: Callable[[Any], Any]) -> Callable[[Any], np.ndarray]:
    """Return the solution of one component, from a function of one time."""
    return lambda t: np.vectorize(exact, otypes=[float])(t)[..., None]


def explicit_lag(t, y, history, args):
    return -y + 0.5 * history.derivative(t - 1.0)


def by_steps(t):
    """Return y, lag by lag: c + (a_0 + a_1 s + ...) exp(-s) with s from the lag's start.

    The equation is y' + y = d/2, with d the derivative one lag before.
    """
    constant, powers = 0.5, [0.5]
    while t > 1:
        end = constant + sum(powers) * np.exp(-1.0)
        slope = [-first for first in powers]
        for power in range(1, len(powers)):
            slope[power - 1] += power * powers[power]
        integral = [0.5 * part / (power + 1) for power, part in enumerate(slope)]
        constant, powers, t = 0.0, [end, *integral], t - 1
    return constant + sum(part * t**power for power, part in enumerate(powers)) * np.exp(-t)


def accumulating(t):
    """Return y of y'(t) = y'(2 t - 1/2), whose breaks accumulate at 1/2.

    On the interval from (1 - 2^-i) / 2 on it is y(2 t - 1/2) / 2 and a constant.
    """
    if t <= 0.25:
        return np.exp(-(t**2))
    first = 0.25
    while (first + 0.5) / 2 <= t:
        first = (first + 0.5) / 2
    start = accumulating(np.nextafter(first, 0.0)) - accumulating(2 * first - 0.5) / 2
    return start + accumulating(2 * t - 0.5) / 2


def ddetst_f1(t, y, history, args):
    late = history(t / 2) ** (2 * jnp.cos(t))
    slope = jnp.log(history.derivative(t / 2)) - jnp.log(2 * jnp.cos(t))
    return 2 * jnp.cos(2 * t) * late + slope - jnp.sin(t)


def ddetst_h1(t, y, history, args):
    late = history.derivative(t * y[0] ** 2 / (1 + y[0] ** 2))
    falling = 4 * t * y**2 / (4 + jnp.log(jnp.cos(2 * t)) ** 2)
    return -falling + jnp.tan(2 * t) + jnp.arctan(late) / 2


def ddetst_h4(t, y, history, args):
    # A computed y may exceed 1 by its error, but t is the latest time that may be read.
    past, share, sine = t * jnp.minimum(y[0] ** 2, 1.0), 0.5, jnp.sin(t)
    fed = jnp.cos(t) * (1 + history(past)) + share * y * history.derivative(past)
    return fed + (1 - share) * sine * jnp.cos(t * sine**2) - jnp.sin(t + t * sine**2)


CONSTANT_LAG = System(
    "neutral, constant lag", f"y' = -y + y'(t - 1) / 2{CHECKED}", explicit_lag,
    y0=(1.0,), t0=0.0, t1=4.0, initial_history=of_one(lambda s: 1 + s), longest_lag=1.0,
    exact=each(by_steps), breaks=(0.0, 1.0, 2.0, 3.0),
)  # fmt: skip
DDETST_F1 = System(
    "DDETST F1", f"DDETST F1{CHECKED}", ddetst_f1,
    y0=(1.0,), t0=0.0, t1=1.0, initial_history=of_one(lambda s: jnp.exp(jnp.sin(2 * s))),
    longest_lag=0.5, exact=each(lambda t: np.exp(np.sin(2 * t))), smooth_start=True,
    vanishing=(0.0,),
)  # fmt: skip
ACCUMULATING = System(
    "DDETST F2", f"DDETST F2{CHECKED}",
    lambda t, y, history, args: history.derivative(2 * t - 0.5),
    y0=(float(np.exp(-1 / 16)),), t0=0.25, t1=0.499,
    initial_history=of_one(lambda s: jnp.exp(-(s**2))), longest_lag=0.25, exact=each(accumulating),
    breaks=tuple((1 - 2.0**-power) / 2 for power in range(1, 12)),
    notes="its breaking points accumulate at 1/2",
)  # fmt: skip
BY_STATE = System(
    "DDETST G1", f"DDETST G1{CHECKED}",
    lambda t, y, history, args: -history.derivative(t - y[0] ** 2 / 4),
    y0=(1.0,), t0=0.0, t1=0.9, initial_history=of_one(lambda s: 1 - s), longest_lag=1.0,
    exact=each(lambda t: 1 + t), breaks=(0.0,),
    notes="the lag vanishes relative to t0 at 1, where there is a second solution",
)  # fmt: skip
DDETST_G2 = System(
    "DDETST G2", f"DDETST G2{CHECKED}",
    lambda t, y, history, args: -history.derivative(y[0] - 2),
    y0=(1.0,), t0=0.0, t1=1.0, initial_history=of_one(lambda s: 1 - s), longest_lag=1.0,
    exact=each(lambda t: 1 + t), breaks=(0.0,),
)  # fmt: skip
DDETST_H1 = System(
    "DDETST H1", f"DDETST H1{CHECKED}", ddetst_h1,
    y0=(0.0,), t0=0.0, t1=0.225 * np.pi, initial_history=of_one(lambda s: 0 * s), longest_lag=0.8,
    exact=each(lambda t: -np.log(np.cos(2 * t)) / 2), breaks=(0.0,), vanishing=(0.0,),
)  # fmt: skip
DDETST_H4 = System(
    "DDETST H4", f"DDETST H4{CHECKED}", ddetst_h4,
    y0=(0.0,), t0=0.0, t1=np.pi, initial_history=of_one(lambda s: s), longest_lag=np.pi,
    exact=each(np.sin), smooth_start=True, vanishing=(0.0, np.pi / 2),
)  # fmt: skip
SYSTEMS = (CONSTANT_LAG, DDETST_F1, ACCUMULATING, BY_STATE, DDETST_G2, DDETST_H1, DDETST_H4)
"""All of them."""
