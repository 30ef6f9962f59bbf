"""The validity range of a throughput formula: numerical limits and assumptions in words.

Sources:
    RFC 3819, section 8.5.2 (the assumptions of Mathis's and Padhye's formulas: no limit by the
    receiver's window, long flows, few timeouts below a loss of 1 %). Limits without a source are
    marked as such in `throughput`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from vegasfluid.errors import InvalidInput

__all__ = ["Assumption", "Path", "Range"]

TIMEOUT_IN_ROUND_TRIPS = 4.0
"""Default retransmission timeout in round trips. RFC 5348, section 3.1: t_RTO SHOULD be 4 R."""


class Path(NamedTuple):
    """The parameters of a path with losses that throughput formulas use.

    Args:
        drop_prob: loss events per packet.
        rtt: round-trip time, queues included, s.
        rto: retransmission timeout, s.
        ack_every: packets acknowledged by an ACK.
        max_window: the receiver's window, packets; infinite: no limit.
    """

    drop_prob: float
    rtt: float
    rto: float
    ack_every: float = 1.0
    max_window: float = math.inf


@dataclass(frozen=True)
class Assumption:
    """A quantity of a path that must not exceed a limit for a formula to be valid."""

    name: str
    """Name of the quantity, with which a message begins."""
    quantity: Callable[[Path], float]
    """Computes the quantity from the parameters of a path, in their units."""
    limit: Callable[[Path], float]
    """Computes the largest valid value of the quantity for a path, in the unit of the quantity."""
    why: str
    """What invalidates the formula above the limit."""

    def violation(self, path: Path) -> str:
        """A message that says how a path exceeds the quantity's limit; empty if it does not."""
        value, limit = self.quantity(path), self.limit(path)
        if value <= limit:
            return ""
        return f"{self.name} is {value:.4g}, above {limit:.4g}: {self.why}"


@dataclass(frozen=True)
class Range:
    """The validity range of a throughput formula.

    >>> rare = Assumption("drop_prob", lambda path: path.drop_prob, lambda _: 0.01, "timeouts")
    >>> mathis = Range("mathis", (rare,))
    >>> mathis.holds(0.001, 0.1), mathis.fails(0.05, 0.1)
    (True, ('drop_prob is 0.05, above 0.01: timeouts',))
    """

    formula: str
    """Name of the formula."""
    assumptions: tuple[Assumption, ...]
    """Assumptions that can be checked on a path."""
    unchecked: tuple[str, ...] = ()
    """Further assumptions, in words, which `fails` does not check."""

    def fails(
        self,
        drop_prob: float,
        rtt: float,
        rto: float | None = None,
        ack_every: float = 1.0,
        max_window: float = math.inf,
    ) -> tuple[str, ...]:
        """The assumptions of the formula that a path violates, a message each; empty if none.

        Assumptions in `unchecked` are not considered.

        Args:
            drop_prob: loss events per packet.
            rtt: round-trip time, queues included, s.
            rto: retransmission timeout, s; None: four round trips (RFC 5348, section 3.1).
            ack_every: packets acknowledged by an ACK.
            max_window: the receiver's window, packets; infinite: no limit.

        Raises:
            InvalidInput: for a drop_prob that is not above 0 and below 1, or anything else that
                is not above 0.
        """
        timeout = TIMEOUT_IN_ROUND_TRIPS * rtt if rto is None else rto
        path = Path(drop_prob, rtt, timeout, ack_every, max_window)
        for name, value in path._asdict().items():
            if not value > 0:
                raise InvalidInput(self.formula, name, "above 0", value)
        if not drop_prob < 1:
            raise InvalidInput(self.formula, "drop_prob", "below 1", drop_prob)
        violations = (assumption.violation(path) for assumption in self.assumptions)
        return tuple(words for words in violations if words)

    def holds(
        self,
        drop_prob: float,
        rtt: float,
        rto: float | None = None,
        ack_every: float = 1.0,
        max_window: float = math.inf,
    ) -> bool:
        """Whether a path satisfies all assumptions of the formula that can be checked.

        Assumptions in `unchecked` are not considered.

        Args:
            drop_prob: loss events per packet.
            rtt: round-trip time, queues included, s.
            rto: retransmission timeout, s; None: four round trips (RFC 5348, section 3.1).
            ack_every: packets acknowledged by an ACK.
            max_window: the receiver's window, packets; infinite: no limit.

        Raises:
            InvalidInput: for a drop_prob that is not above 0 and below 1, or anything else that is
                not above 0.
        """
        return not self.fails(drop_prob, rtt, rto, ack_every, max_window)
