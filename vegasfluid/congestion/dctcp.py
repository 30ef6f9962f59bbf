"""DCTCP: the sender reduces its window by the fraction of its packets that were marked.

The receiver echoes the marks of all packets exactly. Once per window of data the sender updates an
estimate alpha of the fraction that is marked; when marks came, the window shrinks by the fraction
alpha / 2 of itself, at most once per window. It grows as Reno's, and a loss halves it. DCTCP is
meant for queues that mark above a threshold (`step`), where windows of all flows form a regular
sawtooth; a link that marks at random gives it W = 2.7 / p.

Flows with the recovery `rack` are those of Linux (tcp_dctcp.c): after a mark the window shrinks
over a round trip, in which it does not grow; the reduction is in whole packets, rounded down, so
that a small alpha reduces nothing; and alpha has steps of 1/1024. The fluid model has all but the
steps.

Sources:
    RFC 8257, sections 3.2 (the receiver's echo), 3.3 (alpha and the window), 3.5 (losses) and 4.2
    (g = 1/16, initial alpha 1). Linux 6.1, net/ipv4/tcp_dctcp.c (the same values; behaviour only).
    M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3. Fluid: M. Alizadeh,
    A. Javanmard and B. Prabhakar, "Analysis of DCTCP", SIGMETRICS 2011, equations 1 and 2. (None
    checked against the original.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from vegasfluid import smooth
from vegasfluid.congestion.base import (
    CongestionControl,
    PacketRules,
    Signals,
    Window,
    aimd_loss_factor,
    loss_based_growth,
)
from vegasfluid.congestion.counted_growth import COUNT
from vegasfluid.congestion.loss_recovery import RACK_TLP, SMALLEST_SSTHRESH, require_recovery
from vegasfluid.congestion.packet_rules import RECOVERY
from vegasfluid.congestion.reno import increase_window, window_after_loss
from vegasfluid.quantities import Positive, Share

__all__ = ["Dctcp", "DctcpWindow"]

Real = Any

LINUX_STEPS = 1024
"""Number of steps of alpha in Linux (DCTCP_MAX_ALPHA)."""


class DctcpWindow(NamedTuple):
    """State of a flow, or the mean state of a group of flows, or its time derivative.

    Args:
        cwnd: congestion window, packets.
        slow_start: fraction of the flows that are in slow start.
        alpha: estimate of the fraction of packets that are marked, 0 to 1.
    """

    cwnd: Real
    slow_start: Real
    alpha: Real


def count_marks(flow: Any, acked: int, marked: int) -> None:
    """Count acknowledged and marked packets of a flow, and update alpha once per window of data.

    RFC 8257, section 3.3, steps 1 to 8, in packets.

    Args:
        flow: record of the flow, changed in place; `flow.una` does not yet include the packets.
        acked: packets that the ACK acknowledges.
        marked: 1 if it echoes a mark, else 0.
    """
    flow.acked_in_window += acked
    flow.marked_in_window += acked * marked
    if flow.una + acked <= flow.window_end:
        return
    if flow.recovery == RACK_TLP:
        flow.mark_estimate = next_linux_alpha(flow)
    else:
        fraction = flow.marked_in_window / flow.acked_in_window
        flow.mark_estimate += flow.gain * (fraction - flow.mark_estimate)
    flow.dctcp_alpha = flow.mark_estimate
    flow.window_end = flow.max_seq
    flow.acked_in_window = 0
    flow.marked_in_window = 0


def next_linux_alpha(flow: Any) -> float:
    """DCTCP's alpha of a flow in Linux after a window of data, a multiple of 1/1024 from 0 to 1.

    It is alpha - g alpha + g F, for the marked fraction F of the acknowledged packets and
    g = `flow.gain`. Both products are rounded down to 1/1024. If g alpha is then 0, the whole of
    alpha is subtracted, so that alpha can become 0.
    """
    alpha = int(flow.mark_estimate * LINUX_STEPS)
    reduction = int(alpha * flow.gain)
    if reduction == 0:
        reduction = alpha
    increase = int(flow.marked_in_window * LINUX_STEPS * flow.gain) // flow.acked_in_window
    return min(alpha - reduction + increase, LINUX_STEPS) / LINUX_STEPS


def window_after_mark(flow: Any, window: float) -> float:
    """Window after a mark, packets: the window in use (`window`) minus its fraction alpha / 2.

    With RACK-TLP recovery (Linux) the reduction is rounded down to whole packets, and the packets
    that count towards the next packet of growth are counted anew. Here alpha is
    `flow.mark_estimate`.
    """
    reduction = window * flow.mark_estimate / 2
    if flow.recovery == RACK_TLP:
        flow.acked_count = 0
        return window - int(reduction)
    return window - reduction


def see_state(flow: Any, state: int) -> None:
    """Set `flow.ssthresh` to half of `flow.cwnd` when fast recovery begins.

    It also does so while the window shrinks for a mark. The half is rounded down to whole packets,
    at least 2. Only RACK-TLP recovery calls this, as Linux calls `dctcp_state`.

    Args:
        flow: record of the flow, changed in place.
        state: the sender's new state; nothing happens for other states than RECOVERY.
    """
    if state == RECOVERY:
        flow.ssthresh = max(float(int(flow.cwnd) // 2), SMALLEST_SSTHRESH)


@dataclass(frozen=True)
class Dctcp(CongestionControl):
    """DCTCP: Reno with a reduction by the fraction of marked packets.

    >>> Dctcp().gain, Dctcp().initial_alpha
    (0.0625, 1.0)
    """

    name: ClassVar[str] = "dctcp"
    sources: ClassVar[tuple[str, ...]] = (
        "RFC 8257",
        "Alizadeh et al., SIGCOMM 2010",
        "Alizadeh, Javanmard and Prabhakar, SIGMETRICS 2011",
    )
    host_defaults: ClassVar[Mapping[str, Any]] = {"recovery": "sack"}
    domains: ClassVar[Mapping[str, tuple[float, float]]] = {
        "slow_start": (0.0, 1.0),
        "alpha": (0.0, 1.0),
    }
    distinguishes_marks: ClassVar[bool] = True

    gain: Annotated[Share, Positive] = 1 / 16
    """Weight g of the latest window of data in the estimate of the marked fraction."""
    initial_alpha: Share = 1.0
    """Estimate of the marked fraction at the start of a connection."""
    recovery: str | None = None
    """Loss recovery: reno (RFC 5681), newreno (RFC 6582), sack (RFC 6675), rack (RFC 8985); None:
    that of the host, or sack where the host has none."""
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

    def init(self, cwnd: Real, rtt: Real) -> DctcpWindow:
        """Initial state of a flow, in slow start, with `initial_alpha`.

        Args:
            cwnd: initial window, packets.
            rtt: round-trip time of its first packet, s; not used.
        """
        return DctcpWindow(cwnd, cwnd / cwnd, self.initial_alpha * cwnd / cwnd)

    def stationary_fields(self, window: Any, rtt: Real, base_rtt: Real) -> dict[str, Real]:
        """Fields that no longer change at equilibrium, by name, with their values.

        Only `slow_start` is among them, with 0. alpha is not: its equation is part of the
        equilibrium, where it is the marked fraction p.
        """
        return {"slow_start": 0 * window.cwnd}

    def growth(self, window: DctcpWindow, signals: Signals) -> DctcpWindow:
        """d(window)/dt: the window grows as Reno's, and alpha approaches the marked fraction.

        d(cwnd)/dt is in packets/s; d(alpha)/dt = g (p - alpha) / R, in 1/s, for g = `gain`,
        p = `signals.mark_prob` and R = `signals.rtt` (s).
        """
        counted = signals._replace(ack_every=1.0) if self.byte_counting else signals
        plain = Window(window.cwnd, window.slow_start)
        window_growth = loss_based_growth(plain, counted, increase=1)
        increase = window_growth.cwnd
        if self.validates:
            increase = increase * signals.window_limited
        estimate = self.gain * (signals.mark_prob - window.alpha) / signals.rtt
        return DctcpWindow(increase, window_growth.slow_start, estimate)

    def after_loss(self, window: DctcpWindow, signals: Signals) -> DctcpWindow:
        """State after one loss event, the mean over marks and lost packets.

        A mark takes the fraction alpha / 2 of the window, with recovery `rack` half a packet less
        (Linux rounds down); a lost packet takes half of the window. Alpha does not change.

        Args:
            window: state before the event.
            signals: what the sender observes; the fraction `marked` of the events are marks.

        Returns:
            The state with the smaller `cwnd`, packets, and `slow_start` 0.
        """
        cut = self.cut(window, signals)
        return DctcpWindow((1 - cut) * window.cwnd, 0 * window.slow_start, window.alpha)

    def cut(self, window: DctcpWindow, signals: Signals) -> Real:
        """Mean fraction of the window that one loss event takes away, 0 to 1.

        It is alpha / 2 for a mark and 1/2 for a lost packet. With recovery `rack` a mark takes half
        a packet less, because Linux rounds the reduction down to whole packets.

        Args:
            window: state before the event.
            signals: what the sender observes; the fraction `marked` of the events are marks.
        """
        after_mark = window.alpha / 2
        if self.recovery == "rack":
            after_mark = smooth.positive_part(after_mark - 1 / (2 * window.cwnd))
        return signals.marked * after_mark + (1 - signals.marked) / 2

    def loss_factor(self, process: str, window: DctcpWindow) -> Real:
        """Factor, without unit, by which `drift` multiplies the loss rate, for a loss process.

        It is the factor of additive increase (`aimd_loss_factor`) with the cut alpha / 2 of a mark,
        as nearly all loss events are marks.

        Args:
            process: a name in `LOSS_PROCESSES`.
            window: the state, of which `alpha` is used.
        """
        return aimd_loss_factor(process, window.alpha / 2)

    def with_losses(
        self, window: DctcpWindow, growth: DctcpWindow, signals: Signals
    ) -> DctcpWindow:
        """Mean rate of change of a state: growth of the flows that may grow, plus losses and marks.

        After a loss the window does not grow for a round trip. After a mark it does not either with
        recovery `rack` (Linux). With other recoveries it grows then, but not by ACKs that echo a
        mark. Alpha is updated at all times.

        Args:
            window: mean state of a group of flows.
            growth: its rate of change between losses, each field in its unit per second.
            signals: what the senders observe; besides the fields that losses need, `marked` and
                `mark_prob` are used.

        Returns:
            d(window)/dt, each field in its unit per second.
        """
        growing = signals.growing
        if self.recovery != "rack":
            lost = (1 - growing) * (1 - signals.marked)
            growing = (1 - lost) * (1 - signals.mark_prob)
        rates = super().with_losses(window, growth, signals._replace(growing=growing))
        return rates._replace(alpha=growth.alpha)

    @property
    def rules(self) -> PacketRules:
        """The packet simulator's rules of RFC 8257, functions on a flow's record."""
        return PacketRules(
            increase_window,
            window_after_loss,
            window_after_mark=window_after_mark,
            on_state=see_state,
            count_marks=count_marks,
            exact_echo=True,
            state={
                **COUNT,
                "mark_estimate": 1.0,
                "dctcp_alpha": 1.0,
                "acked_in_window": 0,
                "marked_in_window": 0,
                "window_end": 0,
            },
            places=("window_end",),
            counters=("dctcp_alpha",),
            recovery=self.recovery or "sack",
        )

    def packet_parameters(self) -> dict[str, float]:
        """Numbers that the packet rules read, by field name.

        They are `gain`; `mark_estimate` (used by the rules) and `dctcp_alpha` (recorded in
        samples), both the initial alpha; and the switches `byte_counting` and `validates`, 0 or 1.
        """
        return {
            "gain": float(self.gain),
            "mark_estimate": float(self.initial_alpha),
            "dctcp_alpha": float(self.initial_alpha),
            "byte_counting": int(bool(self.byte_counting)),
            "validates": int(bool(self.validates)),
        }
