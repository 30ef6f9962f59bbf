"""Shares of flows with a queue each, against the progressive filling of a textbook, and packets."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import (
    Cbr,
    Cubic,
    DropTail,
    Flows,
    Fq,
    FqCoDel,
    Link,
    Network,
    Reno,
    Unresponsive,
    Vegas,
    metrics,
    simulate_density,
    simulate_fluid,
    simulate_packets,
)
from vegasfluid.analysis import equilibrium
from vegasfluid.analysis.applicable_formulas import drop_tail_formulas
from vegasfluid.errors import Unsupported
from vegasfluid.fluid import build
from vegasfluid.fluid.fair_queueing import fair_share

CAPACITY = 1000.0
"""Packets/s."""


def filled(demands: list[float], flows: list[int], capacity: float) -> float:
    """Share of the unsatisfied by progressive filling (Bertsekas and Gallager, 6.5.2)."""
    left, count, level = capacity, sum(flows), 0.0
    for demand, number in sorted(zip(demands, flows, strict=True)):
        if left < count * (demand - level):
            break
        left -= count * (demand - level)
        count, level = count - number, demand
    return level + (left / count if count else 0.0)


def test_shares_are_those_of_progressive_filling() -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        kinds = int(rng.integers(1, 6))
        flows = rng.integers(1, 9, kinds)
        demands = rng.uniform(1, 500, kinds)
        if demands @ flows <= CAPACITY:  # nobody is unsatisfied
            continue
        share = fair_share(jnp.asarray(demands), jnp.zeros(kinds), jnp.asarray(flows, float), 1e3)
        assert float(share) == pytest.approx(filled(list(demands), list(flows), 1e3), rel=1e-9)


def test_a_few_steps_do_for_many_kinds_of_flows() -> None:
    rng = np.random.default_rng(6)
    for _ in range(5):
        flows, demands = rng.integers(1, 4, 100), rng.exponential(10.0, 100)
        share = fair_share(jnp.asarray(demands), jnp.zeros(100), jnp.asarray(flows, float), 1e3)
        assert float(share) == pytest.approx(filled(list(demands), list(flows), 1e3), rel=1e-6)


def test_flows_with_packets_waiting_share_alike_whatever_they_send() -> None:
    work, waiting = jnp.array([1.0, 50.0, 900.0]), jnp.array([1.0, 0.0, 1.0])
    share = fair_share(work, waiting, jnp.array([2.0, 2.0, 1.0]), 1000.0)
    assert float(share) == pytest.approx((1000 - 100) / 3)


def test_a_flow_alone_has_the_whole_link_at_most() -> None:
    assert float(fair_share(jnp.array([3.0]), jnp.zeros(1), jnp.ones(1), 1000.0)) == 1000


def udp(count: int, rate: float) -> Flows:
    return Flows(count, Unresponsive(), base_rtt=0.02, traffic=Cbr(rate))


def test_flows_that_send_enough_share_what_the_others_leave() -> None:
    """By hand: 2 flows send 50 packets/s each, so that 3 flows have 300 packets/s each."""
    classes = {"slow": udp(2, 50.0), "fast": udp(1, 900.0), "faster": udp(2, 2000.0)}
    data = simulate_fluid(Network(Link(CAPACITY, 1000, Fq()), classes), 20.0)
    assert metrics.goodput(data).values == pytest.approx([50, 300, 300], rel=1e-3)
    assert metrics.mean_queue(data).item() == pytest.approx(300, rel=0.02)


BESIDE = {
    "reno": {"reno": Flows(3, Reno(), base_rtt=0.03)},
    "cubic": {"cubic": Flows(3, Cubic(), base_rtt=0.03)},
    "a far one": {"far": Flows(2, Reno(), base_rtt=0.12)},
}


@pytest.mark.slow
@pytest.mark.parametrize("others", BESIDE)
def test_vegas_has_its_share_whatever_its_alpha_is(others: str) -> None:
    """As on packets: with alpha = 2 over drop-tail it has a tenth of it or less beside Reno."""
    ratios = []
    for aqm in (Fq(), DropTail()):
        classes = BESIDE[others] | {"vegas": Flows(3, Vegas(alpha=2, beta=4), base_rtt=0.03)}
        network = Network(Link(CAPACITY, 200, aqm), classes)
        fluid, packets = (
            metrics.goodput(simulate(network, 60.0, warmup=20.0)).values
            for simulate in (simulate_fluid, simulate_packets)
        )
        ratios.append((fluid[1] / fluid[0], packets[1] / packets[0]))
    assert ratios[0][0] == pytest.approx(ratios[0][1], rel=0.02)
    assert ratios[0] == pytest.approx((1, 1), abs=0.03)
    assert ratios[1][1] < 0.5


def test_counters_balance_and_rtts_follow_the_shares() -> None:
    """The queue of a Vegas flow is alpha to beta packets, which wait for its share of the link."""
    vegas = Flows(4, Vegas(alpha=6, beta=6), base_rtt=0.04)
    data = simulate_fluid(Network(Link(CAPACITY, 400, Fq()), {"vegas": vegas}), 60.0, warmup=30.0)
    last = data.isel(time=-1)
    assert metrics.mean_queue(data).item() == pytest.approx(4 * 6, rel=0.02)
    assert float(last["rtt"].item()) == pytest.approx(0.04 + 6 / 250, rel=0.02)
    admitted, delivered = last["admitted"].item(), 4 * last["delivered"].item()
    assert admitted == pytest.approx(delivered)
    assert last["work"].item() - last["backlog"].item() <= CAPACITY * 60 + 1


@pytest.mark.slow
@pytest.mark.unoptimised
def test_two_links_one_after_the_other() -> None:
    """The narrow one shares; the flow that crosses both has what both leave."""
    links = {"wide": Link(1000.0, 400, Fq()), "narrow": Link(600.0, 400, Fq())}
    flows = Flows(2, Reno(), base_rtt=0.04)
    classes = {
        "both": replace(flows, path=("wide", "narrow")),
        "narrow": replace(flows, path=("narrow",)),
        "wide": replace(flows, path=("wide",)),
    }
    found = metrics.goodput(simulate_fluid(Network(links, classes), 60.0, warmup=20.0)).values
    assert found == pytest.approx([150, 150, 350], rel=0.03)


@pytest.mark.slow
def test_the_density_model_has_the_same_shares() -> None:
    classes = BESIDE["reno"] | {"vegas": Flows(3, Vegas(alpha=2, beta=4), base_rtt=0.03)}
    data = simulate_density(Network(Link(CAPACITY, 200, Fq()), classes), 30.0, warmup=15.0)
    one, other = metrics.goodput(data).values
    assert other / one == pytest.approx(1, abs=0.03)


def test_an_equilibrium_of_queues_of_flows_is_refused() -> None:
    network = Network(Link(CAPACITY, 200, FqCoDel()), BESIDE["reno"])
    with pytest.raises(Unsupported, match="aqm fq_codel is not supported: each flow has its own"):
        equilibrium(network)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_smaller_buffer_limits_the_longest_queues() -> None:
    """60 packets for 4 queues of 15; the flow that sends little loses nothing."""
    aqm = FqCoDel(target=10.0, interval=100.0)
    found = []
    for simulate in (simulate_fluid, simulate_packets):
        classes = {"slow": udp(1, 50.0), "fast": udp(4, 2000.0)}
        data = simulate(Network(Link(CAPACITY, 60, aqm), classes), 20.0)
        assert data["dropped"].values[-1][0] == 0
        found.append(metrics.mean_queue(data).item())
    fluid, packets = found
    assert fluid == pytest.approx(60, rel=0.05)
    assert packets == pytest.approx(fluid, rel=0.3)  # each cut halves a queue


def test_a_limit_of_a_flow_is_differentiable() -> None:
    """Each of two full queues holds as many packets as the limit."""
    model = build(Network(Link(CAPACITY, 900, Fq(flow_limit=20)), {"udp": udp(2, 2000.0)}))

    def queue(limit: Any) -> Any:
        aqm = tuple(replace(each, flow_limit=limit) for each in model.parameters.aqm)
        changed = replace(model, parameters=model.parameters._replace(aqm=aqm))
        grid = model.time_grid(10.0)
        state = model.vector_field.saved.unpack(changed.integrate(grid).ys[-1])
        return 2 * state.queue[0]

    value, slope = jax.jvp(queue, (20.0,), (1.0,))
    assert float(value) == pytest.approx(40, rel=0.03)
    assert float(slope) == pytest.approx(2, rel=0.03)


def test_more_flows_have_smaller_shares() -> None:
    rates = []
    for count in (2, 4, 8):
        classes = {"reno": Flows(count, Reno(), base_rtt=0.03), "udp": udp(1, 2000.0)}
        data = simulate_fluid(Network(Link(CAPACITY, 900, Fq()), classes), 20.0)
        rates.append(metrics.goodput(data).values[1])
    assert all(later < sooner for sooner, later in pairwise(rates))
    assert rates == pytest.approx([CAPACITY / 3, CAPACITY / 5, CAPACITY / 9], rel=0.01)


def test_what_is_said_of_drop_tail_is_not_said_of_queues_of_flows() -> None:
    """No order of single packets decides who loses there, and its closed forms do not hold."""
    assert not Fq().shares_full_buffer
    assert DropTail().shares_full_buffer
    classes = {
        "reno": Flows(1, Reno(), base_rtt=0.03),
        "vegas": Flows(1, Vegas(alpha=4, beta=4), base_rtt=0.03),
    }
    own, common = (Network(Link(CAPACITY, 50, aqm), classes) for aqm in (Fq(), DropTail()))
    assert drop_tail_formulas(common)
    assert not drop_tail_formulas(own)
