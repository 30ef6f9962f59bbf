"""A queue for each flow: max-min fair shares, low delays of sparse flows, drops of long queues.

`tests/packet/test_engines.py` compares the packet engine with a second one, and
`tests/agreement/test_linux_queues.py` with `fq` and `fq_codel` of a real Linux kernel.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vegasfluid import (
    Cbr,
    CoDel,
    Flows,
    Fq,
    FqCoDel,
    Link,
    Network,
    Reno,
    Unresponsive,
    metrics,
    simulate_packets,
)
from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.errors import InvalidInput

CAPACITY = 1000.0
"""Packets/s."""
UNTIL, WARMUP = 30.0, 10.0
"""s"""


def udp(count: int, rate: float, start: float = 0.0) -> Flows:
    """Flows that send at a rate, packets/s, whatever they lose."""
    return Flows(count, Unresponsive(), base_rtt=0.02, traffic=Cbr(rate), start=start)


def run(aqm: QueueDiscipline, classes: dict[str, Flows], buffer: int = 1000, **more: int):
    return simulate_packets(
        Network(Link(CAPACITY, buffer, aqm), classes), UNTIL, warmup=WARMUP, **more
    )


def test_flows_that_send_enough_share_what_the_others_leave() -> None:
    """By hand: 2 flows send 50 packets/s each, so that 3 flows have 300 packets/s each."""
    data = run(Fq(), {"slow": udp(2, 50.0), "fast": udp(1, 900.0), "faster": udp(2, 2000.0)})
    assert metrics.goodput(data).values == pytest.approx([50, 300, 300], rel=0.01)


def test_the_queue_of_a_flow_holds_as_many_packets_as_its_limit() -> None:
    """Two queues are full, and the slow flow's has a packet at most."""
    data = run(Fq(flow_limit=30), {"slow": udp(1, 50.0), "fast": udp(2, 2000.0)})
    assert 59.5 < metrics.mean_queue(data).item() < 60.1
    lost = data["dropped"].values[-1]
    assert lost[0] == 0
    assert lost[1] == pytest.approx(UNTIL * (2000 - 475), rel=0.01)


def test_a_full_buffer_drops_packets_of_the_longest_queues_only() -> None:
    """RFC 8290, 4.1: FQ-CoDel with a target that it never reaches; 40 packets in all."""
    aqm = FqCoDel(target=10.0, interval=100.0)
    data = run(aqm, {"slow": udp(1, 50.0), "fast": udp(2, 2000.0)}, buffer=40)
    assert data["dropped"].values[-1][0] == 0
    assert metrics.goodput(data).values == pytest.approx([50, 475], rel=0.01)
    assert data["queue"].values.max() <= 40


def test_the_queueing_delay_is_that_of_the_packets_that_are_sent() -> None:
    """By hand: two packets arrive in the time of one that is sent, 21 of 41 are dropped at once.

    The queue grows from 20 to 41. Of the 21 packets that are sent meanwhile the j-th has waited
    (19 + j) / 2 packet times, j from 0 to 20; those that are dropped have waited for longer.
    """
    data = run(FqCoDel(target=10.0, interval=100.0), {"fast": udp(1, 2 * CAPACITY)}, buffer=40)
    assert metrics.mean_queue(data).item() == pytest.approx(30.5, rel=0.05)
    assert metrics.queueing_delay(data).item() == pytest.approx(14.5 / CAPACITY, rel=0.05)


def test_a_full_buffer_of_fq_drops_what_arrives() -> None:
    data = run(Fq(), {"full": udp(2, 2000.0)}, buffer=40)
    assert data["queue"].values.max() == 40
    assert data["dropped"].values[-1].item() == pytest.approx(UNTIL * 1500, rel=0.01)


@pytest.mark.slow
def test_a_sparse_flow_waits_for_a_round_at_most() -> None:
    """Five long queues: in one round of their packets it has its turn, and as a new one at once."""
    classes = {"sparse": Flows(1, Reno(), base_rtt=0.1, max_window=1), "full": udp(5, 2000.0)}
    data = run(Fq(), classes)
    rtt = float(data["rtt"].sel(flow_class="sparse")[-1])
    assert 0.1 < rtt < 0.1 + 3 / CAPACITY  # 5 rounds of the long queues are 1000 packets


def test_full_queues_have_equal_shares_with_any_quantum() -> None:
    short, long = (
        run(Fq(quantum=quantum, initial_quantum=quantum), {"full": udp(2, 2000.0)})
        for quantum in (1, 50)
    )
    for data in (short, long):
        assert metrics.goodput(data).values == pytest.approx([500], rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("aqm", "least"), [(Fq(), 0.97), (FqCoDel(), 0.8)])
def test_round_trip_times_do_not_divide_the_link(aqm: QueueDiscipline, least: float) -> None:
    """Over one queue with CoDel the far flows have half of it or less; here what they can use.

    CoDel's first drop halves a far flow's window, and its queue is then empty for longer.
    """
    classes = {
        "near": Flows(3, Reno(), base_rtt=0.01),
        "far": Flows(3, Reno(), base_rtt=0.04),
    }
    near, far = metrics.goodput(run(aqm, classes)).values
    assert least < far / near < 1.01
    near, far = metrics.goodput(run(CoDel(), classes)).values
    assert far / near < 0.6


@pytest.mark.slow
@pytest.mark.unoptimised
def test_one_flow_over_fq_codel_is_one_over_codel() -> None:
    """With one queue nothing is left of the turns; the packets left behind are known, not taken."""
    classes = {"reno": Flows(1, Reno(), base_rtt=0.04)}
    own, common = (
        simulate_packets(Network(Link(CAPACITY, 1000, aqm), classes), 120, warmup=20)
        for aqm in (FqCoDel(), CoDel())
    )
    for measure in (metrics.utilisation, metrics.mean_queue):
        assert measure(own).item() == pytest.approx(measure(common).item(), rel=0.1)


@pytest.mark.slow
def test_packets_are_marked_when_they_leave() -> None:
    classes = {"reno": Flows(2, Reno(), base_rtt=0.04, ecn=True)}
    data = run(FqCoDel(ecn=True), classes)
    assert data["dropped"].values[-1].sum() == 0
    assert data["marked"].values[-1].item() > 20


@pytest.mark.slow
def test_both_directions_have_queues_of_flows() -> None:
    """ACKs of one direction do not wait behind the other's data."""
    flows = Flows(2, Reno(), base_rtt=0.04)
    both = {"forward": flows, "back": replace(flows, direction="reverse")}
    data = run(Fq(), both)
    assert metrics.utilisation(data).values == pytest.approx([1, 1], abs=0.03)
    assert np.diff(metrics.goodput(data).values) == pytest.approx(0, abs=15)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (Fq, "flow_limit", 0.5),
        (Fq, "quantum", 1e-9),
        (Fq, "initial_quantum", 0),
        (FqCoDel, "quantum", 1e-9),
    ],
)
def test_a_queue_that_could_send_nothing_is_refused(kind, name: str, value: float) -> None:
    """A limit below one packet drops all; with a tiny quantum a link takes for ever to choose."""
    with pytest.raises(InvalidInput, match=f"{name} must be at least"):
        kind(**{name: value})
