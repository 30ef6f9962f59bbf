"""Equilibrium of data both ways, where ACKs wait among data: against runs of the equations."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from vegasfluid import Flows, Link, Network, Red, Reno, Vegas, simulate_fluid
from vegasfluid.analysis import equilibrium, stability
from vegasfluid.analysis.applicable_formulas import applicable_formulas, drop_tail_formulas
from vegasfluid.analysis.charts import points_at, reno_point
from vegasfluid.analysis.equilibria.equilibrium import THEORY, Equilibrium
from vegasfluid.errors import Unsupported

LINK = Link(1000.0, 200, Red(min_thresh=30, max_thresh=120), delay=0.01)
FORWARD = Flows(10, Reno(), base_rtt=0.06, initial_ssthresh=5.0)
NETWORK = Network(LINK, {"forward": FORWARD, "reverse": replace(FORWARD, direction="reverse")})


def simulated(network: Network) -> xr.Dataset:
    """Ten seconds."""
    return simulate_fluid(network, until=10.0, options=THEORY, samples=2001)


@pytest.fixture(scope="module")
def point() -> Equilibrium:
    return equilibrium(NETWORK)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_formulas_and_charts_take_the_queue_of_the_data() -> None:
    """Three flows against ten have larger windows; the formulas give those of the solver."""
    few = replace(FORWARD, count=3, direction="reverse")
    state = equilibrium(Network(LINK, {"forward": FORWARD, "reverse": few}))
    windows = {form.name: form.value for form in applicable_formulas(state, None, 1.0)}
    assert windows == pytest.approx(
        {f"window of {name}": state.mean(name, "cwnd") for name in ("forward", "reverse")}
    )
    assert state.mean("reverse", "cwnd") > 2 * state.mean("forward", "cwnd")
    assert points_at(state) == {}
    with pytest.raises(Unsupported, match="direction reverse"):
        reno_point(state)


def test_the_sawtooth_has_no_formulas_for_data_both_ways() -> None:
    """They share no queue, so neither gets a part of what the other leaves."""
    one = Flows(1, Reno(), base_rtt=0.04)
    flows = {"reno": one, "vegas": replace(one, law=Vegas(), direction="reverse")}
    assert drop_tail_formulas(Network(Link(1000.0, 60), flows)) == []


@pytest.mark.slow
def test_a_run_converges_to_that_equilibrium_while_both_directions_are_equal(point) -> None:
    run = simulated(NETWORK)
    for name, found in (("queue", point.values.queue), ("cwnd", point.values.cwnd)):
        np.testing.assert_allclose(run[name][-1], found, rtol=2e-5)
    acks_and_data = 1000.0 * 1500 / 1540 / 10
    np.testing.assert_allclose(point.values.goodput, acks_and_data, rtol=1e-3)


@pytest.mark.slow
def test_their_difference_grows_at_the_rate_of_the_rightmost_root(point) -> None:
    root = stability(point).rightmost_root
    assert root.real > 0
    other = replace(FORWARD, initial_ssthresh=5.0 * (1 + 1e-10))
    run = simulated(Network(LINK, NETWORK.flows | {"forward": other}))
    apart = np.abs(np.diff(run["queue"].values, axis=1))[:, 0]
    times, period = run["time"].values, 2 * math.pi / root.imag
    begins = (4.0, 4.0 + 2 * period)
    sizes = [apart[(times >= begin) & (times < begin + period)].max() for begin in begins]
    assert sizes[0] > 1e-6
    assert sizes[1] < 5.0
    assert math.log(sizes[1] / sizes[0]) / (2 * period) == pytest.approx(root.real, rel=0.01)
