"""Why no setting is fair over ranges, and what the command reports."""

from __future__ import annotations

import json
import math
from functools import cache

import numpy as np
import pytest

from tests.tuning.ranges import GOAL, NETWORK, PLACE, RANGES, UNTIL, WARMUP
from vegasfluid.cli.app import run_app
from vegasfluid.cli.robustness import recommend_over_ranges
from vegasfluid.fluid import record_fluid
from vegasfluid.modelfile import loads
from vegasfluid.run_options import DEFAULT_SAMPLES
from vegasfluid.tuning.parameters import with_alpha
from vegasfluid.tuning.scenarios import make_scenarios, range_words, separating_ranges


def test_the_number_that_separates_is_named():
    """A made-up plane: the first number moves log(ratio) ten times as far as the second."""
    given = make_scenarios(NETWORK, RANGES, PLACE)
    shares = np.array([list(scenario.quantiles.values()) for scenario in given])
    logs = 0.1 + shares @ np.array([1.0, -0.1])
    most, least = given[int(logs.argmax())], given[int(logs.argmin())]
    assert separating_ranges(given, logs, most, least) == ["reno.count"]
    logs = shares @ np.array([0.6, -1.0])
    most, least = given[int(logs.argmax())], given[int(logs.argmin())]
    assert separating_ranges(given, logs, most, least) == ["reno.base_rtt_ms", "reno.count"]
    assert separating_ranges(given, -logs, most, least) == list(most.quantiles)


def test_words_for_numbers():
    assert range_words(["reno.base_rtt_ms", "vegas.access_delay_ms"]) == "RTTs"
    assert range_words(["up.capacity_mbps", "reno.count"]) == "capacities and numbers of flows"


MANY = """
duration_s = 60
warmup_s = 15
[bottleneck]
capacity_mbps = 20
buffer_packets = 250
aqm = { name = "red", min_thresh_packets = 50, max_thresh_packets = 200, max_drop = 0.1 }
[flows.reno]
count = { low = 4, high = 60 }
base_rtt_ms = 40
start_s = { spread_s = 0.1 }
law = { name = "reno" }
[flows.vegas]
count = 5
base_rtt_ms = 40
law = { name = "vegas" }
"""
"""The network of `ranges` with up to 60 Reno flows: its program serves here, too."""
FAR = """
duration_s = 60
warmup_s = 15
[bottleneck]
capacity_mbps = 20
buffer_packets = 250
aqm = { name = "red", min_thresh_packets = 50, max_thresh_packets = 200, max_drop = 0.1 }
[flows.reno]
count = 5
base_rtt_ms = { low = 10, high = 200, spread = "log_uniform" }
law = { name = "reno" }
[flows.vegas]
count = 5
base_rtt_ms = 40
law = { name = "vegas", dialect = "ns2" }
"""


@pytest.fixture
@cache
def many():
    return recommend_over_ranges(loads(MANY), None, ratio=GOAL, until=UNTIL, warmup=WARMUP, runs=4)


@pytest.fixture
@cache
def far():
    return recommend_over_ranges(loads(FAR), None, ratio=1.0, until=UNTIL, warmup=WARMUP, runs=4)


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Run the command on a model, with the recommendation that was made once for all tests."""

    def run(text, result, *options: str) -> tuple[int, str]:
        path = tmp_path / "model.toml"
        path.write_text(text)
        calls = []

        def known(*given, **options):
            calls.append((given, options))
            return result

        monkeypatch.setattr("vegasfluid.cli.recommend.recommend_over_ranges", known)
        ratio = result.objective.ratio
        given = ["recommend", str(path), "--runs", "4", "--ratio", str(ratio), *options]
        status = run_app(given)
        ((model,), given), *others = calls
        assert (model, others) == (loads(text), [])
        given.pop("report")
        times = {"until": UNTIL, "warmup": WARMUP}
        assert given == {"tune": None, "ratio": ratio, "runs": 4, "seed": 1, **times}
        captured = capsys.readouterr()
        assert captured.err == ""
        return status, captured.out

    return run


def check_unfair(result, ratio, apart):
    """Of the document: no alpha is fair, and what was found is the best compromise."""
    robust = result["robust"]
    assert not result["reached"]
    start = f"no single alpha is fair to {apart} this far apart: the ratio is "
    assert result["reason"].startswith(start)
    least, most = robust["worst"]["lowest"], robust["worst"]["highest"]
    assert least["ratio"] < ratio < most["ratio"]
    factor = max(most["ratio"] / ratio, ratio / least["ratio"])
    assert robust["worst"]["factor"] == pytest.approx(factor)
    assert robust["worst"]["factor"] > 1.25
    own = robust["nominal_only"]
    assert robust["worst"]["factor"] < own["worst"]["factor"]
    assert own["packets"]["runs"] == result["packets"]["runs"]
    now, then = (abs(math.log(run["packets"]["ratio"] / ratio)) for run in (result, own))
    assert robust["price"]["log_ratio"] == pytest.approx(now - then)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_fifteen_times_as_many_flows_are_not_fair(many, command):
    """The best compromise is printed with the reason, and the command ends with 3."""
    status, out = command(MANY, many, "--json")
    result = json.loads(out)
    assert status == 3
    check_unfair(result, GOAL, "numbers of flows")
    worst = result["robust"]["worst"]
    assert worst["highest"]["numbers"] == {"reno.count": 60}
    assert worst["lowest"]["numbers"] == {"reno.count": 4}
    own = result["robust"]["nominal_only"]
    assert result["recommended"]["alpha_packets"] > own["alpha_packets"]


@pytest.mark.slow
def test_round_trips_twenty_times_as_long_are_not_fair(far, command):
    status, out = command(FAR, far, "--json")
    result = json.loads(out)
    assert status == 3
    check_unfair(result, 1.0, "RTTs")
    worst = result["robust"]["worst"]
    assert worst["highest"]["numbers"] == {"reno.base_rtt_ms": 200.0}
    assert worst["lowest"]["numbers"]["reno.base_rtt_ms"] < 40
    own = result["robust"]["nominal_only"]
    assert result["recommended"]["alpha_packets"] < own["alpha_packets"]


@pytest.mark.slow
@pytest.mark.unoptimised
def test_keys_of_the_command(many, command):
    """Those of every recommendation, and the report on the ranges."""
    result = json.loads(command(MANY, many, "--json")[1])
    robust = result["robust"]
    assert set(result) == {
        "model", "version", "tuned", "goal", "reached", "reason", "recommended", "before", "fluid",
        "packets", "fluid_alpha_packets", "settings", "settings_missing", "seconds", "robust",
        "assumed", "warnings", "disagreements",
    }  # fmt: skip
    assert set(robust) == {
        "ranges", "scenarios", "worst", "nominal", "nominal_only", "price",
        "fluid_regret_log_ratio",
    }  # fmt: skip
    assert robust["ranges"] == {"reno.count": {"low": 4, "high": 60, "spread": "uniform"}}
    kinds = [scenario["kind"] for scenario in robust["scenarios"]]
    assert kinds == ["nominal"] + 2 * ["corner"] + 4 * ["inside"]
    for scenario in robust["scenarios"]:
        low, high = scenario["ratio_ci95"]
        assert low < scenario["ratio"] < high
    assert robust["nominal"]["ratio"] == result["packets"]["ratio"]


@pytest.mark.slow
def test_networks_with_other_round_trips_are_integrated_as_well_as_alone(far):
    """The shortest round trip has the shortest step, so it is integrated as in a run by itself."""
    law, shortest = far.after.law, far.robust.scenarios[1]
    assert shortest.scenario.numbers == {"reno.base_rtt_ms": 10.0}
    network = shortest.scenario.network.with_law("vegas", with_alpha(law, law.alpha))
    run = record_fluid(network, UNTIL, DEFAULT_SAMPLES, tolerance=None)
    assert shortest.fluid_ratio == pytest.approx(
        run.totals_after(WARMUP).goodput_ratio(1), rel=1e-6
    )


@pytest.mark.slow
def test_what_the_command_prints(many, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    status, text = command(MANY, many)
    assert status == 3
    assert "Worst cases over 2 corners of the ranges and 4 points inside" in text
    assert "Goal not reached: no single alpha is fair to numbers of flows" in text
    assert "Price of robustness: the nominal network is" in text
    assert "farther from the goal" in text
