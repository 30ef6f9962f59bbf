"""The design of networks that nobody has tuned for, and their trial on ns-2."""

from __future__ import annotations

import math
import shutil
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.tuning.networks import COUNT, TUNED, untuned
from benchmarks.tuning.ns2_ratio import ratio_on_ns2
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.network import Network
from vegasfluid.quantities import mbps
from vegasfluid.tuning.measurement import measure

NS2_SEEDS, OUR_SEEDS = range(1, 9), range(1, 25)
"""Of both, log(ratio) at alpha 1 has a deviation of 0.1."""


@pytest.fixture(scope="module")
def networks() -> list[Network]:
    return [case.network for case in untuned()]


def test_the_networks_fill_the_space_of_the_design(networks):
    assert len(networks) == len({case.name for case in untuned()}) == COUNT >= 40
    rates = np.array([network.link.capacity for network in networks]) / mbps(1, 1500)
    trips = np.array([np.median(network.base_rtts(TUNED)) for network in networks]) * 1e3
    flows = np.array([sum(group.count for group in network.flows.values()) for network in networks])
    for values, low, high in ((rates, 5, 600), (flows, 4, 100)):
        assert low <= values.min() <= 1.3 * low
        assert 0.7 * high <= values.max() <= high
    assert trips.min() <= 6
    assert trips.max() >= 110


def test_queues_and_round_trip_times_are_mixed(networks):
    kinds = Counter(type(network.link.aqm) for network in networks)
    assert kinds == {Red: 32, DropTail: 16}
    assert sum(len(set(network.base_rtts(TUNED))) > 1 for network in networks) >= COUNT // 2 - 4
    assert (
        sum(network.flows[TUNED].count != network.flows["reno"].count for network in networks)
        > COUNT // 2
    )
    drops = [network.link.aqm.max_drop for network in networks if isinstance(network.link.aqm, Red)]
    assert 0.05 <= min(drops) < 0.08
    assert 0.8 < max(drops) <= 1
    for kind in kinds:
        recoveries = {
            network.flows["reno"].law.recovery
            for network in networks
            if type(network.link.aqm) is kind
        }
        assert recoveries == {"reno", "newreno", "sack"}


@pytest.mark.study
@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed (Debian: ns2)")
def test_ns2_and_the_packet_simulator_agree_on_one_of_them():
    """The shortest with RED: its ratio differs measurably from that of other alphas."""
    case = min(
        (item for item in untuned() if isinstance(item.network.link.aqm, Red)),
        key=lambda item: item.until * item.network.link.capacity,
    )
    span = {"until": case.until, "warmup": case.warmup}
    logs = {}
    for alpha in (1, 4):
        law = replace(Vegas(dialect="ns2"), alpha=alpha, beta=alpha + 2)
        ours = measure(case.network.with_law(TUNED, law), TUNED, OUR_SEEDS, **span).ratio
        logs[alpha] = math.log(ratio_on_ns2(case, law, NS2_SEEDS).ratio), math.log(ours)
        assert logs[alpha][0] == pytest.approx(logs[alpha][1], abs=0.15)
    assert logs[4][0] - logs[1][0] > 0.3
