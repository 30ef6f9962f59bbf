"""Numbers in the reasons of claims agree with the results in the report, where they are the same.

A reason quotes results and other numbers without saying which is which. So a number counts as a
result that the report prints for the claim if it is near one of them; it then has to be one of
them, to the digits quoted. Numbers that are near a result and something else are listed. A reason
that is far from every result is not found by this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import paper_repro
from paper_repro.__main__ import papers
from paper_repro.claims import Rule, load_paper
from paper_repro.report import cell

PAPERS = Path(paper_repro.__file__).parent
NEAR = 0.05
"""Relative distance within which a number in a reason counts as a result."""
NUMBER = re.compile(r"(?<![\w.,/-])(-?\d{1,3}(?:,\d{3})+|-?\d+(?:\.\d+)?)(?![\w]|[.,]\d)( %)?")
"""A number, and whether it is in per cent."""
WORDS = (
    *("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen", "twenty"),
)
"""Whole numbers in words, from 0 on."""
WHOLE = rf"(?<![.,\d])({'|'.join(WORDS)}|\d+)"
COUNT = re.compile(rf"{WHOLE}(?: [a-z]+)? (?:in|of)(?: our| the)? {WHOLE}\b(?![.,]\d)", re.I)
"""A count out of a number."""
OTHER_NUMBERS = {
    "window-modified-60-1": ("19.63", "33"),  # of table 1, and a mean from 38 to 60 s
    "slight-growth-after-60": ("9.0",),  # where the window ends
    "red-as-droptail-printed": ("0.97",),  # a correlation
    "sent-reno-9": ("1,130",),  # a distance from the printed cells
    "reno-642-percent": ("1380",),  # one of two seeds
    "reno-reaches-hurst-one": ("0.96",),  # at twelve clients
    "fluctuating-windows-cost-smoothness": ("1.04", "1.08"),  # of which the result is the ratio
    "figure-3-middle-queues-even": ("0.66",),  # of theory
    "figure-3-large-queues-vegas-wins": ("0.62", "0.66"),  # of theory
    "figure-3-two-way-slightly-less": ("76",),  # a utilisation
    "default-suffices-without-reno": ("97",),  # with other alpha and beta
    "figure-6-pareto-not-at-75": ("0.84",),  # of NPS traffic
    "figure-6-must-be-high": ("55",),  # with NPS traffic only
    "network-4-utilisation-nps": ("87",),  # with a smaller window
    "open-mixed-traffic-large": ("1.01", "0.38"),  # of figure 5
    "vegas-300": ("502",),  # what the path has left
    "standard-300": ("502",),
    "mid-life-rtt": ("71.2",),  # what it would be without Reno's queue
}
"""Numbers near a result that are something else, by claim."""


def values_in(text: str) -> list[float]:
    """The numbers in a text."""
    return [float(number.replace(",", "")) for number, _ in NUMBER.findall(text)]


def printed_results(evidence: str) -> list[float]:
    """Results in a cell of the report, without their sources and standard errors."""
    return [value for series in series_of(evidence) for value in series]


def series_of(evidence: str) -> list[list[float]]:
    """Results in a cell of the report by source."""
    sources = re.split(r"; (?=[^;]*: )", evidence)
    values = [re.sub(r"± \S+?(?=,? |$)", "", source.rpartition(": ")[2]) for source in sources]
    return [values_in(text) for text in values]


def rounding(number: str) -> float:
    """Largest distance of a value from the number that stands for it."""
    whole, _, decimals = number.replace(",", "").lstrip("-").partition(".")
    places = len(decimals) if decimals else len(whole.rstrip("0") or whole) - len(whole)
    return 0.5001 * 10.0**-places


def stale(reason: str, results: list[float], others: list[float]) -> Iterator[str]:
    """The numbers in a reason that are near a result, and are neither one nor another number.

    Args:
        reason: the text.
        results: values of the claim's measure, by any source.
        others: numbers of its statement and its rule.
    """
    for number, percent in NUMBER.findall(reason):
        value = float(number.replace(",", ""))
        candidates = [*results, *([100 * result for result in results] if percent else [])]
        near = [x for x in candidates if 0 < abs(value - x) <= NEAR * abs(x)]
        exact = [100 * result for result in results] + results
        agrees = any(abs(value - x) <= rounding(number) for x in exact)
        if near and not agrees and value not in others:
            yield number


def counted(reason: str) -> Iterator[tuple[int, int]]:
    """Counts in a reason, in words or digits: of "eight of nine runs" 8 and 9."""
    for part, whole in COUNT.findall(reason):
        yield number_of(part.lower()), number_of(whole.lower())


def number_of(word: str) -> int:
    """A whole number in words or digits."""
    return WORDS.index(word) if word in WORDS else int(word)


def wrong_counts(reason: str, claim: Rule, series: list[list[float]]) -> Iterator[str]:
    """Counts out of as many as a series has values, that no rule gives for any such series.

    Args:
        reason: the text.
        claim: the rule, by whose conditions on single values they are counted.
        series: values of the claim's measure by source.
    """
    for part, whole in counted(reason):
        alike = [values for values in series if len(values) == whole > 1]
        counts = {count for values in alike for count in counts_of(claim, values)}
        if alike and part not in counts:
            yield f"{part} of {whole}"


def counts_of(claim: Rule, values: list[float]) -> Iterator[int]:
    """How many values meet the conditions of a rule one by one, and how many do not."""
    for expect in (claim.expect, claim.in_shape):
        if expect is None or (expect := expect.model_copy(update={"order": None})).text() == "":
            continue
        aims = expect.equals if isinstance(expect.equals, list) else [expect.equals] * len(values)
        single = [expect.model_copy(update={"equals": aim}) for aim in aims]
        met = sum(one.met(value) for one, value in zip(single, values, strict=True))
        yield from (met, len(values) - met)


def rows_of_report() -> dict[tuple[str, str], tuple[str, str]]:
    """Rule and results in the report, by name and statement of the claim."""
    lines = (PAPERS / "report.md").read_text(encoding="utf-8").splitlines()
    rows = [re.split(r"(?<!\\) \| ", line) for line in lines if line.startswith("| `")]
    return {
        (row[0].strip("| `"), row[2]): (row[3], row[4])
        for row in rows
        if len(row) == 6 and row[5].startswith("**")
    }


@pytest.mark.parametrize(
    ("reason", "found"),
    [
        ("It is 0.93 of that.", ["0.93"]),
        ("It is 0.95 of that.", []),
        ("95 % are used, and 97 % at best.", ["97"]),
        ("1,280 packets, of 1,287 printed ones.", []),
        ("1,270 packets.", ["1,270"]),
        ("Half of it: 0.5.", []),
    ],
)
def test_a_number_near_a_result_has_to_be_one(reason, found):
    results = printed_results("packets: 0.9512 ± 0.01, 1282.3 ± 1e+02; packets, RTO 0.2 s: 3")
    assert results == [0.9512, 1282.3, 3]
    assert list(stale(reason, results, [1287])) == found


@pytest.mark.parametrize("paper", papers())
def test_reasons_quote_the_results_of_the_report(paper):
    rows = rows_of_report()
    found = {}
    for claim in load_paper(PAPERS / paper).claims:
        if claim.reason is not None:
            rule, evidence = rows[claim.id, cell(claim.says)]
            others = values_in(f"{rule} {claim.says}")
            known = OTHER_NUMBERS.get(claim.id, ())
            numbers = set(stale(claim.reason, printed_results(evidence), others)) - set(known)
            if numbers:
                found[claim.id] = sorted(numbers)
    assert found == {}


@pytest.mark.parametrize(
    ("reason", "found"),
    [
        ("One in three is above.", []),
        ("Two of the three are below.", []),
        ("At 1 of 3 sizes.", []),
        ("All are, none of three is below.", ["0 of 3"]),
        ("Three runs of three.", ["3 of 3"]),
        ("One of ten.", []),  # another number of values
    ],
)
def test_a_count_of_values_has_to_be_that_of_a_source(reason, found):
    rule = Rule.model_validate({"measure": "m.x", "expect": {"below": 1}})
    series = [[0.5, 0.7, 1.2], [0.1, 0.2]]
    assert list(wrong_counts(reason, rule, series)) == found


@pytest.mark.parametrize("paper", papers())
def test_reasons_count_the_results_of_the_report(paper):
    rows = rows_of_report()
    found = {
        claim.id: wrong
        for claim in load_paper(PAPERS / paper).claims
        if claim.reason is not None
        for series in [series_of(rows[claim.id, cell(claim.says)][1])]
        if (wrong := list(wrong_counts(claim.reason, claim, series)))
    }
    assert found == {}


def test_the_list_of_other_numbers_has_none_too_many():
    rows, reasons = rows_of_report(), {}
    for paper in papers():
        reasons |= {c.id: c for c in load_paper(PAPERS / paper).claims if c.id in OTHER_NUMBERS}
    for name, numbers in OTHER_NUMBERS.items():
        claim = reasons[name]
        rule, evidence = rows[name, cell(claim.says)]
        near = set(
            stale(claim.reason, printed_results(evidence), values_in(f"{rule} {claim.says}"))
        )
        assert set(numbers) <= near, name
