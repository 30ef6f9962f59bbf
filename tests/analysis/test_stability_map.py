"""Stability maps: each point has the result of `stability` there."""

from __future__ import annotations

import numpy as np
import pytest

from vegasfluid import Flows, InvalidInput, Link, Network, Red, Reno, Vegas
from vegasfluid.analysis import equilibrium, stability, stability_map
from vegasfluid.modelfile.parameters import parameter_of


def mixed(max_drop, base_rtt) -> Network:
    link = Link(2000.0, 2000, Red(100, 500, max_drop, weight=0.05))
    flows = {
        "reno": Flows(10, Reno(), base_rtt=base_rtt),
        "vegas": Flows(10, Vegas(8, 10, dialect="ns2"), base_rtt=base_rtt),
    }
    return Network(link, flows)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_points_of_a_map_are_verdicts():
    """Also where windows stand at their smallest in a part of the map."""
    found = stability_map(mixed, np.geomspace(0.02, 1.0, 9), np.linspace(0.01, 0.4, 8))
    assert np.all(np.isfinite(found.rightmost))
    assert 0 < np.sum(found.rightmost < 0) < found.rightmost.size
    for row, column in ((0, 0), (4, 3), (8, 7), (8, 0)):
        point = equilibrium(mixed(found.first[row], found.second[column]))
        root = stability(point).rightmost_root.real
        assert found.rightmost[row, column] == pytest.approx(root, rel=1e-4)
        assert found.queue[row, column] == pytest.approx(point.values.queue[0], rel=1e-9)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_set_of_equilibria_has_no_verdict():
    """Vegas alone, over its alpha and the capacity: equilibria are found, but no stability."""
    link = Link(1000.0, 500)
    network = Network(link, {"vegas": Flows(2, Vegas(2, 8), base_rtt=0.05)})
    alpha = parameter_of(network, "vegas.alpha_packets")
    capacity = parameter_of(network, "bottleneck.capacity_mbps")
    found = stability_map(
        lambda a, b: capacity.with_value(alpha.with_value(network, a), b),
        np.array([2.0, 3.0]),
        np.array([10.0, 12.0]),
    )
    assert np.all(np.isnan(found.rightmost))
    assert np.all(np.isfinite(found.queue))


def test_numbers_have_the_names_and_units_of_model_files():
    network = mixed(0.1, 0.05)
    trip = parameter_of(network, "flows.reno.base_rtt_ms")
    assert trip.value(network) == pytest.approx(50.0)
    assert trip.with_value(network, 80.0).flows["reno"].base_rtt == pytest.approx(0.08)
    assert parameter_of(network, "bottleneck.aqm.max_drop").value(network) == 0.1
    rate = parameter_of(network, "bottleneck.capacity_mbps")
    assert rate.with_value(network, 12.0).link.capacity == pytest.approx(1000.0)
    with pytest.raises(InvalidInput, match=r"such as reno.base_rtt_ms"):
        parameter_of(network, "reno.base_rtt")
    with pytest.raises(InvalidInput, match="max_drop must be at most 1"):
        parameter_of(network, "bottleneck.max_drop").with_value(network, 2.0)
