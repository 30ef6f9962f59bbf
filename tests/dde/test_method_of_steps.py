"""The independent integrator against closed forms: lags of all kinds, switches, clamps.

The right-hand sides are NumPy and written out here.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.dde import switched_systems, systems
from tests.dde.make_references import DATA, jobs
from tests.dde.method_of_steps import Problem, reference

SQRT2 = math.sqrt(2)


def initial_history(system):
    """A constant past, or the closed form before the start."""
    if system.smooth_start:
        return lambda s: system.exact(max(s, 1e-9) if system.t0 > 0 else s)
    return lambda s: system.y0


def by_state(t, y, history, above):
    lag = 1 + 0.5 * y[0] ** 2
    forcing = math.cos(t) + 0.5 * math.sin(t - 1 - 0.5 * math.sin(t) ** 2)
    return forcing - 0.5 * history(t - lag)


def two_lags(t, y, history, above):
    near, far = math.cos(2) / math.sin(1), -math.cos(1) / math.sin(1)
    return near * history(t - 1) + far * history(t - 2)


def ddetst_d1(t, y, history, above):
    back = math.exp(1 - y[1])
    return np.array([y[1], -history(back)[1] * y[1] ** 2 * back])


GAIN = (systems.ROOT + 1) * math.exp(systems.ROOT)
# the system, its right-hand side, the times it reads
LAGS = [
    (systems.LINEAR, lambda t, y, h, a: -h(t - 1), lambda t, y: [t - 1]),
    (systems.EXPONENTIAL, lambda t, y, h, a: GAIN * h(t - 1) - y, lambda t, y: [t - 1]),
    (systems.TWO_LAGS, two_lags, lambda t, y: [t - 1, t - 2]),
    (systems.BY_STATE, by_state, lambda t, y: [t - 1 - 0.5 * y[0] ** 2]),
    (systems.PANTOGRAPH, lambda t, y, h, a: 1 - 2 * h(t / 2) ** 2, lambda t, y: [t / 2]),
    (
        systems.DDETST_B1,
        lambda t, y, h, a: 1 - h(math.exp(1 - 1 / t)),
        lambda t, y: [math.exp(1 - 1 / t)],
    ),
    (systems.DDETST_D1, ddetst_d1, lambda t, y: [math.exp(1 - y[1])]),
    (
        systems.FELDSTEIN_NEVES,
        lambda t, y, h, a: h(y[0] - SQRT2 + 1) / (2 * math.sqrt(t)),
        lambda t, y: [y[0] - SQRT2 + 1],
    ),
    (
        systems.LOGARITHMIC_LAG,
        lambda t, y, h, a: y * h(math.log(y[0])) / t,
        lambda t, y: [math.log(y[0])],
    ),
]


def check(system, problem, precision=2e-10):
    ts = np.linspace(system.t0, system.t1, 501)
    expected = system.exact(ts)
    solution = reference(problem)
    found = np.abs(solution.at(ts) - expected) / np.maximum(1.0, np.abs(expected))
    assert found.max() < precision
    return solution


@pytest.mark.parametrize(("system", "rhs", "delayed"), LAGS, ids=[row[0].name for row in LAGS])
def test_lags(system, rhs, delayed):
    span = (system.t0, system.t1)
    check(
        system,
        Problem(
            rhs, system.y0, span, initial_history(system), delayed, smooth_start=system.smooth_start
        ),
    )


def turn_back(t, y, history, above):
    return np.array([-1.0 if above[0] else 1.0])


# the system, its right-hand side, the times it reads, its switches, how often they change
SWITCHES = [
    (
        switched_systems.DDETST_B2,
        lambda t, y, h, a: turn_back(t, y, h, a) - y,
        lambda t, y: [t / 2],
        lambda t, y, h: h(t / 2),
        2,
    ),
    (
        switched_systems.FOLDED,
        lambda t, y, h, a: np.array([math.cos(t) if a[0] else -math.cos(t)]),
        lambda t, y: [],
        lambda t, y, h: [math.cos(t)],
        6,
    ),
    (
        switched_systems.STATE_KINK,
        lambda t, y, h, a: 2 * y if a[0] else np.array([1.0]),
        lambda t, y: [],
        lambda t, y, h: y - 1,
        1,
    ),
    (
        switched_systems.RELAY,
        turn_back,
        lambda t, y: [t - 1],
        lambda t, y, h: h(t - 1),
        10,
    ),
]


@pytest.mark.parametrize(
    ("system", "rhs", "delayed", "guards", "count"),
    SWITCHES,
    ids=[row[0].name for row in SWITCHES],
)
def test_switches(system, rhs, delayed, guards, count):
    span = (system.t0, system.t1)
    solution = check(
        system, Problem(rhs, system.y0, span, initial_history(system), delayed, guards)
    )
    assert len(solution.events) == count
    distances = [min(abs(np.array(system.breaks) - event)) for event in solution.events]
    assert max(distances) < 1e-11


BOUNDS = [
    (
        switched_systems.EMPTIED,
        lambda t, y, h, a: np.array([math.cos(t) - 0.5]),
        lambda t, y: [],
        8,
    ),
    (
        switched_systems.WALLS,
        lambda t, y, h, a: np.array([math.sin(t), h(t - 1)[0]]),
        lambda t, y: [t - 1],
        11,
    ),
]


@pytest.mark.parametrize(
    ("system", "rhs", "delayed", "count"), BOUNDS, ids=[row[0].name for row in BOUNDS]
)
def test_clamps(system, rhs, delayed, count):
    span = (system.t0, system.t1)

    def before(s):
        return np.asarray(system.initial_history(s, None))

    solution = check(system, Problem(rhs, system.y0, span, before, delayed, bounds=system.bounds))
    assert len(solution.events) == count
    distances = [min(abs(np.array(system.breaks) - event)) for event in solution.events]
    assert max(distances) < 1e-11


def test_the_stored_reference_is_reproduced():
    """The beginning of problem C: two excursions of the queue, and RED's kinks."""
    problem = jobs()["reno_red"].problem
    stored = np.load(DATA / "reno_red.npz")
    short = Problem(
        problem.rhs,
        problem.y0,
        (0.0, 15.0),
        problem.initial_history,
        problem.delayed_times,
        problem.guards,
        problem.bounds,
    )
    found = reference(short, rtol=1e-11, atol=1e-12).at(stored["ts"][:151])
    np.testing.assert_allclose(found, stored["ys"][:151], rtol=1e-8, atol=1e-8)


def test_an_unsolvable_switch_is_rejected():
    """At 0, y' = -sign y slides: no branch leads away."""
    problem = Problem(turn_back, [0.5], (0.0, 1.0), lambda s: [0.5], guards=lambda t, y, h: y)
    with pytest.raises(ArithmeticError, match="switches for ever"):
        reference(problem)
