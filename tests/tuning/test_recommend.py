"""The main job end to end, on a small network where it takes a second."""

from __future__ import annotations

import json
import math

import pytest

from tests.networks import office, office_model
from tests.tuning.offices import TRIAL, recommended_office
from vegasfluid import InvalidInput, Vegas, recommend
from vegasfluid.cli.app import run_app

KEYS = {"ratio", "jain_index", "utilisation", "queue_packets", "queueing_delay_s", "drop_share"}
PACKET_KEYS = KEYS | {"ratio_ci95", "retransmit_share", "runs"}


@pytest.fixture
def fair():
    return recommended_office()


@pytest.fixture
def half():
    return recommended_office(ratio=0.5)


def test_goal_is_reached(fair):
    assert fair.reached
    low, high = fair.after.packets.interval
    straddled = "the goal lies between alpha" in fair.reason
    assert straddled or low <= 1.0 <= high
    assert abs(math.log(fair.after.packets.ratio)) < (math.log(1.1) if straddled else 0.03)
    assert fair.network.flows["vegas"].law == fair.after.law
    assert fair.network.flows["reno"] == office().flows["reno"]
    assert fair.after.law.alpha == int(fair.after.law.alpha)


def test_a_lower_goal_takes_a_smaller_alpha(fair, half):
    assert half.reached
    low, high = half.after.packets.interval
    assert low <= 0.5 <= high or "the goal lies between alpha" in half.reason
    assert half.after.law.alpha < fair.after.law.alpha
    assert half.after.packets.ratio < fair.after.packets.ratio


def test_it_is_better_than_before(fair):
    """The defaults 1 and 3 leave Vegas behind; both numbers are of the same seeds."""
    assert fair.before.law == Vegas(dialect="ns2")
    assert fair.before.packets.ratio < 0.8
    assert abs(math.log(fair.after.packets.ratio)) < abs(math.log(fair.before.packets.ratio))


def test_the_same_seeds_give_the_same_numbers(half):
    again = recommend(office(), ratio=0.5, **TRIAL).as_json()
    first = half.as_json()
    assert again.pop("seconds") != first.pop("seconds")
    assert again == first


def check_numbers(block: dict, keys: set[str]) -> None:
    assert set(block) == keys
    assert all(math.isfinite(block[key]) for key in KEYS)
    assert 0 < block["jain_index"] <= 1
    assert 0.5 < block["utilisation"] < 1.001
    assert block["queueing_delay_s"] == pytest.approx(
        block["queue_packets"] / (10e6 / 12000), rel=0.05
    )


def test_json_of_the_command(tmp_path, capsys, fair):
    """The keys of the contract, and the library's numbers."""
    path = tmp_path / "model.toml"
    path.write_text(office_model())
    assert run_app(["recommend", str(path), "--runs", "6", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    result = json.loads(captured.out)
    assert set(result) == {
        "model", "version", "tuned", "goal", "reached", "reason", "recommended", "before", "fluid",
        "packets", "fluid_alpha_packets", "settings", "settings_missing", "seconds",
        "assumed", "warnings", "disagreements",
    }  # fmt: skip
    assert set(result["recommended"]) == {
        "alpha_packets", "beta_packets", "gamma_packets", "dialect",
    }  # fmt: skip
    assert set(result["before"]) == {"alpha_packets", "beta_packets", "fluid", "packets"}
    check_numbers(result["before"]["fluid"], KEYS)
    check_numbers(result["before"]["packets"], PACKET_KEYS)
    check_numbers(result["fluid"], KEYS)
    check_numbers(result["packets"], PACKET_KEYS)
    low, high = result["packets"]["ratio_ci95"]
    assert low < result["packets"]["ratio"] < high
    assert set(result["seconds"]) == {"total", "fluid", "packets"}
    assert result["seconds"]["total"] >= max(
        result["seconds"]["fluid"], result["seconds"]["packets"]
    )
    assert result["recommended"]["beta_packets"] == fair.after.law.beta
    assert result["recommended"]["alpha_packets"] == fair.after.law.alpha
    assert result["packets"]["ratio"] == pytest.approx(fair.after.packets.ratio)


def test_settings_are_whole_where_the_system_takes_them(fair, half):
    for result in (fair.as_json(), half.as_json()):
        assert set(result["settings"]) | set(result["settings_missing"]) == {
            "linux", "ns2", "ns3", "brakmo",
        }  # fmt: skip
        assert not set(result["settings"]) & set(result["settings_missing"])
        for name, values in result["settings"].items():
            assert set(values) == {"alpha", "beta", "gamma"}
            if name != "brakmo":
                assert all(type(value) is int for value in values.values())
        assert result["settings"]["ns2"]["alpha"] == result["recommended"]["alpha_packets"]


@pytest.mark.slow
def test_out_of_reach_on_the_plateau(tmp_path, capsys):
    """Linux's Vegas halves at a loss as Reno does: five times Reno's share it cannot get."""
    path = tmp_path / "model.toml"
    path.write_text(office_model("linux"))
    assert run_app(["recommend", str(path), "--runs", "3", "--ratio", "5", "--json"]) == 3
    result = json.loads(capsys.readouterr().out)
    assert result["reached"] is False
    assert result["reason"].startswith("even with the largest setting")
    assert result["packets"]["ratio_ci95"][1] < 5


def test_out_of_reach_below_the_smallest_alpha():
    result = recommend(office(), ratio=0.05, **TRIAL)
    assert not result.reached
    assert result.after.law.alpha == 1
    assert result.reason.startswith("even with the smallest setting (alpha 1, beta 1)")
    assert result.after.packets.interval[0] > 0.05


def test_a_class_that_never_sends_is_rejected():
    late = office(start=60.0)
    with pytest.raises(InvalidInput, match=r"flows.vegas: start must be below the simulated time"):
        recommend(late, until=60.0)


def test_steps_are_reported():
    lines: list[str] = []
    recommend(office(), ratio=0.5, report=lines.append, **TRIAL)
    assert any(line.startswith("fluid: alpha ") for line in lines)
    assert sum(line.startswith("packets: alpha ") for line in lines) >= 2
