"""The test systems against themselves: closed forms satisfy their equations, references exist."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.dde import neutral_systems, switched_systems, systems
from tests.dde.make_references import DATA, jobs
from tests.dde.method_of_steps import reference

SYSTEMS = systems.SYSTEMS + switched_systems.SYSTEMS
KNOWN = [system for system in SYSTEMS if system.exact]
STORED = [system for system in SYSTEMS if system.reference]
# central differences of order 8
POINTS = np.array([-4, -3, -2, -1, 1, 2, 3, 4])
WEIGHTS = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 4 / 5, -1 / 5, 4 / 105, -1 / 280])


def names(system):
    return system.name


def history_of(system):
    """The closed form, continued by the given past."""

    def history(s):
        s = np.asarray(s, dtype=float)
        known = system.exact(np.maximum(s, system.t0))
        before = np.asarray(system.initial_history(np.minimum(s, system.t0), system.args))
        return np.where((s < system.t0)[..., None], before, known)

    return history


def slope_at(system, t, y, history):
    """The slope with its switches and clamps, which a solver would see to."""
    given = ()
    if system.guards:
        given = (np.asarray(system.guards(t, y, history, system.args)) >= 0,)
    slope = np.array(system.rhs(t, y, history, system.args, *given))
    for component, lower, upper in system.bounds:
        if (lower is not None and y[component] <= lower and slope[component] < 0) or (
            upper is not None and y[component] >= upper and slope[component] > 0
        ):
            slope[component] = 0.0
    return slope


def interior(system, count, gap):
    """Times at least a gap away from where the closed form is not smooth."""
    ts = np.random.default_rng(7).uniform(system.t0 + gap, system.t1 - gap, count)
    breaks = np.array([*system.breaks, -1e9])
    return ts[np.abs(ts[:, None] - breaks).min(1) > gap]


@pytest.mark.parametrize("system", KNOWN, ids=names)
def test_closed_form_satisfies_the_equation(system):
    h, history = 1e-3, history_of(system)
    ts = interior(system, 60, 5 * h)
    assert len(ts) > 40
    for t in ts:
        slope = WEIGHTS @ system.exact(t + h * POINTS) / h
        y = system.exact(t)
        found = slope_at(system, t, y, history)
        assert found.shape == y.shape == (len(system.y0),)
        size = max(1.0, np.abs(y).max(), np.abs(slope).max())
        np.testing.assert_allclose(found, slope, rtol=0, atol=1e-10 * size)


class KnownPast:
    """The closed form as a history with derivatives, by differences; notes what is read."""

    def __init__(self, system):
        self.system, self.read = system, []
        self.value = history_of(system)

    def __call__(self, s):
        self.read.append(float(s))
        return self.value(float(s))

    def derivative(self, s):
        return np.tensordot(WEIGHTS, [self(s + h) for h in 1e-3 * POINTS], 1) / 1e-3


@pytest.mark.parametrize("system", neutral_systems.SYSTEMS, ids=names)
def test_closed_form_satisfies_the_neutral_equation(system):
    """Wherever no difference is across a breaking point."""
    h, checked = 1e-3, 0
    breaks = np.array([*system.breaks, system.t0])
    for t in interior(system, 100, 5 * h):
        history = KnownPast(system)
        found = np.asarray(system.rhs(t, system.exact(t), history, system.args))
        if system.smooth_start or np.ptp(np.searchsorted(breaks, history.read)) == 0:
            slope = WEIGHTS @ system.exact(t + h * POINTS) / h
            np.testing.assert_allclose(found, slope, rtol=1e-8, atol=1e-8)
            checked += 1
    assert checked > 50


@pytest.mark.parametrize("system", KNOWN, ids=names)
def test_closed_form_begins_at_the_start_and_is_continuous(system):
    np.testing.assert_allclose(system.exact(system.t0), system.y0, rtol=1e-14, atol=1e-14)
    for place in system.breaks:
        if system.t0 < place < system.t1:
            across = system.exact(place + 1e-10) - system.exact(place - 1e-10)
            assert np.abs(across).max() < 1e-7
    one, many = system.exact(system.t1), system.exact(np.array([system.t0, system.t1]))
    np.testing.assert_array_equal(many[1], one)


@pytest.mark.parametrize("system", SYSTEMS, ids=names)
def test_past_has_the_right_shape_and_ends_at_the_start(system):
    n = len(system.y0)
    assert np.shape(system.initial_history(system.t0, system.args)) == (n,)
    assert np.shape(system.initial_history(np.array([system.t0, system.t0]), system.args)) == (2, n)
    np.testing.assert_allclose(
        system.initial_history(system.t0, system.args), system.y0, atol=1e-14
    )
    assert (system.exact is None) != (system.reference is None)


@pytest.mark.parametrize("system", STORED, ids=names)
def test_stored_reference_belongs_to_the_system(system):
    with np.load(DATA / str(system.reference)) as stored:
        assert stored["ts"][0] == system.t0
        assert stored["ts"][-1] == system.t1
        assert stored["ys"].shape == (len(stored["ts"]), len(system.y0))
        np.testing.assert_allclose(stored["ys"][0], system.y0, atol=1e-14)
        assert stored["error"].max() < 1e-7
        assert "fixed_step_error" not in stored or stored["fixed_step_error"].max() < 1e-6


def answer(system):
    """The closed form, or the stored reference between its times."""
    if system.exact:
        return history_of(system)
    with np.load(DATA / str(system.reference)) as stored:
        ts, ys = stored["ts"], stored["ys"]
    return lambda s: np.array([np.interp(s, ts, column) for column in ys.T])


@pytest.mark.parametrize("system", SYSTEMS, ids=names)
def test_lags_are_below_the_longest(system):
    history, lags = answer(system), [0.0]
    for t in np.linspace(system.t0, system.t1, 101):

        def noted(s, t=t):
            lags.append(t - float(s))
            return jnp.asarray(history(float(s)))

        slope_at(system, t, np.asarray(history(t)), noted)
    assert min(lags) > -1e-12
    assert 0.5 * system.longest_lag <= max(lags) <= system.longest_lag


@pytest.mark.parametrize("system", SYSTEMS, ids=names)
def test_compiles_to_one_dtype(system):
    y = jnp.asarray(system.y0)

    def slope(t, y):
        def history(s):
            return jnp.broadcast_to(y, (*jnp.shape(s), *y.shape))

        if not system.guards:
            return system.rhs(t, y, history, system.args)
        indicators = system.guards(t, y, history, system.args)
        assert indicators.ndim == 1
        return system.rhs(t, y, history, system.args, indicators >= 0)

    found = jax.jit(slope)(jnp.float64(system.t1), y)
    assert (found.shape, found.dtype, found.weak_type) == (y.shape, y.dtype, False)


@pytest.mark.parametrize("system", STORED, ids=names)
def test_both_right_hand_sides_agree(system):
    """JAX's and NumPy's, written apart, along a wobbling path and on all branches."""
    problem = jobs()[str(system.reference).removesuffix(".npz")].problem
    history = answer(system)
    rng = np.random.default_rng(3)
    for t in rng.uniform(system.t0, system.t1, 40):
        y = history(t) * rng.uniform(0.95, 1.05, len(system.y0))
        given, above = (), np.zeros(0, dtype=bool)
        if system.guards:
            ours = np.asarray(system.guards(t, y, history, system.args))
            theirs = np.asarray(problem.guards(t, y, history))
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)
            above = ours >= 0
            given = (above,)
        found = np.asarray(system.rhs(t, y, history, system.args, *given))
        expected = problem.rhs(t, y, history, above)
        size = np.abs(expected).max() + 1e-6
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12 * size)


def test_epidemic_conserves_people():
    with np.load(DATA / str(systems.KERMACK.reference)) as stored:
        np.testing.assert_allclose(stored["ys"].sum(1), 6.1, rtol=0, atol=1e-11)


def test_a_stored_reference_is_reproduced():
    stored = np.load(DATA / "ddetst_c1.npz")
    found = reference(jobs()["ddetst_c1"].problem, rtol=1e-10, atol=1e-11).at(stored["ts"])
    np.testing.assert_allclose(found, stored["ys"], rtol=0, atol=1e-8)
