"""Prices against the zeros of the laws' own drifts and the response functions of RFCs."""

from __future__ import annotations

import math

import pytest
from scipy.optimize import brentq

from tests.analysis import drifts
from tests.analysis.literature.price import price_arguments, price_of
from tests.analysis.literature.utility import fairness_exponent
from vegasfluid.analysis.closed_forms.formula import Formula
from vegasfluid.congestion import CongestionControl
from vegasfluid.congestion.base import LOSS_PROCESSES
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.newreno import NewReno
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.congestion.vegas import Vegas

DIALECTS = ("brakmo", "ns2", "ns3", "linux")
LOSS_BASED = (Reno(), NewReno(), Scalable(), Scalable(0.02, 0.25), HighSpeed())


@pytest.mark.parametrize("process", LOSS_PROCESSES)
@pytest.mark.parametrize("law", LOSS_BASED, ids=lambda law: law.name)
@pytest.mark.parametrize(("cwnd", "rtt"), [(10.0, 0.03), (120.0, 0.2), (3000.0, 0.1), (2e5, 0.1)])
def test_at_its_price_a_law_is_at_equilibrium(
    law: CongestionControl, process: str, cwnd: float, rtt: float
) -> None:
    price = price_of(law, process, cwnd, rtt)(rate=cwnd / rtt, rtt=rtt)
    assert drifts.window(law, rtt, price, process) == pytest.approx(cwnd, rel=1e-9)


@pytest.mark.parametrize("process", LOSS_PROCESSES)
@pytest.mark.parametrize(
    "law", [Cubic(), Cubic(C=4.0, fast_convergence=False), Cubic(beta=0.8, C=0.2, friendly=False)]
)
@pytest.mark.parametrize(("cwnd", "rtt"), [(12.0, 0.01), (400.0, 0.1), (5000.0, 0.3)])
def test_at_its_price_cubic_is_at_equilibrium(
    law: Cubic, process: str, cwnd: float, rtt: float
) -> None:
    """None of its states changes, on the cubic and in the Reno-friendly region."""
    price = price_of(law, process, cwnd, rtt)(rate=cwnd / rtt, rtt=rtt)
    assert drifts.cubic_window(law, rtt, price, process) == pytest.approx(cwnd, rel=1e-7)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("alpha", [2, 4])
@pytest.mark.parametrize(("cwnd", "base_rtt"), [(20.0, 0.01), (400.0, 0.1)])
def test_at_its_delay_vegas_is_at_equilibrium(
    dialect: str, alpha: int, cwnd: float, base_rtt: float
) -> None:
    """With so few losses that they move the backlog by a billionth."""
    law = Vegas(alpha=alpha, beta=6, dialect=dialect)

    def excess(delay: float) -> float:
        equilibrium = drifts.vegas_window(law, base_rtt + delay, base_rtt, prob=1e-14)
        return equilibrium - cwnd

    delay = float(brentq(excess, 1e-3 * base_rtt, 0.3 * base_rtt, xtol=1e-15))
    price = price_of(law)
    values = {"rate": cwnd / (base_rtt + delay), "base_rtt": base_rtt}
    found = price.evaluate(values)
    assert found == pytest.approx(delay, rel=1e-7)
    there = price_arguments(price, cwnd, base_rtt + delay)
    assert there["base_rtt"] == pytest.approx(base_rtt, rel=1e-7)


def window_at(price: Formula, drop_prob: float, rtt: float) -> float:
    """The window whose price is a drop probability."""

    def excess(log_window: float) -> float:
        cwnd = math.exp(log_window)
        return math.log(price(rate=cwnd / rtt, rtt=rtt) / drop_prob)

    return math.exp(float(brentq(excess, 0.0, 30.0, xtol=1e-14)))


TABLE_3 = [(1e-3, 38), (1e-4, 263), (1e-5, 1795), (1e-6, 12279), (1e-7, 83981), (1e-8, 574356)]


def test_the_response_function_of_rfc_3649() -> None:
    """Section 5, table 3, of the rounded line W = 0.12 / p^0.835; some entries are cut off."""
    low, high = ((0.12 / window) ** (1 / 0.835) for window in (38, 83000))
    rounded = price_of(HighSpeed(low_prob=low, high_prob=high), "periodic")
    for drop_prob, window in TABLE_3:
        assert window_at(rounded, drop_prob, rtt=0.1) == pytest.approx(window, abs=0.6)


def test_highspeeds_line_goes_through_its_two_points() -> None:
    """Low_Window at Low_P and High_Window at High_P, which the table misses by a percent."""
    line = price_of(HighSpeed(), "periodic")
    assert window_at(line, 1e-3, rtt=0.1) == pytest.approx(38, rel=1e-9)
    assert window_at(line, 1e-7, rtt=0.1) == pytest.approx(83000, rel=1e-9)


@pytest.mark.parametrize(
    ("rtt", "drop_prob", "windows"),
    # RFC 9438, section 5.1, tables 1 and 2: C = 0.04, 0.4 and 4.
    [
        (0.1, 1e-2, (12, 12, 12)),
        (0.1, 1e-3, (38, 38, 59)),
        (0.1, 1e-4, (120, 187, 333)),
        (0.1, 1e-5, (593, 1054, 1874)),
        (0.1, 1e-6, (3332, 5926, 10538)),
        (0.1, 1e-7, (18740, 33325, 59261)),
        (0.1, 1e-8, (105383, 187400, 333250)),
        (0.01, 1e-4, (120, 120, 120)),
        (0.01, 1e-5, (379, 379, 379)),
        (0.01, 1e-6, (1200, 1200, 1874)),
        (0.01, 1e-7, (3795, 5926, 10538)),
        (0.01, 1e-8, (18740, 33325, 59261)),
    ],
)
def test_the_response_function_of_rfc_9438(
    rtt: float, drop_prob: float, windows: tuple[int, int, int]
) -> None:
    """CUBIC's periodic losses; the RFC takes 1.2 for sqrt(3/2) where CUBIC does as Reno."""
    for scale, window in zip((0.04, 0.4, 4.0), windows, strict=True):
        law = Cubic(C=scale, fast_convergence=False)
        response = price_of(law, "periodic", float(window), rtt)
        found = window_at(response, drop_prob, rtt)
        if fairness_exponent(law, float(window), rtt, "periodic") == 2.0:
            found *= 1.2 / math.sqrt(1.5)
        assert round(found) == window
