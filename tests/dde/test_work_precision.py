"""The work-precision benchmark: interpolation at equal errors, its peers, its stored results."""

from __future__ import annotations

import json
import math

import jax
import numpy as np
import pytest

from benchmarks.dde import switched_systems, systems
from benchmarks.dde.peers import scipy_peer
from benchmarks.dde.problems import error_of, known
from benchmarks.work_precision import curves
from benchmarks.work_precision.__main__ import turn
from benchmarks.work_precision.curves import Point, comparison, curve, key, time_at
from benchmarks.work_precision.solvers import ORBIT, SCIPY, SYSTEMS, kepler, solve_of
from tests.paths import ROOT

LINE = [Point(10.0**-digits, 2.0**digits) for digits in range(1, 6)]
"""Each digit doubles the time."""


def stored() -> dict[str, float]:
    path = ROOT / "benchmarks" / "results" / "work_precision.json"
    return json.loads(path.read_text())["figures"]


def test_times_are_interpolated_in_logarithms():
    assert time_at(LINE, 1e-3) == pytest.approx(8.0)
    assert time_at(LINE, 10**-3.5) == pytest.approx(8 * math.sqrt(2))


def test_the_loosest_tolerance_counts_where_all_are_within_the_error():
    assert time_at(LINE, 0.5) == 2.0


def test_an_error_that_is_not_reached_has_no_time():
    assert math.isnan(time_at(LINE, 1e-6))
    assert math.isnan(time_at([], 1e-3))


def test_an_error_that_is_reached_by_luck_does_not_count():
    lucky = [Point(0.1, 2.0), Point(1e-9, 4.0), Point(0.1, 8.0), Point(1e-3, 16.0)]
    assert time_at(lucky, 1e-2) == pytest.approx(math.sqrt(8.0 * 16.0))


def test_the_fastest_method_of_each_solver_is_compared():
    problem, figures = "Mackey-Glass", {}
    for name, factor in (("Bosh3", 3.0), ("Tsit5", 1.0), ("JiTCDDE", 7.0)):
        for tolerance in curves.TOLERANCES:
            figures[f"{key(problem, name, tolerance)}.error"] = tolerance
            figures[f"{key(problem, name, tolerance)}.ms"] = factor / tolerance
    assert len(curve(figures, problem, "Bosh3")) == len(curves.TOLERANCES)
    ratios = comparison(figures)
    assert len(ratios) == len(curves.ERRORS)
    assert ratios["Mackey-Glass.error_1e-03.times_jitcdde"] == pytest.approx(7.0)


def test_stored_comparisons_follow_from_the_stored_points():
    figures = stored()
    ratios = comparison(figures)
    assert len(ratios) == len(curves.ERRORS) * sum(map(len, curves.COMPARED.values()))
    assert ratios == pytest.approx({name: figures[name] for name in ratios})


def test_errors_of_the_plot_are_well_above_those_of_the_references():
    smallest = min(value for name, value in stored().items() if name.endswith(".error"))
    assert smallest > 10 * 6e-12


def test_a_turn_repeats_short_solves_only():
    calls = []

    def solve(seconds: float):
        calls.append(seconds)
        return None, seconds

    assert turn(lambda: solve(1e-4)) == 1e-4
    assert turn(lambda: solve(1.0)) == 1.0
    assert calls == [1e-4, 1e-4, 1e-4, 1.0]


def test_the_orbit_satisfies_its_equation():
    times, step = np.linspace(0.0, 20.0, 41), 1e-4
    slopes = (kepler(times + step) - kepler(times - step)) / (2 * step)
    wanted = [ORBIT.rhs(time, y, None, None) for time, y in zip(times, kepler(times), strict=True)]
    np.testing.assert_allclose(slopes, np.array(wanted), atol=3e-6)


@pytest.mark.parametrize("method", ["RK45", "DOP853"])
def test_scipy_by_the_method_of_steps_solves_a_delay_equation(method):
    """A solution in closed form: polynomials between multiples of the lag."""
    equation = scipy_peer.Equation(
        lambda t, y, history: -history(t - 1.0), (1.0,), (1.0,), 0.0, 9.5
    )
    times = np.linspace(0.0, 9.5, 96)
    found = scipy_peer.solve(equation, method, 1e-9, times)
    np.testing.assert_allclose(found.ys, systems.step_polynomial(times), atol=1e-7)
    assert found.cpu > 0


@pytest.mark.parametrize("name", SCIPY)
def test_right_hand_sides_for_scipy_are_those_of_the_systems(name):
    system, (rhs, _) = SYSTEMS[name], SCIPY[name]
    y = np.asarray(system.y0) * 1.1
    with jax.enable_x64(True):
        wanted = system.rhs(0.3, y, lambda s: y * np.cos(s), system.args)
    np.testing.assert_allclose(rhs(0.3, y, lambda s: y * np.cos(s)), wanted, rtol=1e-12)


def test_a_solve_has_the_error_of_its_figure():
    found, cpu = solve_of("orbit", "SciPy_DOP853", 1e-6)()
    error = error_of(found, known(ORBIT).ys)
    assert error == pytest.approx(stored()["orbit.SciPy_DOP853.1e-06.error"], rel=1e-3)
    assert cpu > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "system",
    [systems.KERMACK, systems.BY_STATE, switched_systems.DDETST_C2],
    ids=lambda system: system.name,
)
def test_jitcdde_solves_the_problems_written_for_it(system):
    pytest.importorskip("jitcdde")
    found, _ = solve_of(system.name, "JiTCDDE", 1e-6)()
    assert error_of(found, known(system).ys) < 2e-4
