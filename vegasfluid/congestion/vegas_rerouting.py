"""Vegas that detects a longer route: a lasting increase of the RTT becomes the base RTT.

Plain Vegas takes a longer route for a queue and keeps its window small. Here the sender measures at
its K-th packet the queueing delay of its backlog (`backlog_delay`; in the paper diff_estimate).
Then it takes the smallest RTT of every group of N packets. If that exceeds the base RTT by more
than `backlog_delay` plus a margin, L times in a row, it becomes the new base RTT. The window then
grows in proportion and by one packet. The margin is the smaller of delta times the base RTT and
gamma, a time.

All else is the Vegas of ns-2, with which the paper's results were obtained. RTTs of retransmitted
packets are not used, as in all dialects. A window that is much too large, as after the route has
become shorter again, can mistake its own queue for a longer route; the paper's rule allows this.

Fluid: Vegas with the number of high groups as an additional state. As it approaches L, the base RTT
moves to the RTT within one RTT, and the window grows in proportion.

Sources:
    R. J. La, J. Walrand and V. Anantharam, "Issues in TCP Vegas", UC Berkeley, 1998, section 3,
    steps (1) and (2) with equation (1), in which the base RTT of the denominator is the one before
    the change (K = 100, N = 20, delta = 0.2, L = 4, gamma = 100 ms).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple

from annotated_types import Ge, Le, Lt

from vegasfluid import smooth
from vegasfluid.clock import PICOSECONDS
from vegasfluid.congestion.base import CongestionControl, PacketRules, Signals
from vegasfluid.congestion.vegas.fluid import Vegas, VegasWindow
from vegasfluid.congestion.vegas.ns2 import NS2
from vegasfluid.quantities import Delay, Packets, Positive, Share, require_ordered

__all__ = ["VegasRerouting"]

Flow = Any
"""A record of `vegasfluid.packet.records.FLOW`: NumPy's when interpreted, Numba's when compiled."""

NO_SAMPLE = 1e30
"""Smallest RTT of a group before its first packet, ps: larger than any RTT."""
UNKNOWN = -1.0
"""`backlog_delay` before it is measured."""

ns2_on_ack = NS2.rules.on_ack
"""`(flow, now, acked)`: the handler of new ACKs of ns-2's Vegas."""


def take_route_sample(flow: Flow, rtt: float) -> None:
    """Process the RTT (ps) of a packet that was sent once, to detect a longer route.

    The first sample after K packets of the connection (`flow.learning`) minus the base RTT is
    stored as `backlog_delay` (ps). Later samples form groups of N (`flow.group_size`), of which the
    smallest RTT is compared with the base RTT.
    """
    if flow.backlog_delay == UNKNOWN:
        if flow.una - flow.opened >= flow.learning:
            flow.backlog_delay = rtt - flow.base_rtt
        return
    flow.group_rtt = min(flow.group_rtt, rtt)
    flow.group_seen += 1
    if flow.group_seen >= flow.group_size:
        end_group(flow)
        flow.group_seen = 0
        flow.group_rtt = NO_SAMPLE


def end_group(flow: Flow) -> None:
    """At the end of a group of N packets, count consecutive groups with a high RTT.

    The group's smallest RTT is high if it exceeds the base RTT by more than `backlog_delay` plus
    the smaller of `delta` times the base RTT and `margin` (ps). After L such groups
    (`flow.groups`) it becomes the base RTT, and the window (packets) grows in proportion, plus one
    packet. Changes the flow's record.
    """
    allowed = flow.backlog_delay + min(flow.delta * flow.base_rtt, flow.margin)
    if flow.group_rtt - flow.base_rtt <= allowed:
        flow.groups_high = 0
        return
    flow.groups_high += 1
    if flow.groups_high >= flow.groups:
        flow.cwnd = flow.cwnd * flow.group_rtt / flow.base_rtt + 1.0
        flow.base_rtt = flow.group_rtt
        flow.groups_high = 0


def on_ack(flow: Flow, now: int, acked: int) -> int:
    """Process an ACK as the Vegas of ns-2, then use its RTT to detect a longer route.

    Args:
        flow: record of the flow, changed in place.
        now: time of the ACK, ps.
        acked: number of new packets that it acknowledges.

    Returns:
        The sender's actions: a sum of RETRANSMIT, RESEND, SEND and SEND_ONE.
    """
    action = ns2_on_ack(flow, now, acked)
    if flow.acked_transmissions == 1:
        take_route_sample(flow, float(now - flow.acked_sent_at))
    return action


class ReroutingWindow(NamedTuple):
    """State of a flow, or mean state of a group of flows.

    Args:
        cwnd: congestion window, packets.
        slow_start: fraction of the flows that are in slow start.
        base_rtt: base RTT that the flow uses, s.
        threshold: smallest window after a loss, packets.
        acked: packets acknowledged, counted up to `learning`.
        backlog_delay: queueing delay of the flow's backlog when it was measured, s.
        groups_high: number of groups in a row with a high RTT.
    """

    cwnd: Any
    slow_start: Any
    base_rtt: Any
    threshold: Any
    acked: Any
    backlog_delay: Any
    groups_high: Any


def _as_vegas(window: ReroutingWindow) -> VegasWindow:
    """Vegas's part of a state: window, slow start, base RTT and threshold."""
    return VegasWindow(*window[:4])


@dataclass(frozen=True)
class VegasRerouting(CongestionControl):
    """The modified Vegas of La, Walrand and Anantharam.

    >>> VegasRerouting().learning, VegasRerouting().group, VegasRerouting().groups
    (100, 20, 4)
    """

    name: ClassVar[str] = "vegas_rerouting"
    learns_base_rtt: ClassVar[bool] = True
    has_dead_band: ClassVar[bool] = True
    sources: ClassVar[tuple[str, ...]] = (
        "La, Walrand and Anantharam, UC Berkeley, 1998",
        *NS2.sources,
    )
    alpha: Annotated[Packets, Positive] = 1
    """Backlog below which the window grows, packets."""
    beta: Annotated[Packets, Positive] = 3
    """Backlog above which the window shrinks, packets."""
    gamma: Annotated[Packets, Positive] = 1
    """Backlog above which slow start ends, packets; the paper's gamma is `margin`."""
    learning: Annotated[Packets, Ge(1)] = 100
    """Number (K) of the packet whose RTT minus the base RTT is the backlog's queueing delay."""
    group: Annotated[Packets, Ge(1)] = 20
    """RTT samples in a group, of which the smallest is compared with the base RTT (N)."""
    groups: Annotated[int, Ge(1), Le(1_000_000)] = 4
    """Number of consecutive groups with a high RTT after which the base RTT changes (L)."""
    delta: Annotated[Share, Positive, Lt(1)] = 0.2
    """A group's RTT is high if it exceeds the base RTT by more than the queueing delay of the
    backlog plus this fraction of the base RTT, or plus `margin` if that is smaller."""
    margin: Annotated[Delay, Positive] = 0.1
    """Upper bound of `delta` times the base RTT, s (gamma of the paper)."""
    softness: Annotated[Packets, Positive] = 0.25
    """Width of the fluid model's smooth thresholds of the backlog, packets."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ordered(self, "alpha", "beta")

    @property
    def usual_host(self) -> str:
        """Name `ns2` of the kind of host whose Vegas this extends."""
        return NS2.name

    @property
    def plain(self) -> Vegas:
        """Vegas of ns-2 with the same alpha, beta, gamma and softness, but no route detection."""
        return Vegas(self.alpha, self.beta, self.gamma, dialect="ns2", softness=self.softness)

    def init(self, cwnd: Any, rtt: Any) -> ReroutingWindow:
        """Initial state: slow start with the window `cwnd` (packets), and `rtt` (s) as base RTT.

        Nothing is measured yet: the other fields are 0.
        """
        zero = 0 * cwnd
        return ReroutingWindow(*self.plain.init(cwnd, rtt), zero, zero, zero)

    def stationary_fields(self, window: ReroutingWindow, rtt: Any, base_rtt: Any) -> dict[str, Any]:
        """Fields that no longer change at equilibrium, by name, with their values after a run.

        `slow_start`, `threshold` and `groups_high` are 0, `base_rtt` is `base_rtt` (s),
        `backlog_delay` is `rtt` - `base_rtt` (s), and `acked` is `learning` (packets).
        """
        measured = {"acked": self.learning + 0 * window.cwnd, "backlog_delay": rtt - base_rtt}
        plain = self.plain.stationary_fields(_as_vegas(window), rtt, base_rtt)
        return plain | measured | {"groups_high": 0 * window.cwnd}

    def upper_variant(self) -> VegasRerouting:
        """A copy whose only equilibrium is the one with the largest backlog of this control.

        Its alpha and beta are those of Vegas's upper variant.
        """
        plain = self.plain.upper_variant()
        return replace(self, alpha=plain.alpha, beta=plain.beta)

    def in_flight(self, window: ReroutingWindow, rtt: Any) -> Any:
        """Packets in flight that a state allows at a round-trip time (s), as for Vegas of ns-2.

        It is the window minus half a packet for the fraction of flows that recover from a loss.
        """
        return self.plain.in_flight(_as_vegas(window), rtt)

    def growth(self, window: ReroutingWindow, signals: Signals) -> ReroutingWindow:
        """Rate of change of a flow's state between losses, each field in its unit per second.

        The window changes as Vegas's; the base RTT follows a longer route.
        """
        return self.derivative(window, signals, self.plain.growth(_as_vegas(window), signals))

    def drift(self, window: ReroutingWindow, signals: Signals) -> ReroutingWindow:
        """Mean rate of change of the state of a group of flows, by growth and by losses.

        As for Vegas, a fraction of the flows still recovers from a loss and grows; the rest of the
        flows are at equilibrium. Each field is in its unit per second (`cwnd` in packets/s).
        """
        plain = self.plain
        backlog = plain.backlog(_as_vegas(window), signals)
        recovering = plain.recovering_fraction(backlog)
        rates = plain.derivative(_as_vegas(window), signals, backlog, recovering)
        return self.with_losses(window, self.derivative(window, signals, rates), signals)

    def derivative(
        self, window: ReroutingWindow, signals: Signals, plain: VegasWindow
    ) -> ReroutingWindow:
        """Rate of change of a state between losses, with detection of longer routes.

        Args:
            window: the state.
            signals: what the sender observes.
            plain: rate of change of Vegas's part of the state, each field in its unit per second.

        Returns:
            d(window)/dt, each field in its unit per second.
        """
        rise = signals.rtt - window.base_rtt
        learning = smooth.step(self.learning - window.acked, 1.0)
        margin = smooth.minimum(self.delta * window.base_rtt, self.margin)
        high = (1 - learning) * smooth.step(rise - window.backlog_delay - margin, margin / 10)
        group_rate = signals.ack_rate / self.group
        enough = smooth.step(window.groups_high - (self.groups - 1), 1.0)
        behind = smooth.step(rise, margin / 10)  # until the base RTT is the RTT
        change_rate = enough * behind / signals.rtt
        return ReroutingWindow(
            cwnd=plain.cwnd + change_rate * (window.cwnd * rise / window.base_rtt + 1),
            slow_start=plain.slow_start,
            base_rtt=plain.base_rtt + change_rate * rise,
            threshold=plain.threshold,
            acked=signals.ack_rate * learning,
            backlog_delay=learning * (rise - window.backlog_delay) / signals.rtt,
            groups_high=group_rate * (high - (1 - high) * (1 - enough) * window.groups_high)
            - enough * (1 - behind) * window.groups_high / signals.rtt,
        )

    def after_loss(self, window: ReroutingWindow, signals: Signals) -> ReroutingWindow:
        """State after one loss event: 3/4 of the window, `slow_start` 0, as for Vegas of ns-2."""
        after = self.plain.after_loss(_as_vegas(window), signals)
        return window._replace(cwnd=after.cwnd, slow_start=after.slow_start)

    def loss_factor(self, process: str, window: ReroutingWindow) -> Any:
        """Factor, without unit, by which `drift` multiplies the loss rate, for a loss process.

        It is the factor of additive increase (`aimd_loss_factor`) with a cut b = 1/4: 1 for
        `meanfield`, 8/7 for `periodic`, 15/14 for `iid`.
        """
        return self.plain.loss_factor(process, _as_vegas(window))

    @property
    def rules(self) -> PacketRules:
        """The packet simulator's rules, those of Vegas in ns-2 with detection of longer routes."""
        vegas = NS2.rules
        return replace(
            vegas,
            handlers={**vegas.handlers, "on_ack": on_ack},
            state={
                **vegas.state,
                "backlog_delay": UNKNOWN,
                "group_rtt": NO_SAMPLE,
                "group_seen": 0,
                "groups_high": 0,
            },
        )

    def packet_parameters(self) -> dict[str, float]:
        """Parameters that the packet rules read from the flow's record, by field name.

        They are `alpha`, `beta`, `gamma`, `learning` and `group_size` (packets), `groups`, `delta`
        (a fraction), and `margin` (ps).
        """
        names = ("alpha", "beta", "gamma", "learning", "delta")
        return {
            **{name: float(getattr(self, name)) for name in names},
            "group_size": float(self.group),
            "groups": int(self.groups),
            "margin": float(self.margin) * PICOSECONDS,
        }
