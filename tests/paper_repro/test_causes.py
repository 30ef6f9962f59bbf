"""A cause stays in the statement, which is at most in shape if no run tests the cause."""

from __future__ import annotations

import re
from pathlib import Path

import paper_repro
from paper_repro.__main__ import papers
from paper_repro.claims import Claim, load_paper

PAPERS = Path(paper_repro.__file__).parent
CAUSE = re.compile(
    r"\b(because|since|due to|therefore|thus|consequently|results? (in|from)|reason|causes?d?"
    r"|says the paper|forced?|allows?|makes?|so that|as (it|they|its|their|RED|most))\b"
)
"""Words with which a statement names a cause."""
TESTED = {
    "vegas-fewer-retransmissions": "Reno in place of Vegas",
    "the-larger-the-worse": "buffers of five sizes",
    "no-purposeful-loss": "no cause",
    "shorter-route-is-harmless": "the route alone changes",
    "much-better-performance": "the same runs without the modification",
    "large-buffer-allows-congestion": "no cause: a purpose",
    "most-back-off": "quiet periods in which no connection starts",
    "updates-too-often": "the same runs with the usual updates",
    "cubic-jitter-better": "no cause: better results in the short term",
    "vegas-best-when-still": "no cause: better results in an environment",
    "figure-4-default-drops-with-thresholds": "the thresholds alone change",
    "loss-blocks-the-application": "not reproduced",
    "low-thresholds-drop-more": "the same runs with other thresholds",
    "alone-no-congestion": "outside-interferes has the runs with the Internet's data",
    "red-changes-no-cov": "the same runs with FIFO",
    "red-changes-no-throughput": "the same runs with FIFO",
    "red-changes-no-loss": "the same runs with FIFO",
    "red-changes-no-cov-proposed": "the same runs with FIFO",
    "reno-retransmits": "the part of the difference that they are",
    "vegas-is-saved-by-alpha-and-beta": "the same runs with larger alpha and beta",
    "figure-3-two-way-drops-are-the-cause": "runs of both ways at equal drop rates",
    "figure-3-off-in-proportion": "no cause: what a formula gives",
    "figure-4-obvious-formula-wins": "the heuristic in its place",
    "red-min-over-n-unfair-to-reno": "other alpha and beta",
    "slightly-below-red-min-over-n-is-fair": "no cause: a remark on other traffic",
    "figure-6-fair-at-75-cbr": "other alpha and beta",
    "figure-6-fair-at-75-nps": "other alpha and beta",
    "figure-6-pareto-not-at-75": "other alpha and beta",
    "high-delay-needs-more-queued": "no cause: a remark on other traffic",
    "network-4-loss-rates-double": "no cause: a remark on other traffic",
    "losses-come-from-slow-start": "the same runs with slow start to 64 packets",
    "tying-alpha-makes-windows-comparable": "in shape by its rule",
}
"""What tests the cause in a statement that is not `indirect`."""


def named_causes() -> dict[str, Claim]:
    """Statements with a word for a cause, by name."""
    claims = [claim for paper in papers() for claim in load_paper(PAPERS / paper).claims]
    return {c.id: c for c in claims if c.role == "statement" and CAUSE.search(c.says)}


def test_a_cause_that_no_run_tests_is_the_shape_at_most():
    plain = [name for name, claim in named_causes().items() if claim.indirect is None]
    assert sorted(set(plain) - set(TESTED)) == []


def test_the_list_of_tested_causes_has_none_too_many():
    plain = {name for name, claim in named_causes().items() if claim.indirect is None}
    assert sorted(set(TESTED) - plain) == []


def test_no_statement_has_its_cause_in_brackets_as_not_tested():
    claims = [claim for paper in papers() for claim in load_paper(PAPERS / paper).claims]
    assert [claim.id for claim in claims if "not tested" in claim.says] == []
