"""Rules of an algorithm and printed inputs, tested on our own ones, are definitions."""

from __future__ import annotations

from pathlib import Path

import pytest

import paper_repro
from paper_repro.__main__ import experiments_of, papers
from paper_repro.claims import Claim, Expectation, load_paper
from paper_repro.experiment import ARITHMETIC, PACKETS
from paper_repro.report import cell
from tests.paper_repro.test_reasons import rows_of_report

PAPERS = Path(paper_repro.__file__).parent
ROUNDING = 1e-3
"""Largest tolerance of an exact value."""


def is_exact(expect: Expectation) -> bool:
    """Whether an expectation allows for rounding only."""
    tolerance = expect.within or 0
    return expect.equals is not None and not expect.within_share and tolerance <= ROUNDING


def claims_of(paper: str, experiment: str) -> list[Claim]:
    return [c for c in load_paper(PAPERS / paper).claims if c.experiment == experiment]


@pytest.mark.parametrize("paper", papers())
def test_exact_properties_of_single_rules_are_definitions(paper):
    names = [item.name for item in experiments_of(paper) if item.single_rules]
    exact = [c for name in names for c in claims_of(paper, name) if is_exact(c.expect)]
    assert [claim.id for claim in exact if claim.role != "definition"] == []


@pytest.mark.parametrize("paper", papers())
def test_what_calls_the_rules_without_a_run_tests_definitions_only(paper):
    for experiment in experiments_of(paper):
        if experiment.jobs():
            continue
        found = experiment.measure({}).found
        measures = {
            name for source, values in found.items() if source != ARITHMETIC for name in values
        }
        measures -= set(found.get(ARITHMETIC, {}))
        assert experiment.single_rules or not measures
        called = [c for c in claims_of(paper, experiment.name) if c.measure in measures]
        assert [claim.id for claim in called if claim.role != "definition"] == []


@pytest.mark.parametrize("paper", papers())
def test_what_our_own_traffic_sources_show_is_a_definition(paper):
    rows = rows_of_report()
    for experiment in experiments_of(paper):
        if experiment.own_sources:
            claims = claims_of(paper, experiment.name)
            shown = [c for c in claims if rows[c.id, cell(c.says)][1].startswith(PACKETS)]
            assert shown
            assert [claim.id for claim in shown if claim.role != "definition"] == []


def test_own_traffic_sources_are_exercised():
    names = [item.name for paper in papers() for item in experiments_of(paper) if item.own_sources]
    assert names == ["poisson", "table3", "arrivals"]


def test_single_rules_are_exercised():
    """So that the tests above test something."""
    names = [item.name for paper in papers() for item in experiments_of(paper) if item.single_rules]
    assert {"rules", "algorithms", "section2", "section2_reno"} <= set(names)
