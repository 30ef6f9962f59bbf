"""What must hold of any run: no packet is made or lost on the way, no queue outgrows its buffer,
no link its rate, and no counter runs back.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.packet.scenarios import SCENARIOS, few, flows, link, network
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.reno import Reno
from vegasfluid.network import Flows, Link, Network, Spread
from vegasfluid.packet.memory import Simulation
from vegasfluid.packet.setup import prepare
from vegasfluid.packet.simulate import execute, machine

UNTIL = 20.0


def crowded(aqm: Any) -> Network:
    """More flows than the link has room for: losses, timeouts, packets that come twice."""
    classes = {
        "near": Flows(6, Reno(), base_rtt=0.02, start=Spread(0.5)),
        "far": Flows(6, Reno(), access=800.0, access_delay=0.02, start=Spread(0.5)),
    }
    return Network(Link(1000.0, 20, aqm, delay=0.005), classes)


RUNS = {
    "crowded RED": crowded(Red(5, 15, max_drop=0.1, weight=0.02)),
    "crowded drop-tail": crowded(DropTail()),
    "tiny buffer": network(link(DropTail(), 1), flows({"a": Reno(), "b": Reno(), "c": Reno()})),
    "RED of two packets": network(link(few(), 2), flows({"a": Reno(), "b": Reno()})),
    **SCENARIOS,
}


@cache
def end_of(name: str) -> Simulation:
    """What a run worked on, as it was left."""
    begin = prepare(RUNS[name], 1)
    return execute(RUNS[name], begin, np.linspace(0, UNTIL, 2001), machine(begin))


def lost(links: np.ndarray) -> np.ndarray:
    return links["early"] + links["forced"] + links["full"]


def data_stages(sim: Simulation) -> np.ndarray:
    """Which stages are for data, (flows, stages)."""
    return np.arange(sim.stage_count) < sim.flows["turn"][:, None]


@pytest.mark.parametrize("name", RUNS)
def test_every_packet_is_delivered_dropped_a_duplicate_or_under_way(name: str) -> None:
    sim = end_of(name)
    of, moving = sim.flows, sim.stages["tail"] - sim.stages["head"]
    assert (moving >= 0).all()
    assert (sim.stages["tail"][:, 0] == of["sent"]).all()
    under_way = (moving * data_stages(sim)).sum(axis=1)
    again = of["sent"] - of["dropped"] - under_way - of["delivered"]
    assert (again >= 0).all()
    assert (again <= of["retransmitted"]).all()  # what comes again had been sent again
    assert of["delivered"].sum() > 1000


@pytest.mark.parametrize("name", RUNS)
def test_every_packet_that_reaches_a_queue_is_admitted_or_dropped(name: str) -> None:
    sim = end_of(name)
    for number, queue in enumerate(sim.links):
        here = sim.stages["link"] == number
        reached = sim.stages["head"][here].sum()
        assert reached == queue["admitted"] + lost(queue)
    assert sim.flows["dropped"].sum() + sim.flows["acks_dropped"].sum() == lost(sim.links).sum()


@pytest.mark.parametrize("name", RUNS)
def test_what_was_sent_received_and_acknowledged_is_in_order(name: str) -> None:
    sim = end_of(name)
    of = sim.flows
    tcp = of[of["reliable"] == 1]
    held = sim.slots["received"][of["reliable"] == 1].sum(axis=1)
    assert (tcp["delivered"] == tcp["expected"] + held).all()
    assert (tcp["sent"] == tcp["max_seq"] + tcp["retransmitted"]).all()
    for low, high in (("opened", "una"), ("una", "expected"), ("expected", "max_seq")):
        assert (tcp[low] <= tcp[high]).all(), (low, high)
    assert (tcp["una"] <= tcp["next_seq"]).all()
    assert (tcp["next_seq"] <= tcp["max_seq"]).all()
    assert (tcp["max_seq"] <= tcp["offered"]).all()
    udp = of[of["reliable"] == 0]
    assert not udp["retransmitted"].any()
    assert (udp["sent"] == udp["offered"]).all()


@pytest.mark.parametrize("name", RUNS)
def test_no_counter_runs_back(name: str) -> None:
    sim = end_of(name)
    for field in ("sent", "delivered", "dropped", "retransmitted", "timeouts"):
        assert (np.diff(sim.flow_samples[field], axis=0) >= 0).all(), field
    for field in ("admitted", "early", "forced", "full", "marked", "waited", "work"):
        assert (np.diff(sim.link_samples[field], axis=0) >= 0).all(), field
    assert (sim.flow_samples["delivered"] <= sim.flow_samples["sent"]).all()
    assert (sim.flow_samples["cwnd"] >= 1).all()
    assert (sim.link_samples["marked"] <= sim.link_samples["admitted"]).all()


@pytest.mark.parametrize("name", RUNS)
def test_queues_stay_within_their_buffers_and_links_within_their_rates(name: str) -> None:
    sim = end_of(name)
    links = list(RUNS[name].links.values()) * 2
    for number, of in enumerate(links[: sim.link_count]):
        samples = sim.link_samples[:, number]
        assert samples["queue"].min() >= 0
        if getattr(of.aqm, "in_bytes", False):
            assert samples["backlog"].max() < of.buffer + 2  # one that fits in part, one served
        else:
            assert samples["queue"].max() <= of.buffer
        assert (samples["backlog"] <= samples["queue"] + 1).all()
        gone, passed = samples["work"] - samples["backlog"], of.capacity * sim.times["at"] * 1e-12
        assert (np.diff(gone) >= -1e-9).all()
        assert (np.diff(gone) <= np.diff(passed) + 1e-6).all()
