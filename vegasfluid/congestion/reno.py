"""TCP Reno: additive increase by one packet a round trip, halving on loss.

Sources:
    RFC 5681, section 3.1 (slow start, congestion avoidance) and 3.2 (fast recovery).
    Fluid: V. Misra, W.-B. Gong and D. Towsley, "Fluid-based analysis of a network of AQM routers
    supporting TCP flows", SIGCOMM 2000, equation 2 (as quoted by later papers; not checked
    against the original).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from vegasfluid import smooth
from vegasfluid.congestion.law import (
    SEND,
    AbstractWindowLaw,
    Feedback,
    PacketRules,
    Window,
    leave_slow_start,
)
from vegasfluid.congestion.recovery import fast_retransmit, leave_recovery, restart

__all__ = ["Reno"]


def on_ack(flow: Any, now: int, acked: int) -> int:
    """Grow by one packet for an ACK in slow start, by one a round trip afterwards."""
    leave_recovery(flow)
    if flow.cwnd < flow.ssthresh:
        flow.cwnd += 1.0
    else:
        flow.cwnd += 1.0 / flow.cwnd
    return SEND


def on_duplicate_ack(flow: Any, now: int) -> int:
    """Fast retransmit and fast recovery."""
    return fast_retransmit(flow)


def on_timeout(flow: Any, now: int) -> None:
    """Slow start from a window of one packet."""
    restart(flow, 1.0)


@dataclass(frozen=True)
class Reno(AbstractWindowLaw):
    """TCP Reno: slow start, congestion avoidance, fast retransmit and fast recovery.

    >>> Reno().name
    'reno'
    """

    name: ClassVar[str] = "reno"
    sources: ClassVar[tuple[str, ...]] = ("RFC 5681", "Misra, Gong and Towsley, SIGCOMM 2000")

    def drift(self, window: Window, seen: Feedback) -> Window:
        """One packet an ACK in slow start, 1/cwnd after it, minus half of cwnd for each loss."""
        stop = smooth.step(window.cwnd - seen.initial_ssthresh, 1.0)
        doubling = window.slow_start * (1 - stop)
        growth = (doubling + (1 - doubling) / window.cwnd) * seen.ack_rate
        halving = seen.loss_rate * window.cwnd / 2
        return Window(growth - halving, leave_slow_start(window, seen, stop))

    @property
    def rules(self) -> PacketRules:
        """Rules as in RFC 5681."""
        return PacketRules(on_ack, on_duplicate_ack, on_timeout)
