"""What must hold of any run: on crowded networks, on the smallest ones, on all that there is."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.packet.conservation import CHECKS
from tests.packet.end_state import execute
from tests.packet.scenarios import crowded, few, flows, link, network
from tests.packet.shared_kernels import SHARED
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.reno import Reno
from vegasfluid.packet.initial_state import initial_state
from vegasfluid.packet.jit import compiled
from vegasfluid.packet.state import Simulation

UNTIL = 20.0


RUNS = {
    "crowded RED": crowded(Red(5, 15, max_drop=0.1, weight=0.02)),
    "crowded drop-tail": crowded(DropTail()),
    "tiny buffer": network(link(DropTail(), 1), flows({"a": Reno(), "b": Reno(), "c": Reno()})),
    "RED of two packets": network(link(few(), 2), flows({"a": Reno(), "b": Reno()})),
    **SHARED,
}


@cache
def end_of(name: str) -> Simulation:
    """What a run worked on, as it was left."""
    counted = name in SHARED  # as in test_engines and test_behaviour: the same kernels
    begin = initial_state(RUNS[name], 1, counted=counted)
    times = np.linspace(0, UNTIL, 2001)
    return execute(RUNS[name], begin, times, compiled(begin.rules), 0.1 if counted else None)


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
    sim = Simulation(*(item.copy() for item in end_of("crowded RED")))
    getattr(sim, array)[field][len(getattr(sim, array)) // 2] += 10_000
    with pytest.raises(AssertionError):
        CHECKS[check](sim)
