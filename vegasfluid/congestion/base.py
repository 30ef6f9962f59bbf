"""What a congestion-control law is: a drift for the fluid, rules for packets.

A law is a frozen dataclass of its parameters. Its `drift` is the mean of its `rules`: a contract
test holds the two together. Neither knows of queues, of JAX or of Numba; the fluid simulator
traces the drift, the packet simulator compiles the rules.

Sources:
    M. Mathis et al., ACM CCR 27(3), 1997 (periodic losses); T. Ott, J. Kemperman and M. Mathis,
    "The stationary behavior of ideal TCP congestion avoidance", 1996 (independent losses: 1.3098
    sqrt(1/p) for a cut of one half; neither checked against the original). The products for other
    cuts follow from the moments of the same process and are tested by drawing it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from vegasfluid import smooth
from vegasfluid.congestion.loss_recovery import SMALLEST_SSTHRESH
from vegasfluid.congestion.packet_rules import PacketRules
from vegasfluid.quantities import Value

__all__ = [
    "LOSS_PROCESSES",
    "CongestionControl",
    "PacketRules",
    "Signals",
    "Window",
    "aimd_loss_factor",
    "leaves_slow_start",
    "loss_based_growth",
    "whole_part",
]

Real = smooth.Real

LOSS_PROCESSES = ("iid", "periodic", "meanfield")
"""How losses come: each packet for itself, at equal distances, or as the one-point closure has it
(every flow has the mean window)."""


class Window(NamedTuple):
    """The state of a flow, or of a class of flows in the mean, or its time derivative.

    A law with more state has a tuple of its own, with `slow_start` among its fields.

    Args:
        cwnd: congestion window, packets.
        slow_start: the share of the flows that are in slow start.
    """

    cwnd: Real
    slow_start: Real


class Signals(NamedTuple):
    """What a sender sees now.

    Args:
        rtt: round-trip time, mean over its packets, s.
        ack_rate: packets acknowledged, 1/s.
        loss_rate: loss events (at most one a window), 1/s, as they were one round trip ago.
        initial_ssthresh: window at which the first slow start ends, packets.
        ack_every: packets that an ACK acknowledges.
        growing: the share of the flows that may grow: those that repair no loss.
        window_limited: the share of them that the window limits, and not the application.
        timeout_rate: timeouts after which a sender begins again now, 1/s.
        min_rtt_offset: how far the smallest round-trip times are below the mean, s, but for jitter.
        jitter: width of a uniform noise in single round-trip times, s.
        reordering: the share of the time in which packets overtake each other.
        loss_process: how losses come, a name in `LOSS_PROCESSES`.
    """

    rtt: Real
    ack_rate: Real
    loss_rate: Real
    initial_ssthresh: Real
    ack_every: Real = 1
    growing: Real = 1
    window_limited: Real = 1
    timeout_rate: Real = 0
    min_rtt_offset: Real = 0
    jitter: Real = 0
    reordering: Real = 0
    loss_process: str = "meanfield"


@dataclass(frozen=True)
class CongestionControl(Value):
    """A congestion-control law with its parameters.

    The fluid is told in two parts: how a flow's state grows between losses, and what a loss makes
    of it. Of many flows with their own states that is a distribution, carried up and thrown down;
    `drift` is its one-point closure, in which all flows have the mean state.
    """

    name: ClassVar[str]
    """The name in model files."""
    sources: ClassVar[tuple[str, ...]]
    """Where the law is defined."""

    domains: ClassVar[Mapping[str, tuple[float, float]]] = {"slow_start": (0.0, 1.0)}
    """The smallest and largest values of the fields of a state, but for the window itself."""

    learns_base_rtt: ClassVar[bool] = False
    """Whether a flow estimates its RTT without queues from what it measures (field `base_rtt`)."""

    has_dead_band: ClassVar[bool] = False
    """Whether the window is constant while the backlog is between the fields `alpha` and `beta`."""

    @property
    def label(self) -> str:
        """Name for tables, with the implementation where there are several."""
        return self.name

    @property
    def whole_thresholds(self) -> bool:
        """Whether thresholds must be whole numbers of packets."""
        return False

    def init(self, cwnd: Real, rtt: Real) -> Any:
        """The state of a flow that starts.

        Args:
            cwnd: its initial window, packets.
            rtt: the round-trip time of its first packet, s.
        """
        return Window(cwnd, cwnd / cwnd)

    def cwnd_of(self, window: Any, rtt: Real) -> Real:
        """The congestion window of a state, packets."""
        return window.cwnd

    def in_flight(self, window: Any, rtt: Real) -> Real:
        """The packets that a state allows in flight: of a window that grows, whole ones only.

        A part of a packet is not sent; of a window that grows evenly that is half of one.
        """
        return whole_part(self.cwnd_of(window, rtt), 1.0)

    def clip(self, window: Any, largest: Real) -> Any:
        """The state clipped to its domain: windows to 2 packets and `largest`, others to `domains`.

        The equations do not leave it, but a step of a solver may.
        """
        held = {name: smooth.clip(getattr(window, name), *of) for name, of in self.domains.items()}
        return window._replace(cwnd=smooth.clip(window.cwnd, SMALLEST_SSTHRESH, largest), **held)

    def stationary_fields(self, window: Any, rtt: Real, base_rtt: Real) -> dict[str, Real]:
        """Fields that nothing moves any more where a flow rests, and what a run leaves in them.

        Args:
            window: the state.
            rtt: the round-trip time at rest, s.
            base_rtt: what the flow takes for its round-trip time without queues, s.
        """
        return {"slow_start": 0 * window.cwnd}

    def upper_variant(self) -> CongestionControl:
        """The law that comes to rest from below where this one does from above."""
        return self

    @abstractmethod
    def growth(self, window: Any, seen: Signals) -> Any:
        """The rate at which the state changes between losses.

        Args:
            window: the state; every field of any one shape.
            seen: what the sender sees, of the same shape.

        Returns:
            d(window)/dt, each field in its unit a second.
        """

    @abstractmethod
    def after_loss(self, window: Any, seen: Signals) -> Any:
        """What one loss event makes of the state."""

    def loss_factor(self, process: str, window: Any) -> Real:
        """By how much losses weigh more than in the one-point closure.

        Windows go up and down between losses, and the mean of their square is not the square of
        their mean; the factor makes up for it where the closure is to rest at the right window.

        Args:
            process: a name in `LOSS_PROCESSES`.
            window: the state.
        """
        return 1

    def drift(self, window: Any, seen: Signals) -> Any:
        """The mean rate at which the state changes: growth, and what losses make of it.

        Args:
            window: the state of a class of flows; every field of any one shape.
            seen: what its senders see, of the same shape.

        Returns:
            d(window)/dt, in packets/s and 1/s.
        """
        return self.with_losses(window, self.growth(window, seen), seen)

    def with_losses(self, window: Any, growth: Any, seen: Signals) -> Any:
        """Growth of the flows that may grow, and what losses make of the state."""
        fields = zip(window, growth, self.after_loss(window, seen), strict=True)
        rate = seen.loss_rate * self.loss_factor(seen.loss_process, window)
        rates = (seen.growing * up + rate * (to - at) for at, up, to in fields)
        return type(window)(*rates)

    @property
    def recovery_scheme(self) -> str:
        """How lost packets are repaired, as `PacketRules.recovery`."""
        return self.rules.recovery

    @property
    @abstractmethod
    def rules(self) -> PacketRules:
        """The law as rules for single packets."""

    def packet_parameters(self) -> dict[str, float]:
        """The parameters that `rules` reads from the flow record, by field name."""
        return {}


def aimd_loss_factor(process: str, cut: Real) -> Real:
    """The `loss_factor` of a law that adds a constant each round trip and takes a share at a loss.

    With losses at equal distances (periodic) the mean window is sqrt((2 - b) / (2 b p)), and with
    independent ones sqrt(2 / (pi p)) / prod((1 - u^(2k-1)) / (1 - u^(2k))), u = 1 - b; the closure
    gives sqrt(1 / (b p)). The product is told here by a fraction that is right to 0.2 %.

    Args:
        process: a name in `LOSS_PROCESSES`.
        cut: the share b of the window that a loss takes.

    >>> round(aimd_loss_factor("periodic", 0.5), 4), round(aimd_loss_factor("iid", 0.5), 4)
    (1.3333, 1.1667)
    """
    if process == "meanfield":
        return 1
    periodic = 2 / (2 - cut)
    return periodic if process == "periodic" else periodic * (1 - cut / 4)


def whole_part(cwnd: Real, growing: Real) -> Real:
    """The mean whole part of windows of which a share grows, and the others are whole."""
    return smooth.maximum(cwnd - growing / 2, smooth.minimum(cwnd, 1.0))


def leaves_slow_start(cwnd: Real, seen: Signals) -> Real:
    """Whether a window has reached the threshold of its first slow start, 0 to 1."""
    return smooth.step(cwnd - seen.initial_ssthresh, 1.0)


def loss_based_growth(window: Window, seen: Signals, increase: Real) -> Window:
    """The growth of a law that knows slow start and, after it, one step a round trip.

    Args:
        window: the state.
        seen: what the sender sees.
        increase: growth after slow start, packets a round trip.
    """
    stop = leaves_slow_start(window.cwnd, seen)
    doubling = window.slow_start * (1 - stop)
    acks = seen.ack_rate / seen.ack_every
    growth = (doubling + (1 - doubling) * increase / window.cwnd) * acks
    return Window(growth, -window.slow_start * stop / seen.rtt)
