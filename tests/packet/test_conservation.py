"""What must hold of any run: on crowded networks, on the smallest ones, on all that there is."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.packet.conservation import CHECKS
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
    begin = prepare(RUNS[name], 1, counted=True)  # as in test_engines: the same machine code
    return execute(RUNS[name], begin, np.linspace(0, UNTIL, 2001), machine(begin), 0.1)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", RUNS)
def test_what_must_hold_of_any_run(name: str, check: str) -> None:
    sim = end_of(name)
    assert sim.flows["delivered"].sum() > 1000
    CHECKS[check](sim)


@pytest.mark.parametrize(
    ("check", "array", "field"),
    [
        ("packets_of_flows", "flows", "delivered"),
        ("packets_of_links", "links", "admitted"),
        ("order", "flows", "una"),
        ("counters", "flow_samples", "sent"),
        ("queues", "link_samples", "queue"),
    ],
)
def test_one_packet_too_many_is_noticed(check: str, array: str, field: str) -> None:
    sim = Simulation(*(of.copy() for of in end_of("crowded RED")))
    getattr(sim, array)[field][len(getattr(sim, array)) // 2] += 10_000
    with pytest.raises(AssertionError):
        CHECKS[check](sim)
