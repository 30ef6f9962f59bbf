"""Where a throughput law is meant to hold, as numbers that can be checked and words that cannot.

Sources:
    RFC 3819, section 8.5.2 (what Mathis's and Padhye's formulas take for granted: no receiver
    window in the way, long flows, few timeouts below a loss of 1 %). Limits that no source gives
    say so where they stand (`throughput`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from vegasfluid.errors import InvalidInput

__all__ = ["Assumption", "Path", "Range"]

TIMEOUT_IN_ROUND_TRIPS = 4.0
"""RFC 5348, section 3.1: t_RTO SHOULD be 4 R."""


class Path(NamedTuple):
    """A path with losses, as throughput laws see one.

    Args:
        drop_prob: share of the packets with which a loss event begins.
        rtt: s.
        rto: retransmission timeout, s.
        ack_every: packets that an ACK acknowledges.
        max_window: packets that the receiver takes.
    """

    drop_prob: float
    rtt: float
    rto: float
    ack_every: float = 1.0
    max_window: float = math.inf


@dataclass(frozen=True)
class Assumption:
    """A quantity that must not be above a limit."""

    name: str
    """Of the quantity."""
    of: Callable[[Path], float]
    """The quantity on a path."""
    most: Callable[[Path], float]
    """Its limit there."""
    why: str
    """What goes wrong above it."""

    def broken_by(self, path: Path) -> str:
        """What fails, in words; empty where nothing does."""
        found, most = self.of(path), self.most(path)
        if found <= most:
            return ""
        return f"{self.name} is {found:.4g}, above {most:.4g}: {self.why}"


@dataclass(frozen=True)
class Range:
    """Where a law is meant to hold.

    >>> rare = Assumption("drop_prob", lambda path: path.drop_prob, lambda _: 0.01, "timeouts")
    >>> mathis = Range("mathis", (rare,))
    >>> mathis.holds(0.001, 0.1), mathis.fails(0.05, 0.1)
    (True, ('drop_prob is 0.05, above 0.01: timeouts',))
    """

    law: str
    """Its name."""
    assumptions: tuple[Assumption, ...]
    """What numbers can tell."""
    besides: tuple[str, ...] = ()
    """What else it takes for granted, in words."""

    def fails(
        self,
        drop_prob: float,
        rtt: float,
        rto: float | None = None,
        ack_every: float = 1.0,
        max_window: float = math.inf,
    ) -> tuple[str, ...]:
        """What of it does not hold on a path, in words; nothing where all does.

        Args:
            drop_prob: share of the packets with which a loss event begins.
            rtt: s.
            rto: retransmission timeout, s; None: four round trips (RFC 5348, section 3.1).
            ack_every: packets that an ACK acknowledges.
            max_window: packets that the receiver takes.

        Raises:
            InvalidInput: for a drop_prob that is not above 0 and below 1, or anything else that
                is not above 0.
        """
        timeout = TIMEOUT_IN_ROUND_TRIPS * rtt if rto is None else rto
        path = Path(drop_prob, rtt, timeout, ack_every, max_window)
        for name, value in path._asdict().items():
            if not value > 0:
                raise InvalidInput(self.law, name, "above 0", value)
        if not drop_prob < 1:
            raise InvalidInput(self.law, "drop_prob", "below 1", drop_prob)
        broken = (assumption.broken_by(path) for assumption in self.assumptions)
        return tuple(words for words in broken if words)

    def holds(
        self,
        drop_prob: float,
        rtt: float,
        rto: float | None = None,
        ack_every: float = 1.0,
        max_window: float = math.inf,
    ) -> bool:
        """Whether all of it holds on a path; for the arguments see `fails`."""
        return not self.fails(drop_prob, rtt, rto, ack_every, max_window)
