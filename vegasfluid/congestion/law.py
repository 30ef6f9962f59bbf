"""What a congestion-control law is: a drift for the fluid, rules for packets.

A law is a frozen dataclass of its parameters. Its `drift` is the mean of its `rules`: a contract
test holds the two together. Neither knows of queues, of JAX or of Numba; the fluid simulator
traces the drift, the packet simulator compiles the rules.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from vegasfluid import smooth
from vegasfluid.quantities import Value

__all__ = [
    "NOTHING",
    "RETRANSMIT",
    "SEND",
    "SEND_ONE",
    "AbstractWindowLaw",
    "Feedback",
    "PacketRules",
    "Window",
    "leave_slow_start",
    "loss_based_drift",
]

Real = smooth.Real

NOTHING, RETRANSMIT, SEND, SEND_ONE = 0, 1, 2, 4
"""What a packet rule asks of its sender; a sum of them asks for several."""


class Window(NamedTuple):
    """The state of a class of flows, or its time derivative.

    Args:
        cwnd: congestion window, packets.
        slow_start: the share of the flows that are in slow start.
    """

    cwnd: Real
    slow_start: Real


class Feedback(NamedTuple):
    """What a sender of the class sees now.

    Args:
        rtt: round-trip time, s.
        base_rtt: the smallest round-trip time that it has seen, s.
        ack_rate: acknowledgements, packets/s.
        loss_rate: loss events (at most one a window), 1/s, as they were one round trip ago.
        initial_ssthresh: window at which the first slow start ends, packets.
    """

    rtt: Real
    base_rtt: Real
    ack_rate: Real
    loss_rate: Real
    initial_ssthresh: Real


@dataclass(frozen=True)
class PacketRules:
    """What a sender does for each packet: plain scalar functions on its `flow` record.

    Every flow record has the fields of `vegasfluid.packet.records.FLOW`; times in it are integer
    picoseconds. A rule changes the record and returns what the sender shall do: a sum of
    `RETRANSMIT` (the oldest packet), `SEND` (what the window allows) and `SEND_ONE`.

    Args:
        on_ack: `(flow, now, acked) -> int`, for an ACK of `acked` new packets; `flow.una` is
            already moved.
        on_duplicate_ack: `(flow, now) -> int`.
        on_timeout: `(flow, now) -> None`; the sender then goes back to the oldest packet.
        on_mark: `(flow, now) -> None`, for an ACK that echoes a queue's mark, at most once a
            window of data.
        state: fields that the rules keep in the record beyond the common ones, with their
            values at the start.
        places: those of them that are numbers of packets; a new connection counts them from its
            own first packet.
        counters: those of them that a trajectory shows.
        keeps_send_times: whether the rules read `flow.acked_sent_at`, `flow.acked_transmissions`,
            `flow.oldest_sent_at` and `flow.oldest_transmissions`.
        recovery: how losses are repaired, a number of `vegasfluid.congestion.recovery`.
        reliable: whether packets are acknowledged and lost ones are sent again.
    """

    on_ack: Callable[..., int]
    on_duplicate_ack: Callable[..., int]
    on_timeout: Callable[..., None]
    on_mark: Callable[..., None]
    state: Mapping[str, int | float] = field(default_factory=dict)
    places: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()
    keeps_send_times: bool = False
    recovery: int = 0
    reliable: bool = True


@dataclass(frozen=True)
class AbstractWindowLaw(Value):
    """A congestion-control law with its parameters."""

    name: ClassVar[str]
    """The name in model files."""
    sources: ClassVar[tuple[str, ...]]
    """Where the law is defined."""
    has_drift: ClassVar[bool] = True
    """Whether its mean is a function of the window alone, so that the fluid model can have it."""

    @abstractmethod
    def drift(self, window: Window, seen: Feedback) -> Window:
        """The mean rate at which the window changes.

        Args:
            window: the state of the class; every field of any one shape.
            seen: what its senders see, of the same shape.

        Returns:
            d(window)/dt, in packets/s and 1/s.
        """

    @property
    @abstractmethod
    def rules(self) -> PacketRules:
        """The law as rules for single packets."""

    def packet_parameters(self) -> dict[str, float]:
        """The parameters that `rules` reads from the flow record, by field name."""
        return {}


def leave_slow_start(window: Window, seen: Feedback, stop: Real) -> Real:
    """The rate of change of the share of flows in slow start.

    Args:
        window: the state of the class.
        seen: what its senders see; a loss ends slow start.
        stop: the share that leaves for other reasons, each round trip.

    Returns:
        d(slow_start)/dt, 1/s.
    """
    return -window.slow_start * (seen.loss_rate + stop / seen.rtt)


def loss_based_drift(window: Window, seen: Feedback, increase: Real, cut: Real) -> Window:
    """The drift of a law that knows slow start and one step for growth, and cuts at losses.

    Args:
        window: the state of the class.
        seen: what its senders see.
        increase: growth after slow start, packets a round trip.
        cut: what a loss takes, packets.
    """
    stop = smooth.step(window.cwnd - seen.initial_ssthresh, 1.0)
    doubling = window.slow_start * (1 - stop)
    growth = (doubling + (1 - doubling) * increase / window.cwnd) * seen.ack_rate
    return Window(growth - seen.loss_rate * cut, leave_slow_start(window, seen, stop))
