"""Any number tuned: against a search of all settings on packets, and a closed form."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from scipy.optimize import brentq

import vegasfluid as vf
from benchmarks.queue_tuning import BUSY, CASES, TIMES, excess, network, reno
from vegasfluid.fluid.model import build
from vegasfluid.tuning import Constraints, JainIndex, LargestGoodput, ShareRatio, SmallestDelay
from vegasfluid.tuning.influence import Comparison, NetworkEvaluator
from vegasfluid.tuning.measurement import Measurement, measure
from vegasfluid.tuning.named_parameters import named_parameters
from vegasfluid.tuning.number_result import EvaluatedNetwork
from vegasfluid.tuning.settings import resolve_settings
from vegasfluid.tuning.tuned_numbers import Search, make_program


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CASES))
def test_as_good_as_the_best_of_all_settings_on_packets(name: str) -> None:
    assert excess(CASES[name]) <= 0.05


def sawtooth_utilisation(relative_buffer: float) -> float:
    """Utilisation of one Reno flow by the size of its buffer in bandwidth-delay products, b < 1.

    The window climbs by a packet a round trip from m = (1 + b) / 2 to 1 + b; below 1 the link is
    idle part of each base RTT, above it is full.
    """
    top = 1 + relative_buffer
    below, above = (1 - (top / 2) ** 2) / 2, (top**2 - 1) / 2
    return (below + above) / (1 - top / 2 + above)


@pytest.mark.slow
def test_buffer_of_one_reno_flow_is_that_of_the_sawtooth() -> None:
    product_packets = 150
    flows = {"reno": vf.Flows(1, vf.Reno(), base_rtt=vf.ms(60))}
    given = vf.Network(vf.Link(product_packets / 0.06, 300), flows)
    times: Any = {"until": 200.0, "warmup": 50.0, "runs": 2}
    result = vf.recommend(
        given,
        ["bottleneck.buffer_packets=30:300"],
        objective=SmallestDelay(),
        constraints=BUSY,
        **times,
    )
    expected = brentq(lambda b: sawtooth_utilisation(b) - 0.98, 0.1, 0.99) * product_packets
    assert result.reached
    assert result.numbers[0].value == pytest.approx(expected, rel=0.05)


@pytest.mark.slow
def test_a_ratio_of_two_named_classes() -> None:
    """AIMD flows with less of a decrease have more; the recommended beta gives CUBIC what is asked.

    The seeds are others than those of the search.
    """
    flows = {name: reno() for name in ("reno", "third")}
    flows["cubic"] = replace(reno(), law=vf.Cubic())
    given = replace(network(), flows=flows)
    objective = ShareRatio(1.5, "cubic", "reno")
    result = vf.recommend(given, ["cubic.beta=0.3:0.95"], objective=objective, runs=8, **TIMES)
    again = measure(result.network, "cubic", range(101, 109), others=("reno",), **TIMES)
    assert result.reached
    assert again.ratio == pytest.approx(1.5, rel=0.1)
    assert (result.tuned, result.others) == ("cubic", ("reno",))


@pytest.mark.slow
def test_a_setting_with_which_nothing_arrives_is_the_worst_and_the_search_goes_on() -> None:
    """Linux's RED stays shut with a small weight (`tests/agreement/test_linux.py`)."""
    red = vf.Red(20, 60, max_drop=0.2, weight=0.03)
    law = vf.Vegas(alpha=2, beta=4, dialect="linux")
    classes = {
        "reno": vf.Flows(2, vf.Reno(), base_rtt=0.02),
        "vegas": vf.Flows(4, law, base_rtt=0.02),
    }
    given = vf.Network(vf.Link(vf.mbps(10), 200, red), classes)
    parameters = named_parameters(given, ["bottleneck.weight=0.002:0.05"])
    settings = resolve_settings({"until": 10.0, "warmup": 5.0, "runs": 2})
    evaluator = NetworkEvaluator(given, Comparison("vegas", ()), settings)
    search = Search(None, given, parameters, evaluator)  # type: ignore[arg-type]
    assert search.merit((0.002,)) == (math.inf, math.inf)
    assert search.merit((0.002,)) == (math.inf, math.inf)
    assert evaluator.packets_if_any(given) is not None


@pytest.mark.slow
@pytest.mark.unoptimised
def test_what_does_not_matter_is_left_alone() -> None:
    """A queue of 50 packets never reaches a threshold of 60 or more."""
    given = network(vf.StepMarking(80), 50, reno=reno(ecn=True))
    names = ["bottleneck.threshold_packets=60:100"]
    result = vf.recommend(given, names, objective=LargestGoodput(), runs=2, **TIMES)
    [number] = result.numbers
    assert (number.matters, number.in_fluid, number.value) == (False, False, 80.0)
    assert "does not matter" in result.notes[0]
    assert result.network == given


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_smaller_delay_does_not_cost_utilisation() -> None:
    """RED's thresholds for fairness, without Vegas: 99 % of the utilisation stays, as with it.

    Without that bound the smallest delay of equally fair settings leaves the link idle at times.
    """
    cubic = vf.Flows(4, vf.Cubic(), base_rtt=0.08, start=vf.UniformStart(1.0))
    flows = {"reno": replace(cubic, law=vf.Reno()), "cubic": cubic}
    given = vf.Network(vf.Link(vf.mbps(10), 200, vf.Red(20, 80, weight=0.01)), flows)
    result = vf.recommend(
        given, tune_queue=True, objective=JainIndex(), until=40.0, warmup=10.0, runs=2
    )
    before, after = (run.packets.means()["utilisation"] for run in (result.before, result.after))
    assert after >= 0.99 * before
    assert result.reached


TUNED = {
    "cubic.beta": 0.5,
    "cubic.C": 1.2,
    "cubic.friendly_increase": 0.4,
    "vegas.gamma_packets": 3.0,
    "bottleneck.min_thresh_packets": 12.0,
    "bottleneck.max_drop": 0.3,
    "bottleneck.buffer_packets": 70.0,
}


@pytest.fixture(scope="module")
def mixed() -> vf.Network:
    flows = {
        "cubic": replace(reno(), law=vf.Cubic()),
        "vegas": replace(reno(), law=vf.Vegas(2, 4), direction="reverse"),
    }
    link = vf.Link(vf.mbps(10), 100, vf.Red(20, 80))
    return vf.Network(link, flows)


@pytest.mark.parametrize("name", list(TUNED))
def test_the_equations_have_the_number_that_the_network_has(mixed: vf.Network, name: str) -> None:
    [parameter] = named_parameters(mixed, [name])
    changed = build(parameter.with_value(mixed, TUNED[name])).parameters
    same = parameter.with_value_in_equations(build(mixed).parameters, TUNED[name])
    bounds = {"delay_bounds": None}  # a larger buffer has longer delays
    for one, other in zip(
        jax.tree.leaves(changed._replace(**bounds)),
        jax.tree.leaves(same._replace(**bounds)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other)


def test_a_number_without_a_range_has_one_within_what_is_valid(mixed: vf.Network) -> None:
    names = ["cubic.friendly_increase"]
    [increase] = (one.range(mixed) for one in named_parameters(mixed, names))
    assert increase == (pytest.approx(0.9 / 17), pytest.approx(90 / 17))
    names = ["cubic.beta", "bottleneck.min_thresh_packets", "bottleneck.buffer_packets"]
    beta, threshold, buffer = (one.range(mixed) for one in named_parameters(mixed, names))
    assert beta == (pytest.approx(0.07), pytest.approx(1.0))
    assert threshold == (2.0, pytest.approx(80.0))
    assert buffer == (10.0, 1000.0)


def test_both_thresholds_of_red_keep_their_order(mixed: vf.Network) -> None:
    names = ["bottleneck.min_thresh_packets=1:90", "bottleneck.max_thresh_packets=5:100"]
    lower, spread = named_parameters(mixed, names)
    changed = spread.with_value(lower.with_value(mixed, 85.0), 10.0)
    assert (changed.link.aqm.min_thresh, changed.link.aqm.max_thresh) == (85.0, 95.0)


INVALID_NAMES = {
    ("cubic.alpha",): "parameter must be a known one",
    ("bottleneck.capacity_mbps",): "tuning bottleneck.capacity_mbps is not supported: it is no",
    ("cubic.beta=0.5",): "tune must be CLASS, OWNER.PARAMETER or OWNER.PARAMETER=LOW:HIGH",
    ("cubic.beta=0.9:0.5",): "tune must be CLASS, OWNER.PARAMETER or",
    ("cubic.beta=0.5:2",): "beta must be",
    ("cubic.beta", "cubic.beta=0.5:0.6"): "tune must be different parameters",
    ("vegas", "vegas.beta_packets"): "beta moves with alpha",
    ("cubic",): "tune must be a class of Vegas flows",
}


@pytest.mark.parametrize("names", list(INVALID_NAMES))
def test_invalid_names_are_refused(mixed: vf.Network, names: tuple[str, ...]) -> None:
    with pytest.raises(vf.VegasfluidError, match=re.escape(INVALID_NAMES[names])):
        named_parameters(mixed, names)


def test_what_is_missing_is_said_before_anything_runs() -> None:
    given = network()
    name = "bottleneck.buffer_packets"
    with pytest.raises(vf.InvalidInput, match=r"--goal must be delay .* is ratio without"):
        vf.recommend(given, [name])
    with pytest.raises(vf.InvalidInput, match="--min-utilisation must be given"):
        vf.recommend(given, [name], objective=SmallestDelay())
    with pytest.raises(vf.InvalidInput, match="tcp"):
        vf.recommend(given, [name], objective=ShareRatio(1.0, "tcp"))
    with pytest.raises(vf.InvalidInput, match="red to be tuned"):
        vf.recommend(given, tune_queue=True, objective=JainIndex())
    with pytest.raises(vf.Unsupported, match="tune_gamma with named parameters"):
        vf.recommend(given, [name], objective=JainIndex(), tune_gamma=True)
    with pytest.raises(vf.InvalidInput, match="where there is no Vegas class"):
        vf.recommend(given, [], objective=SmallestDelay(), constraints=BUSY)


def test_competitors_that_starve_in_the_fluid_model_are_reported() -> None:
    """Its ratio is infinite there; the packet runs have one."""
    run = {"ratio": 3.0, "queue_packets": 20.0}
    fluid = {"ratio": math.inf, "queue_packets": 20.0}
    [sentence] = EvaluatedNetwork(network(), fluid, Measurement((run, run))).disagreements("reno")
    assert sentence.startswith(
        "A flow of reno gets all of the goodput in the fluid model, but "
        "3 times the goodput of other flows in the packet simulator."
    )


def test_the_history_of_the_fluid_model_is_for_the_largest_buffer_and_all_else_as_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vegas = vf.Flows(1, vf.Vegas(), base_rtt=0.02)
    given = network(vf.Red(20, 60), 200, vegas=vegas, reno=reno())
    names = ["vegas", "bottleneck.buffer_packets=70:300", "bottleneck.min_thresh_packets=10:50"]
    built = []

    def made(network: vf.Network, *rest: Any) -> SimpleNamespace:
        built.append(network)
        return SimpleNamespace(count=np.ones(2), classes=(slice(0, 1), slice(1, 2)))

    monkeypatch.setattr("vegasfluid.tuning.tuned_numbers.DifferentiableFluid", made)
    settings = resolve_settings({"until": 10.0, "warmup": 5.0, "runs": 2})
    evaluator = NetworkEvaluator(given, Comparison("vegas", ()), settings)
    make_program(evaluator, named_parameters(given, names), JainIndex(), Constraints())
    [largest] = built
    assert largest == replace(given, links={"bottleneck": replace(given.link, buffer=300)})
