"""Where a key stands in the text of a model file, for error messages; tomllib does not do this."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["lines_of"]

Path = tuple[str | int, ...]
"""Keys of tables and indices of lists that lead to a value, from the top of the file."""

PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
"""Regular expression of a key without dots, which may be quoted."""
KEY = re.compile(rf"\s*({PART}(?:\s*\.\s*{PART})*)\s*=")
"""A key, which may be dotted, up to its equals sign."""
HEADER = re.compile(rf"\s*(\[\[?)\s*({PART}(?:\s*\.\s*{PART})*)\s*\]")
"""The header of a table, or with two brackets of a table in a list."""
MOST_PARSED = 300_000
"""Characters that are parsed at most, so that no file takes more than a second."""


def lines_of(text: str, paths: Iterable[Path]) -> list[int | None]:
    r"""Numbers of the lines, from 1, of the keys or tables that lead furthest along each path.

    A number is None where no part of the path has a line, or where the text is too large to look.

    Args:
        text: valid TOML; it is read once for all paths.
        paths: keys of tables and indices of lists, from the top.

    >>> lines_of("a = 1\n[t]\nb = [\n2,\n]\nc = 3", [("t", "c"), ("t", "missing"), ("d",)])
    [6, 2, None]
    """
    known: dict[Path, int] = {}
    for number, place in _places(text):
        known.setdefault(place, number)
    prefixes = ((path[:size] for size in range(len(path), 0, -1)) for path in paths)
    return [next((known[one] for one in each if one in known), None) for each in prefixes]


def _places(text: str) -> Iterator[tuple[int, Path]]:
    """Yield the line and the path of each key and each table's header of a text."""
    table: Path = ()
    tables: Counter[Path] = Counter()
    for number, statement in _statements(text):
        if header := HEADER.match(statement):
            table = _indexed(_keys(header[2]), tables)
            if header[1] == "[[":
                tables[table] += 1
                table = (*table, tables[table] - 1)
            yield number, table
        elif key := KEY.match(statement):
            yield number, (*table, *_keys(key[1]))


def _indexed(keys: Path, tables: Counter[Path]) -> Path:
    """Path of the table with the dotted name `keys`, with an index after each list of tables.

    The index is that of the list's last table so far; `tables` has the number of tables of each
    list.
    """
    path: Path = ()
    for key in keys[:-1]:
        path = (*path, key)
        if tables[path]:
            path = (*path, tables[path] - 1)
    return (*path, *keys[-1:])


def _keys(dotted: str) -> Path:
    """The parts of a dotted key, without quotes."""
    table: Any = tomllib.loads(f"{dotted} = 0")
    keys = []
    while isinstance(table, dict):
        ((key, table),) = table.items()
        keys.append(key)
    return tuple(keys)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number of the first line (from 1) and the text of each statement.

    A statement may go over several lines. Nothing more is yielded once more than `MOST_PARSED`
    characters have been parsed.
    """
    begun, first, left = "", 0, MOST_PARSED
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if not begun:
            first = number
        begun += line + "\n"
        left -= len(begun)
        if left < 0:
            return
        try:
            tomllib.loads(begun)
        except tomllib.TOMLDecodeError:
            continue
        yield first, begun
        begun = ""
