"""All equilibria of a network, and the proof that they are all."""

from __future__ import annotations

from vegasfluid import Flows, Link, Network, Red, Reno, Vegas
from vegasfluid.analysis import equilibrium
from vegasfluid.analysis.several import equilibria


def test_one_link_rests_at_one_place_and_that_is_proven():
    """More queue means less that is sent, so there is one; its enclosure holds the solver's."""
    flows = {
        "reno": Flows(5, Reno(), base_rtt=0.1),
        "vegas": Flows(5, Vegas(8, 10, dialect="ns2"), base_rtt=0.1),
    }
    network = Network(Link(1000.0, 2000, Red(50, 450, 0.1)), flows)
    found = equilibria(network, starts=2)
    assert found.count == 1
    assert found.indices == (1,)
    assert found.proof is not None
    assert found.proof.undecided == 0
    ((low, high),) = found.proof.zeros[0].at
    assert low <= equilibrium(network).values.queue[0] <= high
