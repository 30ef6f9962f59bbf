"""Flows over drop-tail do not synchronise: senders wait at random, unless the model excludes it.

The remedy, and its size of one packet time: S. Floyd and V. Jacobson, "On traffic phase effects in
packet-switched gateways", Internetworking: Research and Experience 3(3), 1992, section 3.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vegasfluid import (
    Cbr,
    Flows,
    Link,
    Network,
    Red,
    Reno,
    StepMarking,
    Unresponsive,
    Vegas,
    metrics,
    simulate_packets,
    simulate_seeds,
)

TAIL, SLOW_TAIL = Link(1000.0, 30), Link(500.0, 30)
RED = Link(1000.0, 100, Red(20, 60))
STEP = Link(1000.0, 100, StepMarking(20))
RENO = Flows(2, Reno(), base_rtt=0.05)


@pytest.mark.parametrize(
    ("links", "flows", "seconds"),
    [
        ({"tail": TAIL}, {"reno": RENO}, 1e-3),
        ({"tail": TAIL}, {"reno": replace(RENO, send_overhead=0.0)}, 0.0),
        ({"tail": TAIL}, {"reno": replace(RENO, send_overhead=2e-3)}, 2e-3),
        ({"tail": TAIL}, {"reno": replace(RENO, count=1)}, 0.0),
        ({"red": RED}, {"reno": RENO}, 0.0),
        ({"step": STEP}, {"reno": RENO}, 0.0),
        ({"step": STEP}, {"reno": replace(RENO, ecn=False)}, 1e-3),
        ({"tail": TAIL, "slow": SLOW_TAIL}, {"reno": replace(RENO, path=("tail", "slow"))}, 2e-3),
        ({"red": RED, "tail": TAIL}, {"reno": replace(RENO, path=("red",))}, 0.0),
    ],
    ids=[
        "drop-tail",
        "none",
        "given",
        "one flow",
        "red",
        "step",
        "no ECN",
        "two links",
        "off the path",
    ],
)
def test_senders_wait_up_to_a_packet_time_where_flows_share_drop_tail(
    links, flows, seconds: float
) -> None:
    network = Network(links, flows)
    assert network.send_overhead("reno") == seconds
    assert bool(network.assumptions()) == (seconds > 0 and flows["reno"].send_overhead is None)


@pytest.mark.slow
def test_assumptions_are_reported_for_all_flows_that_respond() -> None:
    udp = Flows(1, Unresponsive(), base_rtt=0.05, traffic=Cbr(50.0))
    network = Network(TAIL, {"reno": RENO, "vegas": replace(RENO, law=Vegas()), "udp": udp})
    assert network.send_overhead("udp") == 0.0
    (assumption,) = network.assumptions()
    assert assumption.startswith(
        "Senders of reno and vegas wait up to 1 ms (a packet time) at random"
    )
    assert simulate_packets(network, 5.0).attrs["assumed"] == assumption


def test_equal_flows_share_alike_and_runs_differ() -> None:
    """Started together, all seeds would give the same run, and a message reports that."""
    equal = Network(TAIL, {name: replace(RENO, count=3) for name in ("one", "two")})
    runs = simulate_seeds(equal, 60.0, seeds=range(1, 9), warmup=10.0)
    assert "warnings" not in runs.attrs
    ratios = [metrics.goodput_ratio(runs.sel(seed=seed), "one") for seed in runs["seed"].values]
    assert len(set(ratios)) == len(ratios)
    assert np.exp(np.mean(np.log(ratios))) == pytest.approx(1.0, abs=0.1)
    without = Network(
        TAIL, {name: replace(group, send_overhead=0.0) for name, group in equal.flows.items()}
    )
    still = simulate_seeds(without, 60.0, seeds=(1, 2), warmup=10.0)
    assert "the runs of all 2 seeds are identical" in still.attrs["warnings"]


@pytest.mark.slow
@pytest.mark.unoptimised
def test_without_ecn_step_marking_is_drop_tail_at_its_threshold() -> None:
    """With phases left to decide, the flow of 30 ms has seven times the share of that of 60 ms."""
    flow = Flows(1, Reno(recovery="sack"), base_rtt=0.03, ecn=False)
    flows = {f"{rtt} ms": replace(flow, base_rtt=rtt / 1000) for rtt in (30, 40, 50, 60)}
    links = (STEP, Link(1000.0, 20))
    shares = [
        metrics.goodput(simulate_packets(Network(link, flows), 120.0, seed=1, warmup=30.0))
        for link in links
    ]
    np.testing.assert_allclose(shares[0], shares[1], rtol=0.1)
