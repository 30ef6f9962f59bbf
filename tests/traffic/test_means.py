"""How much each traffic source offers in the mean, by the closed forms of its distributions."""

from __future__ import annotations

import pytest

import vegasfluid as vf
from tests.traffic.application import application, draw_random_numbers
from vegasfluid.traffic import random_variates
from vegasfluid.traffic.base import NEW_CONNECTION
from vegasfluid.traffic.cbr import Cbr
from vegasfluid.traffic.poisson import Poisson
from vegasfluid.traffic.sessions import Sessions

SPREAD = 4.0
"""Standard errors within which a mean has to lie."""


@pytest.fixture(autouse=True)
def random_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    draw_random_numbers(monkeypatch)


def test_cbr_offers_a_packet_each_interval() -> None:
    flow, _ = application(Cbr(100.0), 5.0)
    assert flow.offered == 500


def test_poisson_offers_its_mean_rate() -> None:
    """A Poisson number of packets: its variance is its mean."""
    flow, _ = application(Poisson(0.01), 100.0)
    assert flow.offered == pytest.approx(10_000, abs=SPREAD * 100)


def test_pareto_numbers_have_their_smallest_value_and_their_median() -> None:
    """Of mean m and shape a the smallest is m (a - 1) / a, the median that times 2^(1/a)."""
    drawn = sorted(random_variates.pareto(None, 3.0, 1.5) for _ in range(4001))
    assert drawn[0] == pytest.approx(1.0, rel=0.01)
    assert drawn[0] >= 1.0
    # P(X <= median) = 1/2; its standard error is 1 / (2 sqrt(n) f) with f = a / (2 median).
    median = 2 ** (1 / 1.5)
    error = median / (1.5 * 4001**0.5)
    assert drawn[2000] == pytest.approx(median, abs=SPREAD * error)


@pytest.mark.parametrize("overlapping", [False, True])
def test_sessions_arrive_at_their_rate_and_carry_their_size(overlapping: bool) -> None:
    """Transfers are over at once here, so gaps of 0.5 s are those between two of them.

    The mean transfer is 0.15 MB / 1500 bytes + 1/2 packets; with a shape of 3 its standard
    deviation is 1 / sqrt(3) of its mean.
    """
    traffic = Sessions(0.5, 0.15, shape=3.0, overlapping=overlapping)
    flow, returned = application(traffic, 2000.0)
    arrived = returned.count(NEW_CONNECTION)
    assert arrived == pytest.approx(4000, abs=SPREAD * 4000**0.5)
    error = 100 / 3**0.5 / arrived**0.5
    assert flow.offered / arrived == pytest.approx(100.5, abs=SPREAD * error)


def test_exponential_times_have_the_means_of_pareto_ones() -> None:
    """A flow of 10 MB at 30 Mbit/s takes 2.667 s, and the gap is 0.5 s: 25.3 Mbit/s."""
    traffic = vf.OnOff(0.03, 0.07, vf.mbps(100), 3.0, "exponential", mean_gap=0.5, mean_size=10.0)
    flow, returned = application(traffic, 400)
    assert returned.count(NEW_CONNECTION) == pytest.approx(400 / 3.167, rel=0.15)
    assert flow.offered / 400 / vf.mbps(1) == pytest.approx(25.3, rel=0.1)
