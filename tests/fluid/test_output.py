"""What is read out of the states by their places is what the states say by their names."""

from __future__ import annotations

import numpy as np

from vegasfluid import Cubic, DropTail, Flows, Link, Network, Reno, Vegas
from vegasfluid.fluid.output import delivered
from vegasfluid.fluid.parameters import pose
from vegasfluid.fluid.simulate import system_of


def test_packets_that_came_through() -> None:
    """For any states, so that no run is needed: these are drawn at random."""
    links = {"near": Link(1000.0, 60, DropTail()), "far": Link(900.0, 60, DropTail(), delay=0.01)}
    flows = {
        "reno": Flows(3, Reno(), base_rtt=0.06, path=("near", "far")),
        "vegas": Flows(2, Vegas(3, 5), base_rtt=0.05, path=("far",)),
        "cubic": Flows(1, Cubic(), base_rtt=0.05, direction="reverse", path=("near",)),
    }
    posed, plan = pose(Network(links, flows))
    saved = system_of(posed, plan).saved
    ys = np.random.default_rng(1).random((3, saved.size))
    state = saved.unpack(ys)
    last = np.array(plan.last_data)
    expected = state.arrived[:, last] - state.dropped[:, last]
    assert np.unique(expected).size == expected.size == 9
    np.testing.assert_array_equal(delivered(ys, plan), expected)
