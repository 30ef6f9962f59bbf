"""What an application offers to TCP: a value that describes it, and rules for packets.

As the laws' rules, these are plain scalar functions on the `flow` record, which the packet
simulator compiles; times in it are integer picoseconds. The record is also the
flow's own source of random numbers (see `vegasfluid.traffic.random_variates`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from vegasfluid.quantities import Value

__all__ = [
    "CONTINUED",
    "NEVER",
    "NEW_CONNECTION",
    "NO_LIMIT",
    "SourceRules",
    "TrafficSource",
    "ignore",
    "ps",
]

NEVER = 2**63 - 1
"""The time of what does not happen, ps."""

CONTINUED, NEW_CONNECTION = 0, 1
"""Whether what is offered goes over the connection that there is, or begins with a new one."""

PICOSECONDS = 1e12
NO_LIMIT = 1e15
"""Packets/s that limit nothing."""

Real = Any
"""A float, an array of any shape, or an expression."""


def ps(seconds: float) -> int:
    """Seconds as whole picoseconds, rounded down."""
    return int(seconds * PICOSECONDS)


def ignore(flow: Any, now: int) -> None:
    """For `on_finished`: the application goes by its own clock."""


@dataclass(frozen=True)
class SourceRules:
    """When an application hands packets to TCP.

    Args:
        on_application: `(flow, now) -> int`, called at `flow.app_at`, for the first
            time when the flow starts: adds to `flow.offered` (packets since the start), sets
            `flow.app_at`, and returns CONTINUED or NEW_CONNECTION.
        on_finished: `(flow, now) -> None`, called when everything that was offered is
            acknowledged.
        state: fields that the rules keep in the record, with their values at the start.
    """

    on_application: Callable[..., int]
    on_finished: Callable[..., None] = ignore
    state: Mapping[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True)
class TrafficSource(Value):
    """A kind of traffic with its parameters.

    To the fluid a flow has some transfers under way or waiting, in the mean over its class, and
    sends in a share of the time that follows from their number. What has no end is one transfer
    without size, always under way.
    """

    name: ClassVar[str]
    """The `kind` in model files."""
    sources: ClassVar[tuple[str, ...]] = ()
    """Where the kind is from."""

    endless: ClassVar[bool] = False
    """Whether all data is available from the start, so that `on_application` is never called."""

    def rate_limit(self, packet_bytes: int) -> float:
        """Packets/s that are handed to TCP at most, mean while a transfer is under way."""
        return NO_LIMIT

    def mean_transfer_size(self, packet_bytes: int) -> float:
        """The mean size of a transfer, packets."""
        return math.inf

    def initial_transfers(self) -> float:
        """Transfers under way when a flow starts."""
        return 1.0

    def arrival_rate(self, transfers: Real) -> Real:
        """New transfers of a flow, 1/s, where so many are under way or waiting."""
        return 0.0 * transfers

    def busy_fraction(self, transfers: Real) -> Real:
        """The share of the time in which one is under way."""
        return transfers

    @property
    @abstractmethod
    def rules(self) -> SourceRules:
        """The kind as rules for packets."""

    def packet_parameters(self, packet_bytes: int) -> dict[str, float]:
        """The parameters that `rules` reads from the flow record, by field name.

        Args:
            packet_bytes: the size of a packet, bytes.
        """
        return {}
