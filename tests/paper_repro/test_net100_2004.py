"""Net100's page: the path against numbers worked by hand, and the quick claims."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from paper_repro.__main__ import FOLDER
from paper_repro.claims import load_paper
from paper_repro.net100_2004 import coarse_clock, switching
from paper_repro.net100_2004.coarse_clock import CoarseVegas
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


def test_the_coarse_clock_reads_both_times_in_ticks_and_leaves_the_record(monkeypatch):
    """Sent at 19 ms and acknowledged at 91 ms: 72 ms, and 80 ms by ticks of 10 ms."""
    read = []
    monkeypatch.setattr(
        coarse_clock, "linux_on_ack", lambda flow, now, acked: read.append(now - flow.acked_sent_at)
    )
    record = SimpleNamespace(acked_sent_at=19 * 10**9)
    coarse_clock.on_ack(record, 91 * 10**9, 1)
    assert read == [80 * 10**9]
    assert record.acked_sent_at == 19 * 10**9
    law = CoarseVegas(alpha=6, beta=8, dialect="linux")
    assert law.rules.on_ack is coarse_clock.on_ack
    assert law.rules.on_timeout is vegas(6, 8).rules.on_timeout


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
