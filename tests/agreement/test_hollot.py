"""Misra, Gong and Towsley's model at Hollot's examples of RED and PI: equilibrium and stability."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks import hollot
from benchmarks.harness import Figures
from benchmarks.hollot import LOW, MIN_THRESH, QUICK, SLOPE, Cycle
from benchmarks.hollot_pi import (
    crossover,
    exact_loop,
    gain_margin,
    network_over_pi,
    package_crossover,
    simplified_loop,
)
from vegasfluid import FluidOptions
from vegasfluid.analysis import stability


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
    assert len(figures.targets) == len(figures.values) == 13
    assert figures.missed() == []


def test_another_closure_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    other = FluidOptions("iid", recovery=False, timeouts=False, whole_packets=False)
    monkeypatch.setattr(hollot, "MISRA_GONG_TOWSLEY", other)
    figures = Figures()
    hollot.add_fixed_point(figures)
    assert set(figures.missed()) == set(figures.values)


@pytest.mark.slow
@pytest.mark.unoptimised
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


@pytest.mark.slow
@pytest.mark.unoptimised
def test_the_crossover_of_the_pi_example_is_the_published_one() -> None:
    """0.53 rad/s and 75 degrees, which the paper has to two digits; a - b has one digit only.

    By hand, with z = 0.528 close to 2 N / (R^2 C): K C^2 / (2 N z) = omega sqrt(omega^2 + 1 / R^2)
    and a phase of -90 degrees - omega R - atan(omega R).
    """
    strength = 6e-8 * 160 * 3750**2 / 120 / (6e-8 * 160 / 1.819e-5)
    omega = 0.5196
    assert omega * math.hypot(omega, 1 / 0.246) == pytest.approx(strength, rel=2e-3)
    phase = 90 - math.degrees(omega * 0.246 + math.atan(omega * 0.246))
    by_hand = crossover(lambda omega: simplified_loop(omega, 60, 0.246))
    assert by_hand.frequency == pytest.approx(omega, rel=2e-3)
    assert by_hand.phase_margin == pytest.approx(phase, abs=0.2)
    found = package_crossover(60, 0.246)
    assert found.frequency == pytest.approx(0.53, rel=0.03)
    assert found.phase_margin == pytest.approx(75, abs=1)


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize(
    ("flows", "rtt"), [(60, 0.246), (240, 0.246), (60, 0.123), (30, 0.246), (10, 0.246), (60, 0.5)]
)
def test_the_linear_analysis_of_pi_is_the_exact_loop(flows: int, rtt: float) -> None:
    """More flows and shorter round trips, for which the paper promises stability, and others."""
    exact = crossover(lambda omega: exact_loop(omega, flows, rtt))
    found = package_crossover(flows, rtt)
    assert found.frequency == pytest.approx(exact.frequency, rel=1e-9)
    assert found.phase_margin == pytest.approx(exact.phase_margin, rel=1e-9)
    answer = stability(network_over_pi(flows, rtt))
    assert answer.gain_margin == pytest.approx(gain_margin(flows, rtt), rel=1e-9)
    assert answer.stable


def test_fewer_flows_and_longer_round_trips_make_pi_unstable() -> None:
    """The paper's claim is for at least 60 flows and at most 0.246 s; far beyond the loop fails."""
    margins = [gain_margin(60, rtt) for rtt in (0.123, 0.246, 0.5, 0.7)]
    assert margins == sorted(margins, reverse=True)
    margins += [gain_margin(flows, 0.246) for flows in (120, 60, 30, 10, 5)]
    assert margins[4:] == sorted(margins[4:], reverse=True)
    for flows, rtt in ((60, 0.7), (5, 0.246)):
        answer = stability(network_over_pi(flows, rtt))
        assert not answer.stable
        assert answer.gain_margin == pytest.approx(gain_margin(flows, rtt), rel=1e-9)
        assert gain_margin(flows, rtt) < 1
