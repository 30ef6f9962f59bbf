"""Divides tests into parts of about the same size, by their names."""

from __future__ import annotations

import zlib

__all__ = ["in_part", "parsed_part"]


def parsed_part(text: str) -> tuple[int, int]:
    """Number of a part and the number of parts, from a text such as "2/8".

    Raises:
        ValueError: unless both are whole numbers, the first from 1 to the second.

    >>> parsed_part("2/8")
    (2, 8)
    """
    parts = text.split("/")
    if len(parts) == 2 and all(part.isdigit() for part in parts):
        number, count = (int(part) for part in parts)
        if 1 <= number <= count:
            return number, count
    raise ValueError(f"a part must be like 2/8, but is {text}")


def in_part(name: str, number: int, count: int) -> bool:
    """Whether the test called `name` belongs to part `number` of `count`; each belongs to one."""
    return zlib.crc32(name.encode()) % count == number - 1
