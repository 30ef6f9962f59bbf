"""No congestion control: packets go out as the application offers them, as over UDP.

Nothing is acknowledged and nothing is sent again. It is meant for background traffic; with a
`bulk` application it would send without end.

Sources:
    RFC 768 (UDP); RFC 8085, section 3.1 (why it should not be used so).
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
    """There are no ACKs."""


def window_after_loss(flow: Any, window: float) -> float:
    """No loss is noticed."""
    return window


@dataclass(frozen=True)
class Unresponsive(CongestionControl):
    """Sends what is offered, whatever the network does.

    >>> Unresponsive().name
    'udp'
    """

    name: ClassVar[str] = "udp"
    sources: ClassVar[tuple[str, ...]] = ("RFC 768",)

    def growth(self, window: Window, seen: Signals) -> Window:
        """No window changes."""
        return Window(0.0 * window.cwnd, 0.0 * window.slow_start)

    def after_loss(self, window: Window, seen: Signals) -> Window:
        """No loss is noticed."""
        return window

    def stationary_fields(self, window: Window, rtt: Any, base_rtt: Any) -> dict[str, Any]:
        """Nothing moves its window."""
        return window._asdict()

    @property
    def rules(self) -> PacketRules:
        """Rules that do nothing."""
        return PacketRules(increase_window, window_after_loss, reliable=False)
