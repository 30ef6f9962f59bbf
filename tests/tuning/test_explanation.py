"""Explanations: what is measured, what they report of networks outside the theory."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.networks import CAPACITY, office, office_model
from tests.tuning.recommended import recommended
from vegasfluid import DropTail, InvalidInput, Model, Red, Vegas, metrics, simulate_packets
from vegasfluid.cli.app import run_app
from vegasfluid.cli.show_explanation import show_explanation
from vegasfluid.modelfile import dumps
from vegasfluid.tuning import explain
from vegasfluid.tuning.explanation import Explanation, drop_tail_backlog
from vegasfluid.tuning.explanation_text import saturation_line
from vegasfluid.tuning.rules_of_thumb import RULES
from vegasfluid.tuning.theory import EquilibriumTheory

LAW = Vegas(7, 9, dialect="ns2")
TIMES = {"until": 20.0, "warmup": 5.0}

THEORY_KEYS = {
    "regime", "equilibrium_alpha_packets", "equilibrium_ratio", "equilibrium_alpha_missing",
    "recovering_fraction",
    "window_elasticity", "ratio_elasticity", "terms_packets", "elasticities",
    "saturation_alpha_packets", "saturation_over_alpha", "largest_ratio", "stable", "gain_margin",
    "delay_margin_s", "stability_missing",
}  # fmt: skip
OTHER_KEYS = {
    "theory_missing", "drop_tail_fair_backlog_packets", "rules_of_thumb", "rules_of_thumb_missing",
    "defaults",
}  # fmt: skip
TRIED_KEYS = {
    "alpha_packets", "beta_packets", "ratio", "ratio_ci95", "jain_index", "utilisation",
    "queue_packets", "queueing_delay_s", "drop_share", "runs",
}  # fmt: skip


@pytest.fixture
@cache
def office_explanation() -> Explanation:
    return explain(recommended(office(), LAW), **TIMES, runs=2, seed=5)


@pytest.fixture
@cache
def without_theory() -> Explanation:
    """An adaptive RED has no equilibrium."""
    adaptive = Red(min_thresh=40, max_thresh=120, adaptive=True)
    return explain(recommended(office(aqm=adaptive), LAW), **TIMES, runs=2)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_rules_are_measured_on_packets(office_explanation):
    """Against runs of the public simulator, and their metrics."""
    assert {
        name: (setting.law.alpha, setting.law.beta)
        for name, setting in office_explanation.rules.items()
    } == {
        "queue_over_3": (11, 12),
        "thresholds_minus_2": (8, 28),
        "red_min_over_n": (5, 7),
        "proportional": (5, 15),
    }
    changed = office().with_law("vegas", Vegas(11, 12, dialect="ns2"))
    ratios = []
    for seed in (5, 6):
        run = simulate_packets(changed, 20.0, seed=seed)
        rates = metrics.goodput(run, warmup=5.0)
        ratios.append(float(rates.sel(flow_class="vegas") / rates.sel(flow_class="reno")))
    measured = office_explanation.rules["queue_over_3"].packets
    assert measured.ratio == pytest.approx(np.exp(np.mean(np.log(ratios))), rel=1e-9)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_what_is_known_is_not_measured_again(office_explanation):
    """The model had the defaults, and of the recommendation everything is known."""
    result = recommended(office(), LAW)
    assert office_explanation.defaults.law == Vegas(dialect="ns2")
    assert office_explanation.defaults.packets.runs == result.before.packets.runs
    assert office_explanation.recommended.packets.runs == result.after.packets.runs
    assert office_explanation.rules["queue_over_3"].packets.runs != result.after.packets.runs


def test_other_defaults_are_measured():
    """A model with other numbers has not been measured with the defaults."""
    other = office().with_law("vegas", Vegas(3, 5, gamma=2, dialect="ns2"))
    adaptive = replace(other.link, aqm=Red(min_thresh=40, max_thresh=120, adaptive=True))
    result = recommended(replace(other, links={"bottleneck": adaptive}), replace(LAW, gamma=2))
    why = explain(result, **TIMES, runs=2)
    assert why.defaults.law == Vegas(1, 3, gamma=2, dialect="ns2")
    assert len(why.defaults.packets.runs) == 2
    assert why.defaults.packets.ratio < 0.5


def check_document(why: Explanation) -> dict[str, Any]:
    document = json.loads(json.dumps(why.as_json(), allow_nan=False))
    assert set(document) == THEORY_KEYS | OTHER_KEYS
    for tried in (*document["rules_of_thumb"].values(), document["defaults"]):
        assert set(tried) == TRIED_KEYS
        low, high = tried["ratio_ci95"]
        assert low <= tried["ratio"] <= high
    return document


def test_document(office_explanation):
    document = check_document(office_explanation)
    assert document["theory_missing"] is None
    assert document["equilibrium_alpha_missing"] is None
    assert sum(document["terms_packets"].values()) == pytest.approx(LAW.alpha)
    assert document["equilibrium_ratio"] == pytest.approx(1.0)
    assert document["saturation_over_alpha"] == pytest.approx(
        document["saturation_alpha_packets"] / document["equilibrium_alpha_packets"]
    )
    assert set(document["elasticities"]) == {
        "flows", "capacity", "base_rtt", "min_thresh", "max_thresh", "max_drop",
    }  # fmt: skip
    assert document["rules_of_thumb_missing"] == {}
    assert document["drop_tail_fair_backlog_packets"] is None


def test_where_theory_is_silent_rules_are_measured_all_the_same(without_theory):
    document = check_document(without_theory)
    assert all(document[key] is None for key in THEORY_KEYS)
    assert document["theory_missing"] == without_theory.theory_missing
    assert "adaptive RED keeps changing max_drop" in without_theory.theory_missing
    assert set(document["rules_of_thumb"]) == set(RULES)


def test_one_flow_against_one_at_a_full_buffer():
    """As many packets as 39.8 % of the buffer where it holds what the path holds."""
    base = 150 / CAPACITY - (1 + 40 / 1500) / CAPACITY  # and the time to send
    tail: dict[str, Any] = {"aqm": DropTail(), "base_rtts": (base, base)}
    full = office(count=1, **tail)
    assert drop_tail_backlog(full, "vegas") == pytest.approx(0.398 * 150, abs=0.0005 * 150)
    assert drop_tail_backlog(office(count=2, **tail), "vegas") is None
    assert drop_tail_backlog(office(count=1), "vegas") is None
    swapped = full.with_law("reno", Vegas())
    assert drop_tail_backlog(swapped, "vegas") is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"until": -1.0}, "until must be above 0"),
        ({"until": 10.0, "warmup": 10.0}, "warmup must be at least 0 and below 10"),
        ({"until": 10.0, "runs": 1}, "explain: runs must be at least 2"),
    ],
)
def test_invalid_input(options, message):
    with pytest.raises(InvalidInput, match=message) as error:
        explain(recommended(office(), LAW), **options)
    assert "\n" not in str(error.value)


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    """A fixed width: what is piped is not broken into lines."""
    monkeypatch.setenv("COLUMNS", "80")


def shown(capsys, why: Explanation, goal: float = 1.0) -> str:
    show_explanation(recommended(office(), LAW, goal), why)
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) < 40
    return " ".join(text.split())


def test_screen(office_explanation, capsys):
    text = shown(capsys, office_explanation)
    reasons = office_explanation.theory
    assert reasons is not None
    for words in (
        "Why alpha = 7",
        "RED_min per flow (rule RED_min / N) +5.00",
        f"predicts the target ratio at alpha = {reasons.alpha:.6g}.",
        "Regime: below saturation (alpha limits the windows).",
        f"Beyond alpha = {reasons.saturation_alpha:.4g}",
        "The equilibrium is stable",
        "recommended 7 9 0.995 0.278 to 3.560",  # sqrt(0.9 1.1) exp(-+12.706 ln(1.1 / 0.9) / 2)
        "Q / 3 11 12",
        "defaults 1 3 0.900",
        "With the defaults (alpha 1, beta 3) a vegas flow gets 0.9 times",
    ):
        assert words in text


def test_screen_without_theory(without_theory, capsys):
    text = shown(capsys, without_theory)
    assert "Theory does not apply here: bottleneck: aqm.adaptive is not supported" in text
    assert "RED thresholds - 2 8 28" in text
    assert "Regime" not in text


def test_screen_where_no_alpha_has_the_goal(office_explanation, capsys):
    assert office_explanation.theory is not None
    missed = replace(
        office_explanation.theory, target_missed="no alpha gives a ratio of 5", ratio=0.83, terms={}
    )
    text = shown(capsys, replace(office_explanation, theory=missed), 5.0)
    assert (
        "no alpha gives a ratio of 5. The lines below use the recommended alpha, "
        "which gives 0.83" in text
    )


@pytest.mark.parametrize(
    ("largest_ratio", "limit"), [(1.25, " The ratio cannot exceed 1.25."), (None, "")]
)
def test_saturation_line(largest_ratio, limit):
    """It states the largest ratio where the equilibrium theory has one."""
    theory = EquilibriumTheory(
        alpha=4.0,
        ratio=1.0,
        target_missed="",
        regime="below saturation",
        recovering_fraction=0.25,
        window_elasticity=0.5,
        ratio_elasticity=0.5,
        terms={},
        elasticities={},
        saturation_alpha=10.0,
        largest_ratio=largest_ratio,
        stability=None,
        stability_missing="",
    )
    assert saturation_line(recommended(office(), LAW), theory) == (
        "Flows of vegas recover from losses in 25 % of their round trips. Beyond alpha = 10, 2.50 "
        f"times this alpha, only losses limit their windows.{limit}"
    )


@pytest.mark.slow
def test_command(tmp_path, capsys):
    path = tmp_path / "model.toml"
    path.write_text(office_model())
    assert run_app(["recommend", str(path), "--runs", "2", "--explain", "--json"]) in (0, 3)
    captured = capsys.readouterr()
    assert captured.err == ""
    result = json.loads(captured.out)
    explanation = result["explanation"]
    assert set(explanation) == THEORY_KEYS | OTHER_KEYS
    total = sum(explanation["terms_packets"].values())
    assert total == pytest.approx(result["recommended"]["alpha_packets"])
    assert explanation["defaults"]["ratio"] == result["before"]["packets"]["ratio"]


def test_the_command_rejects_in_one_line(tmp_path, capsys):
    path = tmp_path / "model.toml"
    reno = {"reno": office().flows["reno"]}
    path.write_text(dumps(Model(replace(office(), flows=reno), duration=20.0, warmup=5.0)))
    assert run_app(["recommend", str(path), "--explain"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.strip().splitlines()) == 1
    assert "law must be vegas in at least one class" in captured.err
