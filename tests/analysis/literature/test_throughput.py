"""Throughput laws against the numbers that RFCs, the kernel and the theory sheet print."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vegasfluid.analysis import literature
from vegasfluid.analysis.literature import (
    MATHIS_RANGE,
    PFTK_RANGE,
    cubic_response,
    highspeed_response,
    mathis,
    mathis_constant,
    pftk,
)
from vegasfluid.errors import InvalidInput


@pytest.mark.parametrize(
    ("drop_prob", "rto", "expected"),
    # Theory sheet, section 9: PFTK over Mathis at 100 ms.
    [
        (1e-4, None, 0.999),
        (1e-3, None, 0.991),
        (1e-2, None, 0.917),
        (1e-2, 1.0, 0.816),
        (3e-2, None, 0.783),
        (3e-2, 1.0, 0.590),
        (1e-1, None, 0.457),
        (1e-1, 1.0, 0.252),
    ],
)
def test_what_timeouts_take_of_mathiss_throughput(
    drop_prob: float, rto: float | None, expected: float
) -> None:
    ratio = pftk(drop_prob, 0.1, rto) / mathis(drop_prob, 0.1)
    assert round(ratio, 3) == expected


@pytest.mark.parametrize("drop_prob", [1e-4, 1e-2, 0.1, 0.2])
def test_the_formula_of_rfc_3819(drop_prob: float) -> None:
    """Section 8.5.1: RTT sqrt(1.33 p) + RTO p [1 + 32 p^2] min[1, 3 sqrt(.75 p)]; b = 2 in it."""
    rtt, rto, p = 0.12, 0.6, drop_prob
    printed = rtt * math.sqrt(1.33 * p) + rto * p * (1 + 32 * p**2) * min(
        1, 3 * math.sqrt(0.75 * p)
    )
    # 1.33 is 4/3 less 0.25 %, of which the root is half.
    assert pftk(p, rtt, rto, ack_every=2) == pytest.approx(1 / printed, rel=1.3e-3)


def test_the_example_of_rfc_3819_takes_the_min_for_one() -> None:
    """Section 8.5.3: 1000 bytes, 120 ms, p = 0.01 (and 5 R for the RTO): "402.9 kbit/sec"."""
    bits, rtt, rto, p = 8000, 0.12, 0.6, 0.01
    assert bits * pftk(p, rtt, rto, ack_every=2) / 1e3 == pytest.approx(519.4, rel=2e-3)
    all_in_timeouts = rtt * math.sqrt(1.33 * p) + rto * p * (1 + 32 * p**2)
    assert round(bits / all_in_timeouts / 1e3, 1) == 402.9


@pytest.mark.parametrize(
    ("drop_prob", "millionths"),
    # Linux, net/dccp/ccids/lib/tfrc_equation.c: 10^6 f(p), cut off, of s / (R f(p)).
    [(1e-4, 8172), (0.002, 37172), (0.01, 89021), (0.02, 136520), (0.1, 564939)],
)
def test_the_kernels_table_of_tfrc(drop_prob: float, millionths: int) -> None:
    """TFRC's equation has no min, which is below 1 for p < 8/27."""
    assert int(1e6 / (0.05 * pftk(drop_prob, 0.05))) == millionths


@pytest.mark.parametrize("drop_prob", [1e-3, 0.05, 0.29])
def test_the_simplified_equation_of_tfrc(drop_prob: float) -> None:
    """RFC 5348, section 3.1: R (sqrt(2 p / 3) + 12 sqrt(3 p / 8) p (1 + 32 p^2)), for p < 8/27."""
    p = drop_prob
    printed = math.sqrt(2 * p / 3) + 12 * math.sqrt(3 * p / 8) * p * (1 + 32 * p**2)
    assert pftk(p, 0.07) == pytest.approx(1 / (0.07 * printed), rel=1e-13)


@pytest.mark.parametrize(
    ("drop_prob", "window"),
    [(1e-3, 38), (1e-4, 263), (1e-5, 1795), (1e-6, 12279), (1e-7, 83981), (1e-8, 574356)],
)
def test_highspeeds_table_of_rfc_3649(drop_prob: float, window: int) -> None:
    """Section 5, table 3; some entries are cut off."""
    assert highspeed_response(drop_prob) == pytest.approx(window, abs=0.6)


@pytest.mark.parametrize(
    ("drop_prob", "windows"),
    [(1e-5, (593, 1054, 1874)), (1e-6, (3332, 5926, 10538)), (1e-8, (105383, 187400, 333250))],
)
def test_cubics_table_of_rfc_9438(drop_prob: float, windows: tuple[int, int, int]) -> None:
    """Section 5.1, table 1: RTT 100 ms, C = 0.04, 0.4 and 4, in the cubic region."""
    found = cubic_response(drop_prob, 0.1, np.array([0.04, 0.4, 4.0]))
    assert tuple(np.round(found)) == windows


def test_mathiss_constants_in_rfcs() -> None:
    """RFC 3649, section 5: 1.2 / sqrt(p). RFC 3819, section 8.5.1: C is 0.93 (delayed ACKs)."""
    assert round(mathis_constant(), 1) == 1.2
    assert round(mathis(1e-4, 1.0, ack_every=2, loss_process="iid") * 1e-2, 2) == 0.93
    assert round(mathis(1e-4, 1.0, ack_every=1, loss_process="iid") * 1e-2, 2) == 1.31


@pytest.mark.parametrize("window", [8.3, 83.3, 833.3, 8333.3, 83333.3])
def test_the_window_of_rfc_3649_needs_the_losses_of_its_first_table(window: float) -> None:
    """Section 2: "the steady-state packet drop rate P of 1.5/W^2" at 100 ms."""
    assert mathis(1.5 / window**2, 0.1) == pytest.approx(window / 0.1, rel=1e-12)


def test_the_receivers_window_limits() -> None:
    assert pftk(1e-6, 0.1, max_window=20) == 200.0
    assert pftk(0.1, 0.1, max_window=20) == pftk(0.1, 0.1)


def test_arrays_of_any_shape() -> None:
    probs = np.array([[1e-4, 1e-3], [1e-2, 0.1]])
    rtts = np.array([0.01, 0.1])
    for law in (mathis, pftk):
        found = law(probs, rtts)
        assert found.shape == (2, 2)
        assert found[1, 0] == law(1e-2, 0.01)
        assert isinstance(law(0.01, 0.1), float)
        assert np.all(np.diff(law(np.geomspace(1e-6, 0.9, 50), 0.1)) < 0)


def test_ranges_say_what_fails() -> None:
    assert MATHIS_RANGE.holds(1e-3, 0.1, max_window=100)
    assert MATHIS_RANGE.fails(0.05, 0.1, max_window=5) == (
        "drop_prob is 0.05, above 0.01: losses end in timeouts",
        "window at a loss, 4/3 of the mean, is 7.303, above 5: the receiver limits the window",
    )
    assert PFTK_RANGE.holds(0.05, 0.1, max_window=5)
    assert PFTK_RANGE.fails(0.01, 0.1, rto=0.05) == (
        "rtt / rto is 2, above 1: timeouts before any loss",
    )
    assert all(known.unchecked for known in (MATHIS_RANGE, PFTK_RANGE))


def mean_backoff(drop_prob: float) -> float:
    """The mean time of timeouts in a row, each twice the last up to 64, in units of the first."""
    before = np.arange(4000.0)
    waits = np.cumsum(2 ** np.minimum(before, 6))
    return float(np.sum(drop_prob**before * (1 - drop_prob) * waits))


def test_up_to_one_half_the_approximation_is_near_to_what_timeouts_take() -> None:
    """1 + 32 p^2 stands for the mean backoff: the limit of `PFTK_RANGE`, and its figures."""
    ratios = [(1 + 32 * p**2) / mean_backoff(p) for p in np.linspace(1e-3, 0.5, 500)]
    assert (round(min(ratios), 2), round(max(ratios), 2)) == (0.97, 1.59)
    beyond = [(1 + 32 * p**2) / mean_backoff(p) for p in (0.6, 0.9)]
    assert [round(ratio, 2) for ratio in beyond] == [0.72, 0.07]
    assert PFTK_RANGE.holds(0.5, 0.1)
    assert not PFTK_RANGE.holds(0.6, 0.1)


@pytest.mark.parametrize("law", ["mathis", "pftk"])
@pytest.mark.parametrize("prob", [0.0, 1.0, -0.1, math.nan, np.array([0.1, 1.5])])
def test_a_probability_must_be_one(law: str, prob: float) -> None:
    with pytest.raises(InvalidInput, match=rf"^{law}: drop_prob must be above 0 and below 1, but"):
        getattr(literature, law)(prob, 0.1)


@pytest.mark.parametrize("law", ["mathis", "pftk"])
@pytest.mark.parametrize("rtt", [0.0, -0.1, math.nan])
def test_a_round_trip_takes_time(law: str, rtt: float) -> None:
    with pytest.raises(InvalidInput, match=rf"^{law}: rtt must be above 0, but is "):
        getattr(literature, law)(0.01, rtt)


def test_other_invalid_input() -> None:
    with pytest.raises(InvalidInput, match=r"^pftk: rto must be above 0, but is 0"):
        pftk(0.01, 0.1, rto=0.0)
    with pytest.raises(InvalidInput, match=r"^mathis: ack_every must be above 0, but is 0"):
        mathis(0.01, 0.1, ack_every=0)
    with pytest.raises(InvalidInput, match=r"^mathis: loss_process must be one of iid, periodic"):
        mathis(0.01, 0.1, loss_process="often")
    with pytest.raises(InvalidInput, match=r"^mathis: drop_prob must be below 1, but is 1"):
        MATHIS_RANGE.holds(1.0, 0.1)
    with pytest.raises(InvalidInput, match=r"^pftk: max_window must be above 0, but is 0"):
        PFTK_RANGE.fails(0.1, 0.1, max_window=0)
