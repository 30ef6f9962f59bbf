"""From a JSON document to a problem and claims; what is not well formed is refused in one line."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vegasfluid.analysis.proofs.enclosure import Enclosure, is_decimal
from vegasfluid.analysis.proofs.keys import (
    CLAIMS,
    CLASS_CLAIMS,
    COMPETITOR,
    CUBIC,
    PROBLEM,
    RED,
    TUNED,
    Table,
)
from vegasfluid.analysis.proofs.problem import (
    CubicFlows,
    FairAlphaProblem,
    LossBasedFlows,
    RedProfile,
    VegasFlows,
)
from vegasfluid.errors import InvalidInput

__all__ = ["at_key", "enclosures_from", "problem_from", "record", "text"]

LONGEST_TEXT = 200
MOST_CLASSES = 100


def refuse(where: str, allowed: str, given: object) -> InvalidInput:
    """A refusal; of what is long, only the beginning is repeated."""
    shown = given if len(repr(given)) <= LONGEST_TEXT else repr(given)[:60] + " ..."
    return InvalidInput("certificate", where, allowed, shown)


def number(value: Any, where: str) -> float:
    """A finite number, exactly as a double."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refuse(where, "a number", value)
    try:
        double = float(value)
    except OverflowError:
        raise refuse(where, "a number of at most 1.8e308", value) from None
    if not math.isfinite(double) or double != value:
        raise refuse(where, "a finite number that a double holds", value)
    return double


def number_or_null(value: Any, where: str) -> float | None:
    """The same, or null."""
    return None if value is None else number(value, where)


def whole(value: Any, where: str) -> int:
    """A whole number, written without a point."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise refuse(where, "a whole number", value)
    return value


def truth(value: Any, where: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise refuse(where, "true or false", value)
    return value


def text(value: Any, where: str) -> str:
    """A short text."""
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_TEXT:
        raise refuse(where, f"a text of 1 to {LONGEST_TEXT} characters", value)
    return value


KINDS: dict[str, Callable[[Any, str], Any]] = {
    "number": number,
    "number or null": number_or_null,
    "whole": whole,
    "truth": truth,
    "text": text,
}


def place(where: str, key: str) -> str:
    """A key with those above it."""
    return f"{where}.{key}" if where else key


def at_key(document: Mapping[str, Any], key: str, where: str) -> Any:
    """What stands under a key that has to be there."""
    if key not in document:
        raise refuse(place(where, key), "given", "missing")
    return document[key]


def record(document: Any, where: str, keys: Iterable[str]) -> dict[str, Any]:
    """An object with these keys and no others."""
    if not isinstance(document, Mapping):
        raise refuse(where or "the document", "a JSON object", document)
    found = {key: at_key(document, key, where) for key in keys}
    for key in document:
        if key not in found:
            raise refuse(f"a key of {where or 'the document'}", "one of " + ", ".join(found), key)
    return found


def fields_from(document: Any, where: str, table: Table, more: tuple[str, ...] = ()) -> dict:
    """The values of a table's fields, by attribute; and those of more keys, as they are."""
    parts = record(document, where, (*more, *(key for _, key, _ in table)))
    found = {name: KINDS[kind](parts[key], place(where, key)) for name, key, kind in table}
    return found | {key: parts[key] for key in more}


def problem_from(document: Any) -> FairAlphaProblem:
    """The problem that a document states.

    Raises:
        InvalidInput: for the first thing that is wrong.
    """
    parts = fields_from(document, "problem", PROBLEM, ("red", "tuned", "competitors"))
    red, tuned, competitors = (parts.pop(key) for key in ("red", "tuned", "competitors"))
    own = fields_from(tuned, "problem.tuned", TUNED, ("name",))
    name = text(own.pop("name"), "problem.tuned.name")
    if not isinstance(competitors, Mapping) or not 0 < len(competitors) <= MOST_CLASSES:
        allowed = f"a JSON object of 1 to {MOST_CLASSES} classes"
        raise refuse("problem.competitors", allowed, competitors)
    return FairAlphaProblem(
        **parts,
        red=RedProfile(**fields_from(red, "problem.red", RED)),
        tuned_name=name,
        tuned=VegasFlows(**own),
        competitors={
            text(of, "a class's name"): competitor_from(competitors, of) for of in competitors
        },
    )


def competitor_from(competitors: Mapping[str, Any], name: str) -> LossBasedFlows:
    """A class that is not tuned."""
    where, document = f"problem.competitors.{name}", competitors[name]
    if not isinstance(document, Mapping):
        raise refuse(where, "a JSON object", document)
    law = text(at_key(document, "law", where), place(where, "law"))
    if law == "cubic":
        return CubicFlows(**fields_from(document, where, CUBIC))
    if law not in ("reno", "newreno"):
        raise refuse(place(where, "law"), "reno, newreno or cubic", law)
    return LossBasedFlows(**fields_from(document, where, COMPETITOR))


def enclosures_from(document: Any, classes: tuple[str, ...]) -> dict[tuple[str, ...], Enclosure]:
    """All claims by their places.

    Args:
        document: what stands under `claims`.
        classes: the names of the classes.

    Raises:
        InvalidInput: for the first thing that is wrong.
    """
    parts = record(document, "claims", (*CLAIMS, "classes"))
    found: dict[tuple[str, ...], Enclosure] = {
        (key,): enclosure_from(parts[key], f"claims.{key}") for key in CLAIMS
    }
    by_class = record(parts["classes"], "claims.classes", classes)
    for name in classes:
        where = f"claims.classes.{name}"
        for key, value in record(by_class[name], where, CLASS_CLAIMS).items():
            found["classes", name, key] = enclosure_from(value, place(where, key))
    return found


def enclosure_from(document: Any, where: str) -> Enclosure:
    """A pair of decimals in order."""
    ends = record(document, where, ("low", "high"))
    for key, value in ends.items():
        if not is_decimal(value):
            raise refuse(place(where, key), "a decimal number in quotes", value)
    found = Enclosure(**ends)
    low, high = found.bounds
    if low > high:
        raise refuse(place(where, "low"), f"at most high ({found.high})", found.low)
    return found
