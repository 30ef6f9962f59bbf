"""What jitter and losses do to round-trip times, by drawn packets and by hand."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import Flows, Link, Network, Reno
from vegasfluid.fluid.parameters import build_parameters
from vegasfluid.fluid.rtt_noise import RttNoise, jitter_noise, minimum_rtt_offset

CAPACITY = 10_000.0
"""packets/s."""


def noise(jitter: float, reorders: bool, both_ways: bool = False) -> RttNoise:
    link = Link(CAPACITY, 100, jitter=jitter, jitter_reorders=reorders)
    flows = {"reno": Flows(2, Reno(), base_rtt=0.05)}
    if both_ways:
        flows["back"] = Flows(2, Reno(), base_rtt=0.05, direction="reverse")
    return jitter_noise(*build_parameters(Network(link, flows)))


def test_jitter_that_keeps_order_delays_each_packet_by_the_slowest_before() -> None:
    """Packets at the link's pace, each delayed at random, none before the one in front of it."""
    jitter, spacing = 0.02, 1 / CAPACITY
    sent = spacing * np.arange(400_000)
    came = np.maximum.accumulate(sent + np.random.default_rng(1).uniform(0.0, jitter, sent.size))
    found = noise(jitter, reorders=False)
    # data and ACKs cross the link once each
    assert float(found.mean_delay[0]) == pytest.approx(2 * (came - sent).mean(), rel=0.01)
    assert (float(found.width[0]), float(found.reordering[0])) == (0.0, 0.0)


@pytest.mark.parametrize("both_ways", [False, True])
def test_jitter_that_reorders_is_uniform_each_way(both_ways: bool) -> None:
    found = noise(0.02, reorders=True, both_ways=both_ways)
    assert float(found.mean_delay[0]) == pytest.approx(2 * 0.02 / 2)
    assert float(found.width[0]) == pytest.approx(2 * 0.02)
    assert float(found.reordering[0]) == 1.0
    # two packets later there is nothing left to overtake
    assert float(noise(2 / CAPACITY, reorders=True).reordering[0]) == 0.0


def test_without_jitter_there_is_no_noise() -> None:
    assert all(float(values[0]) == 0.0 for values in noise(0.0, reorders=False))


def offset(loss_rate: float, rtt: float = 0.5) -> float:
    """Of four flows with windows of 20 packets behind 1000 packets/s; without queue 0.1 s."""
    numbers = (jnp.array([value]) for value in (20.0, loss_rate, 0.1, rtt, 1000.0, 4.0))
    return float(minimum_rtt_offset(*numbers)[0])


def test_the_smallest_of_many_round_trips_is_below_the_mean() -> None:
    """2.5 deviations of the queue, 0.3 of a window for each of 4 independent flows, by hand.

    Additive increase has 2 / W losses in a round trip: with a quarter of them half the deviation.
    """
    spread = 2.5 * 0.3 * 20 * 4**0.5 / 1000
    assert offset(2 / (20 * 0.5)) == pytest.approx(spread)
    assert offset(1.0) == pytest.approx(spread)
    assert offset(0.25 * 2 / (20 * 0.5)) == pytest.approx(spread / 2)
    assert offset(1.0, rtt=0.11) == pytest.approx(0.01)
