"""When the ACK that a receiver delayed takes effect at the sender: once it has arrived there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.packet.single_calls import Engine
from vegasfluid import Flows, Link, Network, Reno
from vegasfluid.packet.receiver import send_ack

MS = 10**9


def after_delayed_ack(directions: tuple[str, ...], timer: int) -> Any:
    """A flow whose receiver has just sent, at 50 ms, an ACK of two packets that travels 50 ms.

    The sender's timer expires `timer` ms after 50 ms. There is a flow in each of `directions`.
    """
    flows = {
        way: Flows(1, Reno(recovery="newreno"), base_rtt=0.1, direction=way, delayed_ack=0.04)
        for way in directions
    }
    engine = Engine(Network(Link(1000.0, 100), flows))
    flow = engine.flow
    flow.next_seq = flow.max_seq = flow.expected = flow.delivered = 2
    flow.delack_deadline = 50 * MS
    flow.deadline = (50 + timer) * MS
    engine.call(send_ack, 50 * MS)
    return flow


def test_an_ack_that_waits_nowhere_comes_after_the_timers_due_before_it() -> None:
    early, late = (after_delayed_ack(("forward",), timer) for timer in (10, 90))
    assert (early.timeouts, early.una) == (1, 2)
    assert (late.timeouts, late.una) == (0, 2)


@pytest.mark.parametrize("timer", [10, 90])
def test_while_an_ack_is_under_way_no_timer_runs_ahead(timer: int) -> None:
    """Other ACKs, which are on the way too, may yet restart it."""
    flow = after_delayed_ack(("forward", "reverse"), timer)
    assert (flow.timeouts, flow.una) == (0, 0)
    assert flow.deadline == (50 + timer) * MS
