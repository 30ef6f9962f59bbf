"""Vegas that notices a longer route: a lasting rise of the round-trip time becomes the base RTT.

Plain Vegas takes a longer route for a queue and backs off for ever. Here the sender learns at its
K-th packet how much its own packets in the queue add to the base RTT (`backlog_delay`; the paper:
diff_estimate). From then on it takes the smallest RTT of every N packets. When that is above the
base RTT by more than `backlog_delay` and a margin, L times in a row, then it becomes the base RTT,
and the window grows in proportion, and by one packet. The margin is the smaller of delta times
the base RTT and gamma, a time.

The rest is Vegas as ns-2 does it, because the paper's runs were made with ns. RTTs of packets that
were sent again are left out, as everywhere in Vegas. A window that is much too large, as after a
route has become short again, may take its own queue for a longer route: the paper's rule allows it.

Fluid: as Vegas, with the count of high groups as a state. Where it nears L, the base RTT moves to
the round-trip time within one of those, and the window in proportion.

Sources:
    R. J. La, J. Walrand and V. Anantharam, "Issues in TCP Vegas", UC Berkeley, 1998, section 3,
    steps (1) and (2) with equation (1), in which the base RTT of the denominator is the one before
    the change (K = 100, N = 20, delta = 0.2, L = 4, gamma = 100 ms).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple

from annotated_types import Ge, Lt

from vegasfluid import smooth
from vegasfluid.congestion.base import CongestionControl, PacketRules, Signals
from vegasfluid.congestion.vegas.ns2 import NS2
from vegasfluid.congestion.vegas.vegas import Vegas, VegasWindow
from vegasfluid.quantities import Delay, Packets, Positive, Share, require_ordered

__all__ = ["VegasRerouting"]

Flow = Any

PICOSECONDS = 1e12
"""In a second."""
FAR = 1e30
UNKNOWN = -1.0

ns2_on_ack = NS2.rules.on_ack


def watch_route(flow: Flow, rtt: float) -> None:
    """Take the RTT of a packet: the K-th one tells the backlog's delay, later ones count by N."""
    if flow.backlog_delay == UNKNOWN:
        if flow.una - flow.opened >= flow.learning:
            flow.backlog_delay = rtt - flow.base_rtt
        return
    flow.group_rtt = min(flow.group_rtt, rtt)
    flow.group_seen += 1
    if flow.group_seen >= flow.group_size:
        end_group(flow)
        flow.group_seen = 0
        flow.group_rtt = FAR


def end_group(flow: Flow) -> None:
    """After every N packets: count the groups in a row that stayed high; after L, believe them."""
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
    """As ns-2's Vegas, and then look at the route."""
    action = ns2_on_ack(flow, now, acked)
    if flow.acked_transmissions == 1:
        watch_route(flow, float(now - flow.acked_sent_at))
    return action


class ReroutingWindow(NamedTuple):
    """The state of a flow.

    Args:
        cwnd: congestion window, packets.
        slow_start: the share of the flows that are in slow start.
        base_rtt: what it takes for the propagation delay, s.
        threshold: as Vegas's.
        acked: packets acknowledged, counted up to `learning`.
        backlog_delay: what the own packets in the queue added to the base RTT then, s.
        groups_high: groups in a row that were high.
    """

    cwnd: Any
    slow_start: Any
    base_rtt: Any
    threshold: Any
    acked: Any
    backlog_delay: Any
    groups_high: Any


def _as_vegas(window: ReroutingWindow) -> VegasWindow:
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
    """Backlog below which the window grows."""
    beta: Annotated[Packets, Positive] = 3
    """Backlog above which the window shrinks."""
    gamma: Annotated[Packets, Positive] = 1
    """Backlog at which slow start ends; not the paper's gamma, which is `margin`."""
    learning: Annotated[Packets, Ge(1)] = 100
    """The packet whose round trip tells the delay of the own backlog (K)."""
    group: Annotated[Packets, Ge(1)] = 20
    """Packets of which the smallest round-trip time counts (N)."""
    groups: Annotated[int, Ge(1)] = 4
    """Groups in a row that must be high (L)."""
    delta: Annotated[Share, Positive, Lt(1)] = 0.2
    """How far a group must be above the base RTT to be high, as a share of that."""
    margin: Annotated[Delay, Positive] = 0.1
    """How far at most (gamma)."""
    softness: Annotated[Packets, Positive] = 0.25
    """Width of backlog over which the fluid's comparisons are blurred."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ordered(self, "alpha", "beta")

    @property
    def plain(self) -> Vegas:
        """The Vegas that it is but for the route."""
        return Vegas(self.alpha, self.beta, self.gamma, dialect="ns2", softness=self.softness)

    def init(self, cwnd: Any, rtt: Any) -> ReroutingWindow:
        """As Vegas, with nothing learned yet."""
        zero = 0 * cwnd
        return ReroutingWindow(*self.plain.init(cwnd, rtt), zero, zero, zero)

    def stationary_fields(self, window: ReroutingWindow, rtt: Any, base_rtt: Any) -> dict[str, Any]:
        """As Vegas, with the own backlog learned, and no group high."""
        learned = {"acked": self.learning + 0 * window.cwnd, "backlog_delay": rtt - base_rtt}
        plain = self.plain.stationary_fields(_as_vegas(window), rtt, base_rtt)
        return plain | learned | {"groups_high": 0 * window.cwnd}

    def upper_variant(self) -> VegasRerouting:
        """As Vegas."""
        plain = self.plain.upper_variant()
        return replace(self, alpha=plain.alpha, beta=plain.beta)

    def in_flight(self, window: ReroutingWindow, rtt: Any) -> Any:
        """As Vegas."""
        return self.plain.in_flight(_as_vegas(window), rtt)

    def growth(self, window: ReroutingWindow, seen: Signals) -> ReroutingWindow:
        """As Vegas; and a base RTT that gives way to a delay that lasts."""
        return self.derivative(window, seen, self.plain.growth(_as_vegas(window), seen))

    def drift(self, window: ReroutingWindow, seen: Signals) -> ReroutingWindow:
        """As Vegas's, whose losses it has."""
        plain = self.plain
        backlog = plain.backlog(_as_vegas(window), seen)
        recovering = plain.recovering_fraction(backlog)
        rates = plain.derivative(_as_vegas(window), seen, backlog, recovering)
        return self.with_losses(window, self.derivative(window, seen, rates), seen)

    def derivative(
        self, window: ReroutingWindow, seen: Signals, plain: VegasWindow
    ) -> ReroutingWindow:
        """The rate of change between losses, with that of Vegas given."""
        rise = seen.rtt - window.base_rtt
        learning = smooth.step(self.learning - window.acked, 1.0)
        margin = smooth.minimum(self.delta * window.base_rtt, self.margin)
        high = (1 - learning) * smooth.step(rise - window.backlog_delay - margin, margin / 10)
        rate_of_groups = seen.ack_rate / self.group
        counted = smooth.step(window.groups_high - (self.groups - 1), 1.0)
        behind = smooth.step(rise, margin / 10)  # until the base RTT has come to the RTT
        believed = counted * behind / seen.rtt
        return ReroutingWindow(
            cwnd=plain.cwnd + believed * (window.cwnd * rise / window.base_rtt + 1),
            slow_start=plain.slow_start,
            base_rtt=plain.base_rtt + believed * rise,
            threshold=plain.threshold,
            acked=seen.ack_rate * learning,
            backlog_delay=learning * (rise - window.backlog_delay) / seen.rtt,
            groups_high=rate_of_groups * (high - (1 - high) * (1 - counted) * window.groups_high)
            - counted * (1 - behind) * window.groups_high / seen.rtt,
        )

    def after_loss(self, window: ReroutingWindow, seen: Signals) -> ReroutingWindow:
        """As Vegas."""
        left = self.plain.after_loss(_as_vegas(window), seen)
        return window._replace(cwnd=left.cwnd, slow_start=left.slow_start)

    def loss_factor(self, process: str, window: ReroutingWindow) -> Any:
        """As Vegas."""
        return self.plain.loss_factor(process, _as_vegas(window))

    @property
    def rules(self) -> PacketRules:
        """Those of ns-2's Vegas, with an eye on the route."""
        vegas = NS2.rules
        return replace(
            vegas,
            handlers={**vegas.handlers, "on_ack": on_ack},
            state={
                **vegas.state,
                "backlog_delay": UNKNOWN,
                "group_rtt": FAR,
                "group_seen": 0,
                "groups_high": 0,
            },
        )

    def packet_parameters(self) -> dict[str, float]:
        """Packets, and the margin in ps."""
        names = ("alpha", "beta", "gamma", "learning", "delta")
        return {
            **{name: float(getattr(self, name)) for name in names},
            "group_size": float(self.group),
            "groups": int(self.groups),
            "margin": float(self.margin) * PICOSECONDS,
        }
