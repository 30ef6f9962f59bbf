"""Mean windows under independent losses: the closures against the processes drawn, flow by flow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from tests.congestion.drawn import capped_aimd, cubic_alone, friendly_alone
from vegasfluid.congestion.base import Signals, Window, aimd_loss_factor
from vegasfluid.congestion.cubic import Cubic, CubicWindow
from vegasfluid.congestion.loss_recovery import timeout_share
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas, VegasWindow

PROB = 1e-4


@pytest.mark.parametrize("cut", [0.5, 0.25, 0.125])
def test_the_factor_of_independent_losses(cut: float) -> None:
    """W = sqrt(1 / (b k p)) with the factor k; 1.3098 / sqrt(p) for a cut of one half."""
    drawn = capped_aimd(cut, 1e9, PROB)
    window = math.sqrt(1 / (cut * aimd_loss_factor("iid", cut) * PROB))
    assert window == pytest.approx(drawn, rel=0.005)
    if cut == 0.5:
        assert window == pytest.approx(1.3098 / math.sqrt(PROB), rel=0.001)


@pytest.mark.parametrize("cut", [0.5, 0.25])
def test_the_factor_of_periodic_losses(cut: float) -> None:
    """A saw-tooth from (1 - b) W to W holds W^2 (1 - (1 - b)^2) / 2 packets: 1/p of them."""
    top = math.sqrt(2 / PROB / (1 - (1 - cut) ** 2))
    window = math.sqrt(1 / (cut * aimd_loss_factor("periodic", cut) * PROB))
    assert window == pytest.approx(top * (2 - cut) / 2, rel=1e-12)


def equilibrium_window(law: Reno, process: str) -> float:
    def drift(window: float) -> float:
        seen = Signals(1.0, window, PROB * window, 1e9, loss_process=process)
        return float(law.drift(Window(window, 0.0), seen).cwnd)

    return brentq(drift, 1.0, 1e4)


@pytest.mark.parametrize(
    ("process", "constant"), [("meanfield", math.sqrt(2)), ("periodic", math.sqrt(1.5))]
)
def test_renos_constants(process: str, constant: float) -> None:
    """Theory sheet, section 1: sqrt(2), and sqrt(3/2) of Mathis et al."""
    assert equilibrium_window(Reno(), process) == pytest.approx(
        constant / math.sqrt(PROB), rel=1e-9
    )


@pytest.mark.parametrize("part", [0.5, 0.8, 1.0, 1.2, 1.6])
@pytest.mark.parametrize(("dialect", "cut"), [("ns2", 0.25), ("brakmo", 0.5)])
def test_vegas_recovers_as_documented(dialect: str, cut: float, part: float) -> None:
    """The mean window of Vegas whose equilibrium is a fraction of the window that losses allow."""
    free = math.sqrt(1 / (cut * aimd_loss_factor("iid", cut) * PROB))
    cap, base = part * free, 0.5
    law = Vegas(alpha=round(cap * base), beta=1e6, dialect=dialect)
    cap = law.equilibrium_backlogs[0] / base  # at base/rtt = 1/2 a backlog is half of a window

    def drift(window: float) -> float:
        seen = Signals(1.0, window, PROB * window, 1e9, loss_process="iid")
        return float(law.drift(VegasWindow(window, 0.0, base, 0.0), seen).cwnd)

    assert brentq(drift, cap / 10, 1.5 * cap) == pytest.approx(
        capped_aimd(cut, cap, PROB), rel=0.03
    )


def cubic_at_rest(law: Cubic, process: str, rtt: float, prob: float = PROB) -> CubicWindow:
    """Where the drift stands still: found by following it."""
    window = CubicWindow(law.beta * 100.0, 1.0, 0.0, 0.0, 0.0)
    step = rtt / 2
    for _ in range(60_000):
        rate = prob * float(window.cwnd) / rtt
        seen = Signals(rtt, window.cwnd / rtt, rate, 1e9, loss_process=process)
        drift = law.drift(window, seen)
        before = window
        window = CubicWindow(*(at + step * by for at, by in zip(window, drift, strict=True)))
        if all(abs(new - old) <= 1e-13 * abs(new) for new, old in zip(window, before, strict=True)):
            break
    return window


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("beta", [0.7, 0.8])
def test_cubic_under_independent_losses(fast: bool, beta: float) -> None:
    law = Cubic(beta=beta, fast_convergence=fast, friendly=False)
    drawn = cubic_alone(law, 0.1, PROB)
    assert float(cubic_at_rest(law, "iid", 0.1).cwnd) == pytest.approx(drawn, rel=0.02)


@pytest.mark.parametrize("increase", [0.1, 0.3, 0.53, 1.0, 1.5])
@pytest.mark.parametrize("beta", [0.7, 0.8])
def test_friendly_cubic_under_independent_losses(beta: float, increase: float) -> None:
    """With any growth up to the window before the loss, and one packet a round trip above it."""
    law = Cubic(beta=beta, friendly_increase=increase)
    growth = law.closure("iid")[1]
    window = math.sqrt(growth / ((1 - beta) * PROB))
    assert window == pytest.approx(friendly_alone(1 - beta, increase, PROB), rel=0.025)


@pytest.mark.parametrize(
    ("process", "constant", "fast"),
    [
        ("meanfield", (0.4 / 0.3) ** 0.25, False),
        ("periodic", (0.4 * 3.7 / (4 * 0.3)) ** 0.25, False),
        ("periodic", (0.4 * 3.7 / (4 * 0.3)) ** 0.25, True),
    ],
)
def test_cubics_constants(process: str, constant: float, fast: bool) -> None:
    """1.0746 of Vardoyan, Hollot and Towsley; RFC 9438, section 5.1: 1.0538 (R / p)^(3/4).

    Periodic losses find no window smaller than the one before: nothing converges fast.
    """
    law = Cubic(fast_convergence=fast, friendly=False)
    window = cubic_at_rest(law, process, 0.1)
    assert float(window.cwnd) == pytest.approx(constant * (0.1 / PROB) ** 0.75, rel=0.005)
    if process == "meanfield":
        assert float(window.elapsed) == pytest.approx(float(window.k), rel=0.01)


def test_cubic_where_it_is_friendly() -> None:
    """Short round trips: as an AIMD with the same mean window (RFC 9438, section 4.3)."""
    window = cubic_at_rest(Cubic(), "meanfield", 0.005, prob=1e-3)
    assert float(window.cwnd) == pytest.approx(math.sqrt(3 * 0.3 / (1.7 * 0.3 * 1e-3)), rel=0.01)


@pytest.mark.parametrize("cwnd", [1.0, 4.0, 19.0])
def test_the_smallest_of_a_window_of_uniform_round_trips(cwnd):
    """The mean of the smallest of n uniform numbers is 1 / (n + 1) of their width above the end."""
    law, jitter = Vegas(dialect="linux"), 0.02
    drawn = np.random.default_rng(1).uniform(0.09, 0.09 + jitter, (100_000, int(cwnd))).min(axis=1)
    window, seen = VegasWindow(cwnd, 0.0, 0.05, 0.0), Signals(0.1, 100.0, 0.0, 1e9, jitter=jitter)
    assert law.sample(window, seen) == pytest.approx(drawn.mean(), abs=4 * drawn.std() / 300)


@pytest.mark.parametrize("base_rtt", [0.05, 0.08])
def test_a_timeout_makes_ns2_take_the_present_round_trip_for_its_base(base_rtt):
    """Of flows that do so at a rate r, the mean base RTT goes to the present one at that rate."""
    window = VegasWindow(20.0, 0.0, base_rtt, 0.0)
    quiet, timing_out = (
        Vegas(dialect="ns2").growth(window, Signals(0.1, 200.0, 0.0, 1e9, timeout_rate=rate))
        for rate in (0.0, 0.3)
    )
    assert timing_out.base_rtt - quiet.base_rtt == pytest.approx(0.3 * (0.1 - base_rtt))


@pytest.mark.parametrize(("cwnd", "drop_prob"), [(10.0, 0.01), (40.0, 0.05)])
def test_reno_waits_for_its_timer_where_a_window_has_another_loss(cwnd, drop_prob):
    """Other losses of the window are geometric with the mean p W; NewReno repairs them, too."""
    reno, newreno = (timeout_share(name, cwnd, drop_prob, 0.0) for name in ("reno", "newreno"))
    others = np.random.default_rng(1).geometric(1 / (1 + cwnd * drop_prob), 200_000) - 1
    assert reno - newreno == pytest.approx((others > 0).mean(), abs=0.005)
