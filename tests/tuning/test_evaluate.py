"""Numbers of a network that constraints bound, and the time that measurements take."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import vegasfluid as vf
from vegasfluid.tuning import Constraints
from vegasfluid.tuning.evaluate import Evaluator, gain_margin
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.settings import resolve_settings

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


def test_the_time_of_packet_runs_is_summed_and_that_of_known_ones_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A clock that shows 100 s and 103.5 s, then 200 s and 201 s, measures 4.5 s."""
    network = replace(RENO, flows={**RENO.flows, "vegas": vf.Flows(1, vf.Vegas(), base_rtt=0.02)})
    runs = Measurement(2 * ({"ratio": 1.0},), 2 * (np.ones(101),))
    clock = SimpleNamespace(perf_counter=iter([100.0, 103.5, 200.0, 201.0]).__next__)
    monkeypatch.setattr("vegasfluid.tuning.evaluate.time", clock)
    monkeypatch.setattr("vegasfluid.tuning.evaluate.measure", lambda *given, **times: runs)
    settings = resolve_settings({"until": 10.0, "warmup": 5.0, "runs": 2})
    evaluator = Evaluator(network, "vegas", 1.0, settings)
    for alpha in (2.0, 3.0, 2.0):
        evaluator.evaluate_law(vf.Vegas(alpha, alpha + 2.0))
    assert evaluator.cache.seconds == {"fluid": 0.0, "packets": 4.5}


@pytest.mark.slow
@pytest.mark.unoptimised
def test_many_flows_over_red_have_an_infinite_margin() -> None:
    assert gain_margin(RENO) == math.inf
