"""Recovery after a loss against printed numbers and closed forms."""

from __future__ import annotations

import math
from itertools import pairwise
from types import SimpleNamespace

import pytest
from scipy.integrate import quad

from vegasfluid.analysis.literature import growth_time, recovery_time
from vegasfluid.congestion import highspeed
from vegasfluid.congestion.base import Window
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.newreno import NewReno
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.congestion.unresponsive import Unresponsive
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.congestion.vegas_rerouting import VegasRerouting
from vegasfluid.errors import InvalidInput


def test_the_2084_round_trips_of_feng_and_tinnakornsrisuphap() -> None:
    """SC 2000, section 6: a window of 50 Mb in packets of 1500 bytes, 100 ms: 208.4 s."""
    found = recovery_time(Reno(), cwnd=50e6 / (1500 * 8), rtt=0.1)
    assert math.ceil(found.round_trips) == 2084
    assert round(math.ceil(found.round_trips) * 0.1, 1) == 208.4
    assert found.seconds == pytest.approx(0.1 * found.round_trips, rel=1e-15)


@pytest.mark.parametrize(
    ("window", "printed"),
    [(8.3, 5.5), (83.3, 55.5), (833.3, 555.5), (8333.3, 5555.5), (83333.3, 55555.5)],
)
def test_the_round_trips_between_losses_of_rfc_3649(window: float, printed: float) -> None:
    """Section 2, table 1: windows from 2/3 to 4/3 of the mean; the last digit is cut off."""
    found = recovery_time(NewReno(), cwnd=window * 4 / 3, rtt=0.1)
    assert found.round_trips == pytest.approx(printed, abs=0.06)


TABLE_6 = [(100, 131), (200, 475), (300, 1131), (400, 2160), (500, 3601), (1000, 17409)]
TABLE_6 += [(1500, 41336), (2000, 72754)]


def as_the_script_of_the_rfc() -> HighSpeed:
    """With the rounded p(w) = 1 / (12.8 w^1.2) of RFC 3649, appendix C."""
    low, high = (window**-1.2 / 12.8 for window in (38, 83000))
    return HighSpeed(low_prob=low, high_prob=high)


def test_highspeed_grows_as_in_table_6_of_rfc_3649() -> None:
    """Its script moves once a round trip, the fluid all the time: 1 in 400 sooner."""
    law = as_the_script_of_the_rfc()
    for (begin, low), (end, high) in pairwise(TABLE_6):
        found = growth_time(law, Window(float(low), 0.0), float(high), rtt=0.1)
        assert found.round_trips == pytest.approx(end - begin, rel=0.0025)


@pytest.mark.parametrize("cwnd", [20.0, 200.0, 20000.0])
def test_highspeeds_recovery_is_the_integral_over_its_packet_rule(cwnd: float) -> None:
    """Over dw / a(w) from (1 - b) W to W, with a and b as the rules for packets have them."""
    flow = SimpleNamespace(**HighSpeed().packet_parameters())
    left = cwnd * (1 - highspeed.decrease(flow, cwnd))
    edges = [38.0] if left < 38 < cwnd else None
    rounds, _ = quad(lambda w: 1 / highspeed.increase(flow, w), left, cwnd, points=edges)
    assert recovery_time(HighSpeed(), cwnd, 0.05).round_trips == pytest.approx(rounds, rel=1e-6)


@pytest.mark.parametrize("cwnd", [100.0, 1e4, 1e6])
def test_scalable_tcp_recovers_in_the_same_time_from_all_windows(cwnd: float) -> None:
    """ln(8/7) / 0.01 round trips; counted once a round trip, log_1.01(8/7), half a percent more."""
    found = recovery_time(Scalable(), cwnd, 0.2).round_trips
    assert found == pytest.approx(math.log(8 / 7) / 0.01, rel=1e-8)
    assert found == pytest.approx(math.log(8 / 7) / math.log(1.01), rel=0.006)


@pytest.mark.parametrize("beta", [0.7, 0.8])
@pytest.mark.parametrize("rtt", [0.01, 0.3])
def test_cubic_recovers_in_k_seconds_whatever_the_round_trip(beta: float, rtt: float) -> None:
    """K = cbrt(b W / C). The cubic is flat there, so that 1e-12 of W is 1e-4 of K."""
    law = Cubic(beta=beta, fast_convergence=False, friendly=False)
    found = recovery_time(law, 800.0, rtt)
    assert found.seconds == pytest.approx(((1 - beta) * 800 / 0.4) ** (1 / 3), rel=1e-4)


def test_cubic_that_is_friendly_recovers_as_aimd_over_short_round_trips() -> None:
    """It takes b W at 3 b / (2 - b) packets a round trip."""
    law = Cubic(fast_convergence=False)
    found = recovery_time(law, 100.0, 1e-4)
    assert found.round_trips == pytest.approx(30 / (0.9 / 1.7), rel=1e-3)


def test_cubic_takes_the_larger_of_two_windows_and_not_the_steeper_of_two_slopes() -> None:
    """Over long round trips the cubic is above W_est all the while: then it is as if alone."""
    alone = recovery_time(Cubic(friendly=False), 210.0, 0.1)
    assert recovery_time(Cubic(), 210.0, 0.1).seconds == pytest.approx(alone.seconds, rel=1e-4)


@pytest.mark.parametrize(
    ("law", "cut"),
    [
        (Vegas(), 1 / 2),
        (Vegas(dialect="linux"), 1 / 2),
        (Vegas(dialect="ns2"), 1 / 4),
        (Vegas(dialect="ns3"), 1 / 4),
        (VegasRerouting(), 1 / 4),
    ],
)
def test_vegas_climbs_a_packet_a_round_trip(law: Vegas, cut: float) -> None:
    found = recovery_time(law, 60.0, 0.08)
    assert found.round_trips == pytest.approx(60 * cut, rel=1e-9)


def test_vegas_recovers_below_alpha_and_not_above() -> None:
    """With a queue of 20 ms on 100 ms the window holds cwnd / 6 packets in it."""
    law = Vegas(alpha=5, beta=8, dialect="ns2")
    assert recovery_time(law, 24.0, 0.12, base_rtt=0.1).round_trips == pytest.approx(6, rel=1e-9)
    with pytest.raises(
        InvalidInput, match=r"^growth_time: cwnd must be a window that vegas reaches"
    ):
        recovery_time(law, 60.0, 0.12, base_rtt=0.1)


def test_invalid_input() -> None:
    with pytest.raises(InvalidInput, match=r"^recovery_time: law must be one that responds"):
        recovery_time(Unresponsive(), 10.0, 0.1)
    with pytest.raises(InvalidInput, match=r"^recovery_time: rtt must be above 0, but is 0"):
        recovery_time(Reno(), 10.0, 0.0)
    with pytest.raises(InvalidInput, match=r"^recovery_time: cwnd must be above 0, but is -1"):
        recovery_time(Reno(), -1.0, 0.1)
    with pytest.raises(InvalidInput, match=r"^recovery_time: base_rtt must be at most rtt"):
        recovery_time(Vegas(), 10.0, 0.1, base_rtt=0.2)
    with pytest.raises(InvalidInput, match=r"^growth_time: cwnd must be above that of reno's"):
        growth_time(Reno(), Window(10.0, 0.0), 10.0, 0.1)
    with pytest.raises(InvalidInput, match=r"^growth_time: rtt must be above 0"):
        growth_time(Reno(), Window(10.0, 0.0), 20.0, -0.1)
