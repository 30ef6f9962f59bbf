"""HighSpeed TCP: standard TCP up to 38 packets, and above that larger steps and smaller cuts.

The increase a(w) and the decrease b(w) follow from a straight line between two points of a
doubly logarithmic plot of window over loss: standard TCP's (38 packets, 10^-3) and a chosen one
(83000 packets, 10^-7).

Sources:
    RFC 3649, section 5 (a(w), b(w) and p(w) in closed form, the four parameters; the table of
    appendix B is for ten-gigabit senders that look values up). Above High_Window the decrease
    stays at High_Decrease (the table's last row, 94717 packets, goes on to 0.09). A timeout begins
    slow start up to the window that b(w) leaves, as in Linux, net/ipv4/tcp_highspeed.c; the RFC
    says nothing.
    The text of the RFC was not at hand; see tests/congestion/test_sources.py for what was compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Le

from vegasfluid import smooth
from vegasfluid.congestion.base import (
    CongestionControl,
    PacketRules,
    Signals,
    Window,
    aimd_loss_factor,
    loss_based_growth,
)
from vegasfluid.congestion.loss_recovery import require_recovery
from vegasfluid.quantities import Packets, Positive, Probability, Share, require_ordered

__all__ = ["HighSpeed"]

Flow = Any


def decrease(flow: Flow, window: float) -> float:
    """b(w): the share of a window of so many packets that a loss takes."""
    if window <= flow.low_window:
        return 0.5
    place = math.log(window / flow.low_window) / math.log(flow.high_window / flow.low_window)
    return 0.5 + (flow.high_decrease - 0.5) * min(place, 1.0)


def increase(flow: Flow, window: float) -> float:
    """a(w): the packets by which such a window grows in a round trip."""
    if window <= flow.low_window:
        return 1.0
    slope = math.log(flow.high_prob / flow.low_prob)
    slope /= math.log(flow.high_window / flow.low_window)
    prob = flow.low_prob * (window / flow.low_window) ** slope
    share = decrease(flow, window)
    return max(window * window * prob * 2 * share / (2 - share), 1.0)


def increase_window(flow: Flow, now: int, acked: int) -> None:
    """Grow by one packet for an ACK in slow start, by a(w) packets a round trip afterwards."""
    if flow.cwnd < flow.ssthresh:
        flow.cwnd += 1.0
    else:
        flow.cwnd += increase(flow, flow.cwnd) / flow.cwnd


def window_after_loss(flow: Flow, window: float) -> float:
    """The window in use less the fraction b(w) of it, packets."""
    return window * (1 - decrease(flow, window))


@dataclass(frozen=True)
class HighSpeed(CongestionControl):
    """HighSpeed TCP.

    >>> HighSpeed().low_window, HighSpeed().high_window
    (38, 83000)
    """

    name: ClassVar[str] = "highspeed"
    sources: ClassVar[tuple[str, ...]] = ("RFC 3649",)

    low_window: Annotated[Packets, Positive] = 38
    """Window up to which it is standard TCP (Low_Window)."""
    high_window: Annotated[Packets, Positive] = 83000
    """Window at the upper end of the line (High_Window)."""
    low_prob: Annotated[Probability, Positive] = 1e-3
    """Share of packets lost with which standard TCP has the lower window (Low_P)."""
    high_prob: Annotated[Probability, Positive] = 1e-7
    """Share of packets lost with which the upper window shall be had (High_P)."""
    high_decrease: Annotated[Share, Positive, Le(0.5)] = 0.1
    """Share of the upper window that a loss takes (High_Decrease)."""
    recovery: str = "sack"
    """How losses are repaired: reno, newreno (RFC 6582) or sack (RFC 6675)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_recovery(self)
        require_ordered(self, "low_window", "high_window", strict=True)
        require_ordered(self, "high_prob", "low_prob", strict=True)

    def share(self, window: Window) -> Any:
        """b(w): the share of the window that a loss takes."""
        place = smooth.minimum(self.stretch(window) / self.span, 1)
        return 0.5 + (self.high_decrease - 0.5) * place

    def stretch(self, window: Window) -> Any:
        """How far the window is above the lower one, as a logarithm."""
        return smooth.log1p(smooth.maximum(window.cwnd / self.low_window, 1) - 1)

    @property
    def span(self) -> Any:
        """How far the upper window is above the lower one, as a logarithm."""
        return smooth.log1p(self.high_window / self.low_window - 1)

    def growth(self, window: Window, seen: Signals) -> Window:
        """a(w) packets a round trip."""
        share = self.share(window)
        slope = smooth.log1p(self.high_prob / self.low_prob - 1) / self.span
        prob = self.low_prob * smooth.exp(slope * self.stretch(window))
        above = smooth.maximum(window.cwnd, self.low_window)
        step = smooth.maximum(above * above * prob * 2 * share / (2 - share), 1)
        return loss_based_growth(window, seen, increase=step)

    def after_loss(self, window: Window, seen: Signals) -> Window:
        """Cwnd less the share b(w)."""
        return Window((1 - self.share(window)) * window.cwnd, 0 * window.slow_start)

    def loss_factor(self, process: str, window: Window) -> Any:
        """That of additive increase with the cut b(w); exact for periodic losses (RFC 3649)."""
        return aimd_loss_factor(process, self.share(window))

    @property
    def rules(self) -> PacketRules:
        """Rules as in RFC 3649."""
        return PacketRules(increase_window, window_after_loss, recovery=self.recovery)

    def packet_parameters(self) -> dict[str, float]:
        """The two points of the line, and the decrease at the upper one."""
        names = ("low_window", "high_window", "low_prob", "high_prob", "high_decrease")
        return {name: float(getattr(self, name)) for name in names}
