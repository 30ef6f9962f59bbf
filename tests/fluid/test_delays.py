"""Delays between queues, by hand."""

from __future__ import annotations

import pytest

from vegasfluid import Flows, Link, Network, Reno
from vegasfluid.fluid.parameters import build_parameters


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
