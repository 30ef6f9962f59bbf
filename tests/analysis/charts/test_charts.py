"""The stability charts: the theory's tables, and the same edges by the equations' own Jacobians."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq

from tests.analysis.characteristic import characteristic
from vegasfluid.analysis import critical_value, equilibrium, fair_alpha, stability
from vegasfluid.analysis.charts import (
    STABLE_AT_ANY_GAIN,
    STABLE_AT_HIGH_GAIN,
    RenoPoint,
    VegasPoint,
    hollot_phase_margin,
    hollot_sufficient,
    points_at,
    reno_critical_gain,
    reno_point,
    vegas_critical_gain,
    vegas_point,
    vegas_unstable_gains,
)
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.base import CongestionControl, PacketRules, Signals, Window
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput
from vegasfluid.network import Flows, Link, Network
from vegasfluid.plot import stability_charts
from vegasfluid.quantities import Packets, Seconds, Share

FLOWS, CAPACITY, SPAN = 60, 3750.0, 550.0
"""Of the example of Hollot and others: flows, packets/s, packets."""
SENDING = 1 + 40 / 1500
"""What a packet and its ACK take of the link, packets."""
VEGAS, RATE, BACKLOG = 10, 1000.0, 5.0
"""Flows, packets/s, packets of each in the queue."""


# ---- Reno over RED


def marking(cwnd: float, gain: float, averaging: float, queue: float = 172.5) -> Network:
    """A network with a given window, queue, gain and rate of averaging at equilibrium."""
    rtt = FLOWS * cwnd / CAPACITY
    above = FLOWS / gain
    slope = 2 / cwnd**2 / above
    weight = -math.expm1(-averaging / rtt / CAPACITY)
    low = queue - above
    # without spacing a mark comes twice as often as the curve says
    law = Red(low, low + SPAN, slope * SPAN / 2, weight=weight, wait=False, ecn=True)
    base_rtt = rtt - (queue + SENDING) / CAPACITY
    flows = Flows(FLOWS, Reno(), base_rtt=base_rtt)
    return Network(Link(CAPACITY, 20_000.0, law), {"reno": flows})


@cache
def example(rate: float) -> Any:
    """The example of Hollot and others, with a rate of averaging, 1/s."""
    return equilibrium(marking(15.375, 60 / (2 / 15.375**2 * 550 / 0.1), rate * 0.246))


@pytest.mark.parametrize(
    ("cwnd", "gain"),
    [(5, 1.608), (10, 1.375), (15.4, 1.292), (20, 1.256), (50, 1.184), (100, 1.159), (1000, 1.137)],
)
def test_renos_edge_without_averaging_is_the_theorys_table(cwnd, gain):
    assert round(reno_critical_gain(cwnd), 3) == gain


def test_renos_edge_for_large_windows_is_an_angle():
    """There omega + atan(omega) is a quarter turn, and A = omega sqrt(1 + omega^2)."""
    omega = brentq(lambda x: x + math.atan(x) - math.pi / 2, 0.1, 2)
    assert round(reno_critical_gain(), 4) == 1.1349
    assert reno_critical_gain() == pytest.approx(omega * math.hypot(1, omega), rel=1e-12)


@pytest.mark.parametrize("averaging", [1e-3, 0.1, 1.0, 30.0])
def test_renos_edge_with_averaging_is_an_angle_too(averaging):
    angle = lambda x: x + math.atan(x) + math.atan(x / averaging) - math.pi / 2  # noqa: E731
    omega = brentq(angle, 1e-9, 2, xtol=1e-15)
    wanted = omega * math.hypot(1, omega) * math.hypot(1, omega / averaging)
    assert reno_critical_gain(averaging=averaging) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("cwnd", "averaging"), [(15.375, 1000.0), (50.0, 3.0), (8.0, 0.05)])
def test_the_fluids_own_verdict_turns_at_renos_edge(cwnd, averaging):
    limit = reno_critical_gain(cwnd, averaging)
    found = critical_value(lambda gain: marking(cwnd, gain, averaging), 0.97 * limit, 1.03 * limit)
    assert found == pytest.approx(limit, rel=1e-6)


def test_quick_averaging_is_none():
    assert reno_critical_gain(15.375, 1e6) == pytest.approx(reno_critical_gain(15.375), rel=1e-5)


@pytest.mark.parametrize("parts", [{"cwnd": 0.0}, {"averaging": -1.0}])
def test_renos_boundary_rejects_values_that_are_not_positive(parts):
    with pytest.raises(InvalidInput, match="above 0"):
        reno_critical_gain(**parts)


def test_a_network_has_the_place_in_renos_chart_that_it_was_made_for():
    found = reno_point(equilibrium(marking(20.0, 1.1, 7.0)))
    assert found == pytest.approx((20.0, 1.1, 7.0, 0.0), rel=1e-9)
    assert found.stable
    assert not RenoPoint(20.0, 1.3, math.inf).stable


@pytest.mark.parametrize(("cwnd", "averaging"), [(15.375, 1000.0)])
def test_the_fluids_own_verdict_turns_at_renos_edge_where_packets_are_dropped(cwnd, averaging):
    """The equilibrium moves with the drops: it is computed where stability changes."""

    def dropping(gain: float) -> Network:
        network = marking(cwnd, gain, averaging)
        return replace(network, flows={"reno": replace(network.flows["reno"], ecn=False)})

    marked = reno_critical_gain(cwnd, averaging)
    place = reno_point(equilibrium(dropping(critical_value(dropping, marked, 3 * marked))))
    assert place.drop_prob == pytest.approx(2 / place.cwnd**2, rel=1e-9)
    assert place.gain == pytest.approx(place.critical, rel=1e-6)
    assert place.gain > 1.1 * marked


def test_reno_with_small_windows_that_loses_packets_never_oscillates():
    assert reno_critical_gain(1.8, 1e3, 2 / 1.8**2) == math.inf


@pytest.mark.parametrize(("rate", "margin"), [(0.005, 89.1), (0.05, 49.6), (0.5, -2.7)])
def test_the_simplified_loop_has_the_phase_margins_of_the_theory(rate, margin):
    assert round(hollot_phase_margin(example(rate)), 1) == margin


def test_the_equilibrium_of_the_example_is_that_of_its_authors():
    found = example(0.005)
    assert found.values.cwnd[0] == pytest.approx(15.375, rel=1e-9)
    assert found.values.queue[0] == pytest.approx(172.5, rel=1e-9)
    assert round(float(found.values.drop_prob[0]), 5) == 0.00846
    assert found.values.rtt[0] == pytest.approx(0.246, rel=1e-9)


def test_the_sufficient_condition_holds_for_the_example_and_is_far_from_necessary():
    """Twice as quick an average breaks it, and 60 times as quick is stable yet."""
    found = hollot_sufficient(example(0.005))
    assert (round(found.lhs, 2), round(found.rhs, 2)) == (9.91, 10.62)
    assert found.holds
    assert found.stable
    quicker = hollot_sufficient(example(0.01))
    assert not quicker.holds
    assert quicker.stable
    for rate, stable in ((0.3, True), (0.5, False)):
        assert hollot_sufficient(example(rate)).stable is stable
        assert stability(example(rate)).stable is stable


# ---- Vegas


@dataclass(frozen=True)
class Sloped(CongestionControl):
    """A Vegas without edges: its step falls with the backlog, evenly."""

    name: ClassVar[str] = "sloped"
    sources: ClassVar[tuple[str, ...]] = ("D. Wei, C. Jin, S. Low and S. Hegde, 2006 (FAST)",)

    gain: Share = 1.0
    alpha: Packets = BACKLOG
    true_rtt: Seconds = 0.1

    def growth(self, window: Window, seen: Signals) -> Window:
        backlog = window.cwnd * (seen.rtt - self.true_rtt) / seen.rtt
        return Window(self.gain * (self.alpha - backlog) / seen.rtt, 0 * window.slow_start)

    def after_loss(self, window: Window, seen: Signals) -> Window:
        return Window(window.cwnd / 2, 0 * window.slow_start)

    @property
    def rules(self) -> PacketRules:
        return Reno().rules


def alone(rtt_ratio: float, gain: float) -> Network:
    """Ten flows that keep five packets each in the queue, and T/R as asked."""
    base_rtt = rtt_ratio / (1 - rtt_ratio) * VEGAS * BACKLOG / RATE
    flows = Flows(VEGAS, Sloped(gain, BACKLOG, base_rtt), base_rtt=base_rtt - SENDING / RATE)
    return Network(Link(RATE, 10_000.0, DropTail()), {"vegas": flows})


@pytest.mark.parametrize(
    ("rtt_ratio", "gain"),
    [(1.0, 1.135), (0.99, 1.163), (0.95, 1.290), (0.90, 1.497), (0.80, 2.251), (0.70, 5.68)],
)
def test_vegas_edge_is_the_theorys_table(rtt_ratio, gain):
    digits = 2 if gain > 5 else 3
    assert round(vegas_critical_gain(rtt_ratio), digits) == gain


def test_with_an_empty_queue_vegas_has_the_edge_of_reno_with_large_windows():
    assert vegas_critical_gain(1.0) == pytest.approx(reno_critical_gain(), rel=1e-12)


def test_from_this_ratio_on_vegas_is_stable_for_large_gains():
    """There omega + atan(omega) is half a turn; q / C is 0.4421 T."""
    omega = brentq(lambda x: x + math.atan(x) - math.pi, 1, 3)
    assert pytest.approx(1 / (1 + 1 / math.hypot(1, omega)), rel=1e-12) == STABLE_AT_HIGH_GAIN
    assert round(STABLE_AT_HIGH_GAIN, 5) == 0.69342


def rightmost_of_quasipolynomial(rtt_ratio: float, gain: float) -> float:
    """The largest real part of a root, by Chebyshev collocation of the delay equation.

    w' = -G (1 - t) w - G t v(-1), v' = w - v; in units of R, with v the queue's deviation.
    """
    size = 40
    places = np.cos(np.pi * np.arange(size + 1) / size)
    weights = np.where(np.arange(size + 1) % size == 0, 2.0, 1.0) * (-1.0) ** np.arange(size + 1)
    gaps = places[:, None] - places + np.eye(size + 1)
    matrix = np.outer(weights, 1 / weights) / gaps
    matrix -= np.diag(matrix.sum(axis=1))
    both = np.kron(2 * matrix, np.eye(2))
    both[:2] = 0
    both[:2, :2] = [[-gain * (1 - rtt_ratio), 0], [1, -1]]
    both[:2, -2:] += [[0, -gain * rtt_ratio], [0, 0]]
    return float(np.linalg.eigvals(both).real.max())


@pytest.mark.parametrize("rtt_ratio", [0.99, 0.8, 0.6935, 0.6925, 0.685, 0.682])
def test_vegas_oscillates_between_the_two_gains_of_its_edge(rtt_ratio):
    low, high = vegas_unstable_gains(rtt_ratio)
    assert rightmost_of_quasipolynomial(rtt_ratio, 0.999 * low) < 0
    assert rightmost_of_quasipolynomial(rtt_ratio, 1.001 * low) > 0
    if math.isfinite(high):
        assert rightmost_of_quasipolynomial(rtt_ratio, 0.999 * high) > 0
        assert rightmost_of_quasipolynomial(rtt_ratio, 1.001 * high) < 0
    else:
        assert rtt_ratio > STABLE_AT_HIGH_GAIN


def test_below_the_bulge_no_gain_makes_vegas_oscillate():
    gains = np.geomspace(1.0, 1e3, 60)
    just_below, just_above = STABLE_AT_ANY_GAIN - 1e-4, STABLE_AT_ANY_GAIN + 1e-4
    assert max(rightmost_of_quasipolynomial(just_below, gain) for gain in gains) < 0
    assert max(rightmost_of_quasipolynomial(just_above, gain) for gain in gains) > 0
    assert vegas_unstable_gains(just_below) == (math.inf, math.inf)


@pytest.mark.parametrize("rtt_ratio", [0.95, 0.8])
def test_the_fluids_own_verdict_turns_at_vegas_edge(rtt_ratio):
    limit = vegas_critical_gain(rtt_ratio)
    found = critical_value(lambda gain: alone(rtt_ratio, gain), 0.97 * limit, 1.03 * limit)
    assert found == pytest.approx(limit, rel=1e-6)


def test_the_fluids_own_verdict_turns_back_where_the_edge_does():
    low, high = vegas_unstable_gains(0.685)
    gains = (0.98 * low, 1.02 * low, 0.98 * high, 1.02 * high)
    found = [stability(alone(0.685, gain)).stable for gain in gains]
    assert found == [True, False, False, True]
    assert [VegasPoint(0.685, gain, 0.0).stable for gain in gains] == found


@pytest.mark.parametrize("gain", [5.0, 50.0])
def test_the_fluid_is_stable_whatever_the_gain_where_the_queue_is_long(gain):
    assert stability(alone(0.6, gain)).stable
    assert VegasPoint(0.6, gain, 0.0).stable


def test_a_network_has_the_place_in_vegas_chart_that_it_was_made_for():
    found = vegas_point(equilibrium(alone(0.9, 1.3)))
    assert found == pytest.approx((0.9, 1.3, 0.0), rel=1e-9, abs=1e-9)


def test_drop_tail_keeps_no_average_that_would_add_a_root():
    point = equilibrium(alone(0.9, 1.3))
    root = stability(point).rightmost_root
    function = sp.lambdify(sp.Symbol("s"), characteristic(point))
    assert abs(function(root)) < 1e-9 * abs(function(root + 0.1))
    assert abs(function(0.0)) > 1e-3


def test_the_gain_of_a_vegas_that_loses_packets_is_the_slope_of_its_climbing_share():
    law = Vegas(alpha=8, beta=10)
    point = equilibrium(alone(0.9, 1.3))
    found = vegas_point(replace(point, network=point.network.with_law("vegas", law)))
    near = [float(law.recovering_fraction(BACKLOG + way)) for way in (1e-5, -1e-5)]
    assert found.gain == pytest.approx((near[1] - near[0]) / 2e-5, rel=1e-8)
    assert found.losses == pytest.approx(float(law.recovering_fraction(BACKLOG)), rel=1e-9)


@pytest.mark.parametrize("law", [Reno(), Vegas(alpha=8, beta=10, dialect="linux")])
def test_laws_with_another_rule_are_not_in_vegas_chart(law):
    point = equilibrium(alone(0.9, 1.3))
    with pytest.raises(InvalidInput, match="controls of the backlog"):
        vegas_point(replace(point, network=point.network.with_law("vegas", law)))


def test_a_set_of_equilibria_is_no_point_of_the_chart():
    point = equilibrium(alone(0.9, 1.3))
    with pytest.raises(InvalidInput, match="a continuum"):
        vegas_point(replace(point, upper=point))


def test_other_laws_and_queues_have_no_place_in_renos_chart():
    point = equilibrium(alone(0.9, 1.3))
    with pytest.raises(InvalidInput, match="the chart is for Reno flows"):
        reno_point(point)
    with pytest.raises(InvalidInput, match="depends on the queue alone"):
        reno_point(replace(point, network=point.network.with_law("vegas", Reno())))


# ---- networks of several classes


def shared(**classes: Flows) -> Any:
    """Equilibrium of classes at the RED queue of 1000 packets/s that they share."""
    law = Red(min_thresh=50, max_thresh=150, weight=0.01, wait=False)
    return equilibrium(Network(Link(1000.0, 400, law), classes))


@pytest.mark.slow
@pytest.mark.unoptimised
def test_competing_flows_are_plotted_as_if_flows_like_them_filled_the_link():
    """Vegas flows with the fair alpha leave to Reno what as many Reno flows would."""
    vegas = Flows(3, Vegas(alpha=4, beta=6, dialect="ns2"), base_rtt=0.05)
    mixed = shared(reno=Flows(3, Reno(), base_rtt=0.05), vegas=vegas)
    fair = fair_alpha(mixed.network, "vegas").equilibrium
    alone = reno_point(shared(reno=Flows(6, Reno(), base_rtt=0.05)))
    found = points_at(fair)
    assert set(found) == {"reno", "vegas"}
    assert found["reno"] == pytest.approx(alone, rel=1e-6)
    base_rtt = 0.05 + (1 + 40 / 1500) / 1000
    rtt = base_rtt + float(fair.values.queue[0]) / 1000
    assert found["vegas"].rtt_ratio == pytest.approx(base_rtt / rtt, rel=1e-3)


def test_a_class_of_several_base_rtts_has_several_places():
    point = shared(reno=Flows(4, Reno(), base_rtt=(0.04, 0.04, 0.08, 0.08)))
    found = points_at(point)
    names = [f"reno, {1e3 * rtt:.4g} ms" for rtt in sorted(set(point.network.base_rtts("reno")))]
    assert list(found) == names
    near, far = found.values()
    assert near.cwnd == pytest.approx(far.cwnd, rel=1e-9)  # both see the same losses
    assert near.averaging < far.averaging


def test_what_is_in_neither_chart_has_no_place():
    point = example(0.05)
    assert points_at(replace(point, network=point.network.with_law("reno", Cubic()))) == {}
    red = Red(min_thresh=50, max_thresh=150, weight=0.01)
    links = {name: Link(1000.0, 400, red, delay=0.01) for name in ("one", "two")}
    both = Flows(4, Reno(), base_rtt=0.1, path=("one", "two"))
    assert points_at(replace(point, network=Network(links, {"reno": both}))) == {}


@pytest.mark.parametrize("rtt_ratio", [0.0, 1.1])
def test_vegas_boundary_rejects_invalid_rtt_ratios(rtt_ratio):
    with pytest.raises(InvalidInput, match="at most 1"):
        vegas_critical_gain(rtt_ratio)


# ---- the picture


def test_the_picture_has_both_edges_and_every_network():
    points = {
        "slow": RenoPoint(15.0, 1.3, 0.25),
        "quick $": RenoPoint(15.0, 1.2, 25.0),
        "lossy": RenoPoint(15.0, 1.2, 25.0, 0.01),
        "ten": VegasPoint(0.9, 2.0, 0.0),
    }
    left, right = stability_charts(points).axes
    lines = {line.get_label(): line for line in (*left.lines, *right.lines)}
    averaging = "averaging constant K R ="
    curves = {f"{averaging} 0.25", f"{averaging} 25", f"{averaging} 25, drops"}
    curves |= {"stability boundary"}
    assert set(lines) == curves | set(points)
    cwnd, gain = lines[f"{averaging} 25"].get_data()
    assert gain[40] == pytest.approx(reno_critical_gain(cwnd[40], 25.0))
    cwnd, gain = lines[f"{averaging} 25, drops"].get_data()
    assert gain[40] == pytest.approx(reno_critical_gain(cwnd[40], 25.0, 2.25 / cwnd[40] ** 2))
    ratio, gain = lines["stability boundary"].get_data()
    assert vegas_unstable_gains(ratio[100])[0] == pytest.approx(gain[100])
    assert lines["ten"].get_xydata().tolist() == [[0.9, 2.0]]
    assert left.get_ylim()[0] < 1.2 < left.get_ylim()[1]


def test_the_picture_without_networks_shows_the_edges():
    left, right = stability_charts().axes
    assert [line.get_label() for line in left.lines] == ["no averaging"]
    assert len(right.lines) == 1
