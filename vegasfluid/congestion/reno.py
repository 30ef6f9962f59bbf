"""TCP Reno: additive increase by one packet a round trip, halving on loss.

Sources:
    RFC 5681, section 3.1 (slow start, congestion avoidance) and 3.2 (fast recovery).
    Fluid: V. Misra, W.-B. Gong and D. Towsley, "Fluid-based analysis of a network of AQM routers
    supporting TCP flows with an application to RED", SIGCOMM 2000, equation 4 (read).
"""

from __future__ import annotations

from collections.abc import Mapping
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
from vegasfluid.congestion.counted_growth import COUNT, grow_as_reno
from vegasfluid.congestion.loss_recovery import RACK_TLP, require_recovery

__all__ = ["Reno"]


def increase_window(flow: Any, now: int, acked: int) -> None:
    """Grow `flow.cwnd` (packets) for an ACK: by 1 in slow start, by 1/cwnd afterwards.

    With `flow.byte_counting`, growth counts the `acked` packets instead of ACKs, and is by whole
    packets. With `flow.validates`, the window grows only while it limits the sender. `now` (ps) is
    not used.
    """
    if flow.validates and not flow.window_limited:
        return
    if flow.byte_counting:
        grow_as_reno(flow, acked)
    elif flow.cwnd < flow.ssthresh:
        flow.cwnd += 1
    else:
        flow.cwnd += 1 / flow.cwnd


def window_after_loss(flow: Any, window: float) -> float:
    """Window after a loss, packets: half of the window in use (`window`).

    With RACK-TLP recovery (Linux) the packets that count towards the next packet of growth are
    counted anew.
    """
    if flow.recovery == RACK_TLP:
        flow.acked_count = 0
    return window / 2


@dataclass(frozen=True)
class Reno(CongestionControl):
    """TCP Reno: slow start, congestion avoidance, fast retransmit and fast recovery.

    >>> Reno().name
    'reno'
    """

    name: ClassVar[str] = "reno"
    sources: ClassVar[tuple[str, ...]] = ("RFC 5681", "Misra, Gong and Towsley, SIGCOMM 2000")
    host_defaults: ClassVar[Mapping[str, Any]] = {"recovery": "reno"}

    recovery: str | None = None
    """Loss recovery: reno (RFC 5681), newreno (RFC 6582), sack (RFC 6675), rack (RFC 8985); None:
    that of the host, or reno where the host has none."""
    byte_counting: bool | None = None
    """Grow by the number of packets acknowledged, not of ACKs (RFC 3465; Linux); None: as the host
    does; without a host, by ACKs."""
    validates: bool | None = None
    """Grow only while the window limits the sender, not the application (RFC 7661); None: as the
    host does; without a host, always grow."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_recovery(self)

    @property
    def counts_acks(self) -> bool:
        """Whether growth after slow start depends on the number of ACKs; not with byte counting."""
        return not self.byte_counting

    def growth(self, window: Window, signals: Signals) -> Window:
        """Rate of change of a flow's state between losses: d(cwnd)/dt in packets/s.

        The window grows by one packet per ACK in slow start, by 1/cwnd packets per ACK after it.
        The field `slow_start` falls to 0 (d(slow_start)/dt in 1/s) when the window reaches the
        initial ssthresh.
        """
        counted = signals._replace(ack_every=1.0) if self.byte_counting else signals
        growth = loss_based_growth(window, counted, increase=1)
        if not self.validates:
            return growth
        return growth._replace(cwnd=growth.cwnd * signals.window_limited)

    def after_loss(self, window: Window, signals: Signals) -> Window:
        """State after one loss event: half of the window `window.cwnd`, `slow_start` 0."""
        return Window(window.cwnd / 2, 0 * window.slow_start)

    def loss_factor(self, process: str, window: Window) -> Any:
        """Factor, without unit, by which `drift` multiplies the loss rate, for a loss process.

        It is 4/3 for the process `periodic`, 7/6 for `iid`, and 1 for `meanfield`.
        """
        return aimd_loss_factor(process, 1 / 2)

    @property
    def rules(self) -> PacketRules:
        """The packet simulator's rules of RFC 5681, functions on a flow's record."""
        return PacketRules(
            increase_window, window_after_loss, state=COUNT, recovery=self.recovery or "reno"
        )

    def packet_parameters(self) -> dict[str, float]:
        """Switches that the packet rules read: `byte_counting` and `validates` as 0 or 1."""
        return {
            "byte_counting": int(bool(self.byte_counting)),
            "validates": int(bool(self.validates)),
        }
