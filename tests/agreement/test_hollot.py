"""Misra, Gong and Towsley's model at Hollot's example: equilibrium, boundary, limit cycle."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks import hollot
from benchmarks.harness import Figures
from benchmarks.hollot import LOW, MIN_THRESH, QUICK, SLOPE, Cycle
from vegasfluid import FluidOptions


@pytest.mark.parametrize(
    ("cwnd", "gain"),
    [(5, 1.608), (10, 1.375), (20, 1.256), (50, 1.184), (100, 1.159), (1000, 1.137)],
)
def test_the_critical_gain_is_that_of_theory(cwnd: float, gain: float) -> None:
    assert hollot.critical_gain(cwnd) == pytest.approx(gain, abs=1e-3)


def test_large_windows_have_a_closed_form() -> None:
    """With W without bound: omega + atan(omega) = pi / 2 and A = omega sqrt(1 + omega^2)."""
    omega = 0.860334
    assert omega + math.atan(omega) == pytest.approx(math.pi / 2, abs=1e-6)
    assert hollot.critical_gain(1e9) == pytest.approx(omega * math.hypot(1, omega), rel=1e-5)


@pytest.mark.parametrize(("rate", "margin"), [(0.005, 89.1), (0.05, 49.6), (0.5, -2.7)])
def test_phase_margins_of_the_simplified_loop(rate: float, margin: float) -> None:
    assert hollot.phase_margin(rate, LOW) == pytest.approx(margin, abs=0.05)


def test_the_equilibrium_of_the_example() -> None:
    at = hollot.equilibrium_point(LOW, SLOPE)
    assert at.cwnd == pytest.approx(15.375, rel=1e-9)
    assert at.queue == pytest.approx(172.5, rel=1e-9)
    assert at.prob == pytest.approx(0.00846, abs=5e-6)
    assert at.rtt == pytest.approx(0.246, rel=1e-9)


def test_the_fluid_model_converges_to_the_equilibrium() -> None:
    figures = Figures()
    hollot.add_fixed_point(figures)
    assert len(figures.targets) == 2
    assert figures.missed() == []


@pytest.mark.study
def test_the_fluid_model_has_the_equilibrium_boundary_and_limit_cycle() -> None:
    figures = hollot.measure(full=False)
    assert len(figures.targets) == len(figures.values) == 7
    assert figures.missed() == []


def test_another_closure_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    other = FluidOptions("iid", recovery=False, timeouts=False, whole_packets=False)
    monkeypatch.setattr(hollot, "MISRA_GONG_TOWSLEY", other)
    figures = Figures()
    hollot.add_fixed_point(figures)
    assert set(figures.missed()) == set(figures.values)


def test_gains_that_theory_tried() -> None:
    """A = 1.067, 1.203: the queue converges; 1.305, 1.407: it does not (section 4b)."""
    gains = (1.067, 1.203, 1.305, 1.407)
    slopes = np.array([hollot.slope_of(gain, MIN_THRESH) for gain in gains])
    found = hollot.cycles(MIN_THRESH, slopes, np.array(QUICK))
    assert [cycle.peak_to_peak > 50 for cycle in found] == [False, False, True, True]
    assert hollot.boundary(np.array(gains), found) == pytest.approx((1.203 + 1.305) / 2)


def test_a_boundary_beyond_the_values_is_none() -> None:
    converges, goes_on = Cycle(1.0, 0.1, 1.0, 1.0), Cycle(1.0, 1.0, 1.0, 1.0)
    for found in ([converges, converges], [goes_on, goes_on]):
        assert math.isnan(hollot.boundary(np.array([1.0, 2.0]), found))
