"""No congestion control: packets are sent as soon as the application has them, as over UDP.

Nothing is acknowledged or retransmitted. It is meant for background traffic and cannot be combined
with bulk traffic, which would have no rate.

Sources:
    RFC 768 (UDP); RFC 8085, section 3.1 (why applications should not do this).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from vegasfluid.congestion.base import (
    CongestionControl,
    PacketRules,
    Signals,
    Window,
)

__all__ = ["Unresponsive"]


def increase_window(flow: Any, now: int, acked: int) -> None:
    """Do nothing to the window of a flow: without ACKs it is constant."""


def window_after_loss(flow: Any, window: float) -> float:
    """Window after a loss, packets: the window itself, as losses are not detected."""
    return window


@dataclass(frozen=True)
class Unresponsive(CongestionControl):
    """A sender that does not respond to the network.

    >>> Unresponsive().name
    'udp'
    """

    name: ClassVar[str] = "udp"
    sources: ClassVar[tuple[str, ...]] = ("RFC 768",)

    def growth(self, window: Window, signals: Signals) -> Window:
        """Rate of change of the state between losses: zero, as the window is constant."""
        return Window(0.0 * window.cwnd, 0.0 * window.slow_start)

    def after_loss(self, window: Window, signals: Signals) -> Window:
        """State after a loss: `window` itself, as losses are not detected."""
        return window

    def stationary_fields(self, window: Window, rtt: Any, base_rtt: Any) -> dict[str, Any]:
        """The sender's state `window` as a dict by field name, unchanged: no field ever changes."""
        return window._asdict()

    @property
    def rules(self) -> PacketRules:
        """The packet simulator's rules, which never change the window; nothing is acknowledged."""
        return PacketRules(increase_window, window_after_loss, reliable=False)
