"""The error that readers of measurements raise."""

from __future__ import annotations

from vegasfluid.errors import VegasfluidError, printable

__all__ = ["MeasurementFileError"]

LONGEST_EXCERPT = 60
"""Number of characters of a file's content that a message quotes."""


class MeasurementFileError(VegasfluidError, ValueError):
    """A measurement that cannot be read: one line with the file's name and the place in it.

    Args:
        source: name of the file.
        place: the place in the file, such as `line 12`; empty: the file as a whole.
        problem: what is wrong, without a full stop.
        given: content of the file at this place, quoted up to 60 characters; empty: none.

    >>> print(MeasurementFileError("ss.txt", "line 12", "cwnd must be a number", "cwnd:x"))
    ss.txt, line 12: cwnd must be a number, but here is 'cwnd:x'.
    """

    def __init__(self, source: str, place: str, problem: str, given: str = "") -> None:
        self.source, self.place = source, place
        shown = printable(given[: LONGEST_EXCERPT + 1])
        excerpt = shown if len(shown) <= LONGEST_EXCERPT else shown[:LONGEST_EXCERPT] + "..."
        where = f"{source}, {place}" if place else source
        rest = f", but here is '{excerpt}'" if excerpt else ""
        super().__init__(f"{printable(where)}: {problem}{rest}.")
