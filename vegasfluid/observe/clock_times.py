"""Times between the listings of a loop: `date +%s.%N`, ISO 8601, `date`, or a time of day."""

from __future__ import annotations

import re
from datetime import UTC, datetime

__all__ = ["FIRST_UNIX", "ListingClock", "time_in"]

FIRST_UNIX = 1e8
"""Times from here on are Unix times, s (March 1973): a smaller one counts from any beginning."""
DAY = 86400.0
"""Seconds of a day."""
DECORATION = re.compile(
    r"^[\s#=\-*\[(]*(?:(?:time|timestamp|date|ts|now|at)\b\s*[:=]?\s*)?|[\s#=\-*\])Z:]*$", re.I
)
"""What scripts print around a time: `### 12:00:01 ###`, `time: 1700000000`."""
SECONDS = re.compile(r"^\d{1,12}(?:[.,]\d{1,12})?$")
"""Seconds, as `date +%s.%N` prints them."""
SHORT_UNITS = {13: 1e-3, 16: 1e-6, 19: 1e-9}
"""Unit of a Unix time of so many digits, s: `date +%s%3N`, `%s%6N`, `%s%N`."""
ISO = re.compile(r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?\s*(?:[+-]\d\d:?\d\d)?$")
"""ISO 8601, as `date -Ins` prints it."""
TIME_OF_DAY = re.compile(r"^([01]?\d|2[0-3]):([0-5]\d):([0-5]\d(?:[.,]\d{1,9})?)$")
"""Hours, minutes and seconds."""
DATE = re.compile(
    r"^(?:\w{3,9},? )?(\w{3}) +(\d{1,2}) (\d\d:\d\d:\d\d)(?: [AP]M)?(?: ([A-Z]{2,5}))? (\d{4})$"
)
"""Output of `date` in English, such as `Sat Nov 28 21:36:13 UTC 2026`."""


def time_in(line: str) -> float | None:
    """Time that a line consists of, s; None: the line is no time.

    Dates, and numbers of 13, 16 or 19 digits (in ms, us and ns), are Unix times. Other numbers are
    seconds. A time of day is the time since midnight.

    Args:
        line: the line. A date without a zone is the local time of this machine.

    >>> time_in("### 1700000000.25 ###")
    1700000000.25
    >>> time_in("2026-05-01T12:00:00,5+02:00")
    1777629600.5
    >>> time_in("State Recv-Q Send-Q")
    """
    if len(line) > 80:
        return None
    text = DECORATION.sub("", line)
    is_utc = line.rstrip(" ]#=-*:)").endswith("Z")
    if SECONDS.match(text):
        return float(text.replace(",", "."))
    if text.isascii() and text.isdigit() and len(text) in SHORT_UNITS:
        return int(text) * SHORT_UNITS[len(text)]
    found = TIME_OF_DAY.match(text)
    if found is not None:
        seconds = float(found[3].replace(",", "."))
        return int(found[1]) * 3600 + int(found[2]) * 60 + seconds
    return _date_in(text, is_utc)


def _date_in(text: str, is_utc: bool) -> float | None:
    """Unix time of a date, s; None: the text is no date. `is_utc`: whether a Z followed it."""
    try:
        if ISO.match(text):
            date = datetime.fromisoformat(re.sub(r"\s+(?=[+-])", "", text.replace(",", ".")))
            return (date.replace(tzinfo=UTC) if is_utc else date).timestamp()
        found = DATE.match(text)
        if found is not None:
            form = f"{found[1]} {found[2]} {found[3]} {found[5]}"
            date = datetime.strptime(form, "%b %d %H:%M:%S %Y")
            is_utc = found[4] in ("UTC", "GMT")
            return (date.replace(tzinfo=UTC) if is_utc else date).timestamp()
    except (OverflowError, ValueError, OSError):
        return None
    return None


class ListingClock:
    """Times of the listings of a file, which may have time stamps or a known interval.

    Args:
        interval: time between two listings without time stamps, s; None: not known.
    """

    def __init__(self, interval: float | None = None) -> None:
        self.interval = interval
        self.now: float | None = None
        self.listings = 0
        self.days = 0.0

    def set(self, time: float) -> bool:
        """Take a time stamp; returns False, without taking it, if it is before the last one.

        Args:
            time: the time, s. A time of day that begins again is one of the next day.
        """
        time += self.days
        if self.now is not None and time < self.now:
            if self.now < FIRST_UNIX and self.now - time > DAY / 2:
                self.days += DAY
                time += DAY
            else:
                return False
        self.now = time
        return True

    def begin_listing(self) -> bool:
        """Count a listing; returns False if its time is not known.

        The time of the first listing is always known. Others need a time stamp or the interval.
        """
        self.listings += 1
        return self.now is not None or self.interval is not None or self.listings == 1

    @property
    def time(self) -> float:
        """Time of the current listing, s: the last time stamp, or intervals since the first one."""
        if self.now is not None:
            return self.now
        return (self.interval or 0.0) * (self.listings - 1)
