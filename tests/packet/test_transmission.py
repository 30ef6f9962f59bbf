"""What a sender notes of the packets that it sends."""

from __future__ import annotations

import pytest

from tests.packet.single_calls import Engine
from vegasfluid import Flows, Link, Network, Reno
from vegasfluid.packet.transmission import transmit

MS = 10**9


@pytest.mark.parametrize("first", [0, 7])
def test_one_packet_at_a_time_is_timed(first: int) -> None:
    """ns-2's tcp.cc: `if (!rtt_active_) { rtt_active_ = 1; rtt_seq_ = seqno; ... }`."""
    flows = {"reno": Flows(1, Reno(recovery="newreno"), base_rtt=0.1)}
    engine = Engine(Network(Link(1000.0, 100), flows))
    for number in range(3):
        engine.call(transmit, first + number, number * MS)
    assert (engine.flow.timed_seq, engine.flow.timed_at) == (first, 0)
    assert (engine.flow.sent, engine.flow.max_seq) == (3, first + 3)
