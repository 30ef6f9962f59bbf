"""A traffic source: the data that an application offers to TCP, and when.

Its rules for packets are scalar functions on the `flow` record, which the packet simulator
compiles; times in the record are integer picoseconds. The record also has the state of the flow's
random number generator (see `vegasfluid.traffic.random_variates`).
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
    "NEW_CONNECTION",
    "NO_LIMIT",
    "SourceRules",
    "TrafficSource",
    "ignore",
]

CONTINUED, NEW_CONNECTION = 0, 1
"""Results of `on_application`: offered packets continue the connection, or start a new one."""

NO_LIMIT = 1e15
"""Rate of an application without a limit, packets/s (chosen: above any link)."""

Real = Any
"""A float, an array of any shape, or an expression."""


def ignore(flow: Any, now: int) -> None:
    """Do nothing when all offered packets are acknowledged: the application does not wait."""


@dataclass(frozen=True)
class SourceRules:
    """Rules by which an application offers packets to TCP.

    Args:
        on_application: `(flow, now) -> int`, called at the time `flow.app_at`, first at the start
            of the flow: adds to `flow.offered` (packets since the start), sets `flow.app_at`, and
            returns CONTINUED or NEW_CONNECTION.
        on_finished: `(flow, now) -> None`, called when all offered packets are acknowledged.
        state: fields of the record that the rules add, with their initial values.
    """

    on_application: Callable[..., int]
    on_finished: Callable[..., None] = ignore
    state: Mapping[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True)
class TrafficSource(Value):
    """A traffic source with its parameters.

    In the fluid model a flow has a mean number of active or waiting transfers, from which the
    fraction of time in which it sends follows. A source without end is one transfer of infinite
    size, which is always active.
    """

    name: ClassVar[str]
    """Name in model files."""
    sources: ClassVar[tuple[str, ...]] = ()
    """Literature and source code that define it."""

    endless: ClassVar[bool] = False
    """Whether all data is available from the start, so that `on_application` is never called."""

    def rate_limit(self, packet_bytes: int) -> float:
        """Largest mean rate that a flow's application allows during a transfer, packets/s.

        By default 1e15 (`NO_LIMIT`): the application does not limit it.

        Args:
            packet_bytes: size of a packet, bytes.
        """
        return NO_LIMIT

    def action_rate(self, packet_bytes: int) -> float:
        """Largest mean rate of the events of a flow's application in a packet run, 1/s.

        At an event it offers packets to TCP, or starts a transfer. An unlimited rate counts as 0,
        as the application then offers all packets of a transfer at once.

        Args:
            packet_bytes: size of a packet, bytes.
        """
        rate = self.rate_limit(packet_bytes)
        return (rate if rate < NO_LIMIT else 0.0) + float(self.arrival_rate(0.0))

    def mean_transfer_size(self, packet_bytes: int) -> float:
        """Mean size of a transfer, packets; infinite for a source without end.

        Args:
            packet_bytes: size of a packet, bytes.
        """
        return math.inf

    def initial_transfers(self) -> float:
        """Number of active transfers of a flow at its start; by default 1, which never ends."""
        return 1.0

    def arrival_rate(self, transfers: Real) -> Real:
        """Rate at which a flow's new transfers arrive, 1/s; by default 0.

        Args:
            transfers: mean number of its transfers that are active or waiting.
        """
        return 0.0 * transfers

    def busy_fraction(self, transfers: Real) -> Real:
        """Fraction of time in which a flow has an active transfer, 0 to 1.

        By default `transfers` itself: a flow has at most one transfer at a time.

        Args:
            transfers: mean number of its transfers that are active or waiting.
        """
        return transfers

    @property
    @abstractmethod
    def rules(self) -> SourceRules:
        """The packet simulator's rules: when an application offers packets to TCP, and how many."""

    def packet_parameters(self, packet_bytes: int) -> dict[str, float]:
        """Numbers that `rules` reads from the flow record, by field name.

        Times are in s (the rules convert them to ps), sizes in packets, switches are 0 or 1.

        Args:
            packet_bytes: size of a packet, bytes, which converts sizes in MB to packets.
        """
        return {}
