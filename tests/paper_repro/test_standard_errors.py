"""Standard errors: how they are computed, and what they do to a verdict."""

from __future__ import annotations

import numpy as np
import pytest

import vegasfluid as vf
from paper_repro import report
from paper_repro.claims import Expectation, Paper, Verdict
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job
from paper_repro.jackknife import with_errors
from paper_repro.report import Chapter, write_report
from paper_repro.verdicts import judge
from tests.paper_repro.made import a_claim

NEAR_TEN = {"equals": 10, "within": 1}


def evidence_of(value, error, source: str = PACKETS) -> Evidence:
    evidence = Evidence()
    evidence.note(source, "figure1.it", value)
    if error is not None:
        evidence.spread[source] = {"figure1.it": error}
    return evidence


@pytest.mark.parametrize(
    ("expected", "found", "margin", "met"),
    [
        (NEAR_TEN, 10.0, 1.0, True),
        (NEAR_TEN, 10.0, 1.1, None),
        (NEAR_TEN, 12.0, 1.0, None),
        (NEAR_TEN, 12.0, 0.9, False),
        (NEAR_TEN, 12.0, 5.0, None),
        ({"above": 1}, 2.0, 1.0, None),
        ({"at_least": 1}, 2.0, 1.0, True),
        ({"below": 1}, 2.0, 1.0, False),
        ({"at_most": 1}, 2.0, 1.0, None),
        ({"above": 1, "below": 1.2}, 1.3, 0.4, None),
        ({"above": 1}, [2.0, 3.0], [0.5, 1.5], True),
        ({"above": 1}, [2.0, 3.0], [0.5, 2.5], None),
        ({"above": 1}, [0.0, 3.0], [0.5, 2.5], False),
        ({"equals": [1, 2]}, [1.0, 2.5], [0.0, 0.5], None),
        ({"order": "rising"}, [1.0, 2.0, 4.0], [0.4, 0.4, 0.4], True),
        ({"order": "rising"}, [1.0, 2.0, 4.0], [0.5, 0.5, 0.4], None),
        ({"order": "rising"}, [2.0, 1.0, 4.0], [0.4, 0.4, 0.4], False),
        ({"order": "rising"}, [2.0, 1.0, 4.0], [0.6, 0.6, 0.4], None),
        ({"order": "rising"}, [2.0, 5.0, 1.0], [0.6, 0.6, 0.4], False),
        ({"order": "falling"}, [4.0, 2.0, 1.0], [0.4, 0.4, 0.4], True),
        ({"order": "falling"}, [4.0, 1.0, 2.0], [0.4, 0.6, 0.6], None),
        ({"order": "falling"}, [4.0, 1.0, 2.0], [0.4, 0.4, 0.4], False),
        ({"at_least": 0}, float("nan"), 1.0, False),
    ],
)
def test_an_expectation_within_a_margin_holds_or_not_or_is_undecided(expected, found, margin, met):
    assert Expectation.model_validate(expected).met_within(found, margin) is met


@pytest.mark.parametrize(
    ("value", "error", "verdict", "others"),
    [
        (10.0, None, Verdict.REPRODUCED, ()),
        (10.0, 0.5, Verdict.REPRODUCED, ()),
        (10.0, 0.52, Verdict.REPRODUCED, (Verdict.IN_SHAPE,)),
        (12.0, 0.4, Verdict.IN_SHAPE, ()),
        (12.0, 0.52, Verdict.IN_SHAPE, (Verdict.REPRODUCED,)),
        (4.0, 0.4, Verdict.NOT_REPRODUCED, ()),
        (4.0, 0.6, Verdict.NOT_REPRODUCED, (Verdict.IN_SHAPE,)),
        (8.0, 3.0, Verdict.IN_SHAPE, (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED)),
    ],
)
def test_other_verdicts_in_the_interval_are_stated(value, error, verdict, others):
    judged = judge(a_claim(in_shape={"above": 5}), evidence_of(value, error))
    assert (judged.verdict, judged.undecided) == (verdict, others)


@pytest.mark.parametrize(
    ("runs", "factor"), [(2, 12.706), (3, 4.303), (12, 2.201), (20, 2.093), (None, 1.960)]
)
def test_the_interval_is_that_of_students_t(runs, factor):
    """Quantiles of the printed tables, two-sided, 5 %."""
    for error, undecided in ((0.999 / factor, False), (1.001 / factor, True)):
        evidence = evidence_of(10.0, error)
        if runs is not None:
            evidence.runs[PACKETS] = {"figure1.it": runs}
        assert bool(judge(a_claim(), evidence).undecided) is undecided


def test_a_series_of_means_has_an_error_for_each_value():
    evidence = Evidence()
    evidence.note_mean_series(PACKETS, "figure1.it", [[1.0, 5.0], [3.0, 5.0]])
    assert evidence.found[PACKETS]["figure1.it"] == [2.0, 5.0]
    assert evidence.spread[PACKETS]["figure1.it"] == pytest.approx([1.0, 0.0])


def test_rounding_is_no_error():
    evidence = Evidence()
    evidence.note_mean(PACKETS, "figure1.it", [1.0, 1.0 + 2e-16])
    assert evidence.spread[PACKETS]["figure1.it"] == 0.0


def an_experiment(measure, seeds: dict[str, tuple[int, ...]]) -> Experiment:
    network = vf.Network(vf.Link(vf.mbps(1), 5), {"reno": vf.Flows(1, vf.Reno(), base_rtt=0.1)})
    jobs = {name: Job(network, 1.0, keep=float, seeds=given) for name, given in seeds.items()}
    return Experiment("figure1", "", measure, jobs=lambda: jobs)


def noting(**functions):
    def measure(results) -> Evidence:
        evidence = Evidence()
        for name, function in functions.items():
            evidence.note(PACKETS, f"figure1.{name}", function(results))
        return evidence

    return measure


@pytest.mark.parametrize("value", [1.05, 0.0])
def test_a_value_that_no_seed_changes_has_no_error(value):
    """The mean of twenty numbers of 1.05 differs from 1.05 by rounding."""
    seeds = tuple(range(20))
    experiment = an_experiment(noting(it=lambda results: value), {"a": seeds})
    assert with_errors(experiment, {"a": list(map(float, seeds))}).spread == {}


def test_the_jackknife_gives_the_standard_error_of_a_mean_and_of_a_ratio_of_pairs():
    rng = np.random.default_rng(1)
    a = rng.normal(10, 1, 40)
    b = 2 * a + rng.normal(0, 0.1, 40)  # the same chance in both
    measure = noting(
        mean=lambda x: np.mean(x["a"]),
        ratio=lambda x: np.sum(x["b"]) / np.sum(x["a"]),
        series=lambda x: [float(np.mean(x["a"])), 7.0],
        once=lambda x: x["c"][0],
    )
    seeds = tuple(range(40))
    experiment = an_experiment(measure, {"a": seeds, "b": seeds, "c": (1,)})
    results = {"a": list(a), "b": list(b), "c": [5.0]}
    evidence = with_errors(experiment, results)
    errors = evidence.spread[PACKETS]
    assert evidence.runs[PACKETS] == dict.fromkeys(errors, 40)
    mean = a.std(ddof=1) / 40**0.5
    assert errors["figure1.mean"] == pytest.approx(mean, rel=1e-12)
    assert errors["figure1.series"] == pytest.approx([mean, 0.0], rel=1e-12)
    residuals = (b - b.sum() / a.sum() * a) / a.mean()  # linearised: the delta method
    assert errors["figure1.ratio"] == pytest.approx(residuals.std(ddof=1) / 40**0.5, rel=0.02)
    assert "figure1.once" not in errors


def test_errors_of_jobs_with_other_seeds_add_as_independent():
    measure = noting(sum=lambda x: np.mean(x["a"]) + np.mean(x["b"]))
    experiment = an_experiment(measure, {"a": (1, 2), "b": (1, 2, 3)})
    results = {"a": [0.0, 6.0], "b": [0.0, 0.0, 12.0]}
    evidence = with_errors(experiment, results)
    assert evidence.spread[PACKETS]["figure1.sum"] == pytest.approx(5.0)
    assert evidence.runs[PACKETS]["figure1.sum"] == 2


def test_an_error_that_the_experiment_states_stays():
    def measure(results) -> Evidence:
        evidence = evidence_of(float(np.mean(results["a"])), 9.0)
        evidence.note(PACKETS, "figure1.undefined", float("inf"))
        return evidence

    experiment = an_experiment(measure, {"a": (1, 2)})
    assert with_errors(experiment, {"a": [0.0, 6.0]}).spread == {PACKETS: {"figure1.it": 9.0}}


@pytest.mark.parametrize(
    ("value", "error", "expected", "shown"),
    [
        (
            10.0,
            1.0,
            NEAR_TEN,
            "packets: 10 ± 1 | **reproduced** (undecided: in the 95 % interval also not",
        ),
        ([1.0, 2.0], [0.25, 0.0], {"above": 0}, "packets: 1 ± 0.25, 2 ± 0 | **reproduced** |"),
    ],
)
def test_the_report_shows_errors_and_undecided_verdicts(tmp_path, value, error, expected, shown):
    claim = a_claim(expect=expected)
    given = {"title": "A", "authors": "N. N.", "year": 1999, "source": "here", "claim": [claim]}
    chapter = Chapter(
        "a_paper", Paper.model_validate(given), [judge(claim, evidence_of(value, error))]
    )
    text = write_report(tmp_path, [chapter], "python -m paper_repro")[0].read_text()
    assert shown in text
    undecided = int("undecided:" in shown)
    assert f"| [A](#a_paper) | 1 | 1 | 0 | 0 | 0 | 0 | 0 | {undecided} | 0 | 0 |" in text
    document = report.document([chapter], 1.0)["papers"]["a_paper"]
    assert document["undecided"] == undecided
    assert document["claims"]["a"]["standard_error"] == error


def test_a_pair_of_one_seed_has_no_error():
    def measure(results) -> Evidence:
        evidence = Evidence()
        evidence.note_pair(PACKETS, "figure1.change", results["a"][0] - results["b"][0])
        return evidence

    experiment = an_experiment(measure, {"a": (1, 2), "b": (1,)})
    assert with_errors(experiment, {"a": [1.0, 6.0], "b": [1.5]}).spread == {}
