"""Marrone et al.: the test bed against numbers worked by hand, and the quick claims."""

from __future__ import annotations

import json

import numpy as np
import pytest

import vegasfluid as vf
from paper_repro.__main__ import FOLDER
from paper_repro.claims import load_paper
from paper_repro.marrone_2013.arithmetic import (
    cubic_window,
    mean_window,
    most_in_100_ms,
    plateau_time,
)
from paper_repro.marrone_2013.driven_sender import sender
from paper_repro.marrone_2013.environment import (
    DEFAULT_WINDOW,
    ENLARGED_WINDOW,
    LAWS,
    UNDOING,
    Environment,
)
from paper_repro.marrone_2013.jitter_100 import correlation, scatter
from paper_repro.marrone_2013.linux import kernel
from paper_repro.marrone_2013.others import against, bsd_timeout
from paper_repro.marrone_2013.recorded_flow import RecordedFlow
from paper_repro.marrone_2013.without_undo import (
    CubicWithoutUndo,
    RenoWithoutUndo,
    VegasWithoutUndo,
    VegasWithSack,
)
from tests.paths import ROOT
from vegasfluid.congestion.loss_recovery import (
    RETRANSMIT,
)

PAPER = load_paper(FOLDER / "marrone_2013")
LINUX_RUNS = ROOT / "tests" / "agreement" / "linux_runs.jsonl"


def test_every_figure_of_the_paper_with_data_is_spoken_of():
    shown = {claim.figure for claim in PAPER.claims} - {None}
    assert shown <= set(range(2, 29))
    assert len(shown) >= 18  # 5, 7, 12, 13, ... are drawn beside those that a sentence speaks of


def test_the_path_has_the_papers_bandwidth_delay_product():
    """100 Mbit/s are 8333 packets of 1500 bytes a second; d = 100 ms and 200 ms."""
    assert Environment(0.1).product == pytest.approx(833.3, abs=0.1)
    assert Environment(0.2).product == pytest.approx(1666.7, abs=0.1)


def test_equal_thresholds_have_no_correlation_with_rates():
    rates = np.array([21.0, 22.0, 98.0])
    assert np.isnan(correlation(np.full(3, 1086.0), rates))
    assert correlation(2 * rates, rates) == pytest.approx(1.0)
    assert scatter(np.array([1.0, 3.0])) == pytest.approx(np.sqrt(2))


def test_windows_of_the_socket_buffers():
    """3/8 of 4,194,304 bytes are 1,572,864, of 46,777,216 they are 17,541,456."""
    assert DEFAULT_WINDOW == 1_572_864 // 1448 == 1086
    assert ENLARGED_WINDOW == 17_541_456 // 1448 == 12_114
    rate = DEFAULT_WINDOW * 1500 * 8 / 0.2
    assert rate == pytest.approx(65.2e6, abs=0.1e6)


def test_round_trip_without_jitter():
    """0.1 s, a packet and its ACK of 52 bytes at 100 Mbit/s, and twice at 1 Gbit/s."""
    network = Environment(0.1).network("reno")
    sending = 1552 * 8 * (1 / 1e8 + 2 / 1e9)
    assert network.base_rtts("reno") == pytest.approx([0.1 + sending])
    assert list(network.links) == ["bottleneck"]
    assert network.link.buffer == 1000


@pytest.mark.parametrize(("ways", "hops"), [(1, 2), (2, 4)])
def test_jitter_moves_the_round_trip_about_its_mean(ways, hops):
    """Each hop adds from nothing to 2 ms to a propagation that is 1 ms shorter for it."""
    network = Environment(0.1, 0.001, ways=ways).network("vegas")
    flows = network.flows["vegas"]
    assert flows.base_rtt == pytest.approx(ways * 0.1 - hops * 0.001)
    delayed = [link for link in network.links.values() if link.jitter]
    assert 2 * len(delayed) == hops  # each link is crossed there and back
    assert all(link.jitter == 0.002 and link.jitter_reorders for link in delayed)


def test_cubic_leaves_slow_start_as_hystart_does_and_reno_with_the_window():
    far = Environment(0.1, window=ENLARGED_WINDOW)
    assert far.network("cubic").flows["cubic"].initial_ssthresh == pytest.approx(
        7 / 8 * 833.33, rel=1e-4
    )
    assert far.network("reno").flows["reno"].initial_ssthresh == ENLARGED_WINDOW


@pytest.mark.parametrize("name", ["reno", "cubic", "vegas"])
def test_kept_answers_leave_nothing_to_go_back_to(name):
    found = {}
    for kind, laws in (("kept", LAWS), ("undone", UNDOING)):
        flow = sender(laws[name])
        flow.lost_below = flow.una + 1  # reports say that the oldest packet is lost
        flow.cwnd_prior = flow.w_max = flow.elapsed = 0.0
        assert laws[name].rules.on_duplicate_ack(flow, 0) & RETRANSMIT
        found[kind] = (flow.undo_cwnd, flow.cwnd, flow.undo_ssthresh, flow.ssthresh)
    low = pytest.approx(14.0, abs=0.01) if name == "cubic" else 10.0  # 717/1024 or half of 20
    assert found["kept"] == (low, low, found["kept"][3], found["kept"][3])
    assert found["undone"][:2] == (20.0, low)


def sawtooth() -> RecordedFlow:
    """100 s: from 50 packets up by 1 a second, halved at 100; 500 packets/s, then 8333.3."""
    times = np.linspace(0, 100, 1001)
    cwnd = 50.0 + times % 50
    rate = np.where(times < 40, 500.0, 1e5 / 12)
    delivered = np.concatenate([[0.0], np.cumsum(rate[:-1] * 0.1)])
    nothing = np.zeros(1001)
    return RecordedFlow(times, delivered, cwnd, nothing + 60, nothing, nothing)


def test_a_course_by_hand():
    record = sawtooth()
    assert record.throughput(0, 40) == pytest.approx(6.0)
    assert record.throughput(50) == pytest.approx(100.0)
    assert record.reaches(90.0) == 45.0
    assert record.reaches(101.0) == 100.0
    assert record.half_way() == 41.0
    assert record.lowest(50, 1.0) == pytest.approx(100.0)
    assert record.times[record.losses()] == pytest.approx([49.9, 99.9])
    assert record.left() == pytest.approx(50 / 99.9, abs=1e-3)
    assert record.cycle() == pytest.approx(50.0)
    assert record.cycle(60.0) == 40.0
    assert record.probed()[[0, 499]] == pytest.approx([60.0, 0.75 * 99.9])


def test_formulas_by_hand():
    """W_max = 1000: K = cbrt(500) = 7.937 s; a cut of 0.2 leaves 800; a second after K: 1000.4."""
    w_max = np.array([1000.0])
    assert plateau_time(w_max) == pytest.approx([7.937], abs=1e-3)
    assert cubic_window(0.0, w_max) == pytest.approx([800.0])
    assert cubic_window(plateau_time(w_max) + 1, w_max) == pytest.approx([1000.4])
    assert mean_window(1.0, 0.5) == pytest.approx((1.5 / 1e-4) ** 0.5)


@pytest.mark.parametrize(
    ("delay", "ways", "mbps"), [(0.02, 1, 90), (0.1, 1, 50), (0.1, 2, 0), (0.2, 1, 0), (0.2, 2, 0)]
)
def test_the_first_packet_arrives_after_half_a_round_trip(delay, ways, mbps):
    assert most_in_100_ms(Environment(delay, ways=ways)) == pytest.approx(mbps)


def test_the_table_of_the_kernel_is_that_of_the_reference_runs():
    names = {"none": "none", "both_reorder": "reorders", "both_ordered": "in_order"}
    found = 0
    for line in LINUX_RUNS.read_text().splitlines():
        run = json.loads(line)
        if run["tag"] == "e3" and run["meta"]["jit"] in names:
            key = names[run["meta"]["jit"]], run["meta"]["algo"]
            assert kernel(*key, "goodput_mbps") == pytest.approx(
                run["flows"][0]["goodput_mbps"], abs=1e-3
            )
            found += 1
    assert found >= 5


def test_laws_are_the_kernels():
    cubic = LAWS["cubic"]
    assert isinstance(cubic, vf.Cubic)
    assert (round(cubic.beta, 3), round(cubic.C, 3)) == (0.7, 0.4)
    vegas = LAWS["vegas"]
    assert isinstance(vegas, vf.Vegas)
    assert (vegas.alpha, vegas.beta, vegas.gamma, vegas.dialect) == (2, 4, 1, "linux")


@pytest.mark.slow
def test_the_papers_own_congestion_controls_compile_and_share_a_link():
    """All in one kernel, with losses; each delivers, and the link is not used beyond its rate."""
    linux = {"dialect": "linux"}
    laws = {
        "reno": RenoWithoutUndo(),
        "cubic": CubicWithoutUndo(),
        "sack": VegasWithSack(**linux),
        "vegas": VegasWithoutUndo(**linux),
    }
    flows = {name: vf.Flows(1, law, base_rtt=0.05, host="textbook") for name, law in laws.items()}
    run = vf.simulate_packets(vf.Network(vf.Link(vf.mbps(10), 30, delay=0.01), flows), 10.0, seed=1)
    delivered = run["delivered"].values[-1]
    assert (delivered > 100).all()
    assert 0.9 * vf.mbps(10) < delivered.sum() / 10 < vf.mbps(10)
    assert run["dropped"].values[-1].sum() > 10


@pytest.mark.parametrize(("rtt", "least", "most"), [(0.1, 1.0, 1.0), (2.0, 2.0, 2.5)])
def test_bsds_timeout_is_at_least_two_ticks(rtt, least, most):
    """RTTs of whole ticks have no deviation after many samples: 2.0 s, or one more tick."""
    assert least <= bsd_timeout(rtt) <= most


def test_competitors_share_one_path():
    network = against(("reno", "vegas")).network
    assert set(network.flows) == {"reno", "vegas"}
    assert network.links == Environment(0.1, 0.0, ENLARGED_WINDOW).network("reno").links
