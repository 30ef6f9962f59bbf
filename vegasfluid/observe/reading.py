"""Reading of measurements: the format of each file is recognised from its content."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from vegasfluid.observe.errors import MeasurementFileError
from vegasfluid.observe.measurement import Measurement, merge
from vegasfluid.observe.readers.csv_file import is_csv, read_csv

__all__ = ["FORMATS", "read", "read_files"]

HEAD_BYTES = 65_536
"""Beginning of a file from which its format is recognised, bytes."""


class Format(NamedTuple):
    """A format of measurements.

    Args:
        title: its name, for messages.
        recognises: whether the beginning of a file, as text, is of this format.
        read: function that reads a file.
    """

    title: str
    recognises: Callable[[str], bool]
    read: Callable[[Path], Measurement]


FORMATS = (Format("CSV with names of columns", is_csv, read_csv),)
"""All formats, in the order in which they are tried."""


def read(path: str | Path) -> Measurement:
    """Read a file with a measurement; its format is recognised from its content.

    Args:
        path: the file, in one of `FORMATS`.

    Raises:
        MeasurementFileError: for a file that cannot be read, in one line with the place in it.
    """
    file = Path(path)
    try:
        with open(file, "rb") as stream:
            head = stream.read(HEAD_BYTES).decode("utf-8-sig", errors="replace")
        for each in FORMATS:
            if each.recognises(head):
                return each.read(file)
    except OSError as error:
        raise MeasurementFileError(str(file), "", error.strerror or str(error)) from None
    titles = "; ".join(each.title for each in FORMATS)
    raise MeasurementFileError(str(file), "", f"the content must be one of: {titles}")


def read_files(paths: Iterable[str | Path]) -> Measurement:
    """Read several files that were measured on the same network at the same time.

    Args:
        paths: the files, each in one of `FORMATS`.

    Raises:
        MeasurementFileError: for a file that cannot be read, in one line with the place in it.
    """
    return merge([read(path) for path in paths])
