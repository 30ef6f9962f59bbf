"""Numbers of a network that constraints bound."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

import vegasfluid as vf
from vegasfluid.tuning import Constraints
from vegasfluid.tuning.evaluate import gain_margin

RENO = vf.Network(
    vf.Link(1000.0, 200, vf.Red(20, 80, max_drop=0.1)),
    {"reno": vf.Flows(100, vf.Reno(), base_rtt=0.02)},
)


@pytest.mark.parametrize(("stable", "margin"), [(True, math.inf), (False, 0.0)])
def test_where_no_gain_changes_stability_the_margin_is_that_of_the_network(
    stable: bool, margin: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unstable network has no gain margin to spare, so that it violates every bound."""
    verdict = SimpleNamespace(stable=stable, gain_margin=None)
    monkeypatch.setattr("vegasfluid.analysis.equilibrium", lambda network: network)
    monkeypatch.setattr("vegasfluid.analysis.stability", lambda found: verdict)
    assert gain_margin(RENO) == margin
    bound = Constraints(gain_margin=0.1)
    assert bool(bound.violated({"gain_margin": gain_margin(RENO)})) != stable


@pytest.mark.slow
@pytest.mark.unoptimised
def test_many_flows_over_red_have_an_infinite_margin() -> None:
    assert gain_margin(RENO) == math.inf
