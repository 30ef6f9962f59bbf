"""Step marking: each mark against the queue that the packet finds, and the fluid's equilibrium."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from vegasfluid import Flows, Link, Network, Reno, StepMarking, simulate_packets
from vegasfluid.analysis import equilibrium
from vegasfluid.aqm.base import ADMIT, FORCED, MARK, Average, QueueState
from vegasfluid.fluid.options import MISRA_GONG_TOWSLEY
from vegasfluid.packet.records import LINK


@pytest.mark.parametrize(("capable", "beyond"), [(1, MARK), (0, FORCED)])
def test_marks_begin_with_the_packet_that_finds_more_than_the_threshold(
    capable: int, beyond: int
) -> None:
    law = StepMarking(20)
    record = dict.fromkeys(LINK, 0) | law.packet_parameters() | {"ect": capable}
    queue = SimpleNamespace(**record)
    found = [law.rule.decide(queue, waiting, 0.0) for waiting in (0, 19, 20, 21, 500)]
    assert found == [ADMIT] * 3 + [beyond] * 2


def test_the_fluid_marks_where_the_packets_do() -> None:
    """Whole queues: 20 packets are not marked, 21 are; and no ECN-capable packet is dropped."""
    law = StepMarking(20)
    for queue, marked in ((19.0, 0.0), (20.0, 0.0), (20.5, 0.5), (21.0, 1.0), (90.0, 1.0)):
        state = QueueState(queue, Average(0.0), 1000.0, 1000.0, 100.0)
        assert float(law.drop_prob(state)) == pytest.approx(marked)
        assert float(law.forced_prob(state)) == 0.0


FLOWS, CAPACITY, THRESHOLD = 20, 2000.0, 30
SENDING = 1 + 40 / 1500
"""Transmission times of a packet and its ACK, in packets; part of the round-trip time."""


def network(ecn: bool = True, base_rtt: float = 0.085) -> Network:
    rtt = base_rtt - SENDING / CAPACITY
    flows = {"reno": Flows(FLOWS, Reno(), base_rtt=rtt, ecn=ecn, send_overhead=0.0)}
    return Network(Link(CAPACITY, 400, StepMarking(THRESHOLD)), flows)


def test_the_equilibrium_is_on_the_step() -> None:
    """W = (C R + q) / N and W^2 p = 2 with p = 3 u^2 - 2 u^3 at q = K + u: bisected here."""
    low, high = 0.0, 1.0
    for _ in range(60):
        u = (low + high) / 2
        window = (CAPACITY * 0.085 + THRESHOLD + u) / FLOWS
        low, high = (u, high) if window**2 * (3 * u**2 - 2 * u**3) < 2 else (low, u)
    point = equilibrium(network(), MISRA_GONG_TOWSLEY)
    assert float(point.values.queue[0]) == pytest.approx(THRESHOLD + low, rel=1e-6)


def test_packets_are_marked_and_not_dropped_or_dropped_and_not_marked() -> None:
    """The queue stays below K and what a round trip adds; without ECN above K nothing waits."""
    marking = simulate_packets(network(), 8.0, warmup=2.0, samples=801)
    assert float(marking["marked"].isel(time=-1).sum()) > 100
    assert float(marking["dropped"].isel(time=-1).sum()) == 0.0
    dropping = simulate_packets(network(ecn=False), 8.0, warmup=2.0, samples=801)
    assert float(dropping["marked"].isel(time=-1).sum()) == 0.0
    assert float(dropping["dropped"].isel(time=-1).sum()) > 10  # of a flow
    assert float(dropping["queue"].max()) <= THRESHOLD + 1
    assert float(np.asarray(marking["queue"].max())) > THRESHOLD + 1
