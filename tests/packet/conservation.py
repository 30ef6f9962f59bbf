"""What must hold of any run: no packet is made or lost on the way, no queue outgrows its buffer,
no link its rate, and no counter runs back. `tests/in_process.py` checks every run of the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from vegasfluid.packet.state import Simulation

__all__ = ["CHECKS", "with_all_checks"]


def lost(links: np.ndarray) -> np.ndarray:
    return links["early"] + links["forced"] + links["full"]


def packets_of_flows(sim: Simulation) -> None:
    """Every packet is delivered, dropped, a duplicate or under way."""
    flows, moving = sim.flows, sim.hops["tail"] - sim.hops["head"]
    for_data = np.arange(sim.hop_count) < flows["data_hops"][:, None]
    assert (moving >= 0).all()
    assert (sim.hops["tail"][:, 0] == flows["sent"]).all()
    under_way = (moving * for_data).sum(axis=1)
    for queue in sim.queues if len(sim.queues) else ():
        under_way[queue["flow"]] += queue["waiting"] * for_data[queue["flow"], queue["hop"]]
    again = flows["sent"] - flows["dropped"] - under_way - flows["delivered"]
    assert (again >= 0).all()
    assert (again <= flows["retransmitted"]).all()  # what comes again had been sent again


def packets_of_links(sim: Simulation) -> None:
    """Every packet that reaches a queue is admitted or dropped."""
    for number, queue in enumerate(sim.links):
        here = sim.hops["link"] == number
        reached = sim.hops["head"][here].sum()
        own = sim.hops["queue"][here & (sim.hops["queue"] >= 0)]
        held = sim.queues["waiting"][own].sum() if len(own) else 0
        assert reached == queue["admitted"] + lost(queue) + held
    assert sim.flows["dropped"].sum() + sim.flows["acks_dropped"].sum() == lost(sim.links).sum()


def order(sim: Simulation) -> None:
    """What was sent, received and acknowledged is in order."""
    flows = sim.flows
    tcp = flows[flows["reliable"] == 1]
    out_of_order = sim.slots["received"][flows["reliable"] == 1].sum(axis=1)
    assert (tcp["delivered"] == tcp["expected"] + out_of_order).all()
    assert (tcp["sent"] == tcp["max_seq"] + tcp["retransmitted"]).all()
    for low, high in (("opened", "una"), ("una", "expected"), ("expected", "max_seq")):
        assert (tcp[low] <= tcp[high]).all(), (low, high)
    assert (tcp["una"] <= tcp["next_seq"]).all()
    assert (tcp["next_seq"] <= tcp["max_seq"]).all()
    assert (tcp["max_seq"] <= tcp["offered"]).all()
    udp = flows[flows["reliable"] == 0]
    assert not udp["retransmitted"].any()
    assert (udp["sent"] == udp["offered"]).all()


def counters(sim: Simulation) -> None:
    """Time and counters never run back."""
    assert (np.diff(sim.times["at"]) > 0).all()
    for field in ("sent", "delivered", "dropped", "retransmitted", "timeouts"):
        assert (np.diff(sim.flow_samples[field], axis=0) >= 0).all(), field
    for field in ("admitted", "early", "forced", "full", "marked", "waited", "lost_waited", "work"):
        assert (np.diff(sim.link_samples[field], axis=0) >= 0).all(), field
    assert (sim.flow_samples["delivered"] <= sim.flow_samples["sent"]).all()
    assert (sim.flow_samples["cwnd"] >= 1).all()
    assert (sim.link_samples["marked"] <= sim.link_samples["admitted"]).all()


def queues(sim: Simulation) -> None:
    """Queues stay within their buffers, and links within their rates."""
    passed = np.diff(sim.times["at"])[:, None] / sim.links["service"]
    gone = np.diff(sim.link_samples["work"] - sim.link_samples["backlog"], axis=0)
    assert (gone >= -1e-6).all()
    assert (gone <= passed + 1e-6).all()
    queue, backlog = sim.link_samples["queue"], sim.link_samples["backlog"]
    assert (queue >= 0).all()
    assert (backlog <= queue + 1).all()
    by_packets = sim.links["in_bytes"] == 0
    assert (queue <= sim.links["buffer"])[:, by_packets].all()
    assert (backlog < sim.links["buffer"] + 2).all()  # one that fits in part, one served


CHECKS: dict[str, Callable[[Simulation], None]] = {
    check.__name__: check for check in (packets_of_flows, packets_of_links, order, counters, queues)
}


Executed = Callable[..., AbstractContextManager[Simulation]]


def with_all_checks(executed: Executed) -> Executed:
    """A function like `simulate.executed` that holds each run, once complete, to all checks."""

    @contextmanager
    def checked(*given: Any) -> Iterator[Simulation]:
        with executed(*given) as sim:
            for check in CHECKS.values():
                check(sim)
            yield sim

    return checked
