"""Model files with random faults: of structure, of numbers, and of the text itself.

Every function takes a `random.Random`, so that a seed repeats its file.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import tomli_w

__all__ = ["mutated"]

Document = dict[str, Any]
Place = tuple[Any, Any]
"""A container of a document and the key or index of a value in it."""

NUMBERS = (
    *(0, -1, 1, 2, 3, 1000, 65535, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**30),
    *(0.0, -0.0, 0.5, 1.0, -1.5, 5e-324, 1e-300, 1e-12, 1e-9, 1e-6, 1e6, 1e7, 1e15, 1e16, 1e300),
    *(1.7e308, float("nan"), float("inf"), -float("inf")),
)
"""Numbers at the ends of types and of the ranges of models."""
NAMES = (
    *("", " ", ".", "..", "../../evil", "/etc/passwd", "a/b", "a b", "a.b", "[x]", "a=b", "-x"),
    *("--json", "$(id)", "`id`", "'; exit", '"', "\\", "%s{0}", "ü", "日本", "\u202e", "\x1b[2J"),
    *("\x00", "\n", "\x07", "x" * 5000, "None", "nan", "true", "1", "0x10", "time", "bottleneck"),
)
"""Names and texts that something on the way may interpret."""
OTHERS = (
    True,
    False,
    [],
    {},
    [[]],
    [1, "a"],
    {"low": 1, "high": 2},
    {"name": "red"},
    "1",
    [1.0] * 3,
)
"""Values of other types than the one expected."""
FACTORS = (1e-9, 1e-3, 0.1, 0.5, 1 - 1e-12, 1 + 1e-12, 2, 10, 1e3, 1e9, -1)
"""Factors of a given number."""
PIECES = (
    *(b"\x00", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"[", b"[[", b"= ", b'"""'),
    b"\x1b]52;c;eA==\x07",
)
"""Pieces of text that a parser may stumble over; the last one sets a terminal's clipboard."""
DEEPEST = 2000
"""Levels of a deeply nested array."""


def mutated(document: Document, random: Random, keys: tuple[str, ...] = ()) -> bytes:
    """A model file as bytes: a document with one to four random changes.

    In half of them only numbers are changed, so that more of them are valid.

    Args:
        document: a valid model file as a nested dictionary; it is not changed.
        random: source of random numbers.
        keys: names of keys that other model files have.
    """
    changed = copy.deepcopy(document)
    changes = random.choice((CHANGES, NUMERIC))
    for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
        random.choice(changes)(changed, random, keys)
    data = tomli_w.dumps(changed).encode("utf-8", "surrogatepass")
    return random.choice(DAMAGES)(data, random) if random.random() < 0.1 else data


def places(value: Any) -> Iterator[Place]:
    """All values inside a document, each with its container."""
    pairs = list(value.items() if isinstance(value, dict) else enumerate(value))
    for key, part in pairs:
        yield value, key
        if isinstance(part, dict | list):
            yield from places(part)


def place(document: Document, random: Random, wanted: Callable[[Any], bool]) -> Place | None:
    """A random place whose value is wanted; None if there is none."""
    found = [(where, key) for where, key in places(document) if wanted(where[key])]
    return random.choice(found) if found else None


def is_number(value: Any) -> bool:
    """Whether a value is a number; booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def change_number(document: Document, random: Random, keys: tuple[str, ...]) -> None:
    """Replace a number by one at the end of a type or of a range."""
    if at := place(document, random, is_number):
        at[0][at[1]] = random.choice(NUMBERS)


def scale_number(document: Document, random: Random, keys: tuple[str, ...]) -> None:
    """Multiply a number by a factor."""
    if at := place(document, random, is_number):
        at[0][at[1]] *= random.choice(FACTORS)


def change_text(document: Document, random: Random, keys: tuple[str, ...]) -> None:
    """Replace a text by one that something on the way may interpret."""
    if at := place(document, random, lambda value: isinstance(value, str)):
        at[0][at[1]] = random.choice(NAMES)


def change_type(document: Document, random: Random, keys: tuple[str, ...]) -> None:
    """Replace a value by one of another type."""
    if at := place(document, random, lambda value: True):
        at[0][at[1]] = copy.deepcopy(random.choice(OTHERS))


def remove(document: Document, random: Random, keys: tuple[str, ...]) -> None:
    """Remove a value."""
    if at := place(document, random, lambda value: True):
        del at[0][at[1]]


def rename(document: Document, random: Random, keys: tuple[str, ...]) -> None:
    """Give a key another name."""
    tables = [(where, key) for where, key in places(document) if isinstance(where, dict)]
    if tables:
        where, key = random.choice(tables)
        where[random.choice((*NAMES, *keys, key + "x", key.upper()))] = where.pop(key)


def add_key(document: Document, random: Random, keys: tuple[str, ...]) -> None:
    """Give a table a key of another model file, with any value."""
    tables = [document, *(where[key] for where, key in places(document))]
    table = random.choice([table for table in tables if isinstance(table, dict)])
    value = random.choice((random.choice(NUMBERS), random.choice(NAMES), random.choice(OTHERS)))
    table[random.choice(keys or NAMES)] = copy.deepcopy(value)


def exchange(document: Document, random: Random, keys: tuple[str, ...]) -> None:
    """Exchange two values."""
    found = list(places(document))
    if len(found) > 1:
        (first, one), (second, other) = random.sample(found, 2)
        first[one], second[other] = copy.deepcopy(second[other]), copy.deepcopy(first[one])


def repeat(document: Document, random: Random, keys: tuple[str, ...]) -> None:
    """Repeat an entry of a table under other names, or of a list, up to 40 times."""
    if at := place(document, random, lambda value: isinstance(value, dict | list)):
        where, key = at
        for number in range(random.choice((1, 2, 40))):
            if isinstance(where, list):
                where.append(copy.deepcopy(where[key]))
            else:
                where[f"{key}{number}"] = copy.deepcopy(where[key])


CHANGES = (
    *(change_number, scale_number, change_text, change_type, remove, rename, add_key, exchange),
    repeat,
)
"""Changes of a document."""
NUMERIC = (change_number, scale_number, scale_number, scale_number)
"""Changes of numbers; most of them scale one."""


def cut(data: bytes, random: Random) -> bytes:
    """The beginning of a file."""
    return data[: random.randrange(len(data) + 1)]


def flip(data: bytes, random: Random) -> bytes:
    """A file with some random bytes."""
    damaged = bytearray(data)
    for _ in range(random.choice((1, 3, 20)) if damaged else 0):
        damaged[random.randrange(len(damaged))] = random.randrange(256)
    return bytes(damaged)


def insert(data: bytes, random: Random) -> bytes:
    """A file with one of the `PIECES` somewhere in it."""
    pieces = (
        b"\x00",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\r",
        b"[",
        b"[[",
        b"= ",
        b'"""',
        b"\x1b]52;c;eA==\x07",
    )
    at = random.randrange(len(data) + 1)
    return data[:at] + random.choice(pieces) + data[at:]


def nest(data: bytes, random: Random) -> bytes:
    """A file with a deeply nested array."""
    return b"deep = " + b"[" * DEEPEST + b"]" * random.choice((0, DEEPEST)) + b"\n" + data


DAMAGES = (cut, flip, insert, nest)
"""Changes of a file's text."""
