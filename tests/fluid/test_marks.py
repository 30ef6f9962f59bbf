"""Marks are answered like losses, and lose nothing: no packet is sent again, no timer expires."""

from __future__ import annotations

from typing import Any

import pytest

from tests.networks import CAPACITY
from vegasfluid import (
    Flows,
    Link,
    Network,
    Red,
    Reno,
    metrics,
    simulate_density,
    simulate_fluid,
    simulate_packets,
)

RED = Red(min_thresh=5, max_thresh=50, max_drop=0.5, weight=0.02, gentle=True, ecn=True)
LINK = Link(CAPACITY, 500, RED)
"""Its windows are so small that losses would end in timeouts."""


def gained(run: Any, name: str) -> Any:
    """What a counter of each class gained after slow start, in which the queue overshoots."""
    late = run[name].sel(time=slice(20.0, None)).values
    return late[-1] - late[0]


@pytest.mark.parametrize(
    "simulate",
    [simulate_fluid, pytest.param(simulate_density, marks=pytest.mark.slow), simulate_packets],
)
def test_where_nothing_is_lost_nothing_times_out(simulate: Any) -> None:
    """RFC 3168, section 6.1.2: a mark halves the window, and nothing is retransmitted."""
    network = Network(LINK, {"reno": Flows(20, Reno(), base_rtt=0.02)})
    run = simulate(network, until=60.0, warmup=20.0)
    assert gained(run, "dropped") == pytest.approx([0.0], abs=1e-9)
    assert gained(run, "timeouts") == pytest.approx([0.0], abs=1e-9)
    assert float(metrics.utilisation(run)[0]) > 0.97


def test_flows_that_do_not_understand_marks_time_out_beside_flows_that_do() -> None:
    flows = {
        name: Flows(10, Reno(), base_rtt=0.02, ecn=capable)
        for name, capable in (("marked", True), ("dropped", False))
    }
    run = simulate_fluid(Network(LINK, flows), until=60.0, warmup=20.0)
    marked, dropped = gained(run, "timeouts")
    assert marked == pytest.approx(0.0, abs=1e-9)
    assert dropped > 1.0
