"""Readings of a paper: recorded, changed only in the open, and shown where they decide."""

from __future__ import annotations

from pathlib import Path

import pytest

import paper_repro
from paper_repro import assumptions, histories
from paper_repro.__main__ import papers
from paper_repro.claims import Assumption, Claim, Paper, Verdict, load_paper
from paper_repro.experiment import ARITHMETIC, NS2, PACKETS, Evidence
from paper_repro.report import Chapter, write_report
from paper_repro.verdicts import judge
from tests.paper_repro import made
from tests.paper_repro.made import a_claim

PAPERS = Path(paper_repro.__file__).parent
READING = {"detail": "Nothing is said of X.", "taken": "Y.", "tried": "Z."}
FORMER = {
    "detail": "Nothing is said of X.",
    "taken": "Z.",
    "replaced": "2026-11-23",
    "why": "Y fits",
    "claims": "a was not reproduced",
}


def an_assumption(**changed) -> Assumption:
    return Assumption.model_validate({"id": "x-is-y"} | READING | changed)


def a_paper(claims: list[Claim], *assumed: Assumption) -> Paper:
    return made.a_paper(*claims, assumption=list(assumed))


def evidence_of(**found: float) -> Evidence:
    """Evidence by engine, and by the names of other readings on packets."""
    evidence = Evidence()
    for name, value in found.items():
        evidence.note(PACKETS if name == PACKETS else f"{PACKETS}, {name}", "figure1.it", value)
    return evidence


@pytest.mark.parametrize("paper", papers())
def test_every_reading_is_recorded(paper):
    records = histories.recorded(assumptions.RECORDS)[paper]
    assert list(assumptions.faults(load_paper(PAPERS / paper), records)) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"detail": "W."},
        {"taken": "W."},
        {"tried": ""},
        {"sources": ["z"]},
        {"chosen_by": ["a"]},
        {"chosen_by": ["a"], "implies": ["a"]},
    ],
)
def test_any_change_of_a_reading_is_found(changed):
    before = an_assumption()
    records = {"x-is-y": [assumptions.digest(before)]}
    (fault,) = assumptions.faults(a_paper([a_claim()], an_assumption(**changed)), records)
    assert fault == (
        "x-is-y: its reading was changed, but `changed` does not state the recorded one"
    )
    former = {**FORMER, **READING}
    stated = a_paper([a_claim()], an_assumption(**changed, changed=[former]))
    (fault,) = assumptions.faults(stated, records)
    assert fault.startswith("x-is-y: its reading is not recorded")


def test_a_second_change_is_found_too(tmp_path):
    file = tmp_path / "assumptions.json"

    def record(paper):
        return histories.record(file, {"p": assumptions.histories_of(paper)})

    first = a_paper([a_claim()], an_assumption(changed=[FORMER]))
    assert record(first) == ["p: x-is-y"]
    records = histories.recorded(file)["p"]
    assert len(records["x-is-y"]) == 2
    assert list(assumptions.faults(first, records)) == []
    for hidden in (an_assumption(taken="W.", changed=[FORMER]), an_assumption()):
        paper = a_paper([a_claim()], hidden)
        (fault,) = assumptions.faults(paper, records)
        assert fault.startswith("x-is-y: its reading was changed")
        assert record(paper) == []
    assert histories.recorded(file)["p"] == records
    (gone,) = assumptions.faults(a_paper([a_claim()]), records)
    assert gone == "x-is-y: the assumption is gone"


@pytest.mark.parametrize(
    ("found", "verdict", "in_report"),
    [
        (10.0, Verdict.CALIBRATED, "**calibrated**: its value chose `x-is-y` |"),
        (
            14.0,
            Verdict.CALIBRATED,
            "**calibrated**: in shape, and its value chose `x-is-y`: near |",
        ),
        (3.0, Verdict.NOT_REPRODUCED, "**not reproduced**: near |"),
    ],
)
def test_a_claim_whose_value_chose_a_reading_is_calibrated(tmp_path, found, verdict, in_report):
    reason = None if found == 10.0 else "near"
    claim, chosen = a_claim(in_shape={"above": 5}, reason=reason), an_assumption(chosen_by=["a"])
    judged = judge(claim, evidence_of(packets=found), [chosen])
    assert (judged.verdict, judged.undecided, judged.mismatch) == (verdict, (), None)
    chapter = Chapter("a_paper", a_paper([claim], chosen), [judged])
    assert in_report in write_report(tmp_path, [chapter], "x")[0].read_text()


def test_a_claim_that_follows_from_a_chosen_reading_is_calibrated(tmp_path):
    claims = [a_claim(), a_claim(id="b", measure="figure1.other")]
    chosen = an_assumption(chosen_by=["b"], implies=["a"])
    judged = judge(claims[0], evidence_of(packets=10.0), [chosen])
    assert judged.verdict is Verdict.CALIBRATED
    chapter = Chapter("a_paper", a_paper(claims, chosen), [judged])
    text = write_report(tmp_path, [chapter], "x")[0].read_text()
    assert "**calibrated**: it follows from `x-is-y` |" in text
    assert "*From it follow, so that they are calibrated, too:* `a`." in text
    failing = judge(claims[0], evidence_of(packets=3.0), [chosen])
    assert failing.verdict is Verdict.NOT_REPRODUCED


@pytest.mark.parametrize(
    ("found", "chosen_by", "verdict"),
    [
        (10.0, ["b"], Verdict.REPRODUCED),  # it holds under the other reading, too
        (6.0, ["b"], Verdict.REPRODUCED),  # in shape
        (3.0, ["b"], Verdict.CALIBRATED),
        (3.0, [], Verdict.REPRODUCED),  # no value chose the reading
    ],
)
def test_a_claim_that_another_reading_turns_follows_from_a_chosen_one(
    tmp_path, found, chosen_by, verdict
):
    claims = [a_claim(in_shape={"above": 5}), a_claim(id="b", measure="figure1.other")]
    assumed = an_assumption(chosen_by=chosen_by, sources=["z"])
    judged = judge(claims[0], evidence_of(packets=10.0, z=found), [assumed])
    assert judged.verdict is verdict
    chapter = Chapter("a_paper", a_paper(claims, assumed), [judged])
    text = write_report(tmp_path, [chapter], "x")[0].read_text()
    assert ("**calibrated**: it follows from `x-is-y` (" in text) is (verdict is Verdict.CALIBRATED)


@pytest.mark.parametrize(
    ("ours", "plain", "depends"),
    [
        (None, 3.5, True),
        (None, None, True),
        (None, 10.5, False),  # the engine gives that verdict by the usual reading, too
        (3.0, 3.5, False),  # ours decides where it ran the reading
    ],
)
def test_a_reading_that_only_a_second_engine_ran_counts(ours, plain, depends):
    evidence = evidence_of(packets=3.0) if ours is None else evidence_of(packets=3.0, z=ours)
    evidence.note(f"{NS2}, z", "figure1.it", 10.0)
    if plain is not None:
        evidence.note(NS2, "figure1.it", plain)
    judged = judge(a_claim(reason="r"), evidence, [an_assumption(sources=["z"])])
    found = [(item.name, item.verdict) for item in judged.depends]
    assert found == ([("z, by ns-2", Verdict.REPRODUCED)] if depends else [])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"chosen_by": ["a"], "implies": ["b"]}, "implies names no claim: b"),
        ({"implies": ["a"]}, "no claim's value chose what implies others: x-is-y"),
    ],
)
def test_only_a_chosen_reading_implies_claims(changed, message):
    with pytest.raises(ValueError, match=message):
        a_paper([a_claim()], an_assumption(**changed))


def test_a_value_that_was_known_before_its_rule_is_shown(tmp_path):
    judged = judge(a_claim(known="It was printed."), evidence_of(packets=10.0))
    chapter = Chapter("a_paper", a_paper([judged.claim]), [judged])
    text = write_report(tmp_path, [chapter], "x")[0].read_text()
    assert "**reproduced** (value known before the rule: It was printed) |" in text


def test_a_verdict_says_which_readings_and_measures_decide_it(tmp_path):
    assumed = an_assumption(sources=["z", "like"]), an_assumption(id="w", sources=["w"])
    claim = a_claim(alternatives=["by rank"])
    evidence = evidence_of(packets=10.0, z=3.0, like=10.1, w=10.5, unlisted=1.0)
    evidence.note(f"{PACKETS}, by rank", "figure1.it", 4.0)
    evidence.note(f"{NS2}, w", "figure1.it", 1.0)
    judged = judge(claim, evidence, assumed)
    assert judged.verdict is Verdict.REPRODUCED
    assert {(item.name, item.verdict) for item in judged.depends} == {
        ("z", Verdict.NOT_REPRODUCED),
        ("by rank", Verdict.NOT_REPRODUCED),
    }
    chapter = Chapter("a_paper", a_paper([claim], *assumed), [judged])
    assert chapter.dependent == 1
    text = write_report(tmp_path, [chapter], "x")[0].read_text()
    assert "(depends on `x-is-y`: not reproduced with “z”)" in text
    assert "(depends on the measure: not reproduced with “by rank”)" in text


@pytest.mark.parametrize(("both", "depends"), [(10.0, True), (6.0, False), (3.0, False)])
def test_two_readings_at_once_count_where_neither_does_alone(both, depends):
    claim = a_claim(in_shape={"above": 5}, reason="r")
    evidence = evidence_of(packets=3.0, y=3.5, z=6.0)
    evidence.note(f"{PACKETS}, y, z", "figure1.it", both)
    assumed = [an_assumption(sources=["y"]), an_assumption(id="w", sources=["z"])]
    found = {item.name: item.verdict for item in judge(claim, evidence, assumed).depends}
    expected = {"z": Verdict.IN_SHAPE} | ({"y, z": Verdict.REPRODUCED} if depends else {})
    assert found == expected


def test_an_alternative_needs_a_value():
    judged = judge(a_claim(alternatives=["by rank"]), evidence_of(packets=10.0))
    assert judged.mismatch == "its alternative 'by rank' has no value"


def test_an_indirect_measure_shows_the_shape_only(tmp_path):
    claim = a_claim(indirect="A correlation.")
    judged = judge(claim, evidence_of(packets=10.0))
    assert (judged.verdict, judged.mismatch) == (Verdict.IN_SHAPE, None)
    chapter = Chapter("a_paper", a_paper([claim]), [judged])
    text = write_report(tmp_path, [chapter], "x")[0].read_text()
    assert "**reproduced in shape**: A correlation |" in text


def test_what_is_no_statement_has_a_table_of_its_own(tmp_path):
    roles = "statement", "open question", "definition", "question of ours"
    claims = [a_claim(id=name, role=role) for name, role in zip("abcd", roles, strict=True)]
    chapter = Chapter("a_paper", a_paper(claims))
    chapter.judged += [judge(claim, evidence_of(packets=10.0)) for claim in claims]
    assert chapter.counts["reproduced"] == len(chapter.statements) == 1
    text = write_report(tmp_path, [chapter], "x")[0].read_text()
    assert "| [A](#a_paper) | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 3 |" in text
    for title in "Questions that the paper leaves open", "Definitions", "Questions of ours":
        assert f"\n\n**{title}**\n\n| claim |" in text


def test_former_readings_are_in_the_report(tmp_path):
    assumed = an_assumption(changed=[FORMER])
    chapter = Chapter("a_paper", a_paper([a_claim()], assumed))
    text = write_report(tmp_path, [chapter], "x")[0].read_text()
    part = text.partition("**Readings that were changed after results had been seen**")[2]
    assert "until 2026-11-23: Nothing is said of X. *Choice:* Z. *Why changed:* Y fits" in part
    assert "*Claims under it:* a was not reproduced" in part


def test_arithmetic_under_another_reading_counts():
    evidence = Evidence()
    evidence.note(ARITHMETIC, "figure1.it", 10.0)
    evidence.note(f"{ARITHMETIC}, z", "figure1.it", 3.0)
    (item,) = judge(a_claim(), evidence, [an_assumption(sources=["z"])]).depends
    assert item.assumption is not None
    assert item.assumption.id == "x-is-y"


@pytest.mark.parametrize(
    ("claim", "assumed", "untested"),
    [
        ({}, {}, True),
        ({"role": "definition"}, {}, False),
        ({}, {"chosen_by": []}, False),
        ({}, {"sources": ["w"]}, False),  # it was run
        ({}, {"unaffected": {"figure1": "no X there"}}, False),
        ({}, {"unaffected": {"?": "no X there"}}, False),
    ],
)
def test_a_claim_that_was_not_run_under_another_reading_says_so(tmp_path, claim, assumed, untested):
    claims = [a_claim(**claim), a_claim(id="b", measure="figure1.other")]
    item = an_assumption(**{"chosen_by": ["b"], "sources": ["z"], **assumed})
    judged = judge(claims[0], evidence_of(packets=10.0, w=10.1), [item])
    assert (judged.untested == (item,)) is untested
    chapter = Chapter("a_paper", a_paper(claims, item), [judged])
    assert chapter.untested == untested
    text = write_report(tmp_path, [chapter], "x")[0].read_text()
    assert ("(not run under another reading of `x-is-y`) |" in text) is untested
    assert ("*Another reading changes nothing of:*" in text) is bool(item.unaffected)


def test_what_another_reading_leaves_is_a_claim_or_an_experiment():
    with pytest.raises(ValueError, match="unaffected names no claim: figure2"):
        a_paper([a_claim()], an_assumption(unaffected={"figure2": "none"}))
