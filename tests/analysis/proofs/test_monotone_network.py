"""The reduced equations, in which only queues are unknown, against the laws themselves."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb

from tests.analysis.drifts import cubic_window, draws, seen, vegas_window, window
from vegasfluid import Cubic, Flows, Link, Network, NewReno, Red, Reno, Vegas
from vegasfluid.analysis.proofs.links import DropTailLink, RedLink
from vegasfluid.analysis.proofs.monotone_network import MonotoneNetwork
from vegasfluid.analysis.proofs.supported_networks import monotone_network, red_profile
from vegasfluid.aqm.base import Average, QueueState
from vegasfluid.aqm.droptail import overflow_prob
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.congestion.vegas import VegasWindow
from vegasfluid.fluid.options import FluidOptions

RED = Red(min_thresh=50, max_thresh=150)
LINK = Link(1000.0, 200, RED)
NS2 = Vegas(alpha=6, beta=8, dialect="ns2")
LINUX = Vegas(alpha=4, beta=6, dialect="linux")


def one_law(law: CongestionControl, process: str = "meanfield") -> MonotoneNetwork:
    network = Network(LINK, {"one": Flows(1, law, base_rtt=0.1)})
    return monotone_network(network, FluidOptions(process, False, False, False))


@pytest.mark.parametrize("process", ["meanfield", "periodic", "iid"])
@pytest.mark.parametrize(
    "law",
    [
        Reno(),
        NewReno(),
        Cubic(),
        Cubic(beta=0.8, fast_convergence=False, friendly=False),
        Vegas(alpha=3, beta=5),
        Vegas(alpha=4, beta=4),
        NS2,
        Vegas(alpha=60, beta=90, dialect="ns2"),
        LINUX,
    ],
    ids=str,
)
def test_rates_are_those_at_which_the_drift_is_zero(law: CongestionControl, process: str) -> None:
    (sender,) = one_law(law, process).senders
    base = sender.group.base_rtt
    for at in draws(6, 7, prob=(1e-5, 2e-2), wait=(1e-3, 0.3)):
        prob, rtt = at["prob"], base + at["wait"]
        if isinstance(law, Cubic):
            expected = cubic_window(law, rtt, prob, process)
        elif isinstance(law, Vegas):
            expected = vegas_window(law, rtt, base, prob, process, 1e-3)
        else:
            expected = window(law, rtt, prob, process)
        if expected < 3:
            continue
        bounds = (sender.lowest_rate, sender.highest_rate)
        low, high = (bound(arb(prob), arb(rtt)) for bound in bounds)
        assert low < high
        assert float(low) == pytest.approx(expected / rtt, rel=1e-9)
        assert float(high) == pytest.approx(expected / rtt, rel=1e-9)


def test_small_windows_of_linux_step_as_reno() -> None:
    """Between two and three packets: the drift itself, with the share that steps as Reno."""
    (sender,) = one_law(LINUX).senders
    for prob in (0.25, 0.35, 0.45):
        rtt = 0.3
        rate = sender.rate(arb(prob), arb(rtt))
        cwnd = float(rate) * rtt
        assert 2 < cwnd < 3
        found = [drift_of_linux(cwnd * off, prob, rtt) for off in (1 - 1e-6, 1 + 1e-6)]
        assert found[0] > 0 > found[1]


def drift_of_linux(cwnd: float, prob: float, rtt: float) -> float:
    base = np.float64(0.1 + one_law(LINUX).senders[0].group.base_rtt - 0.1)
    state = VegasWindow(np.float64(cwnd), np.float64(0), base, np.float64(0))
    return float(LINUX.drift(state, seen(cwnd, rtt, prob)).cwnd)


@pytest.mark.parametrize("law", [Reno(), Cubic(), NS2, LINUX], ids=str)
def test_slopes_hold_all_difference_quotients(law: CongestionControl) -> None:
    (sender,) = one_law(law).senders
    base = sender.group.base_rtt
    random = np.random.default_rng(3)
    for at in draws(5, 11, prob=(1e-4, 1e-2), wait=(0.02, 0.2)):
        lost, rtt = (arb(item, item / 50) for item in (at["prob"], base + at["wait"]))
        by_sender = sender.slopes(lost, rtt)
        ends = [
            [
                arb(float(item.mid()) * (1 + off))
                for item, off in zip((lost, rtt), offs, strict=True)
            ]
            for offs in random.uniform(-0.02, 0.02, (2, 2))
        ]
        change = sender.rate(*ends[1]) - sender.rate(*ends[0])
        told_change = by_sender.by_lost * (ends[1][0] - ends[0][0])
        told_change += by_sender.by_rtt * (ends[1][1] - ends[0][1])
        assert told_change.contains(change)


@pytest.mark.parametrize(
    "red",
    [
        RED,
        Red(50, 150, 0.02, wait=False),
        Red(50, 80, 0.7, wait=False, gentle=True),
        Red(50, 80, 0.3, gentle=True, ecn=True),
        Red(50, 80, 0.3, ecn=True),
        Red(50, 80, 0.3, ecn=True, hard_drop=True),
        Red(50, 70, 0.3, gentle=True, ecn=True, hard_drop=True),
        Red(50, 80, 0.3, implementation="linux"),
    ],
    ids=str,
)
def test_losses_are_those_of_the_queue_law(red: Red) -> None:
    queue = RedLink(1000.0, 200, red_profile(red, marks=red.ecn), hard_drop=red.hard_drop)
    for packets in (0.0, 50.0, 60.0, 79.9, 80.4, 81.5, 120.0, 150.2, 170.0):
        state = QueueState(packets, Average(packets), 1000.0, 1000.0, 200.0)
        link = queue.state(arb(packets))
        assert float(link.wait) == pytest.approx(packets / 1000)
        assert float(link.lost) == pytest.approx(float(red.drop_prob(state)), abs=1e-14)
        assert float(link.dropped) == pytest.approx(float(red.forced_prob(state)), abs=1e-14)


@pytest.mark.parametrize("implementation", ["ns2", "linux"])
def test_a_wide_interval_around_the_upper_threshold_has_all_fractions(implementation: str) -> None:
    """Nothing is dropped up to `min_thresh`, everything one packet above `max_thresh`."""
    red = Red(20, 80, 0.01, implementation=implementation)
    fraction = RedLink(833.0, 200, red_profile(red, marks=False)).early(arb(80.5, 2.0))
    assert fraction.contains(0.02 / (1 if implementation == "linux" else 3))
    assert fraction.contains(1)
    assert fraction.is_finite()


@pytest.mark.parametrize("place", [59.2, 59.5, 59.9, 60.3])
def test_losses_of_a_full_buffer_are_those_of_the_fluid_model(place: float) -> None:
    """With arrivals C / ((1 - e) (1 - r)), what is admitted is C; the fluid's overflow is r."""
    red = Red(50, 150, 0.1)
    queue = RedLink(1000.0, 60, red_profile(red, marks=False))
    link = queue.state(arb(place))
    packets, lost = float(link.wait) * 1000, float(link.lost)
    assert 59 < packets < 60
    state = QueueState(packets, Average(packets), 1000 / (1 - lost), 1000.0, 60.0)
    overflow = float(overflow_prob(state))
    assert packets + overflow == pytest.approx(place, abs=1e-9)
    assert 1 - (1 - float(red.drop_prob(state))) * (1 - overflow) == pytest.approx(lost, abs=1e-12)


def test_a_drop_tail_buffer_is_full_before_it_loses() -> None:
    queue = DropTailLink(1000.0, 60)
    below, above = queue.state(arb(59.9)), queue.state(arb(60.25))
    assert (float(below.lost), float(above.lost)) == (0.0, 0.25)
    assert float(above.wait) == pytest.approx(0.06)
