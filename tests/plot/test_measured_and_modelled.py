"""A measurement beside its model: the lines of the model are means of a flow, as measured ones."""

from __future__ import annotations

import numpy as np
import pytest

from tests.plot.test_pictures import OBSERVED
from vegasfluid import Cubic, Flows, Link, Network, observe, plot
from vegasfluid.trajectory import CLASS_VARIABLES, LINK_VARIABLES, Recording, make_trajectory

TIMES = np.linspace(0.0, 30.0, 301)


@pytest.mark.parametrize("count", [1, 4])
def test_a_modelled_goodput_is_that_of_one_flow(count):
    """Each flow delivers 250 packets of 1500 bytes in each second: 3 Mbit/s."""
    network = Network(Link(1000.0, 100), {"cubic": Flows(count, Cubic(), base_rtt=0.05)})
    flows = {name: np.ones((TIMES.size, count)) for name in CLASS_VARIABLES}
    flows["delivered"] = np.repeat(250.0 * TIMES[:, None], count, axis=1)
    links = {name: np.ones((TIMES.size, 1)) for name in LINK_VARIABLES if name != "capacity"}
    run = make_trajectory(Recording(network, TIMES, flows, links), {"warmup": 5.0})
    measurement = observe.read_files([OBSERVED / "droptail_ss.txt"])
    figure = plot.measured_and_modelled(observe.estimate(measurement), measurement, run)
    goodput = figure.axes[2].lines[1]
    np.testing.assert_allclose(goodput.get_ydata(), 250 * 1500 * 8 / 1e6)
