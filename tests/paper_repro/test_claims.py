"""How claims are read, judged and reported; what the papers' folders hold is tested beside."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import paper_repro
import vegasfluid as vf
from paper_repro import __main__ as command
from paper_repro.__main__ import experiments_of, main, papers
from paper_repro.claims import Expectation, Verdict, load_paper
from paper_repro.experiment import (
    ARITHMETIC,
    FLUID,
    LINUX,
    NS2,
    PACKETS,
    Evidence,
    Experiment,
    Job,
)
from paper_repro.report import APART, Chapter, runs_of, write_report
from paper_repro.running import run_jobs
from paper_repro.verdicts import judge
from tests.paper_repro.made import a_claim, a_paper
from vegasfluid import metrics
from vegasfluid.errors import InvalidInput

PAPERS = Path(paper_repro.__file__).parent


@pytest.mark.parametrize(
    ("expected", "found", "met"),
    [
        ({"equals": 10}, 10.0, True),
        ({"equals": 10}, 10.001, False),
        ({"equals": 10, "within": 0.01}, 10.001, True),
        ({"equals": -10, "within_share": 0.1}, -10.9, True),
        ({"equals": [1, 2], "within": 0.1}, [1.05, 2.0], True),
        ({"equals": [1, 2]}, [1.0], False),
        ({"at_least": 1}, 1.0, True),
        ({"above": 1}, 1.0, False),
        ({"below": 1}, [0.5, 0.9], True),
        ({"below": 1}, [0.5, 1.2], False),
        ({"at_least": 0, "at_most": 1}, 2.0, False),
        ({"order": "falling"}, [3.0, 2.0, 1.0], True),
        ({"order": "falling"}, [3.0, 3.0], False),
        ({"order": "rising"}, [3.0], False),
        ({"at_least": 0}, float("nan"), False),
        ({"equals": 0, "within": 1}, float("nan"), False),
        ({"order": "rising"}, [1.0, float("nan"), 2.0], False),
    ],
)
def test_an_expectation_holds_or_does_not(expected, found, met):
    assert Expectation.model_validate(expected).met(found) is met


@pytest.mark.parametrize("expected", [{}, {"within": 1}, {"at_least": 1, "within_share": 0.1}])
def test_an_expectation_without_conditions_is_rejected(expected):
    with pytest.raises(ValueError, match="need"):
        Expectation.model_validate(expected)


@pytest.mark.parametrize(
    ("found", "verdict", "source"),
    [
        ({PACKETS: 10.5}, Verdict.REPRODUCED, PACKETS),
        ({PACKETS: 10.5, NS2: 30.0}, Verdict.REPRODUCED, PACKETS),
        ({PACKETS: 14.0}, Verdict.IN_SHAPE, PACKETS),
        ({PACKETS: 3.0}, Verdict.NOT_REPRODUCED, PACKETS),
        ({PACKETS: 3.0, NS2: 10.0}, Verdict.NOT_REPRODUCED, PACKETS),
        ({PACKETS: 3.0, NS2: 4.0}, Verdict.NOT_REPRODUCED, PACKETS),
        ({FLUID: 3.0, LINUX: 2.0}, Verdict.NOT_REPRODUCED, FLUID),
        ({ARITHMETIC: 3.0}, Verdict.NOT_REPRODUCED, ARITHMETIC),
        ({ARITHMETIC: 10.0, PACKETS: 3.0}, Verdict.REPRODUCED, ARITHMETIC),
        ({PACKETS: 3.0, "packets, delays one way": 10.0}, Verdict.NOT_REPRODUCED, PACKETS),
    ],
)
def test_a_verdict(found, verdict, source):
    evidence = Evidence()
    for name, value in found.items():
        evidence.note(name, "figure1.it", value)
    judged = judge(a_claim(in_shape={"above": 5}), evidence)
    assert (judged.verdict, judged.source, judged.found) == (verdict, source, found)


@pytest.mark.parametrize(
    ("source", "value", "own", "verdict", "explained"),
    [
        (ARITHMETIC, 3.0, "table 1", Verdict.CONTRADICTED, True),
        (ARITHMETIC, 3.0, None, Verdict.NOT_REPRODUCED, True),
        (PACKETS, 3.0, "table 1", Verdict.NOT_REPRODUCED, False),
        (ARITHMETIC, 10.0, "table 1", Verdict.REPRODUCED, False),
    ],
)
def test_only_the_papers_own_numbers_contradict(source, value, own, verdict, explained):
    evidence = Evidence()
    evidence.note(source, "figure1.it", value)
    reason = None if verdict is Verdict.REPRODUCED else "for that"
    judged = judge(a_claim(own_numbers=own, reason=reason), evidence)
    assert judged.verdict is verdict
    assert (judged.mismatch is None) is explained


@pytest.mark.parametrize(
    ("seeds", "disagreeing"),
    [
        ([4.0, 4.0, 4.0], (NS2,)),
        ([4.0, 5.0, 6.0], (NS2,)),  # 5 and 4.3 times 0.58 are below 9
        ([2.0, 5.0, 8.0], ()),  # 5 and 4.3 times 1.7 are not
    ],
)
def test_a_second_engine_disagrees_beyond_the_chance_of_its_seeds(seeds, disagreeing):
    evidence = Evidence()
    evidence.note(PACKETS, "figure1.it", 10.0)
    evidence.note_mean(NS2, "figure1.it", seeds)
    assert judge(a_claim(), evidence).disagreeing == disagreeing


@pytest.mark.parametrize(
    ("ours", "theirs", "disagreeing"),
    [(7.0, 6.0, ()), (7.0, 4.0, (NS2,)), (10.0, 6.0, (NS2,)), (3.0, 6.0, (NS2,))],
)
def test_a_claim_that_holds_in_shape_asks_a_second_engine_for_the_shape(ours, theirs, disagreeing):
    evidence = Evidence()
    evidence.note(PACKETS, "figure1.it", ours)
    evidence.note(NS2, "figure1.it", theirs)
    judged = judge(a_claim(in_shape={"above": 5}), evidence)
    assert (judged.disagreeing, judged.outside) == (disagreeing, ())


def test_the_report_has_the_error_of_a_second_engine_and_says_where_it_reaches_in(tmp_path):
    evidence = Evidence()
    evidence.note(PACKETS, "figure1.it", 10.0)
    evidence.note_mean(NS2, "figure1.it", [2.0, 5.0, 8.0])
    judged = judge(a_claim(), evidence)
    chapter = Chapter("a_paper", a_paper(judged.claim), [judged])
    text = write_report(tmp_path, [chapter], "x")[0].read_text()
    row = "packets: 10; ns-2: 5 ± 1.7 | **reproduced** (ns-2 outside, within its error) |"
    assert row in text


def test_a_claim_without_evidence_of_ours_has_no_verdict():
    evidence = Evidence()
    evidence.note(NS2, "figure1.it", 10.0)
    evidence.note(PACKETS, "figure1.other", 10.0)
    assert judge(a_claim(), evidence) is None


@pytest.mark.parametrize(
    ("value", "reason", "explained"),
    [(10.0, None, True), (10.0, "stale", False), (3.0, None, False), (3.0, "for this", True)],
)
def test_only_claims_that_are_not_reproduced_have_a_reason(value, reason, explained):
    evidence = Evidence()
    evidence.note(PACKETS, "figure1.it", value)
    claim = a_claim(**({"reason": reason} if reason else {}))
    assert (judge(claim, evidence).mismatch is None) is explained


def test_a_mean_has_its_standard_error():
    evidence = Evidence()
    evidence.note_mean(PACKETS, "figure1.it", [9.0, 10.0, 11.0])
    judged = judge(a_claim(), evidence)
    assert judged.found[PACKETS] == 10.0
    assert judged.error == pytest.approx(1 / 3**0.5)


def jobs_of_two_engines():
    link = vf.Link(vf.mbps(10), 50, delay=0.01)
    network = vf.Network(link, {"reno": vf.Flows(1, vf.Reno(), base_rtt=0.04)})

    def kept(run):
        return run.attrs.get("seed"), float(metrics.utilisation(run)[0])

    return {
        "short": Job(network, 4.0, keep=kept, warmup=2.0),
        "packets": Job(network, 5.0, keep=kept, warmup=2.0, seeds=(3, 1, 2)),
        "fluid": Job(network, 5.0, keep=kept, warmup=2.0, engine="fluid"),
    }


@pytest.mark.slow
@pytest.mark.unoptimised
def test_results_are_in_the_order_of_the_seeds_for_any_number_of_workers():
    experiment = Experiment("figure1", "", lambda results: Evidence(), jobs=jobs_of_two_engines)
    calls = []
    one = run_jobs([experiment], workers=1, report=lambda done, x: calls.append((done, x)))
    two = run_jobs([experiment], workers=2)
    assert one == two
    assert list(one["figure1"]) == list(two["figure1"]) == list(jobs_of_two_engines())
    assert [seed for seed, _ in one["figure1"]["packets"]] == [3, 1, 2]
    assert len(one["figure1"]["fluid"]) == 1
    assert all(used > 0.9 for kept in one["figure1"].values() for _, used in kept)
    assert calls == [(done, 5) for done in range(1, 6)]


A_PAPER = """
title = "A | paper"
authors = "N. N."
year = 1999
source = "here"

[[assumption]]
id = "x-is-y"
detail = "Nothing is said of X."
taken = "Y."

[[claim]]
id = "a"
where = "figure 1"
says = "it | is 10"
measure = "figure1.it"
expect = { equals = 10 }
tolerance = "printed"
reason = "for that"
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("equals = 10", "", "an expectation needs"),
        ('tolerance = "printed"', "", "tolerance"),
        ('id = "a"', 'id = ""', "at least 1 character"),
        ('says = "it', 'saith = "it', "saith|says"),
        ("year = 1999", "year = ", "TOML"),
        ("[[assumption]]", "[[claim]]", "claim"),
        ('taken = "Y."', 'taken = "Y."\nchosen_by = ["b"]', "chosen_by names no claim: b"),
    ],
)
def test_incomplete_claims_are_rejected_in_one_line(tmp_path, old, new, message):
    (tmp_path / "claims.toml").write_text(A_PAPER.replace(old, new))
    with pytest.raises(InvalidInput, match=message) as error:
        load_paper(tmp_path)
    assert "\n" not in str(error.value)
    assert str(tmp_path / "claims.toml") in str(error.value)


def test_the_report_has_claim_evidence_and_reason_in_both_forms(tmp_path):
    (tmp_path / "claims.toml").write_text(A_PAPER)
    chapter = Chapter("a_paper", load_paper(tmp_path))
    evidence = Evidence()
    evidence.note(PACKETS, "figure1.it", 3.25)
    evidence.note(NS2, "figure1.it", 4.0)
    chapter.judged.append(judge(chapter.paper.claims[0], evidence))
    experiment = Experiment("figure1", "It | all", lambda x: Evidence(), jobs=jobs_of_two_engines)
    chapter.runs.append(runs_of(experiment))
    markdown, page = write_report(tmp_path, [chapter], "python -m paper_repro")
    assert "| `figure1` | It \\| all | 4 | 1 | 24 | 1 to 3 |" in markdown.read_text()
    row = next(line for line in markdown.read_text().splitlines() if line.startswith("| `a`"))
    assert row.count("|") - row.count("\\|") == 7
    parts = "it \\| is 10", "10: printed", "packets: 3.25; ns-2: 4", "**not reproduced**: for that"
    for part in parts:
        assert part in row
    html = page.read_text()
    assert "<td>packets: 3.25; ns-2: 4</td>" in html
    assert "<strong>not reproduced</strong>" in html


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["weigle"], "the paper must be one of"),
        (["--figure", "3"], "--figure must be given with a paper"),
        (["--bad"], "unknown option --bad"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    output = capsys.readouterr()
    assert ended.value.code == 2
    assert output.out == ""
    assert message in output.err
    assert output.err.count("\n") == 1


def verdicts_in_report() -> dict[tuple[str, str], str]:
    """The verdicts of the report beside the papers, by claim and statement."""
    rows = re.findall(
        r"^\| `([^`]+)` \|.*\*\*(.+?)\*\*.*$", (PAPERS / "report.md").read_text(), re.MULTILINE
    )
    verdicts = dict.fromkeys(verdict.value for verdict in Verdict)
    named = [(name, verdict) for name, verdict in rows if verdict in verdicts]
    claims = [claim for folder in in_order() for claim in load_paper(folder).claims]
    order = ["statement", *APART]
    expected = [
        claim
        for folder in in_order()
        for claim in sorted(load_paper(folder).claims, key=lambda item: order.index(item.role))
    ]
    assert [name for name, _ in named] == [claim.id for claim in expected]
    assert len(expected) == len(claims)
    pairs = zip(expected, named, strict=True)
    return {(claim.id, claim.says): verdict for claim, (_, verdict) in pairs}


def in_order() -> list[Path]:
    """The papers' folders, as the report has them."""
    return [PAPERS / name for name in papers()]


def test_the_report_has_every_claim_and_the_readme_its_counts():
    claims = [claim for folder in in_order() for claim in load_paper(folder).claims]
    apart = {(claim.id, claim.says) for claim in claims if claim.role != "statement"}
    calls = verdicts_in_report()
    verdicts = [verdict for name, verdict in calls.items() if name not in apart]
    assert len(verdicts) >= 250
    counts = [verdicts.count(verdict.value) for verdict in Verdict]
    rows = re.findall(
        r"^\| \[[^|]*\]\(#\w+\) \| (.*) \|$", (PAPERS / "report.md").read_text(), re.MULTILINE
    )
    sums = [
        sum(column) for column in zip(*[map(int, row.split(" | ")) for row in rows], strict=True)
    ]
    assert sums[: len(counts) + 1] == [len(verdicts), *counts]
    assert sums[-1] == len(apart)
    text = (PAPERS / "README.md").read_text()
    assert f"| all | {' | '.join(map(str, sums))} |" in text
    assert f"{len(claims)} claims, {len(apart)} of them" in " ".join(text.split())


@pytest.mark.parametrize("paper", papers())
def test_a_tolerance_speaks_of_the_shape_only_where_the_rule_does(paper):
    claims = load_paper(PAPERS / paper).claims
    assert [c.id for c in claims if c.in_shape is None and "in shape" in c.tolerance] == []


@pytest.mark.parametrize("paper", papers())
def test_every_claim_has_its_experiment_and_every_experiment_a_claim(paper):
    known = {experiment.name for experiment in experiments_of(paper)}
    assert {claim.experiment for claim in load_paper(PAPERS / paper).claims} == known


def check_quick_run(folder: Path, capsys, kept=lambda experiment: True) -> dict:
    """Run the quick experiments of all papers; their JSON, report and verdicts belong together."""
    with pytest.raises(SystemExit) as ended:
        main(["--quick", "--json", "--out", str(folder)])
    assert ended.value.code == 0
    document = json.loads(capsys.readouterr().out)
    assert document["unexplained"] == {}
    assert document["claims"] == sum(document["verdicts"].values()) > 0
    calls = verdicts_in_report()
    for name_of_paper, paper in document["papers"].items():
        quick = {item.name for item in experiments_of(name_of_paper) if item.quick and kept(item)}
        claims = load_paper(PAPERS / name_of_paper).claims
        assert set(paper["claims"]) == {claim.id for claim in claims if claim.experiment in quick}
        for name, claim in paper["claims"].items():
            assert calls[name, claim["says"]] == claim["verdict"], name
    left = sum(len(paper["not_run"]) for paper in document["papers"].values())
    assert (
        document["claims"] + document["apart"] + left
        == sum(len(load_paper(item).claims) for item in in_order())
        >= 250
    )
    assert {"papers", "claims", "apart", "verdicts", "unexplained", "machine", "seconds"} <= set(
        document
    )
    assert {file.name for file in folder.glob("report.*")} == {"report.md", "report.html"}
    return document


@pytest.mark.study
def test_what_is_quick_is_explained_and_json_is_one_document(tmp_path, capsys):
    document = check_quick_run(tmp_path / "out", capsys)
    assert document["claims"] + document["apart"] >= 100
    assert all(paper["claims"] for paper in document["papers"].values())


@pytest.mark.slow
def test_quick_experiments_without_long_runs_are_explained(tmp_path, capsys, monkeypatch):
    """As above, with the experiments that simulate nothing, and one of Marrone's, with a figure."""
    simulated = "section2_reno"

    def short(experiment: Experiment) -> bool:
        return not experiment.jobs() or experiment.name == simulated

    def drawn(paper: str) -> list[Experiment]:
        kept = filter(short, experiments_of(paper))
        return [replace(item, draw=lambda _: Figure()) if item.jobs() else item for item in kept]

    monkeypatch.setattr(command, "experiments_of", drawn)
    document = check_quick_run(tmp_path / "out", capsys, short)
    assert document["claims"] >= 50
    (figure,) = document["papers"]["marrone_2013"]["figures"]
    assert Path(figure).stem == simulated
    assert (tmp_path / "out" / figure).is_file()
