"""Delays between queues, by hand."""

from __future__ import annotations

import pytest

from vegasfluid import Event, Flows, Link, Network, Reno
from vegasfluid.fluid.parameters import build_parameters
from vegasfluid.fluid.time_grid import density_grid, mean_field_grid


def propagation_to(network: Network) -> list[float]:
    return [float(delay) for delay in build_parameters(network)[0].propagation]


def test_between_links_are_the_delay_and_a_transmission_of_the_first() -> None:
    links = {"a": Link(1000.0, 60, delay=0.003), "b": Link(500.0, 60, delay=0.005)}
    network = Network(links, {"reno": Flows(1, Reno(), base_rtt=0.1, path=("a", "b"))})
    assert propagation_to(network) == pytest.approx([0.0, 0.003 + 0.001])


def test_to_the_acks_first_queue_it_is_over_the_receivers_access_link_and_back() -> None:
    """Both ways: the last link, its transmission, and two of the four access delays."""
    flows = {
        way: Flows(1, Reno(), access_delay=0.02, direction=way) for way in ("forward", "reverse")
    }
    network = Network(Link(1000.0, 60, delay=0.01), flows)
    expected = 0.01 + 0.001 + 2 * 0.02
    assert propagation_to(network) == pytest.approx([0.0, expected] * 2)


CHANGES = (Event(at=4.0, link="two", delay=0.001), Event(at=8.0, link="two", delay=0.03))


@pytest.mark.parametrize(("events", "shortest"), [((), 0.08), (CHANGES, 0.062)])
def test_the_steps_of_the_density_follow_the_round_trip_and_not_the_links(events, shortest) -> None:
    """Mass moves by a packet a round trip; between links 10 ms, or 1 ms after an event.

    0.45 of the round trip (half a packet, Courant number 0.9) is longer than the step of the mean
    model, 0.99 of the shortest delay, wherever there are several links.
    """
    links = {"one": Link(1000.0, 100, delay=0.01), "two": Link(1000.0, 100, delay=0.01)}
    flows = {
        "near": Flows(2, Reno(), base_rtt=0.08, path=("one", "two")),
        "far": Flows(1, Reno(), base_rtt=0.2, path=("one", "two")),
    }
    network = Network(links, flows, events=events)
    sent = (1 + 40 / 1500) / 1000.0  # a packet and its ACK on one link
    rtt = build_parameters(network)[0].delay_bounds.rtt
    assert rtt == pytest.approx(shortest + 2 * sent)
    mean, density = mean_field_grid(network, 10.0), density_grid(network, 10.0)
    assert density.step == mean.step < 0.45 * rtt
    alone = Network(Link(1000.0, 100), {"reno": Flows(2, Reno(), base_rtt=0.02)})
    assert density_grid(alone, 10.0).step == pytest.approx(0.45 * (0.02 + sent))
