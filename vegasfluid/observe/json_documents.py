"""JSON documents that follow one another in a file, with lines of times between them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from vegasfluid.observe.clock_times import time_in
from vegasfluid.observe.errors import MeasurementFileError
from vegasfluid.observe.text_files import text_of

__all__ = ["Document", "documents"]

DECODER = json.JSONDecoder()
"""Decoder of one document."""
SPACE = re.compile(r"[\s\0]*")
"""What may be between documents."""
LONGEST_TIME = 100
"""Number of characters up to which a line may be a time."""


class Document(NamedTuple):
    """A JSON document, a time, or text that is cut at the end of the file.

    Args:
        number: number of its first line.
        value: its content; None for a time or text that is cut.
        time: time on a line between documents, s; None: no time.
        rest: text of a last document that the file's end cuts; empty: complete.
    """

    number: int
    value: Any = None
    time: float | None = None
    rest: str = ""


def documents(path: Path) -> Iterator[Document]:
    """Documents and times of a file, in order.

    Args:
        path: the file.

    Raises:
        MeasurementFileError: for text that is neither JSON nor a time.
    """
    text = text_of(path)
    last = len(text.rstrip("\0 \t\r\n"))
    place, number, counted = 0, 1, 0
    while (place := _after_space(text, place)) < last:
        number += text.count("\n", counted, place)
        counted = place
        end = text.find("\n", place, place + LONGEST_TIME)
        end = min(last, place + LONGEST_TIME) if end < 0 else end
        time = time_in(text[place:end].strip())
        if time is not None:
            yield Document(number, time=time)
            place = end
            continue
        try:
            value, place = DECODER.raw_decode(text, place)
        except json.JSONDecodeError as error:
            if error.pos >= last or error.msg.startswith("Unterminated string"):
                yield Document(number, rest=text[place:last])
                return
            line = number + text.count("\n", counted, error.pos)
            given = text[error.pos : error.pos + LONGEST_TIME].partition("\n")[0]
            problem = "the text must be JSON or a time"
            raise MeasurementFileError(str(path), f"line {line}", problem, given) from None
        except (RecursionError, ValueError):
            problem = "the JSON is nested too deeply, or has a number with too many digits"
            raise MeasurementFileError(str(path), f"line {number}", problem) from None
        yield Document(number, value)


def _after_space(text: str, place: int) -> int:
    """Place of the first character from `place` on that is no space."""
    found = SPACE.match(text, place)
    return place if found is None else found.end()
