"""Roots, margins and verdicts: against known equations, textbook forms and nonlinear runs."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest
from scipy.special import lambertw

from benchmarks.hollot import MIN_THRESH, critical_gain, network_of, slope_of
from benchmarks.stability import FAMILIES, cases
from vegasfluid import (
    DropTail,
    Flows,
    InvalidInput,
    Link,
    Network,
    Red,
    Reno,
    Vegas,
    simulate_fluid,
)
from vegasfluid.analysis import critical_value, equilibrium, linearise, stability
from vegasfluid.analysis.linear_stability import delay_system
from vegasfluid.analysis.linear_stability.delay_system import DelaySystem, DelayTerm
from vegasfluid.analysis.linear_stability.linearisation import FeedbackLoop
from vegasfluid.analysis.linear_stability.margins import delay_margin, gain_margin, nyquist_loci
from vegasfluid.analysis.linear_stability.spectrum import generator, rightmost_roots, unstable_count
from vegasfluid.errors import SolveFailed

QUICK = 100.0


def delayed(gain: float, lag: float, summed: bool = False) -> DelaySystem:
    """x'(t) = -gain x(t - lag), or minus gain times the integral of x over the lag."""
    term = DelayTerm(lag, 0, summed, np.array([-gain]), np.zeros(1))
    return DelaySystem(np.zeros((1, 1)), np.ones((1, 1)), (term,))


@pytest.mark.parametrize(("gain", "lag"), [(0.3, 1.0), (1.0, 1.0), (2.5, 0.7), (9.0, 0.1)])
def test_roots_of_the_scalar_equation_are_those_of_lambert(gain, lag):
    """The roots of s = -gain exp(-s lag) are W_k(-gain lag) / lag."""
    wanted = sorted(
        (complex(lambertw(-gain * lag, k)) / lag for k in range(-4, 4)), key=lambda s: -s.real
    )
    found = rightmost_roots(delayed(gain, lag))
    assert abs(found[0] - wanted[0]) < 1e-10 or abs(found[0] - wanted[1]) < 1e-10
    assert sorted(found[:4].real) == pytest.approx(sorted(s.real for s in wanted[:4]), abs=1e-9)


@pytest.mark.parametrize("gain", [1e-3, 1 / math.e, 300.0, 4015.2220773168337, 7012.899229127095])
def test_an_iterate_that_did_not_converge_is_no_root(gain):
    """The rightmost root is W_0(-gain), or none is given; at 1 / e it is -1, a double root.

    With 24 intervals the estimates at gains in the thousands are too far from the roots.
    """
    try:
        found = rightmost_roots(delayed(gain, 1.0))
    except SolveFailed:
        assert gain > 1000
        return
    wanted = -1.0 if gain == 1 / math.e else complex(lambertw(-gain)).real
    assert found[0].real == pytest.approx(wanted, abs=1e-7)
    for root in found[found.real > -30]:  # exp(-root) exceeds 1e13 further left
        assert abs(root + gain * np.exp(-root)) < 1e-6 * max(abs(root), 1)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_network_is_stable_where_its_run_settles():
    """An iterate of 0.56 + 19.3i per s, which had not converged, counted as a root."""
    classes = {"reno": Reno(), "vegas": Vegas(3, 5, dialect="linux")}
    flows = {name: Flows(3, law, base_rtt=0.02) for name, law in classes.items()}
    network = Network(Link(1000.0, 200, Red(20, 80, max_drop=0.1)), flows)
    queue = simulate_fluid(network, 120.0, samples=1201)["queue"].values[-200:, 0]
    assert np.ptp(queue) < 1e-3
    found = stability(equilibrium(network))
    assert found.stable
    assert np.max(np.real(found.roots)) < 0


def test_the_scalar_equation_oscillates_from_half_pi_on():
    """Gain times lag pi / 2; the delay margin of a slower one is pi / (2 gain) less its lag."""
    open_loop = delayed(0.0, 0.7)
    loop = FeedbackLoop.from_systems(delayed(1.0, 0.7), open_loop)
    loci = nyquist_loci(loop)
    gain, delay = gain_margin(loci), delay_margin(loci)
    assert gain is not None
    assert gain.margin == pytest.approx(math.pi / 2 / 0.7, rel=1e-9)
    assert gain.frequency == pytest.approx(math.pi / 2 / 0.7, rel=1e-9)
    assert delay is not None
    assert delay.margin == pytest.approx(math.pi / 2 - 0.7, rel=1e-9)


@pytest.mark.parametrize("number", range(1200, 1600, 40))
def test_a_crossing_at_a_frequency_of_the_grid_is_found(number):
    """The return ratio of x' = -g x(t - 1) has the absolute value g / omega: 1 at omega = g."""
    grid = nyquist_loci(FeedbackLoop.from_systems(delayed(1.0, 1.0), delayed(0.0, 1.0)))
    gain = float(grid.frequencies[number])
    loop = FeedbackLoop.from_systems(delayed(gain, 1.0), delayed(0.0, 1.0))
    found = delay_margin(nyquist_loci(loop))
    assert found is not None
    assert found.frequency == pytest.approx(gain, rel=1e-9)
    assert found.margin == pytest.approx(math.pi / 2 / gain - 1, rel=1e-9)


def test_many_points_are_computed_in_parts(monkeypatch):
    """Memory is bounded, and the loci and roots are those of single points."""
    system = delayed(2.0, 1.0, summed=True)
    points = 1j * np.geomspace(1e-9, 1e3, 50)
    one_by_one = np.array([system.characteristic(s) for s in points])
    assert system.characteristic(points) == pytest.approx(one_by_one, rel=1e-15)
    loop = FeedbackLoop.from_systems(delayed(1.0, 1.0), delayed(0.0, 1.0))
    whole, roots = nyquist_loci(loop).curves, unstable_count(system, 50.0)
    monkeypatch.setattr(delay_system, "MOST_BYTES", 7 * 16 * 2**2)
    assert [len(part) for part in system.parts(points)] == [7] * 7 + [1]
    np.testing.assert_array_equal(nyquist_loci(loop).curves, whole)
    assert unstable_count(system, 50.0) == roots


def test_an_integral_over_the_past():
    """With x' = -g (integral over the lag), s^2 = -g (1 - exp(-s lag))."""
    lag = 1.0
    critical = (math.pi / lag) ** 2 / 2  # s = i pi: -pi^2 = -g (1 + 1)
    assert abs(rightmost_roots(delayed(critical, lag, summed=True))[0] - 1j * math.pi) < 1e-9
    assert rightmost_roots(delayed(0.9 * critical, lag, summed=True))[0].real < 0
    assert rightmost_roots(delayed(1.1 * critical, lag, summed=True))[0].real > 0


@pytest.mark.parametrize("part", [1.05, 1.3])
def test_collocation_converges_to_zeros_of_the_characteristic_function(part):
    made = network_of(MIN_THRESH, part * slope_of(critical_gain(15.9), MIN_THRESH), QUICK)
    linear = linearise(equilibrium(made)).closed_loop
    root = rightmost_roots(linear)[0]
    exact = np.linalg.det(linear.characteristic(root))
    near = np.linalg.det(linear.characteristic(root * 1.001))
    assert abs(exact) < 1e-8 * abs(near)
    errors = [
        np.min(np.abs(np.linalg.eigvals(generator(linear, count)) - root)) for count in (5, 10, 20)
    ]
    assert errors[1] < 1e-2 * errors[0]
    assert errors[2] < 1e-9
    assert unstable_count(linear, 50.0) == 2 == sum(rightmost_roots(linear).real > 0)


@pytest.mark.parametrize("gain", [1.05, 1.2, 1.4])
def test_the_gain_margin_of_reno_over_red_is_that_of_the_textbook_form(gain):
    """Theory sheet, section 4b: found from its own equation, without the fluid model."""
    point = equilibrium(network_of(MIN_THRESH, slope_of(gain, MIN_THRESH), QUICK))
    at = point.values
    critical = critical_gain(float(at.cwnd[0]), QUICK * float(at.rtt[0]))
    found = stability(point)
    actual = 60 / (float(at.queue[0]) - MIN_THRESH)
    assert found.gain_margin == pytest.approx(critical / actual, rel=1e-9)
    assert found.stable == (actual < critical)


def test_the_delay_margin_is_the_delay_that_the_signal_may_have():
    """With e^(-s t) on the loop's transfer a root stands on the axis."""
    point = equilibrium(network_of(MIN_THRESH, slope_of(1.1, MIN_THRESH), QUICK))
    loop = linearise(point)
    margin = delay_margin(nyquist_loci(loop))
    assert margin is not None
    late = cmath.exp(-1j * margin.frequency * margin.margin)
    assert (
        np.min(np.abs(late * np.linalg.eigvals(loop.return_ratio(1j * margin.frequency)) - 1))
        < 1e-9
    )
    assert stability(point).delay_margin == margin.margin


def test_the_critical_value_is_where_the_gain_margin_is_one():
    slope = critical_value(
        lambda slope: network_of(MIN_THRESH, slope, QUICK),
        slope_of(1.1, MIN_THRESH),
        slope_of(1.5, MIN_THRESH),
    )
    assert stability(network_of(MIN_THRESH, slope, QUICK)).gain_margin == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_verdicts_are_those_of_the_nonlinear_equations():
    """One of the families of `benchmarks.stability`, and the rates at which disturbances grow."""
    (family,) = (item for item in FAMILIES if item.name == "reno and vegas (ns2)")
    for case in cases(family, (0.98, 1.02)):
        assert case.right
        assert case.measured == pytest.approx(case.predicted, rel=0.05)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_full_buffer_has_no_verdict_in_the_reverse_direction_either():
    upwards = {"reno": Flows(10, Reno(), base_rtt=0.05, direction="reverse")}
    with pytest.raises(InvalidInput, match="bottleneck: a full buffer is not supported"):
        stability(Network(Link(1000.0, 100, DropTail()), upwards))


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_missing_verdict_has_a_reason():
    vegas = {"vegas": Flows(2, Vegas(3, 5), base_rtt=0.05)}
    with pytest.raises(InvalidInput, match="a continuum of equilibria is not supported"):
        stability(Network(Link(1000.0, 100), vegas))
    reno = {"reno": Flows(10, Reno(), base_rtt=0.05)}
    with pytest.raises(InvalidInput, match="bottleneck: a full buffer is not supported"):
        stability(Network(Link(1000.0, 100, DropTail()), reno))
    with pytest.raises(InvalidInput, match="both are stable"):
        critical_value(
            lambda slope: network_of(MIN_THRESH, slope, QUICK),
            slope_of(1.1, MIN_THRESH),
            slope_of(1.15, MIN_THRESH),
        )
