"""What is compiled: a lane kernel, or by XLA a loop that a scatter would make ten times as slow."""

from __future__ import annotations

import jax
import pytest

from vegasfluid import Flows, Link, Network, Red, Reno, Vegas
from vegasfluid.fluid import build

TWO = ("first", "second")
LINKS = {
    "first": Link(1000.0, 100, Red(min_thresh=20, max_thresh=80), delay=0.005),
    "second": Link(900.0, 100, delay=0.005),
}


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("both_ways", [False, True])
def test_the_loop_has_no_scatter(both_ways: bool) -> None:
    """Flows of one link and of two, and ACKs that wait in the queues of the opposite data."""
    flows = {
        "reno": Flows(2, Reno(), base_rtt=0.05, path=TWO),
        "vegas": Flows(2, Vegas(3, 5), base_rtt=0.03, path=TWO[:1]),
    }
    if both_ways:
        flows["back"] = Flows(2, Reno(), base_rtt=0.05, path=TWO, direction="reverse")
    network = Network(LINKS, flows)
    model = build(network)
    grid = model.time_grid(10.0)
    traced = jax.jit(lambda model: model.integrate(grid)).trace(model)
    asked = traced.lower(lowering_platforms=("rocm",)).as_text()  # where there are no lane kernels
    assert "stablehlo.while" in asked
    assert "stablehlo.scatter" not in asked
    assert "vegasfluid.lanes" in traced.lower(lowering_platforms=("cpu",)).as_text()
