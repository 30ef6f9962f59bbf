"""The published table of errors on the suite of delay equations, and how it is measured."""

from __future__ import annotations

import json
import math

import pytest

from benchmarks import dde_gradients
from benchmarks.dde import switched_systems, systems
from benchmarks.dde.conditioning import condition
from benchmarks.dde.systems import System, constant
from benchmarks.dde_accuracy import METHODS, SUITE, WANTED, error_over_tolerance, key, table
from tests.paths import ROOT

RESULTS = ROOT / "benchmarks" / "results"


def figures(name="dde_accuracy"):
    return json.loads((RESULTS / f"{name}.json").read_text())["figures"]


def test_the_page_has_the_measured_tables():
    text = (ROOT / "docs" / "dde" / "accuracy.md").read_text()
    tables = table(figures()) + dde_gradients.table(figures("dde_gradients"))
    assert [line for line in text.splitlines() if line.startswith("|")] == tables


@pytest.mark.slow
def test_the_condition_of_exponential_growth():
    """Y' = y from 1: a kick at s grows by exp(3 - s) up to 3, by hand."""
    growth = System(
        "growth", "", lambda t, y, history, args: y + 0.0 * history(t - 1.0),
        y0=(1.0,), t0=0.0, t1=3.0, initial_history=constant(1.0), longest_lag=1.0,
    )  # fmt: skip
    top = math.exp(3.0)
    summed = ((top - 1) + 3 * top) / (1 + top)
    assert condition(growth) == pytest.approx(summed * top / (1 + top), rel=0.03)


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize(
    ("system", "method", "tolerance"),
    [
        (systems.LINEAR, "Dopri8", 1e-9),
        (systems.DDETST_D1, "Bosh3", 1e-6),
        (systems.WILLE_BAKER, "Tsit5", 1e-9),
        (switched_systems.EMPTIED, "Dopri8", 1e-4),  # busy periods shorter than a step
    ],
)
def test_errors_are_reproduced(system, method, tolerance):
    values, name = figures(), key(system.name)
    error = error_over_tolerance(system, method, tolerance)
    assert error <= WANTED * values[f"condition.{name}"]
    published = values[f"error.{name}.{method}.{tolerance:.0e}"]
    assert error == pytest.approx(published, rel=0.5)


def test_the_exact_derivative_by_the_start():
    found = dde_gradients.exact()
    values = dde_gradients.VALUES
    assert set(found) == {"state", *values._fields}
    # The past does not depend on the start, so on the third lag it acts as a step at 0 does.
    late, later = 2.4 - values.lag, 2.4 - 2 * values.lag
    by_start = 1 - values.rate * late + values.rate**2 * later**2 / 2
    assert found["start"] == pytest.approx(by_start)


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("mode", list(dde_gradients.ADJOINTS))
def test_derivatives_are_reproduced(mode):
    """Dopri8 at 1e-4: a reverse mode that forgets when a breaking point is has 24 in `lag`."""
    (errors,) = dde_gradients.gradient_errors(METHODS["Dopri8"], mode, (1e-4,))
    assert max(errors.values()) < 1


def test_the_suite_leaves_nothing_out_but_the_networks():
    assert len(SUITE) == 30
    assert all(system.exact or system.reference for system in SUITE)
