"""Goals, limits and the front end to end, on a small network; and what cannot be reached."""

from __future__ import annotations

import json
import math

import pytest

from tests.networks import office, office_model
from tests.tuning.equilibrium_model import EquilibriumModel
from tests.tuning.offices import TRIAL, recommended_office
from vegasfluid import DropTail, Model, recommend
from vegasfluid.analysis import equilibrium, stability
from vegasfluid.cli.app import run_app
from vegasfluid.modelfile import dumps
from vegasfluid.tuning import Constraints, JainIndex, WorstFlow, optimise, pareto_front
from vegasfluid.tuning.evaluate import gain_margin


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.toml"
    path.write_text(office_model())
    return str(path)


@pytest.fixture
def fair():
    """The plain recommendation."""
    return recommended_office()


@pytest.fixture(params=["equilibrium", pytest.param("fluid", marks=pytest.mark.slow)])
def searched_model(request, monkeypatch):
    """On which model settings are searched: a quick one, or that which users have.

    Packets measure and correct both, so what is found must keep to the same.
    """
    if request.param == "equilibrium":
        monkeypatch.setattr(optimise, "DifferentiableFluid", EquilibriumModel)
    return request.param


def test_jains_index_is_raised(searched_model):
    """Its best is near the fair ratio, and the number is that of packets."""
    result = recommend(office(), objective=JainIndex(), **TRIAL)
    assert result.reached
    assert result.before.packets.means()["jain_index"] < 0.75
    after = result.after.packets.means()["jain_index"]
    assert after > 0.98
    document = result.as_json()
    assert document["goal"] == {"jain_index": "largest"}
    assert document["goal_value"]["after"] == pytest.approx(after, rel=1e-9)
    assert 0.8 < result.after.packets.ratio < 1.25


@pytest.mark.slow
def test_a_constraint_has_priority_over_the_ratio(fair, searched_model):
    """Fewer drops than the fair alpha makes: the fairest such setting is chosen and reported."""
    bound = 0.8 * fair.after.packets.means()["drop_share"]
    result = recommend(office(), constraints=Constraints(drop_share=bound), **TRIAL)
    assert result.after.packets.means()["drop_share"] <= 1.02 * bound
    assert result.after.law.alpha < fair.after.law.alpha
    assert result.before.packets.ratio < result.after.packets.ratio < fair.after.packets.ratio
    assert not result.reached
    assert f"loss ratio at most {bound:.4g} the ratio is {result.after.packets.ratio:.3g}" in (
        result.reason
    )


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_limit_that_is_kept_anyhow_changes_nothing(fair):
    result = recommend(
        office(), constraints=Constraints(queueing_delay=0.2, utilisation=0.5), **TRIAL
    )
    assert result.after.law == fair.after.law
    assert result.reached == fair.reached
    assert result.as_json()["limits"] == {"queueing_delay_s": 0.2, "utilisation": 0.5}


def test_a_limit_that_nothing_keeps_to(searched_model):
    """Reno alone fills the queue to more than that, whatever Vegas does."""
    result = recommend(office(), constraints=Constraints(queueing_delay=0.02), **TRIAL)
    assert not result.reached
    assert (
        "no setting that was tried meets the constraints: queueing delay at most 20 ms (it is "
        in (result.reason)
    )


@pytest.mark.slow
def test_a_gain_margin_is_that_of_the_equilibrium(fair):
    """One that is kept changes nothing; the search within one is in `test_constrained`."""
    margin = gain_margin(fair.network)
    result = recommend(office(), constraints=Constraints(gain_margin=margin / 1.5), **TRIAL)
    assert result.after.law == fair.after.law
    assert result.reached == fair.reached
    assert margin == stability(equilibrium(fair.network)).gain_margin


@pytest.mark.slow
@pytest.mark.unoptimised
def test_red_is_tuned_for_a_smaller_delay(searched_model):
    result = recommend(office(), tune_queue=True, constraints=Constraints(drop_share=0.02), **TRIAL)
    before, after = result.before.packets.means(), result.after.packets.means()
    assert result.reached
    assert result.after.packets.ratio == pytest.approx(1.0, abs=0.1)
    assert after["queueing_delay_s"] < 0.9 * before["queueing_delay_s"]
    assert after["drop_share"] < 0.0205
    assert after["utilisation"] > 0.98 * before["utilisation"]
    assert result.network.link.aqm != office().link.aqm
    queue = result.as_json()["recommended"]
    assert 1 <= queue["min_thresh_packets"] < queue["max_thresh_packets"] <= 150
    assert 0.01 <= queue["max_drop"] <= 1


def test_the_front_falls_from_fair_to_quick(searched_model):
    front = pareto_front(office(), objective=WorstFlow(), size=5, **TRIAL)
    delays = [point.packets.means()["queueing_delay_s"] for point in front.points]
    values = [point.packet_values.mean() for point in front.points]
    assert len(front.points) >= 3
    assert delays == sorted(delays, reverse=True)
    assert values[0] > values[-1] + 0.3
    assert len({tuple(point.setting.values()) for point in front.points}) == len(front.points)


@pytest.mark.slow
def test_the_front_of_the_command(model, searched_model, tmp_path, capsys):
    picture = tmp_path / "front.png"
    given = ["recommend", model, "--pareto", "--plot", str(picture), "--runs", "3", "--json"]
    assert run_app(given) == 0
    document = json.loads(capsys.readouterr().out)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert document["goal"] == "ratio"
    for point in document["front"]:
        assert set(point) == {"setting", "corrected_fluid", "packets"}
        assert math.isfinite(point["packets"]["value"])
    assert run_app(["recommend", model, "--pareto", "--runs", "3"]) == 0
    assert "alpha  ratio  delay, ms" in capsys.readouterr().out


def test_a_goal_and_limits_of_the_command(model, searched_model, capsys):
    given = ["--goal", "worst-flow", "--max-delay-ms", "70", "--min-utilisation", "0.9"]
    assert run_app(["recommend", model, *given, "--runs", "4"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "Goal: largest worst flow (goodput of the worst flow over" in printed
    assert "Constraint: queueing delay at most 70 ms; measured: 6" in printed
    assert "Constraint: utilisation at least 0.9; measured: 1." in printed


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--goal", "fair"], "goal: name must be ratio, jain, proportional, worst-flow, delay"),
        (["--max-drop-share", "2"], "--max-drop-share must be above 0 and at most 1, but is 2.0."),
        (["--max-delay-ms", "0"], "--max-delay-ms must be above 0 and finite, but is 0.0."),
        (["--plot", "x.txt"], "--plot must be named *.png, *.svg, *.pdf, but is"),
        (["--pareto", "--plot", "x.txt"], "--plot must be named *.png, *.svg, *.pdf, but is"),
        (["--pareto", "--plot", "no/x.png"], "--plot must be in an existing folder, but is"),
    ],
)
def test_invalid_input_of_the_command(model, options, line, capsys):
    assert run_app(["recommend", model, *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert line in captured.err
    assert captured.err.count("\n") == 1


def test_red_cannot_be_tuned_on_drop_tail(tmp_path, capsys):
    path = tmp_path / "model.toml"
    path.write_text(dumps(Model(office(aqm=DropTail()), duration=60.0, warmup=15.0)))
    assert run_app(["recommend", str(path), "--tune-queue"]) == 2
    assert "must be red to be tuned, but is 'droptail'" in capsys.readouterr().err


OUT_OF_REACH = {
    "Linux's Vegas halves, and does not get twice what Reno gets": (
        office("linux"), 2.0, "largest", "below 2"
    ),
    "20 times the round-trip time": (office(base_rtts=(0.01, 0.2)), 1.0, "largest", "below 1"),
    "a buffer in which Reno starves": (
        office(aqm=DropTail(), buffer=8, base_rtts=(0.1, 0.1)), 1.0, "smallest", "above 1"
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", OUT_OF_REACH)
def test_what_cannot_be_reached(case):
    """A quick one is above, and one in `tests/cli/test_people.py`."""
    given, ratio, end, side = OUT_OF_REACH[case]
    result = recommend(given, ratio=ratio, **TRIAL)
    assert not result.reached
    assert result.reason.startswith(f"even with the {end} setting (alpha ")
    assert result.reason.endswith(side)
    others = [measurement.ratio for measurement in (result.after.packets, result.before.packets)]
    assert abs(math.log(others[0] / ratio)) <= abs(math.log(others[1] / ratio)) + 1e-9
