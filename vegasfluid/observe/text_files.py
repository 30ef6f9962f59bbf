"""Lines of text files with measurements, and numbers and addresses in them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from vegasfluid.observe.errors import MeasurementFileError

__all__ = [
    "DEFAULT_SEGMENT",
    "LARGEST",
    "end_of",
    "ends_a_line",
    "finite",
    "numbered_lines",
    "text_of",
]

DEFAULT_SEGMENT = 1448.0
"""Data of a full packet on Ethernet with TCP time stamps, bytes: where a file gives none."""
LARGEST = 1e18
"""Largest number that a sample may have: counters of bytes, times in nanoseconds."""
LARGEST_DOCUMENT = 1 << 30
"""Size above which a JSON file is rejected, bytes: it is read as a whole."""


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a text file with their numbers from 1, without line ends and NUL characters.

    Args:
        path: the file; bytes that are not UTF-8 become replacement characters.
    """
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            yield number, line.rstrip("\r\n").replace("\0", "")


def ends_a_line(path: Path) -> bool:
    """Whether a file ends with a line's end: otherwise its last line may be cut.

    Args:
        path: the file, which is not empty.
    """
    with open(path, "rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"


def end_of(text: str) -> str:
    """One end of a connection, its address and port, in the form that names of flows have.

    Args:
        text: address and port as Linux prints them, with an interface or brackets. An IPv4 address
            that is written as IPv6 becomes IPv4.

    >>> end_of("[::ffff:10.0.0.1]%eth0:5201")
    '10.0.0.1:5201'
    """
    host, _, port = text.rpartition(":")
    host = host.partition("%")[0].strip("[]")
    if host.lower().startswith("::ffff:") and "." in host:
        host = host[7:]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def text_of(path: Path) -> str:
    """Text of a whole file.

    Args:
        path: the file; bytes that are not UTF-8 become replacement characters.

    Raises:
        MeasurementFileError: for a file above 1 GiB.
    """
    if path.stat().st_size > LARGEST_DOCUMENT:
        raise MeasurementFileError(str(path), "", "a JSON file must have at most 1 GiB")
    return path.read_text(encoding="utf-8-sig", errors="replace")


def finite(text: object, least: float = 0.0) -> float:
    """A number from text or JSON.

    Args:
        text: the number, or its text.
        least: smallest number allowed.

    Raises:
        ValueError: for anything else, for values that are not finite, below `least` or above 1e18.

    >>> finite("12.5")
    12.5
    """
    if isinstance(text, bool) or not isinstance(text, int | float | str):
        raise ValueError(f"{type(text).__name__} is no number")
    if isinstance(text, str) and "_" in text:
        raise ValueError("an underscore is no part of a number")
    value = float(text)
    if not math.isfinite(value) or not least <= value <= LARGEST:
        raise ValueError("not finite, or not in the range")
    return value
