"""Marks are answered like losses, and lose nothing: no packet is sent again, no timer expires."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.networks import CAPACITY
from vegasfluid import (
    Flows,
    Link,
    Network,
    Red,
    Reno,
    UniformStart,
    Unresponsive,
    Vegas,
    mbps,
    metrics,
    simulate_density,
    simulate_fluid,
    simulate_packets,
)
from vegasfluid.fluid.parameters import build_parameters
from vegasfluid.traffic.cbr import Cbr

RED = Red(min_thresh=5, max_thresh=50, max_drop=0.5, weight=0.02, gentle=True, ecn=True)
LINK = Link(CAPACITY, 500, RED)
"""Its windows are so small that losses would end in timeouts."""


def gained(run: Any, name: str) -> Any:
    """What a counter of each class gained after the warm-up: in slow start the queue overshoots."""
    late = run[name].sel(time=slice(run.attrs["warmup"], None)).values
    return late[-1] - late[0]


@pytest.mark.parametrize(
    "simulate",
    [
        simulate_fluid,
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in (simulate_density, simulate_packets)
        ),
    ],
)
def test_where_nothing_is_lost_nothing_times_out(simulate: Any) -> None:
    """RFC 3168, section 6.1.2: a mark halves the window, and nothing is retransmitted."""
    network = Network(LINK, {"reno": Flows(20, Reno(), base_rtt=0.02)})
    run = simulate(network, until=60.0, warmup=20.0)
    assert gained(run, "dropped") == pytest.approx([0.0], abs=1e-9)
    assert gained(run, "timeouts") == pytest.approx([0.0], abs=1e-9)
    assert float(metrics.utilisation(run)[0]) > 0.97


STEP = Red(min_thresh=20, max_thresh=20.001, max_drop=1.0, weight=0.5, ecn=True)


@pytest.mark.study
@pytest.mark.xfail(
    strict=True,
    reason="Linux hosts: the fluid's Reno and Vegas share 914 to 662, packets 1036 to 480",
)
def test_marks_from_one_queue_length_on() -> None:
    """As data centres mark: nothing is lost, and shares, use and queue are those of packets."""
    laws = {"reno": Reno(), "vegas": Vegas(dialect="linux")}
    flows = {
        name: Flows(5, law, base_rtt=0.005, start=UniformStart(0.1)) for name, law in laws.items()
    }
    network = Network(Link(mbps(100), 500, STEP), flows)
    fluid, packets = (
        simulate(network, until=10.0, warmup=3.0) for simulate in (simulate_fluid, simulate_packets)
    )
    for run in (fluid, packets):
        assert gained(run, "dropped") == pytest.approx([0.0, 0.0], abs=1e-9)
        assert gained(run, "timeouts") == pytest.approx([0.0, 0.0], abs=1e-9)
    for metric in (metrics.goodput, metrics.mean_queue, metrics.utilisation):
        np.testing.assert_allclose(metric(fluid), metric(packets), rtol=0.1)


def test_packets_of_flows_with_ecn_alone_may_be_marked() -> None:
    """RFC 3168, section 5: senders set ECT if both ends understand ECN; UDP sets none here."""
    flows = {
        "marked": Flows(10, Reno(), base_rtt=0.02, ecn=True),
        "dropped": Flows(10, Reno(), base_rtt=0.02, ecn=False),
        "udp": Flows(1, Unresponsive(), base_rtt=0.02, traffic=Cbr(rate=10.0), ecn=True),
    }
    parameters, _ = build_parameters(Network(LINK, flows))
    assert np.asarray(parameters.groups.ecn_capable).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.slow
@pytest.mark.unoptimised
def test_flows_without_ecn_time_out_next_to_flows_with_it() -> None:
    flows = {
        name: Flows(10, Reno(), base_rtt=0.02, ecn=capable)
        for name, capable in (("marked", True), ("dropped", False))
    }
    run = simulate_fluid(Network(LINK, flows), until=60.0, warmup=20.0)
    marked, dropped = gained(run, "timeouts")
    assert marked == pytest.approx(0.0, abs=1e-9)
    assert dropped > 1.0
