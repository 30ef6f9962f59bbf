"""Verdicts that changed since an earlier run: shown with a reason, or a fault."""

from __future__ import annotations

from datetime import date

import pytest

from paper_repro import report
from paper_repro.__main__ import papers
from paper_repro.claims import Claim, Paper, Verdict
from paper_repro.earlier import ChangedVerdict, Earlier, earlier
from paper_repro.experiment import PACKETS, Evidence
from paper_repro.report import Chapter, write_report
from paper_repro.verdicts import judge

THEN = Earlier(date(2026, 11, 23), {"p": {"a": Verdict.REPRODUCED, "gone": Verdict.REPRODUCED}})
BEFORE = {
    "measure": "figure1.it",
    "expect": {"at_least": 1},
    "why": "one was too easy",
    "verdict": "reproduced",
}


def judged(found: float, **more):
    """The claim `a`, that a measure is at least 10, with its verdict."""
    given = {"id": "a", "where": "section 1", "says": "it is 10", "tolerance": "read off"}
    rule = {"measure": "figure1.it", "expect": {"at_least": 10}}
    evidence = Evidence()
    evidence.note(PACKETS, "figure1.it", found)
    return judge(Claim.model_validate(given | rule | more), evidence)


@pytest.mark.parametrize(
    ("found", "more", "mismatch"),
    [
        (12.0, {}, None),
        (12.0, {"since": "another clock"}, "it is reproduced as on 2026-11-23"),
        (5.0, {"reason": "r"}, "it was reproduced on 2026-11-23 and is not reproduced"),
        (5.0, {"reason": "r", "since": "another clock"}, None),
        (5.0, {"reason": "r", "changed": [{**BEFORE, "replaced": "2026-11-28"}]}, None),
        (5.0, {"reason": "r", "changed": [{**BEFORE, "replaced": "2026-11-23"}]}, "it was"),
    ],
)
def test_a_changed_verdict_needs_a_reason(monkeypatch, found, more, mismatch):
    monkeypatch.setattr(report, "earlier", lambda: THEN)
    item = judged(found, **more)
    said = Chapter("p", a_paper(item.claim), [item]).unexplained
    if mismatch is None:
        assert said == {}
    else:
        assert said["a"].startswith(mismatch)


def test_other_words_are_no_reason_for_another_verdict():
    rule = {"measure": "figure1.it", "expect": {"at_least": 10}}
    reworded = {**BEFORE, **rule, "says": "it is ten", "replaced": "2026-11-30", "why": "clearer"}
    stricter = {**BEFORE, "replaced": "2026-11-28"}
    change = ChangedVerdict(
        judged(5.0, changed=[stricter, reworded]).claim, Verdict.REPRODUCED, Verdict.NOT_REPRODUCED
    )
    assert THEN.why(change) == "one was too easy"
    alone = judged(5.0, changed=[reworded]).claim
    assert THEN.why(change._replace(claim=alone)) is None


def a_paper(*claims: Claim) -> Paper:
    given = {"title": "A", "authors": "N. N.", "year": 1999, "source": "here"}
    return Paper.model_validate(given | {"claim": list(claims)})


def test_the_report_opens_with_what_changed_and_counts_what_is_new(monkeypatch, tmp_path):
    monkeypatch.setattr(report, "earlier", lambda: THEN)
    item, new = judged(5.0, reason="r", since="another clock"), judged(12.0, id="b")
    chapter = Chapter("p", a_paper(item.claim, new.claim), [item, new])
    text = write_report(tmp_path, [chapter], "python -m paper_repro")[0].read_text()
    changed, _, rest = text.partition("## Verdicts that changed since 23 November 2026")[
        2
    ].partition("New since then: 1 claims.")
    assert "| N. N., 1999 | `a` | reproduced | not reproduced | another clock |" in changed
    assert "`b`" not in changed
    assert "## A" in rest
    document = report.document([chapter], 1.0)["papers"]["p"]
    assert document["changed_verdicts"] == {"a": {"before": "reproduced", "now": "not reproduced"}}
    assert document["new"] == 1


def test_a_claim_that_failed_and_is_calibrated_has_the_reason_of_its_rule():
    rule = {**BEFORE, "replaced": "2026-11-28"}
    change = ChangedVerdict(
        judged(12.0, changed=[rule]).claim, Verdict.NOT_REPRODUCED, Verdict.CALIBRATED
    )
    assert THEN.why(change) == rule["why"]


@pytest.mark.parametrize(
    ("before", "now", "given"),
    [
        (Verdict.CONTRADICTED, Verdict.NOT_REPRODUCED, "only numbers of the paper's own"),
        (Verdict.REPRODUCED, Verdict.CALIBRATED, "is not a test of it"),
        (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, None),
    ],
)
def test_a_change_by_what_the_verdicts_mean_has_its_reason(before, now, given):
    why = THEN.why(ChangedVerdict(judged(5.0).claim, before, now))
    assert why is None if given is None else given in why


def test_the_earlier_run_is_that_of_the_report_of_its_day():
    """The counts of the table in report.md of 23 November 2026."""
    counts = {
        paper: [list(verdicts.values()).count(verdict) for verdict in Verdict]
        for paper, verdicts in earlier().verdicts.items()
    }
    assert set(counts) <= set(papers())
    assert counts == {
        "la_walrand_anantharam_1998": [121, 30, 0, 9, 8],
        "feng_tinnakornsrisuphap_2000": [80, 9, 0, 3, 2],
        "weigle_feng_2001": [101, 19, 0, 12, 6],
        "net100_2004": [20, 0, 0, 8, 0],
        "marrone_2013": [68, 1, 0, 16, 3],
    }
