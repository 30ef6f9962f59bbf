"""Refusals: what is wrong with a model file, in one line, in the file's own keys and units."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from vegasfluid.errors import InvalidInput, VegasfluidError
from vegasfluid.modelfile.units import key_of, to_edge
from vegasfluid.network import Event, Flows, Network
from vegasfluid.quantities import unit_of

__all__ = ["ModelFileError", "as_refusal", "network_refusal", "refusal", "refused", "show"]

Keys = tuple[str | int, ...]
"""The way to a value: keys of tables, indices of lists."""

LONGEST_TEXT = 60
LARGEST_SHOWN = 10**40

NAME_AND_VALUE = r"\b(?P<name>[a-z_]+)\b(?: \((?P<value>[-+.e\d]+)\))?"
"""A field in what a value class allows, as in `at most beta (3)`."""

ALLOWED = {
    "missing": "given",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "string_type": "text in quotes",
    "list_type": "a list",
    "dict_type": "a table",
}
"""What pydantic's types of error allow, in our words."""


class ModelFileError(VegasfluidError):
    """A model file that is refused.

    Args:
        lines: everything that is wrong with it, one line each. The message is the first of them,
            and how many there are besides.
    """

    def __init__(self, *lines: str) -> None:
        self.lines = tuple(_printable(line) for line in lines)
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        super().__init__(self.lines[0] + more)


def _printable(line: str) -> str:
    """The same text in one line, with nothing that a terminal would act on."""
    parts = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    return "".join(parts)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "..."


def show(value: object) -> str:
    """A value of a model file as the file would have it, shortened.

    >>> show(True), show("ns4"), show({"a": 1})
    ('true', '"ns4"', 'a table')
    """
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(_short(value), ensure_ascii=False)
        case Mapping():
            return "a table"
        case list() | tuple():
            return "a list"
        case int() if abs(value) > LARGEST_SHOWN:  # Python refuses to print the largest
            return "a huge number"
        case Decimal() if not value.is_finite():
            return str(float(value))
        case _:
            return _short(str(value))


def refusal(allowed: str, given: str, *keys: str | int) -> ValidationError:
    """What a validator raises; pydantic puts the way to its table before `keys`."""
    kind = PydanticCustomError("refused", "refused", {"allowed": allowed, "given": given})
    return ValidationError.from_exception_data(
        "refusal", [InitErrorDetails(type=kind, loc=keys, input=None)]
    )


def as_refusal(
    error: InvalidInput, kind: type, table: Mapping[str, Any], packet_bytes: int
) -> ValidationError:
    """The refusal of a value class in the terms of the table that it was read from.

    Args:
        error: the refusal.
        kind: the value class.
        table: what the file gives.
        packet_bytes: the size of a packet, for rates.
    """
    names = {field.name for field in fields(kind)}

    def in_file(name: str, value: Any) -> str:
        """The value as the file has it, or a default in the file's unit."""
        if (key := key_of(kind, name)) in table:
            return show(table[key])
        return str(to_edge(float(value), unit_of(kind, name), packet_bytes))

    def in_file_terms(found: re.Match[str]) -> str:
        name, value = found["name"], found["value"]
        if name not in names:
            return found[0]
        key = key_of(kind, name)
        return key if value is None else f"{key} ({in_file(name, value)})"

    allowed = re.sub(NAME_AND_VALUE, in_file_terms, error.allowed)
    key = key_of(kind, error.name)
    if isinstance(error.given, str) and not isinstance(table.get(key), str):
        return refusal(allowed, error.given, key)
    by_default = "" if key in table else " (the default)"
    return refusal(allowed, in_file(error.name, error.given) + by_default, key)


def network_refusal(error: InvalidInput, document: Mapping[str, Any]) -> ValidationError:
    """The refusal of `Network`, which says whose it is: `flows.NAME`, `events[INDEX]`, `Network`.

    Args:
        error: the refusal.
        document: what the file holds.
    """
    if found := re.fullmatch(r"flows\.(.*)", error.whose, re.DOTALL):
        way: Keys = ("flows", found[1], key_of(Flows, error.name))
    elif found := re.fullmatch(r"events\[(\d+)\]", error.whose):
        way = ("events", int(found[1]), key_of(Event, error.name))
    else:
        way = (key_of(Network, error.name),)
    given = _at(document, way)
    if isinstance(given, list) and error.given in given:
        index = given.index(error.given)
        way, given = (*way, index), given[index]
    shown = show(given) if isinstance(given, str | int | Decimal) else str(error.given)
    return refusal(error.allowed, shown, *way)


def refused(
    name: str, error: ValidationError, document: Mapping[str, Any], known: Mapping[int, list[str]]
) -> ModelFileError:
    """All that pydantic found, unknown keys first: they are often why another key is missing.

    Args:
        name: the file.
        error: what pydantic found.
        document: what the file holds.
        known: the known keys of each of its tables, by the table's `id`.
    """
    found = error.errors(include_url=False)
    found.sort(key=lambda one: one["type"] != "extra_forbidden")
    return ModelFileError(*(f"{name}: {_line(one, document, known)}" for one in found))


def _line(error: ErrorDetails, document: Mapping[str, Any], known: Mapping[int, list[str]]) -> str:
    way = error["loc"]
    if error["type"] == "extra_forbidden":
        keys = known.get(id(_at(document, way[:-1])), [])
        return f"{_path(way)}: unknown key; {_nearest(str(way[-1]), keys)}"
    context = error.get("ctx", {})
    match error["type"]:
        case "refused":
            allowed, given = context["allowed"], context["given"]
        case "literal_error":  # "'a', 'b' or 'c'"
            expected = context["expected"].replace("'", "").replace(" or ", ", ")
            allowed, given = f"one of {expected}", show(error["input"])
        case "missing":
            allowed, given = ALLOWED["missing"], "missing"
        case other:
            allowed, given = ALLOWED.get(other, error["msg"]), show(error["input"])
    return f"{_path(way)}: must be {allowed}, but is {given}"


def _nearest(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(_short(key), known, n=1) or [
        one for one in known if key in one
    ]
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"


def _at(document: Any, way: Keys) -> Any:
    for key in way:
        document = document.get(key) if isinstance(document, dict) else document[key]
    return document


def _path(way: Keys) -> str:
    """A key path as TOML writes it, with indices in brackets."""
    text = ""
    for key in way:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            bare = re.fullmatch(r"[A-Za-z0-9_-]+", key)
            text += "." + (_short(key) if bare else show(key))
    return text.removeprefix(".")
