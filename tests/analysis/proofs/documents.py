"""A certificate as a document, its keys, and documents that differ from it."""

from __future__ import annotations

import copy
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath

from tests.analysis.proofs.oracle import mixed
from vegasfluid import InvalidInput
from vegasfluid.analysis.proofs import Certificate, certify_alpha

Path = tuple[str, ...]
"""Of keys, from the outermost."""
SLOPE = "alpha_packets_per_log_ratio"

GROUP = ("flows", "base_rtt_s", "max_window_packets", "access_packets_per_s")
PROBLEM: dict[Path, tuple[str, ...]] = {
    (): ("capacity_packets_per_s", "buffer_packets", "loss_process", "ratio", "epsilon"),
    ("red",): (
        *("min_thresh_packets", "max_thresh_packets", "max_drop"),
        *("gentle", "wait", "marks"),
    ),
    ("tuned",): ("name", *GROUP, "dialect", "softness_packets"),
    ("competitors", "reno"): ("law", *GROUP),
    ("competitors", "cubic"): (
        *("law", *GROUP),
        *("c_packets_per_s3", "beta", "fast_convergence", "friendly", "implementation"),
    ),
}
"""The keys of a problem by the object that they stand in."""
TEXTS = {"loss_process", "name", "dialect", "law", "implementation"}
PARAMETERS: list[Path] = [
    (*path, key) for path, keys in PROBLEM.items() for key in keys if key not in TEXTS
]
"""Of the problem, those that are not text."""
BOUNDS: list[Path] = [
    *(("box_packets",), ("alpha_packets",), ("alpha_below_packets",), ("alpha_above_packets",)),
    *((SLOPE,), ("queue_packets",), ("drop_prob",), ("recovering_fraction",)),
    *(
        ("classes", name, key)
        for name in ("reno", "cubic", "vegas")
        for key in ("cwnd_packets", "rtt_s", "rate_packets_per_s")
    ),
]
CLAIMS: list[Path] = [(*path, end) for path in BOUNDS for end in ("low", "high")]
"""Of the claims, the numbers."""
LEAVES: list[Path] = [
    *((key,) for key in ("format", "version", "software", "statement")),
    *(("problem", *path, key) for path, keys in PROBLEM.items() for key in keys),
    *(("claims", *path) for path in CLAIMS),
]
"""What the example has to say; a test compares it with the example."""
KEYS: list[Path] = list(
    dict.fromkeys(path[:end] for path in LEAVES for end in range(1, len(path) + 1))
)
"""All keys of the example."""


@cache
def certified() -> dict[str, Any]:
    """The document of `example`, which nobody may change."""
    return certify_alpha(mixed(), ratio=0.8).document()


def example() -> dict[str, Any]:
    """A certificate of two laws against Vegas, as a document."""
    return copy.deepcopy(certified())


def leaves(document: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(document, dict):
        return [path]
    return [leaf for key in document for leaf in leaves(document[key], (*path, key))]


def at(document: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def changed(document: Any, path: tuple[str, ...], value: Any) -> Any:
    other = copy.deepcopy(document)
    at(other, path[:-1])[path[-1]] = value
    return other


def restated(document: Any) -> Any:
    """The same claims with the sentence that they make."""
    return Certificate.read(document).document()


def times(number: str, factor: Fraction) -> str:
    """A decimal times a factor."""
    scaled = Fraction(number) * factor
    return mpmath.nstr(mpmath.mpf(scaled.numerator) / scaled.denominator, 40, min_fixed=-99)


def restated_or_none(document: Any) -> Any:
    """None where the bounds are not in order any more, which is rejected before any proof."""
    try:
        return restated(document)
    except InvalidInput as error:
        if "at most high" not in str(error):
            raise
        return None
