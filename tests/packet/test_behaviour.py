"""Closed forms that a run must come near to (what must hold of any: `test_conservation`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from tests.packet.scenarios import crowded
from vegasfluid import metrics
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.reno import Reno
from vegasfluid.network import Flows, Link, Network, UniformStart
from vegasfluid.packet import simulate_packets

RED = Red(5, 15, max_drop=0.1, weight=0.02)


@pytest.mark.parametrize("aqm", [RED, DropTail()], ids=["red", "droptail"])
def test_the_queue_stays_within_the_buffer_and_the_link_within_its_rate(aqm: Any) -> None:
    data = simulate_packets(crowded(aqm), until=60, samples=6001)
    queue = data.queue.values[:, 0]
    assert queue.max() <= 20
    assert queue.min() == 0
    assert queue.max() == 20 or aqm is RED
    # What has left the link by a time is at most what its rate allows, to the packet in service.
    left = data.admitted.values[:, 0] - queue
    assert (left <= 1000.0 * data.time.values + 1).all()
    for name in ("delivered", "sent", "dropped", "retransmitted", "timeouts"):
        assert (np.diff(data[name].values, axis=0) >= 0).all()
    assert (data.delivered.values <= data.sent.values).all()


def test_mean_queue_is_the_mean_of_the_samples() -> None:
    """Little's law: by the sum of waiting times, and by looking 6000 times."""
    data = simulate_packets(crowded(DropTail()), until=60, samples=6001)
    looked = float(data.queue.sel(time=slice(15, 60)).mean())
    assert float(metrics.mean_queue(data)[0]) == pytest.approx(looked, rel=0.02)


@pytest.mark.parametrize("part", [0.25, 0.5, 1.0])
def test_one_reno_flow_over_drop_tail_uses_the_fraction_of_the_closed_form(part: float) -> None:
    """3/4 (1 + b)^2 / (1 + b + b^2) of the link, with a buffer of b bandwidth-delay products."""
    capacity, pipe = 1000.0, 200
    # The packet in transmission counts as buffer in the closed form, and as pipe in base_rtts.
    network = Network(
        Link(capacity, part * pipe - 1),
        {"reno": Flows(1, Reno(), base_rtt=pipe / capacity, initial_ssthresh=pipe // 2)},
    )
    data = simulate_packets(network, until=4000, warmup=500)
    law = 0.75 * (1 + part) ** 2 / (1 + part + part**2)
    assert float(metrics.utilisation(data)[0]) == pytest.approx(law, rel=0.015)
    assert float(metrics.timeouts(data)[0]) == 0


PERIODIC, RANDOM, MEAN_FIELD = np.sqrt(1.5), 1.308, np.sqrt(2)
"""W sqrt(p) of Reno with large windows (theory sheet, section 1): for losses at equal distances,
for losses independent of each other, and in the fluid."""


@pytest.mark.parametrize(("wait", "spacing"), [(True, 2 / 3), (False, 2.0)])
def test_reno_over_red_has_the_queue_of_the_closed_form(wait: bool, spacing: float) -> None:
    """At equilibrium k L (q - min) (C T + q)^2 = c^2 N^2: one queue for both spacings of drops.

    The windows are large (100 packets): the time that recovery takes is left out of the formula.
    """
    count, capacity, low, high = 20, 20_000.0, 100.0, 600.0
    max_drop = 0.0005 / spacing
    rtts = tuple(np.linspace(0.095, 0.105, count))
    flows = Flows(count, Reno(), base_rtt=rtts, start=UniformStart(2.0))
    aqm = Red(low, high, max_drop=max_drop, weight=0.0005, wait=wait)
    network = Network(Link(capacity, 5000, aqm), {"reno": flows})
    runs = [simulate_packets(network, until=300, warmup=60, seed=seed) for seed in (1, 2, 3)]
    pipe, slope = network.bandwidth_delay(), spacing * max_drop / (high - low)

    def residual(c: float) -> float:
        return brentq(lambda q: slope * (q - low) * (pipe + q) ** 2 - (c * count) ** 2, low, high)

    queue = np.mean([float(metrics.mean_queue(run)[0]) for run in runs])
    dropped = np.mean([float(metrics.drop_share(run)[0]) for run in runs])
    assert residual(PERIODIC) < queue < residual(MEAN_FIELD)
    if wait:  # without it drops come in groups, and the queue oscillates by a fifth
        assert queue == pytest.approx(residual(RANDOM), rel=0.03)
    assert (pipe + queue) / count * np.sqrt(dropped) == pytest.approx(RANDOM, rel=0.03)
