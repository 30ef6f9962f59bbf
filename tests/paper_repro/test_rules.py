"""Rules of claims: recorded before results, changed only in the open, asked of all engines."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

import pytest

import paper_repro
from paper_repro import histories, rules
from paper_repro.__main__ import papers
from paper_repro.claims import Expectation, FormerRule, Rule, Verdict, load_paper
from paper_repro.experiment import ARITHMETIC, FLUID, NS2, PACKETS, Evidence
from paper_repro.report import Chapter, write_report
from paper_repro.verdicts import judge
from tests.paper_repro.made import a_claim, a_paper

PAPERS = Path(paper_repro.__file__).parent
RULE = {"measure": "figure1.it", "expect": {"equals": 10, "within_share": 0.1}}
FORMER = {
    "measure": "figure1.old",
    "expect": {"above": 5},
    "replaced": "2026-11-23",
    "why": "five was too easy",
    "verdict": "reproduced",
}

WITHDRAWN = {
    "id": "b",
    "says": "it is 11",
    "day": "2026-11-23",
    "found": "packets: 3",
    "why": "part of a",
}


@pytest.mark.parametrize("paper", papers())
def test_every_rule_is_the_recorded_one_or_its_change_is_stated(paper):
    records = histories.recorded(rules.RECORDS)[paper]
    assert list(rules.faults(load_paper(PAPERS / paper), records)) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"measure": "figure1.other"},
        {"expect": {"equals": 10, "within_share": 0.11}},
        {"expect": {"equals": 10, "within": 1}},
        {"in_shape": {"above": 5}},
        {"role": "definition"},
        {"own_numbers": "Table 2."},
        {"alternatives": ["another mean"]},
        {"indirect": "no more than a trend"},
        {"says": "it is about 10"},
    ],
)
def test_any_change_of_what_a_verdict_depends_on_is_found(changed):
    records = {"a": [rules.digest(a_claim())]}
    assert list(rules.faults(a_paper(a_claim(tolerance="reworded")), records)) == []
    (fault,) = rules.faults(a_paper(a_claim(**changed)), records)
    assert fault.startswith("a: its rule was changed")
    former = {**FORMER, **RULE, "says": "it is 10"}
    stated = a_paper(a_claim(**changed, changed=[former]))
    (fault,) = rules.faults(stated, records)
    assert fault.startswith("a: its rule is not recorded")
    assert list(rules.faults(stated, rules.histories_of(stated))) == []


def test_a_former_rule_without_a_statement_has_the_digest_of_the_rule_alone():
    """So the records of changes before 30 November 2026 stay as they are."""
    former = FormerRule.model_validate(FORMER)
    alone = Rule.model_validate({name: FORMER[name] for name in ("measure", "expect")})
    assert rules.digest(former) == rules.digest(alone)
    assert rules.digest(former.model_copy(update={"says": "it is 10"})) != rules.digest(alone)


def test_a_second_change_of_a_rule_is_found_too():
    first = a_paper(a_claim(changed=[FORMER]))
    records = rules.histories_of(first)
    assert list(rules.faults(first, records)) == []
    for hidden in (a_claim(expect={"above": 0}, changed=[FORMER]), a_claim()):
        (fault,) = rules.faults(a_paper(hidden), records)
        assert fault.startswith("a: its rule was changed")


def test_a_measure_whose_number_of_values_changed_needs_another_name():
    former = {**FORMER, "measure": RULE["measure"], "expect": {"equals": [0, 70], "within": 10}}
    changed = a_paper(a_claim(changed=[former]))
    (fault,) = rules.faults(changed, rules.histories_of(changed))
    assert fault == "a: a former rule gives its measure another number of values"
    renamed = a_paper(a_claim(measure="figure1.other", changed=[former]))
    assert list(rules.faults(renamed, rules.histories_of(renamed))) == []


def test_new_and_withdrawn_claims_are_found():
    (new,) = rules.faults(a_paper(a_claim()), {})
    assert new.startswith("a: its rule is not recorded")
    records = {"a": [rules.digest(a_claim())], "b": ["0" * 16]}
    (gone,) = rules.faults(a_paper(a_claim()), records)
    assert gone.startswith("b: the claim is gone")
    assert list(rules.faults(a_paper(a_claim(), withdrawn=[WITHDRAWN]), records)) == []


@pytest.mark.parametrize(("verdict", "shown"), [("contradicted", "contradicted"), (None, "none")])
def test_withdrawn_claims_are_in_the_report_with_their_last_verdicts(tmp_path, verdict, shown):
    paper = a_paper(a_claim(), withdrawn=[{**WITHDRAWN, "verdict": verdict}])
    text = write_report(tmp_path, [Chapter("a_paper", paper)], "x")[0].read_text()
    row = f"| N. N., 1999 | b | it is 11 | 2026-11-23 | packets: 3 | {shown} | part of a |"
    assert row in text.partition("## Claims that were withdrawn")[2]


def test_what_is_recorded_stays(tmp_path):
    file = tmp_path / "rules.json"

    def record(*claims):
        return histories.record(file, {"p": rules.histories_of(a_paper(*claims))})

    assert record(a_claim()) == ["p: a"]
    other = a_claim(expect={"above": 0})
    assert record(other, a_claim(id="b")) == ["p: b"]
    assert histories.recorded(file)["p"]["a"] == [rules.digest(a_claim())]
    stated = a_claim(expect={"above": 0}, changed=[{**FORMER, **RULE, "says": "it is 10"}])
    assert record(stated, a_claim(id="b")) == ["p: a"]
    assert histories.recorded(file)["p"]["a"] == [rules.digest(a_claim()), rules.digest(other)]


def test_a_digest_is_that_of_its_json():
    """By hand: printf '{"expect": {...}, ...}' | sha256sum."""
    rule = Rule(measure="m.x", expect=Expectation(above=1.0))
    assert rules.digest(rule) == "5b57ba317f25ac78"


@pytest.mark.parametrize(
    ("found", "disagreeing"),
    [
        ({PACKETS: 10.5}, ()),
        ({PACKETS: 10.5, NS2: 10.9}, ()),
        ({PACKETS: 10.5, NS2: 30.0}, (NS2,)),
        ({PACKETS: 10.5, FLUID: 3.0, NS2: 30.0}, (FLUID, NS2)),
        ({ARITHMETIC: 10.0, PACKETS: 3.0}, (PACKETS,)),
        ({PACKETS: 10.5, "packets, delays one way": 3.0}, ()),
    ],
)
def test_a_second_engine_is_asked_of_what_is_reproduced_too(found, disagreeing):
    evidence = Evidence()
    for name, value in found.items():
        evidence.note(name, "figure1.it", value)
    judged = judge(a_claim(), evidence)
    assert judged.verdict is Verdict.REPRODUCED
    assert judged.disagreeing == disagreeing


@pytest.mark.parametrize(
    ("old", "stated", "under_it", "explained"),
    [
        (6.0, "reproduced", Verdict.REPRODUCED, True),
        (4.0, "reproduced", Verdict.NOT_REPRODUCED, False),
        (4.0, "not reproduced", Verdict.NOT_REPRODUCED, True),
        (None, "not reproduced", None, True),
    ],
)
def test_the_verdict_under_a_former_rule_is_that_of_the_evidence(old, stated, under_it, explained):
    evidence = Evidence()
    evidence.note(PACKETS, "figure1.it", 10.0)
    if old is not None:
        evidence.note(PACKETS, "figure1.old", old)
    judged = judge(a_claim(changed=[{**FORMER, "verdict": stated}]), evidence)
    ((rule, verdict),) = judged.former
    assert isinstance(rule, FormerRule)
    assert verdict is under_it
    mismatch = "under the rule replaced on 2026-11-23 it is not reproduced"
    assert judged.mismatch == (None if explained else f"{mismatch}, and its entry states {stated}")


def test_the_report_shows_doubts_and_changed_rules(tmp_path):
    evidence = Evidence()
    evidence.note(PACKETS, "figure1.it", 10.0)
    evidence.note(NS2, "figure1.it", 30.0)
    claim = a_claim(changed=[{**FORMER, "verdict": "not reproduced"}])
    chapter = Chapter("a_paper", a_paper(claim), [judge(claim, evidence)])
    chapter.rule_faults.append("b: its rule is not recorded")
    text = write_report(tmp_path, [chapter], "python -m paper_repro")[0].read_text()
    assert "**reproduced**, but not by ns-2 |" in text
    assert "| [A](#a_paper) | 1 | 1 | 0 | 0 | 0 | 0 | 1 |" in text
    changed = (
        "| `a` | 2026-11-23 |  | `figure1.old` | > 5 | not reproduced | reproduced | five was too"
    )
    assert changed in text
    assert "- **b: its rule is not recorded**" in text


@pytest.mark.parametrize(("source", "wrong"), [(ARITHMETIC, True), (PACKETS, False)])
def test_wrong_sums_have_a_table(tmp_path, source, wrong):
    evidence = Evidence()
    evidence.note(source, "figure1.it", 3.0)
    evidence.note(NS2, "figure1.it", 3.0)
    judged = judge(a_claim(reason="for that", own_numbers="Table 2."), evidence)
    assert (judged.verdict is Verdict.CONTRADICTED) is wrong
    chapter = Chapter("a_paper", a_paper(judged.claim), [judged])
    text = write_report(tmp_path, [chapter], "python -m paper_repro")[0].read_text()
    assert ("## Sums in the papers that are wrong" in text) is wrong
    assert (f"| N. N., 1999 | a | section 1 | it is 10 | 10 ± 10 % | {source}: 3;" in text) is wrong


def test_tables_of_the_report_have_no_gaps(tmp_path):
    """A blank line ends a table in Markdown."""
    evidence = Evidence()
    evidence.note(ARITHMETIC, "figure1.it", 3.0)
    claim = a_claim(changed=[FORMER, FORMER], reason="for that", own_numbers="Table 2.")
    paper = a_paper(claim, withdrawn=[WITHDRAWN])
    chapters = [Chapter(name, paper, [judge(claim, evidence)]) for name in ("one", "two")]
    lines = write_report(tmp_path, chapters, "python -m paper_repro")[0].read_text().splitlines()
    rules_of_tables = [number for number, line in enumerate(lines) if line.startswith("|---")]
    assert [sum(1 for _ in takewhile(bool, lines[at + 1 :])) for at in rules_of_tables] == [
        2,  # papers
        2,  # wrong sums
        2,  # withdrawn claims
        *(1, 2, 1, 2),  # claims and changed rules of each paper
    ]
