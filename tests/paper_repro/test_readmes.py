"""Counts of verdicts that the papers' READMEs and the changelog quote are those of the report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import paper_repro
from paper_repro.__main__ import papers

PAPERS = Path(paper_repro.__file__).parent
ROOT = PAPERS.parent
QUOTED = re.compile(r"(\d+) statements,?(?: of which)? (\d+) are reproduced, (\d+) in shape, (.*)")
"""A sentence with counts: statements, reproduced, in shape, and the rest with the others."""


def table_of(file: Path) -> dict[str, list[int]]:
    """All counts in a file's first table by paper."""
    pattern = r"^\| \[[^|]*\]\(#?(\w+)(?:/README\.md)?\) \| (.*) \|$"
    found = re.findall(pattern, file.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: [int(cell) for cell in row.split(" | ")] for name, row in found}


def rows() -> dict[str, list[int]]:
    """Counts in the report's first table by paper: statements, then verdicts in their order."""
    return {name: row[:6] for name, row in table_of(PAPERS / "report.md").items()}


def quoted(file: Path) -> tuple[list[int], str] | None:
    """Statements, reproduced and in shape as a file has them, and the sentence's rest; or None."""
    match = QUOTED.search(" ".join(file.read_text(encoding="utf-8").split()))
    return None if match is None else ([int(match[n]) for n in (1, 2, 3)], match[4])


def check(file: Path, counts: list[int]) -> None:
    found = quoted(file)
    assert found is not None
    numbers, rest = found
    assert numbers == counts[:3]
    assert re.search(rf"\b{counts[3]} calibrated", rest)
    assert re.search(rf"\b{counts[4]} (are )?not\b", rest)


@pytest.mark.parametrize("paper", papers())
def test_a_readme_quotes_the_counts_of_the_report(paper):
    file = PAPERS / paper / "README.md"
    if quoted(file) is not None:
        check(file, rows()[paper])


def test_three_readmes_quote_counts():
    assert sum(quoted(PAPERS / paper / "README.md") is not None for paper in papers()) == 3


def test_the_changelog_quotes_the_sums_of_the_report():
    check(ROOT / "CHANGELOG.md", [sum(column) for column in zip(*rows().values(), strict=True)])


def test_the_readme_has_the_table_of_the_report_and_its_sums():
    text = (PAPERS / "README.md").read_text(encoding="utf-8")
    table = table_of(PAPERS / "report.md")
    assert table_of(PAPERS / "README.md") == table
    sums = [sum(column) for column in zip(*table.values(), strict=True)]
    assert f"| all | {' | '.join(map(str, sums))} |" in text
    assert f"There are {sums[0] + sums[-1]} claims, {sums[-1]} of them apart" in text
    assert f"Of the {sums[1]} reproduced statements {sums[-2]} are sums" in text
    assert f"the {sums[5]} that are contradicted are such sums" in text
