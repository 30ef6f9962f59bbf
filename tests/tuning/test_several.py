"""Several classes of Vegas flows at once, on small networks."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from typing import Any, cast

import numpy as np
import pytest

from tests.tuning.equilibrium_model import EquilibriumModel
from tests.tuning.offices import TIMES
from tests.tuning.recommended import recommended
from vegasfluid import (
    Flows,
    InvalidInput,
    Link,
    Model,
    Network,
    Red,
    Reno,
    UniformStart,
    Vegas,
    metrics,
    recommend,
    simulate_packets,
)
from vegasfluid.cli.app import run_app
from vegasfluid.modelfile import dumps
from vegasfluid.tuning import Constraints, JainIndex, explain, optimise
from vegasfluid.tuning.constraints import FEASIBILITY_TOLERANCE
from vegasfluid.tuning.initial_guess import network_with_others_at_share
from vegasfluid.tuning.result import JointRecommendation
from vegasfluid.tuning.slow_start import SlowStart

LINK = Link(10e6 / 12000, 150, Red(min_thresh=30, max_thresh=90))
RENO = Flows(4, Reno(), base_rtt=0.05, start=UniformStart(0.5))


def vegas(count: int, rtt: float, **options: Any) -> Flows:
    return Flows(count, Vegas(**options), base_rtt=rtt, start=UniformStart(0.5))


NETWORK = Network(LINK, {"reno": RENO, "near": vegas(2, 0.02), "far": vegas(2, 0.04)})


def alpha_of(network: Network, name: str) -> float:
    return float(cast(Any, network.flows[name].law).alpha)


@pytest.fixture
@cache
def offices():
    """Vegas flows near and far, and Reno flows between."""
    return recommend(NETWORK, (), **TIMES, runs=6)


@pytest.mark.slow
def test_each_class_has_its_share_on_fresh_runs(offices):
    """Of both classes to Reno alone; by `metrics`, over seeds that the search did not use."""
    assert offices.reached
    assert not offices.reason
    for name in ("near", "far"):
        logs = []
        for seed in range(101, 113):
            run = simulate_packets(offices.network, seed=seed, **TIMES)
            goodput = metrics.goodput(run)
            logs.append(math.log(goodput.sel(flow_class=name) / goodput.sel(flow_class="reno")))
        assert np.mean(logs) == pytest.approx(0.0, abs=0.1), name


@pytest.mark.slow
@pytest.mark.unoptimised
def test_the_far_class_holds_more(offices):
    """Reno's flows in between lose as often as it takes for their RTT; a far flow needs as much of
    the queue as a near one for the same rate, and makes up for more time lost after a loss.
    """
    assert alpha_of(offices.network, "near") < alpha_of(offices.network, "far")
    for name, part in offices.parts.items():
        assert part.after.law == offices.network.flows[name].law
        assert part.before.law.alpha == Vegas().alpha
        assert part.others == ("reno",)
        low, high = part.after.packets.interval
        assert low < part.after.packets.ratio < high
        assert part.before.packets.ratio < 0.6


@pytest.mark.slow
def test_rules_for_a_class_are_tried_with_the_recommendations_for_the_others(offices, monkeypatch):
    monkeypatch.setattr(
        "vegasfluid.tuning.explanation.explain_or_reason",
        lambda result: (None, "theory is left out"),
    )
    why = explain(offices.parts["far"], **TIMES, runs=6)
    assert why.recommended.packets == offices.parts["far"].after.packets
    default = why.defaults.packets  # only the far flows have the defaults
    assert default.ratio < why.recommended.packets.ratio
    assert default.ratio == pytest.approx(_far_with_defaults(offices.network), rel=1e-9)


def _far_with_defaults(network: Network) -> float:
    """The geometric mean of the ratio, by separate runs."""
    changed = network.with_law("far", Vegas())
    runs = [simulate_packets(changed, seed=seed, **TIMES) for seed in range(1, 7)]
    goodput = [metrics.goodput(run) for run in runs]
    logs = [np.log(rates.sel(flow_class="far") / rates.sel(flow_class="reno")) for rates in goodput]
    return float(np.exp(np.mean(logs)))


@pytest.mark.slow
@pytest.mark.unoptimised
def test_two_classes_that_are_alike_have_what_one_has():
    one = recommend(Network(LINK, {"reno": RENO, "vegas": vegas(4, 0.04)}), **TIMES, runs=6)
    flows = {"reno": RENO, "a": vegas(2, 0.04), "b": vegas(2, 0.04)}
    two = recommend(Network(LINK, flows), (), **TIMES, runs=6)
    assert two.reached
    for part in two.parts.values():  # on the fluid model, where there is no chance
        assert part.optimum.alpha == pytest.approx(one.optimum.alpha, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["equilibrium", "fluid"])
def test_a_goal_over_all_flows_within_a_limit(offices, model, monkeypatch):
    """The fair setting drops more than 1 %: within that limit all get less fair shares."""
    if model == "equilibrium":
        monkeypatch.setattr(optimise, "DifferentiableFluid", EquilibriumModel)
    means = offices.first.after.packets.means()
    assert means["drop_share"] > 0.01
    limits = Constraints(queueing_delay=0.9 * means["queueing_delay_s"])
    result = recommend(NETWORK, (), objective=JainIndex(), constraints=limits, **TIMES, runs=4)
    bound = 0.9 * means["queueing_delay_s"] * math.exp(FEASIBILITY_TOLERANCE)
    kept = result.first.after.packets.means()["queueing_delay_s"] <= bound
    assert result.reached == kept
    assert (
        kept or "no setting that was tried meets the constraints: queueing delay" in result.reason
    )
    indices = [part.after.packets.means()["jain_index"] for part in result.parts.values()]
    assert indices[0] == indices[1] > offices.first.before.packets.means()["jain_index"]


def check_the_other_has_its_share(far: Flows) -> None:
    """Where the flows far away get less all the same, those near have what Reno's have."""
    flows = {"reno": RENO, "near": vegas(2, 0.02), "far": far}
    result = recommend(Network(LINK, flows), (), **TIMES, runs=4)
    assert not result.reached
    assert result.parts["near"].reached
    assert result.reason.startswith("far: even with the largest setting")
    assert result.parts["near"].after.packets.ratio == pytest.approx(1.0, rel=0.1)
    assert result.parts["far"].after.packets.ratio < 0.8


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_class_that_cannot_have_its_share_does_not_keep_the_other_from_it():
    """A window of five packets is too small for a share, whatever alpha is."""
    check_the_other_has_its_share(replace(vegas(2, 0.04), max_window=5))


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_class_that_is_too_far_does_not_keep_the_other_from_its_share():
    """Vegas flows three times as far as Reno's grow all the time, and get less all the same."""
    check_the_other_has_its_share(vegas(2, 0.15))


def test_the_competitors_of_a_class_that_is_tuned_with_others():
    """Flows that get as much as Reno's are such flows; different times become their mean."""
    reno = Flows(2, Reno(), base_rtt=(0.02, 0.06))
    network = Network(LINK, {"reno": reno, "a": vegas(2, 0.03), "b": vegas(3, 0.05)})
    seen = network_with_others_at_share(network, "b", ("a", "b"))
    assert seen.flows["b"] == network.flows["b"]
    assert seen.flows["reno"] == reno
    assert seen.flows["a"].law == Reno()
    assert (seen.flows["a"].count, seen.flows["a"].base_rtt) == (2, pytest.approx(0.04))


@pytest.mark.parametrize(
    ("tune", "message"),
    [
        (("near", "far", "reno"), "tune must be a class of Vegas flows"),
        (("near", "middle"), "tune must be a class of Vegas flows .near, far., but is .middle."),
    ],
)
def test_invalid_input(tune, message):
    with pytest.raises(InvalidInput, match=message):
        recommend(NETWORK, tune, **TIMES)


def test_some_class_must_be_left_to_compare_with():
    network = Network(LINK, {"near": vegas(2, 0.02), "far": vegas(2, 0.04)})
    with pytest.raises(InvalidInput, match="tune must be only some of the classes"):
        recommend(network, (), **TIMES)


def test_without_vegas_there_is_nothing_to_tune():
    with pytest.raises(InvalidInput, match="the number of Vegas classes must be at least 1"):
        recommend(Network(LINK, {"reno": RENO}), (), **TIMES)


def test_each_class_has_its_start_and_its_disagreements():
    """The fluid's ratio is 0.9 and 0.3, the packets' 1.0; gamma was 3 and 5 packets."""
    flows = {"reno": RENO, "vegas": vegas(2, 0.02)}
    part = recommended(Network(LINK, flows), Vegas(4, 6))
    parts = {
        name: replace(
            part,
            start=SlowStart(15.0, gamma, part.before.packets, part.after.packets),
            after=replace(part.after, fluid={**part.after.fluid, "ratio": ratio}),
        )
        for name, gamma, ratio in (("near", 3.0, 0.9), ("far", 5.0, 0.3))
    }
    near, far = JointRecommendation(parts).as_json()["classes"].values()
    assert [one["start"]["given_gamma_packets"] for one in (near, far)] == [3.0, 5.0]
    assert near["disagreements"] == []
    assert any("0.3" in sentence for sentence in far["disagreements"])


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.toml"
    path.write_text(dumps(Model(NETWORK, duration=60.0, warmup=15.0)))
    return str(path)


def test_the_command_tunes_all_classes(model, capsys):
    """The usual keys are the first class's; each has its own, too."""
    status = run_app(["recommend", model, "--runs", "4", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert status == (0 if document["reached"] else 3)
    assert list(document["classes"]) == ["near", "far"]
    assert document["tuned"] == "near"
    assert document["recommended"] == document["classes"]["near"]["recommended"]
    assert document["classes"]["far"]["packets"]["ratio"] == pytest.approx(1.0, abs=0.15)
    assert set(document["classes"]["far"]["settings"]) >= {"linux", "ns2"}


def test_the_command_tunes_the_class_that_is_named(model, capsys):
    status = run_app(["recommend", model, "--tune", "far", "--tune", "far", "--runs", "4"])
    shown = capsys.readouterr().out
    assert status in (0, 3)
    assert "For far (brakmo)" in shown
    assert "For near" not in shown


@pytest.mark.parametrize("option", ["--pareto"])
def test_commands_for_one_class_reject_several(option, model, capsys):
    assert run_app(["recommend", model, "--tune", "far", "--tune", "near", option]) == 2
    assert "--tune must be one class with --pareto, but is 'far, near'" in capsys.readouterr().err
