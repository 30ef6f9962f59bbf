"""Utilities: how they bend, what they integrate and maximise, and what round trips cost."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from tests.analysis import drifts
from tests.analysis.literature.price import price_arguments, price_of
from tests.analysis.literature.rtt_exponent import rtt_exponent, rtt_exponent_of_shared_losses
from tests.analysis.literature.utility import (
    arctan_price,
    arctan_utility,
    fairness_exponent,
    utility_of,
)
from vegasfluid.analysis.closed_forms.formula import Formula
from vegasfluid.congestion import CongestionControl
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.newreno import NewReno
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.congestion.unresponsive import Unresponsive
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.congestion.vegas_rerouting import VegasRerouting
from vegasfluid.errors import InvalidInput


@pytest.mark.parametrize(
    ("law", "process", "cwnd", "rtt", "expected"),
    [
        (Reno(), "meanfield", 100.0, 0.1, 2),
        (NewReno(), "iid", 100.0, 0.1, 2),
        (Cubic(), "meanfield", 1000.0, 0.1, 4 / 3),
        (Cubic(), "iid", 1000.0, 0.1, 4 / 3),
        (Cubic(), "meanfield", 20.0, 0.01, 2),
        (Scalable(), "periodic", 1000.0, 0.1, 1),
        (Scalable(), "periodic", 10.0, 0.1, 2),
        (HighSpeed(), "periodic", 20.0, 0.1, 2),
        (Vegas(), "meanfield", 100.0, 0.1, 1),
        (VegasRerouting(), "meanfield", 100.0, 0.1, 1),
    ],
)
def test_alpha_of_alpha_fairness(
    law: CongestionControl, process: str, cwnd: float, rtt: float, expected: float
) -> None:
    """Theory sheet, section 5i, and for the legacy windows what standard TCP has."""
    assert fairness_exponent(law, cwnd, rtt, process) == pytest.approx(expected, rel=1e-12)


def test_highspeed_is_between() -> None:
    """RFC 3649, section 5: W = 0.12 / p^0.835."""
    assert round(1 / fairness_exponent(HighSpeed(), loss_process="periodic"), 3) == 0.835


def test_vegas_in_linux_is_less_than_proportionally_fair() -> None:
    """With a = R / (2 R - T), from 1 with a short queue to 1/2 with a long one."""
    law, rtt = Vegas(dialect="linux"), 0.1
    for cwnd in (4.0, 30.0, 3000.0):
        base_rtt = price_arguments(price_of(law), cwnd, rtt)["base_rtt"]
        found = fairness_exponent(law, cwnd, rtt)
        assert found == pytest.approx(rtt / (2 * rtt - base_rtt), rel=1e-9)
    assert fairness_exponent(law, 3000.0, rtt) == pytest.approx(1, abs=1e-3)
    assert fairness_exponent(law, 4.0, 1e3) == fairness_exponent(law, 4.0, 1e-3) < 0.73


UTILITIES = [
    (Reno(), "meanfield", lambda x, r: -2 / (r**2 * x)),
    (Reno(), "periodic", lambda x, r: -2 / (4 / 3 * r**2 * x)),
    (Scalable(), "meanfield", lambda x, r: 0.01 / (0.125 * r) * np.log(x)),
    (Scalable(), "iid", lambda x, r: 0.01 / (r * np.log(8 / 7)) * np.log(x)),
    (
        Cubic(fast_convergence=False),
        "meanfield",
        lambda x, r: -3 * (0.4 / 0.3) ** (1 / 3) * r ** (-1 / 3) * x ** (-1 / 3),
    ),
    (Vegas(alpha=2, beta=4, dialect="ns2"), "meanfield", lambda x, r: 2 * np.log(x)),
]


@pytest.mark.parametrize(("law", "process", "typed"), UTILITIES)
def test_utilities_typed_from_the_sheet(law: CongestionControl, process: str, typed) -> None:
    """Up to a constant; CUBIC's from W = (C / b)^(1/4) (R / p)^(3/4), section 8b."""
    utility, rtt = utility_of(law, process), 0.13
    given = {"rtt": rtt} if "rtt" in utility.arguments else {}
    low, high = (utility(rate=rate, **given) for rate in (900.0, 1700.0))
    assert high - low == pytest.approx(typed(1700.0, rtt) - typed(900.0, rtt), rel=1e-12)


@pytest.mark.parametrize(
    ("law", "process"),
    [
        (Reno(), "iid"),
        (Cubic(), "iid"),
        (Scalable(), "periodic"),
        (HighSpeed(), "periodic"),
        (Vegas(), "meanfield"),
        (Vegas(dialect="linux"), "meanfield"),
    ],
    ids=lambda x: getattr(x, "name", x),
)
def test_a_utility_is_the_integral_of_its_price(law: CongestionControl, process: str) -> None:
    price, utility = price_of(law, process), utility_of(law, process)
    low, high = 5000.0, 20000.0
    given = {name: 0.1 for name in utility.arguments if name != "rate"}
    area, _ = quad(lambda rate: price(rate=rate, **given), low, high, epsabs=0, epsrel=1e-10)
    gained = utility(rate=high, **given) - utility(rate=low, **given)
    assert gained == pytest.approx(area, rel=1e-8)


def best_share(
    utilities: tuple[Formula, Formula], given: tuple[dict, dict], capacity: float
) -> float:
    """The first flow's share of a link for which the sum of two utilities is largest."""

    def loss(share: float) -> float:
        rates = (share * capacity, (1 - share) * capacity)
        terms = zip(utilities, given, rates, strict=True)
        return -sum(float(utility(rate=rate, **more)) for utility, more, rate in terms)

    found = minimize_scalar(loss, bounds=(1e-3, 1 - 1e-3), options={"xatol": 1e-10})
    return float(found.x)


@pytest.mark.parametrize(
    ("law", "rtts", "exponent"),
    [(Reno(), (0.05, 0.2), 1.0), (Cubic(), (0.1, 0.3), 0.25), (Scalable(), (0.1, 0.2), 1.0)],
    ids=lambda x: getattr(x, "name", None),
)
def test_two_flows_share_a_link_as_their_utilities_would(
    law: CongestionControl, rtts: tuple[float, float], exponent: float
) -> None:
    """The shares that maximise the sum are those at one drop probability: x ~ R^-e."""
    utilities = (utility_of(law), utility_of(law))
    share = best_share(utilities, ({"rtt": rtts[0]}, {"rtt": rtts[1]}), capacity=40000.0)
    expected = (rtts[1] / rtts[0]) ** exponent
    assert share / (1 - share) == pytest.approx(expected, rel=1e-5)


def test_two_flows_of_vegas_in_linux_share_by_their_base_rtts() -> None:
    """Theory sheet, section 5g: x = alpha (C / q) (T / R), so the short one loses."""
    law = Vegas(dialect="linux")
    utility = utility_of(law)
    bases, capacity = (0.01, 0.04), 2000.0
    given = ({"base_rtt": bases[0]}, {"base_rtt": bases[1]})
    share = best_share((utility, utility), given, capacity)
    delay = price_of(law)(rate=share * capacity, base_rtt=bases[0])
    ratio = (bases[0] / (bases[0] + delay)) / (bases[1] / (bases[1] + delay))
    assert share / (1 - share) == pytest.approx(ratio, rel=1e-5)
    assert share < 0.5
    alpha = law.equilibrium_backlogs[0]  # alpha and half a packet: the kernel cuts its estimate off
    rate = alpha / delay * bases[0] / (bases[0] + delay)
    assert share * capacity == pytest.approx(rate, rel=1e-5)


@pytest.mark.parametrize(
    ("law", "cwnd", "rtt", "exponent"),
    # Theory sheet, section 11.
    [
        (Reno(), 100.0, 0.1, 1.0),
        (Cubic(), 1000.0, 0.1, 0.25),
        (Cubic(), 20.0, 0.01, 1.0),
        (Scalable(), 1000.0, 0.1, 1.0),
        (HighSpeed(), 1000.0, 0.1, 1.0),
        (Vegas(), 100.0, 0.1, 0.0),
        (Vegas(dialect="ns3"), 100.0, 0.1, 0.0),
    ],
    ids=lambda x: getattr(x, "name", None),
)
def test_rtt_exponents(law: CongestionControl, cwnd: float, rtt: float, exponent: float) -> None:
    assert rtt_exponent(law, cwnd, rtt) == pytest.approx(exponent, abs=1e-12)


@pytest.mark.parametrize("law", [Reno(), HighSpeed(), Scalable()], ids=lambda law: law.name)
def test_rtt_exponents_against_windows_at_two_round_trip_times(law: CongestionControl) -> None:
    """At one drop probability, from the zeros of the drift."""
    prob, near, far = 1e-4, 0.1, 0.1001
    rates = [drifts.window(law, rtt, prob, "meanfield") / rtt for rtt in (near, far)]
    slope = -math.log(rates[1] / rates[0]) / math.log(far / near)
    window = drifts.window(law, near, prob, "meanfield")
    assert rtt_exponent(law, window, near) == pytest.approx(slope, rel=1e-6)


def test_vegas_in_linux_prefers_the_longer_round_trip() -> None:
    """-d ln x / d ln R at one delay D is -D / T."""
    cwnd, rtt = 30.0, 0.1
    law = Vegas(dialect="linux")
    base_rtt = price_arguments(price_of(law), cwnd, rtt)["base_rtt"]
    assert rtt_exponent(law, cwnd, rtt) == pytest.approx(-(rtt - base_rtt) / base_rtt, rel=1e-9)


def test_rtt_exponents_where_all_lose_at_once() -> None:
    """Reno 2 (sheet, section 11), CUBIC 1 (RFC 9438, section 5.6), else 1 / (1 - d)."""
    assert rtt_exponent_of_shared_losses(Reno()) == 2.0
    assert rtt_exponent_of_shared_losses(Cubic()) == pytest.approx(1.0, rel=1e-12)
    assert rtt_exponent_of_shared_losses(Scalable(), loss_process="iid") == math.inf
    d = math.log(83000 / 38) / math.log(1e4)
    found = rtt_exponent_of_shared_losses(HighSpeed(), loss_process="periodic")
    assert found == pytest.approx(1 / (1 - d), rel=1e-9)


def test_renos_two_utilities_agree_where_losses_are_rare() -> None:
    """The other is never above 1, and less by a share p: 2 / (2 + W^2) = p / (1 + p)."""
    price, other, rtt = price_of(Reno()), arctan_price(), 0.1
    for cwnd in (0.1, 1.0, 10.0, 1000.0):
        rare = price(rate=cwnd / rtt, rtt=rtt)
        assert other(rate=cwnd / rtt, rtt=rtt) == pytest.approx(rare / (1 + rare), rel=1e-12)
        assert other(rate=cwnd / rtt, rtt=rtt) < 1
    gained = [
        item(rate=2e4, rtt=rtt) - item(rate=1e4, rtt=rtt)
        for item in (utility_of(Reno()), arctan_utility())
    ]
    assert gained[1] == pytest.approx(gained[0], rel=price(rate=1e4, rtt=rtt))
    area, _ = quad(lambda rate: other(rate=rate, rtt=rtt), 1.0, 50.0, epsrel=1e-11)
    ends = [arctan_utility()(rate=rate, rtt=rtt) for rate in (1.0, 50.0)]
    assert ends[1] - ends[0] == pytest.approx(area, rel=1e-9)


def test_invalid_input() -> None:
    with pytest.raises(InvalidInput, match=r"^price_of: law must be one that answers losses or"):
        utility_of(Unresponsive())
    with pytest.raises(InvalidInput, match=r"but is 'udp'.$"):
        fairness_exponent(Unresponsive())
    with pytest.raises(InvalidInput, match=r"^price_of: loss_process must be one of iid, periodic"):
        price_of(Reno(), "often")
    with pytest.raises(
        InvalidInput, match=r"^utility_of: loss_process must be periodic for highsp"
    ):
        utility_of(HighSpeed())
    with pytest.raises(InvalidInput, match=r"^price_of: rtt must be above 0, but is 0"):
        rtt_exponent(Reno(), rtt=0.0)
    with pytest.raises(InvalidInput, match=r"^price_vegas: cwnd must be above what it holds"):
        fairness_exponent(Vegas(alpha=20, beta=30), cwnd=15.0)
    with pytest.raises(
        InvalidInput, match=r"^price_of: cwnd must be at least 3, to mind delays, but is 2"
    ):
        price_of(Vegas(dialect="linux"), cwnd=2.0)
    with pytest.raises(InvalidInput, match=r"^rtt_exponent_of_shared_losses: law must be one that"):
        rtt_exponent_of_shared_losses(Vegas())
