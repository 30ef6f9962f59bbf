"""HighSpeed TCP: standard TCP up to 38 packets; larger increases and smaller cuts above.

The increase a(w) and the decrease b(w) follow from a response function, a straight line in a doubly
logarithmic plot of window over loss rate. It goes through standard TCP's point (38 packets, 10^-3)
and through a chosen one (83000 packets, 10^-7).

Sources:
    RFC 3649, section 5 (a(w), b(w) and p(w) in closed form, the four parameters; the table of
    appendix B is for senders that look values up). Above High_Window the decrease stays at
    High_Decrease (the table's last row, 94717 packets, has 0.09). After a timeout, slow start ends
    at the window that b(w) leaves, as in Linux, net/ipv4/tcp_highspeed.c; the RFC does not specify
    it. The text of the RFC was not available; tests/congestion/test_sources.py names what was
    compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
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
"""A record of `vegasfluid.packet.records.FLOW`: NumPy's when interpreted, Numba's when compiled."""


def decrease(flow: Flow, window: float) -> float:
    """Fraction b(w) of a window of `window` packets that a loss takes away.

    It is 0.5 up to `low_window`, falls with the logarithm of the window, and is `high_decrease`
    from `high_window` on.
    """
    if window <= flow.low_window:
        return 0.5
    position = math.log(window / flow.low_window) / math.log(flow.high_window / flow.low_window)
    return 0.5 + (flow.high_decrease - 0.5) * min(position, 1.0)


def increase(flow: Flow, window: float) -> float:
    """Growth a(w) of a window of `window` packets per round trip, packets, at least 1.

    It is 1 up to `low_window`, and follows the response function above, also beyond `high_window`.
    """
    if window <= flow.low_window:
        return 1.0
    slope = math.log(flow.high_prob / flow.low_prob)
    slope /= math.log(flow.high_window / flow.low_window)
    prob = flow.low_prob * (window / flow.low_window) ** slope
    cut = decrease(flow, window)
    return max(window * window * prob * 2 * cut / (2 - cut), 1.0)


def increase_window(flow: Flow, now: int, acked: int) -> None:
    """Grow `flow.cwnd` for an ACK: one packet in slow start, a(w) per round trip afterwards.

    `now` (ps) and `acked` (packets) are not used: growth depends on the number of ACKs.
    """
    if flow.cwnd < flow.ssthresh:
        flow.cwnd += 1.0
    else:
        flow.cwnd += increase(flow, flow.cwnd) / flow.cwnd


def window_after_loss(flow: Flow, window: float) -> float:
    """Window after a loss, packets: the window in use (`window`) minus the fraction b(w) of it."""
    return window * (1 - decrease(flow, window))


@dataclass(frozen=True)
class HighSpeed(CongestionControl):
    """HighSpeed TCP.

    >>> HighSpeed().low_window, HighSpeed().high_window
    (38, 83000)
    """

    name: ClassVar[str] = "highspeed"
    sources: ClassVar[tuple[str, ...]] = ("RFC 3649",)
    host_defaults: ClassVar[Mapping[str, Any]] = {"recovery": "sack"}

    low_window: Annotated[Packets, Positive] = 38
    """Window up to which it behaves as standard TCP (Low_Window)."""
    high_window: Annotated[Packets, Positive] = 83000
    """Window at the upper end of the response function (High_Window)."""
    low_prob: Annotated[Probability, Positive] = 1e-3
    """Loss probability at which standard TCP has the window `low_window` (Low_P)."""
    high_prob: Annotated[Probability, Positive] = 1e-7
    """Loss probability at which the window is `high_window` (High_P)."""
    high_decrease: Annotated[Share, Positive, Le(0.5)] = 0.1
    """Fraction of the window `high_window` that a loss takes away (High_Decrease)."""
    recovery: str | None = None
    """Loss recovery: reno (RFC 5681), newreno (RFC 6582), sack (RFC 6675), rack (RFC 8985); None:
    that of the host, or sack where the host has none."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_recovery(self)
        require_ordered(self, "low_window", "high_window", strict=True)
        require_ordered(self, "high_prob", "low_prob", strict=True)

    def cut(self, window: Window) -> Any:
        """Fraction b(w) of the window w = `window.cwnd` that a loss takes away.

        It is 0.5 up to `low_window`, and `high_decrease` from `high_window` on.
        """
        position = smooth.minimum(self.log_ratio(window) / self.log_range, 1)
        return 0.5 + (self.high_decrease - 0.5) * position

    def log_ratio(self, window: Window) -> Any:
        """Natural logarithm of the window `window.cwnd` divided by `low_window`, at least 0."""
        return smooth.log1p(smooth.maximum(window.cwnd / self.low_window, 1) - 1)

    @property
    def log_range(self) -> Any:
        """Natural logarithm of `high_window` divided by `low_window`."""
        return smooth.log1p(self.high_window / self.low_window - 1)

    def growth(self, window: Window, signals: Signals) -> Window:
        """Rate of change of a flow's state between losses: d(cwnd)/dt in packets/s.

        One packet per ACK in slow start, then a(w) packets per round trip.
        """
        cut = self.cut(window)
        slope = smooth.log1p(self.high_prob / self.low_prob - 1) / self.log_range
        prob = self.low_prob * smooth.exp(slope * self.log_ratio(window))
        cwnd = smooth.maximum(window.cwnd, self.low_window)
        increase = smooth.maximum(cwnd * cwnd * prob * 2 * cut / (2 - cut), 1)
        return loss_based_growth(window, signals, increase)

    def after_loss(self, window: Window, signals: Signals) -> Window:
        """State after one loss event: `window.cwnd` minus the fraction b(w), `slow_start` 0."""
        return Window((1 - self.cut(window)) * window.cwnd, 0 * window.slow_start)

    def loss_factor(self, process: str, window: Window) -> Any:
        """Factor, without unit, by which `drift` multiplies the loss rate, for a loss process.

        It is the factor of additive increase (`aimd_loss_factor`) with the cut b(w) of the state's
        window; exact for periodic losses (RFC 3649).
        """
        return aimd_loss_factor(process, self.cut(window))

    @property
    def rules(self) -> PacketRules:
        """The packet simulator's rules of RFC 3649, functions on a flow's record."""
        return PacketRules(increase_window, window_after_loss, recovery=self.recovery or "sack")

    def packet_parameters(self) -> dict[str, float]:
        """Parameters that the packet rules read from the flow's record, by field name.

        They are `low_window` and `high_window` (packets), `low_prob` and `high_prob`
        (probabilities), and `high_decrease` (a fraction).
        """
        names = ("low_window", "high_window", "low_prob", "high_prob", "high_decrease")
        return {name: float(getattr(self, name)) for name in names}
