"""Net100's page: the path against numbers worked by hand, and the quick claims."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from paper_repro.__main__ import FOLDER
from paper_repro.claims import load_paper
from paper_repro.net100_2004 import coarse_clock, switching
from paper_repro.net100_2004.coarse_clock import CoarseVegas
from paper_repro.net100_2004.competition_and_recovery import cycle
from paper_repro.net100_2004.path import (
    BUFFER,
    STANDARD,
    WINDOW,
    Flow,
    alone,
    product,
    vegas,
    with_background,
)
from paper_repro.running import Task, perform
from vegasfluid.packet.rack.records import NOT_SET

PAPER = load_paper(FOLDER / "net100_2004")


def test_the_path_by_hand():
    """622 Mbit/s are 51,833 packets of 1500 bytes a second: 3628 in 70 ms, 1037 in 20 ms."""
    assert product() == pytest.approx(3628.3, abs=0.1)
    assert BUFFER == 1037
    assert WINDOW == 8 * 1024 * 1024 // 1448 == 5793
    network = alone(STANDARD, 10.0).network
    sending = 1552 * 8 * (1 / 622e6 + 2 / 700e6)
    assert network.base_rtts("tcp") == pytest.approx([0.07 + sending])


def test_the_background_is_120_mbps_next_to_one_flow():
    network = with_background(vegas(6, 8), 10.0).network
    assert network.flows["udp"].traffic.rate_limit(1500) == pytest.approx(10_000.0)
    assert (network.flows["tcp"].count, network.flows["tcp"].law.gamma) == (1, 200)


def flow(dropped) -> Flow:
    times = np.arange(len(dropped)) * 0.5
    nothing = np.zeros(len(dropped))
    return Flow(times, 100.0 * times, *[nothing] * 2, np.array(dropped), *[nothing] * 5)


def test_losses_within_a_second_are_one_event():
    lossy = flow([0, 0, 3, 5, 5, 5, 5, 6, 6])
    assert lossy.loss_events() == 2
    assert lossy.first_loss() == 2
    assert flow([0, 0, 0]).loss_events() == 0
    assert flow([0, 0, 0]).first_loss() == 2
    assert lossy.mbps() == pytest.approx(100 * 0.012)


def test_a_cycle_goes_from_a_loss_to_the_next():
    assert cycle(flow([0, 3, 5, 5, 5, 6, 6, 6, 7])) == pytest.approx(1.75)  # 0.5, 2.5, 4 s
    assert cycle(flow([0, 0, 4, 4, 4])) == pytest.approx(1.0)


@pytest.mark.parametrize("selective", [False, True])
def test_the_coarse_clock_reads_both_times_in_ticks(monkeypatch, selective):
    """Sent at 19 ms and acknowledged at 91 ms: 72 ms, and 80 ms by ticks of 10 ms."""
    read = []
    monkeypatch.setattr(coarse_clock, "take_linux_sample", lambda flow, rtt: read.append(rtt))
    sent = 19 * 10**9
    times = (5, sent, sent) if selective else (sent, NOT_SET, 5)
    names = ("ack_last_sent", "sack_first_sent", "sack_last_sent")
    coarse_clock.coarse_sample(SimpleNamespace(**dict(zip(names, times, strict=True))), 72e9)
    assert read == [80e9]


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_coarse_clock_sees_no_short_queue():
    """A queue below 10 ms is not there for it: the RTT rises to 80 ms; 8 packets are 4 ms."""
    fine, coarse = (
        perform(Task("clock", "one", 0, alone(law, 60.0, rate=2000.0, buffer=200))).rtt[-200:].max()
        for law in (vegas(6, 8, 1), CoarseVegas(6, 8, 1, dialect="linux"))
    )
    assert fine < 0.075
    assert coarse >= 0.0795


def test_vegas_is_off_until_the_switch(monkeypatch):
    calls = []
    monkeypatch.setattr(switching, "as_reno", lambda flow, acked: calls.append("reno"))
    monkeypatch.setattr(
        switching, "increase_linux_window", lambda flow, now, acked: calls.append("vegas")
    )
    flow = SimpleNamespace(base_rtt=1.0, next_seq=7)
    switching.grow_by_time(flow, switching.SWITCH - 1, 1)
    assert (flow.base_rtt, flow.round_end) == (switching.NO_SAMPLE, 7)
    switching.grow_by_time(flow, switching.SWITCH, 1)
    assert calls == ["reno", "vegas"]
