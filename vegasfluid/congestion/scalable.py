"""Scalable TCP: a constant increase per ACK, so that all windows take equally long to recover.

After a loss the window needs log(8/7) / log(1.01), about 13, round trips to grow back. Up to the
legacy window it behaves as standard TCP, so that it is fair to that on slow paths.

Sources:
    T. Kelly, "Scalable TCP: improving performance in highspeed wide area networks", ACM SIGCOMM
    CCR 33(2), 2003 (a = 0.01, b = 1/8, legacy window 16; as quoted by others, not checked against
    the original). Linux, net/ipv4/tcp_scalable.c, also has 0.01 and 7/8, but no legacy window:
    there the increase is the larger of 0.01 and 1/cwnd, and every cut is 1/8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Lt

from vegasfluid import smooth
from vegasfluid.congestion.base import (
    CongestionControl,
    PacketRules,
    Signals,
    Window,
    aimd_loss_factor,
    loss_based_growth,
)
from vegasfluid.congestion.counted_growth import slow_start
from vegasfluid.congestion.loss_recovery import require_recovery
from vegasfluid.quantities import Packets, Positive, Share

__all__ = ["Scalable"]

Flow = Any
"""A record of `vegasfluid.packet.records.FLOW`: NumPy's when interpreted, Numba's when compiled."""


def increase_window(flow: Flow, now: int, acked: int) -> None:
    """Grow `flow.cwnd` for an ACK: one packet in slow start, then `flow.increase` packets.

    After slow start it grows by 1/cwnd packets instead while it is at most the legacy window. With
    `flow.byte_counting`, it grows so for each of the `acked` packets, and slow start ends exactly
    at ssthresh. `now` (ps) is not used.
    """
    counted = 1
    if flow.byte_counting:
        counted = slow_start(flow, acked) if flow.cwnd < flow.ssthresh else acked
    elif flow.cwnd < flow.ssthresh:
        flow.cwnd += 1
        return
    if flow.cwnd <= flow.legacy_window:
        flow.cwnd += counted / flow.cwnd
    else:
        flow.cwnd += counted * flow.increase


def window_after_loss(flow: Flow, window: float) -> float:
    """Window after a loss, packets: the window in use (`window`) minus its fraction `decrease`.

    A window of at most the legacy window is halved.
    """
    if window <= flow.legacy_window:
        return window / 2
    return window * (1 - flow.decrease)


@dataclass(frozen=True)
class Scalable(CongestionControl):
    """Scalable TCP.

    >>> Scalable().increase, Scalable().decrease
    (0.01, 0.125)
    """

    name: ClassVar[str] = "scalable"
    sources: ClassVar[tuple[str, ...]] = ("Kelly, ACM SIGCOMM CCR 33(2), 2003",)
    host_defaults: ClassVar[Mapping[str, Any]] = {"recovery": "sack"}

    increase: Annotated[Share, Positive] = 0.01
    """Packets by which the window grows per ACK."""
    decrease: Annotated[Share, Positive, Lt(1)] = 1 / 8
    """Fraction of the window that a loss takes away."""
    legacy_window: Packets = 16
    """Window up to which it behaves as standard TCP (grows by 1/cwnd per ACK, halves); 0: never."""
    recovery: str | None = None
    """Loss recovery: reno (RFC 5681), newreno (RFC 6582), sack (RFC 6675), rack (RFC 8985); None:
    that of the host, or sack where the host has none."""
    byte_counting: bool | None = None
    """Grow by the number of packets acknowledged, not of ACKs (RFC 3465; Linux); None: as the host
    does; without a host, by ACKs."""

    @property
    def counts_acks(self) -> bool:
        """Whether growth after slow start depends on the number of ACKs; not with byte counting."""
        return not self.byte_counting

    def __post_init__(self) -> None:
        super().__post_init__()
        require_recovery(self)

    def above(self, window: Window) -> Any:
        """Fraction, 0 to 1, to which a window is above the legacy window: a step of one packet."""
        return smooth.step(window.cwnd - self.legacy_window, 1.0)

    def growth(self, window: Window, signals: Signals) -> Window:
        """Rate of change of a flow's state between losses: d(cwnd)/dt in packets/s.

        One packet per ACK in slow start, then `increase` packets per ACK; up to the legacy window
        one packet per round trip.
        """
        above = self.above(window)
        counted = signals._replace(ack_every=1.0) if self.byte_counting else signals
        return loss_based_growth(window, counted, 1 - above + above * self.increase * window.cwnd)

    def after_loss(self, window: Window, signals: Signals) -> Window:
        """State after one loss event: the window minus the fraction `decrease`, `slow_start` 0.

        A window of at most the legacy window is halved, with a smooth change over the next packet.
        """
        above = self.above(window)
        cut = (1 - above) / 2 + above * self.decrease
        return Window((1 - cut) * window.cwnd, 0 * window.slow_start)

    def loss_factor(self, process: str, window: Window) -> Any:
        """Factor, without unit, by which `drift` multiplies the loss rate, for a loss process.

        It is 1 for `meanfield`, and ln(1 / (1 - b)) / b for `periodic` and `iid`, with
        b = `decrease`. Growth by a = `increase` per ACK is exponential: a cycle of 1/p packets goes
        from W to W / (1 - b) and takes ln(1 / (1 - b)) / a round trips. Independent losses have the
        same mean, by the limit s -> 0 of the moments s a E[W^(s-1)] = p (1 - (1 - b)^s) E[W^s]. Up
        to the legacy window it is Reno's factor.
        """
        if process == "meanfield":
            return 1.0
        above, cut = self.above(window), self.decrease
        return (1 - above) * aimd_loss_factor(process, 1 / 2) - above * smooth.log1p(-cut) / cut

    @property
    def rules(self) -> PacketRules:
        """The packet simulator's rules of Kelly's paper, functions on a flow's record."""
        return PacketRules(increase_window, window_after_loss, recovery=self.recovery or "sack")

    def packet_parameters(self) -> dict[str, float]:
        """Numbers that the packet rules read: `increase`, `legacy_window` (packets), `decrease`.

        The switch `byte_counting` is 0 or 1.
        """
        names = ("increase", "decrease", "legacy_window")
        numbers = {name: float(getattr(self, name)) for name in names}
        return {**numbers, "byte_counting": int(bool(self.byte_counting))}
