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

from vegasfluid.congestion.base import (
    CongestionControl,
    PacketRules,
    Signals,
    Window,
    aimd_loss_factor,
    loss_based_growth,
)
from vegasfluid.congestion.loss_recovery import require_recovery

__all__ = ["Reno"]


def increase_window(flow: Any, now: int, acked: int) -> None:
    """Grow by one packet for an ACK in slow start, by one packet a round trip afterwards."""
    counted = acked if flow.byte_counting else 1
    if flow.validates and not flow.window_limited:
        return
    if flow.cwnd < flow.ssthresh:
        flow.cwnd += counted
    else:
        flow.cwnd += counted / flow.cwnd


def window_after_loss(flow: Any, window: float) -> float:
    """Half of the window in use, packets."""
    return window / 2


@dataclass(frozen=True)
class Reno(CongestionControl):
    """TCP Reno: slow start, congestion avoidance, fast retransmit and fast recovery.

    >>> Reno().name
    'reno'
    """

    name: ClassVar[str] = "reno"
    sources: ClassVar[tuple[str, ...]] = ("RFC 5681", "Misra, Gong and Towsley, SIGCOMM 2000")

    recovery: str = "reno"
    """How losses are repaired: reno, newreno (RFC 6582) or sack (RFC 6675)."""
    byte_counting: bool = False
    """Grow by the packets that an ACK acknowledges, not by ACKs (RFC 3465; Linux)."""
    validates: bool = False
    """Grow only while the window, and not the application, limits the sender (RFC 7661)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_recovery(self)

    def growth(self, window: Window, seen: Signals) -> Window:
        """One packet an ACK in slow start, 1/cwnd after it."""
        counted = seen._replace(ack_every=1.0) if self.byte_counting else seen
        grown = loss_based_growth(window, counted, increase=1)
        if not self.validates:
            return grown
        return grown._replace(cwnd=grown.cwnd * seen.window_limited)

    def after_loss(self, window: Window, seen: Signals) -> Window:
        """Half of cwnd."""
        return Window(window.cwnd / 2, 0 * window.slow_start)

    def loss_factor(self, process: str, window: Window) -> Any:
        """For a cut of one half: 4/3 where losses are periodic, 7/6 where they are independent."""
        return aimd_loss_factor(process, 1 / 2)

    @property
    def rules(self) -> PacketRules:
        """Rules as in RFC 5681."""
        return PacketRules(increase_window, window_after_loss, recovery=self.recovery)

    def packet_parameters(self) -> dict[str, float]:
        """The two switches."""
        return {"byte_counting": int(self.byte_counting), "validates": int(self.validates)}
