"""Errors in model files, in one line, with the keys and units of the file."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from vegasfluid.errors import InvalidInput, VegasfluidError, printable
from vegasfluid.limits import short_number
from vegasfluid.modelfile.line_numbers import lines_of
from vegasfluid.modelfile.units import key_of, to_file_unit
from vegasfluid.network import Event, Flows, Network
from vegasfluid.quantities import unit_of

__all__ = [
    "ModelFileError",
    "model_file_error",
    "network_error",
    "show_value",
    "validation_error",
    "value_error",
]

Keys = tuple[str | int, ...]
"""Path to a value: keys of tables, indices of lists."""

LONGEST_TEXT = 60
"""Largest number of characters of a value that is printed in full."""
LARGEST_SHOWN = 10**15
"""Largest integer of which all digits are printed."""
LONGEST_NUMBER = 24
"""Number of characters up to which a number is printed as the file writes it."""

NAME_AND_VALUE = r"\b(?P<name>[a-z_]+)\b(?: \((?P<value>[-+.e\d]+)\))?"
"""A field name in the text of a value class, with its value, as in `at most beta (3)`."""

ALLOWED = {
    "missing": "given",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "string_type": "text in quotes",
    "list_type": "a list",
    "dict_type": "a table",
}
"""What pydantic's error types allow, in our words."""


class ModelFileError(VegasfluidError):
    """An invalid model file.

    Args:
        lines: all errors, one line each. The message is the first one, and the number of further
            ones.
        places: for each line the path of the key that it is about, such as
            `flows.vegas.law.alpha_packets`, and the line without file name and path; None: the
            lines are about the whole file.
    """

    def __init__(self, *lines: str, places: Sequence[tuple[str, str]] | None = None) -> None:
        self.lines = tuple(printable(line) for line in lines)
        self.places = tuple(("", line) for line in self.lines) if places is None else tuple(places)
        count = len(lines) - 1
        more = f" (and {count} more error{'s' * (count > 1)})" if count else ""
        super().__init__(self.lines[0] + more)

    @property
    def messages(self) -> tuple[str, ...]:
        """All errors, a line each."""
        return self.lines


def _short(text: str) -> str:
    """The text cut to 60 characters; `...` follows if it was longer."""
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "..."


def show_value(value: object) -> str:
    """A value as a model file would write it, shortened, for error messages.

    >>> show_value(True), show_value("ns4"), show_value({"a": 1})
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
            return short_number(value)
        case Decimal() if not value.is_finite():
            return str(float(value))
        case Decimal() if len(str(value)) > LONGEST_NUMBER:
            return short_number(value)
        case _:
            return _short(str(value))


def validation_error(allowed: str, given: str, *keys: str | int) -> ValidationError:
    """Pydantic error that states what is allowed and what is given, for validators to raise.

    `keys` lead from the validated table to the value; pydantic puts the table's own path first.
    """
    error_type = PydanticCustomError("refused", "refused", {"allowed": allowed, "given": given})
    return ValidationError.from_exception_data(
        "validation_error", [InitErrorDetails(type=error_type, loc=keys, input=None)]
    )


def value_error(
    error: InvalidInput, kind: type, table: Mapping[str, Any], packet_bytes: int
) -> ValidationError:
    """Convert an error of a value class to the keys and units of the model file.

    Args:
        error: names a field of the value class, in internal units.
        kind: the value class, such as `Link`.
        table: table of the file from which the value was read.
        packet_bytes: packet size that converts rates, bytes.

    Returns:
        A pydantic error with key, allowed value and given value as the file writes them.
    """
    names = {field.name for field in fields(kind)}

    def in_file(name: str, value: Any) -> str:
        """Value as written in the file, or a default converted to the file's unit."""
        if (key := key_of(kind, name)) in table:
            return show_value(table[key])
        return str(to_file_unit(float(value), unit_of(kind, name), packet_bytes))

    def in_file_terms(found: re.Match[str]) -> str:
        """Field name in a text as its key of the file, with its value there."""
        name, value = found["name"], found["value"]
        if name not in names:
            return found[0]
        key = key_of(kind, name)
        return key if value is None else f"{key} ({in_file(name, value)})"

    allowed = re.sub(NAME_AND_VALUE, in_file_terms, error.allowed)
    key = key_of(kind, error.name)
    if isinstance(error.given, str) and not isinstance(table.get(key), str):
        return validation_error(allowed, error.given, key)
    by_default = "" if key in table else " (the default)"
    return validation_error(allowed, in_file(error.name, error.given) + by_default, key)


def network_error(error: InvalidInput, document: Mapping[str, Any]) -> ValidationError:
    """Convert an error of `Network` to its place in the model file.

    The place is `flows.NAME.KEY`, `events[INDEX].KEY` or a key of the top level.

    Args:
        error: names its part of the network and a field.
        document: content of the file.

    Returns:
        A pydantic error with that path, the allowed and the given value.
    """
    if match := re.fullmatch(r"flows\.(.*)", error.whose, re.DOTALL):
        path: Keys = ("flows", match[1], key_of(Flows, error.name))
    elif match := re.fullmatch(r"events\[(\d+)\]", error.whose):
        path = ("events", int(match[1]), key_of(Event, error.name))
    else:
        path = (key_of(Network, error.name),)
    given = _at(document, path)
    if isinstance(given, list) and error.given in given:
        index = given.index(error.given)
        path, given = (*path, index), given[index]
    shown = show_value(given) if isinstance(given, str | int | Decimal) else str(error.given)
    return validation_error(error.allowed, shown, *path)


def model_file_error(
    name: str,
    text: str,
    error: ValidationError,
    document: Mapping[str, Any],
    known: Mapping[int, list[str]],
) -> ModelFileError:
    """Error with a line for each mistake that pydantic found in a model file.

    Unknown keys come first: they often cause missing keys.

    Args:
        name: name of the file.
        text: its text, in which the keys' lines are found.
        error: what pydantic found.
        document: content of the file.
        known: known keys of each table, by the table's `id`.
    """
    errors = error.errors(include_url=False)
    errors.sort(key=lambda entry: entry["type"] != "extra_forbidden")
    places = [(_path(one["loc"]), _reason(one, document, known)) for one in errors]
    lines = lines_of(text, [one["loc"] for one in errors])
    found = ["" if line is None else f"line {line}: " for line in lines]
    messages = (
        f"{name}: {line}{path}: {why}" for line, (path, why) in zip(found, places, strict=True)
    )
    return ModelFileError(*messages, places=places)


def _reason(
    error: ErrorDetails, document: Mapping[str, Any], known: Mapping[int, list[str]]
) -> str:
    """One error as text without its path: what is allowed and what is given.

    Args:
        error: error as pydantic describes it.
        document: content of the file.
        known: known keys of each table, by the table's `id`.
    """
    path = error["loc"]
    if error["type"] == "extra_forbidden":
        keys = known.get(id(_at(document, path[:-1])), [])
        return f"unknown key; {_nearest(str(path[-1]), keys)}"
    context = error.get("ctx", {})
    match error["type"]:
        case "refused":
            allowed, given = context["allowed"], context["given"]
        case "literal_error":  # "'a', 'b' or 'c'"
            expected = context["expected"].replace("'", "").replace(" or ", ", ")
            allowed, given = f"one of {expected}", show_value(error["input"])
        case "missing":
            allowed, given = ALLOWED["missing"], "missing"
        case other:
            allowed, given = ALLOWED.get(other, error["msg"]), show_value(error["input"])
    return f"must be {allowed}, but is {given}"


def _nearest(key: str, known: list[str]) -> str:
    """Suggestion of the known key most similar to an unknown `key`, as a phrase.

    Without a similar one it is the first known key that contains `key`, or else a list of all known
    keys.
    """
    close = difflib.get_close_matches(_short(key), known, n=1) or [
        known_key for known_key in known if key in known_key
    ]
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"


def _at(document: Any, path: Keys) -> Any:
    """Value in nested tables and lists at a path of keys and indices; None if a key is missing."""
    for key in path:
        document = document.get(key) if isinstance(document, dict) else document[key]
    return document


def _path(path: Keys) -> str:
    """A path of keys and indices as TOML writes it, such as `flows.reno.start[2]`.

    Keys of other characters than letters, digits, `_` and `-` are in quotes. Keys are cut to 60
    characters.
    """
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            bare = re.fullmatch(r"[A-Za-z0-9_-]+", key)
            text += "." + (_short(key) if bare else show_value(key))
    return text.removeprefix(".")
