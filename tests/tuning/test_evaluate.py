"""Numbers of a network that constraints bound."""

from __future__ import annotations

import math

import pytest

import vegasfluid as vf
from vegasfluid.analysis import stability
from vegasfluid.tuning import Constraints
from vegasfluid.tuning.evaluate import gain_margin

RED = vf.Red(20, 80, max_drop=0.1)


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize(
    ("flows", "stable", "margin"),
    [
        ({"reno": (3, vf.Reno()), "vegas": (3, vf.Vegas(3, 5, dialect="linux"))}, False, 0.0),
        ({"reno": (100, vf.Reno())}, True, math.inf),
    ],
)
def test_where_no_gain_ends_stability_the_margin_is_that_of_the_network(
    flows: dict, stable: bool, margin: float
) -> None:
    """An unstable network has no gain margin to spare, so that it violates every bound."""
    classes = {name: vf.Flows(*each, base_rtt=0.02) for name, each in flows.items()}
    network = vf.Network(vf.Link(1000.0, 200, RED), classes)
    found = stability(network)
    assert (found.stable, found.gain_margin) == (stable, None)
    assert gain_margin(network) == margin
    bound = Constraints(gain_margin=0.1)
    assert bool(bound.violated({"gain_margin": gain_margin(network)})) != stable
