"""On-off: a constant rate during random on times, and no packets during random off times.

The source is endless or, with `mean_gap` and `mean_size`, active within sessions: transfers of
Pareto size, each over a new connection, with exponential gaps.

Sources:
    W. Willinger, M. Taqqu, R. Sherman and D. Wilson, IEEE/ACM ToN 5(1), 1997: the sum of many
    such sources is self-similar with H = (3 - shape) / 2.
    E. Weigle and W. Feng, LA-UR-01-3420, 2001, section 3 (on and off times within sessions,
    Pareto or exponential).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Gt

from vegasfluid.clock import NEVER, picoseconds
from vegasfluid.errors import InvalidInput, Words
from vegasfluid.quantities import (
    Delay,
    Megabytes,
    PacketsPerSecond,
    Positive,
    Seconds,
    Share,
    is_concrete,
    require_one_of,
)
from vegasfluid.traffic.base import (
    CONTINUED,
    NEW_CONNECTION,
    SourceRules,
    TrafficSource,
)
from vegasfluid.traffic.bulk import ENDLESS
from vegasfluid.traffic.random_variates import exponential, pareto
from vegasfluid.traffic.sessions import BYTES, HEAVIEST, mean_transfer, transfer_size

__all__ = ["OnOff"]

TIMES = ("pareto", "exponential")
"""Distributions of on and off times."""
SHORTEST_CYCLE = 0.1
"""Smallest mean on and off time together, in packet intervals (chosen). Each on time has at least a
packet, so that far shorter ones would exceed the rate."""


def on_application(flow: Any, now: int) -> int:
    """Offer one packet (`flow.offered`) at `now` (ps), and schedule the next action.

    With sessions, the first call offers nothing; it only schedules the end of a random gap.

    Returns:
        NEW_CONNECTION for the first packet of a transfer, else CONTINUED.
    """
    if flow.gap > 0.0 and flow.on_until < 0:
        flow.on_until = 0
        flow.app_at = now + picoseconds(exponential(flow, flow.gap)) + 1
        return CONTINUED
    starts = flow.left == 0
    if starts:
        flow.left = transfer_size(flow) if flow.gap > 0.0 else ENDLESS
        flow.on_until = now + picoseconds(random_duration(flow, flow.on))
    flow.offered += 1
    flow.left -= 1
    schedule_next(flow, now)
    return NEW_CONNECTION if starts else CONTINUED


def random_duration(flow: Any, mean: float) -> float:
    """Random on or off time, s, with the mean `mean` (s) and the flow's distribution."""
    if flow.memoryless:
        return exponential(flow, mean)
    return pareto(flow, mean, flow.tail_index)


def schedule_next(flow: Any, now: int) -> None:
    """Set `flow.app_at`, the time of the next packet after `now`; both in ps.

    It comes after an interval, or after an off time if the on time has ended; NEVER if the
    transfer is complete.
    """
    next_at = now + picoseconds(flow.interval)
    if flow.left == 0:
        next_at = NEVER
    elif next_at > flow.on_until:
        next_at = flow.on_until + picoseconds(random_duration(flow, flow.off))
        flow.on_until = next_at + picoseconds(random_duration(flow, flow.on))
    flow.app_at = next_at


def on_finished(flow: Any, now: int) -> None:
    """After the last ACK of a transfer, at `now` (ps), start a random gap before the next one.

    It does nothing while the transfer still has packets that have not been offered.
    """
    if flow.left == 0:
        flow.finished += 1
        flow.app_at = now + picoseconds(exponential(flow, flow.gap)) + 1


@dataclass(frozen=True)
class OnOff(TrafficSource):
    """A constant rate during on times, with random on and off times.

    >>> OnOff(on=0.03, off=0.07, rate=100.0).shape
    1.5
    """

    name: ClassVar[str] = "on_off"
    sources: ClassVar[tuple[str, ...]] = (
        "Willinger, Taqqu, Sherman and Wilson, IEEE/ACM ToN 5(1), 1997",
        "Weigle and Feng, LA-UR-01-3420, 2001, section 3",
    )

    on: Annotated[Delay, Positive]
    """Mean on time."""
    off: Annotated[Delay, Positive]
    """Mean off time."""
    rate: Annotated[PacketsPerSecond, Positive]
    """Rate at which packets are offered to TCP during on times."""
    shape: Annotated[Share, Gt(1), HEAVIEST] = 1.5
    """Shape of the Pareto distributions; above 1, so that the means exist."""
    times: str = "pareto"
    """Distribution of on and off times: pareto or exponential. Sizes of transfers are Pareto."""
    mean_gap: Annotated[Seconds, Positive] | None = None
    """Mean time from the end of a transfer to the start of the next; None: no sessions."""
    mean_size: Annotated[Megabytes, Positive] | None = None
    """Mean size of a transfer, in 1 000 000 bytes; given if and only if `mean_gap` is."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of(self, "times", TIMES)
        numbers = (self.on, self.off, self.rate)
        if all(map(is_concrete, numbers)) and (self.on + self.off) * self.rate < SHORTEST_CYCLE:
            allowed = f"with off at least a tenth of a packet's interval at rate ({self.rate:.4g})"
            raise InvalidInput("OnOff", "on", allowed, self.on)
        session = {"mean_gap": self.mean_gap, "mean_size": self.mean_size}
        missing = [name for name, value in session.items() if value is None]
        if len(missing) == 1:
            (given,) = session.keys() - missing
            raise InvalidInput("OnOff", missing[0], f"given with {given}", Words("missing"))

    def rate_limit(self, packet_bytes: int) -> float:
        """Mean rate of packets over on and off times during a transfer, packets/s.

        `packet_bytes` is not used.
        """
        return self.rate * self.on / (self.on + self.off)

    def action_rate(self, packet_bytes: int) -> float:
        """Largest mean rate of the events of a flow's application in a packet run, 1/s.

        At an event it offers a packet to TCP, or starts an on time or a transfer. Each on time has
        at least one packet. Most Pareto times are little longer than the shortest.

        Args:
            packet_bytes: size of a packet, bytes.
        """
        shortest = 1.0 if self.times == "exponential" else (self.shape - 1) / self.shape
        cycles = 1 / (shortest * (self.on + self.off))
        return super().action_rate(packet_bytes) + cycles

    def mean_transfer_size(self, packet_bytes: int) -> float:
        """Mean number of packets in a transfer, each size rounded up; infinite without sessions.

        Args:
            packet_bytes: size of a packet, bytes.
        """
        return (
            mean_transfer(self.mean_size, packet_bytes) if self.mean_size is not None else math.inf
        )

    def initial_transfers(self) -> float:
        """Number of active transfers of a flow at its start: 1, or 0 if it has sessions.

        A flow with sessions starts with a gap, not with a transfer.
        """
        return 1.0 if self.mean_gap is None else 0.0

    def arrival_rate(self, transfers: Any) -> Any:
        """Rate at which a flow's new transfers arrive, 1/s: (1 - `transfers`) / `mean_gap`.

        `transfers` is the fraction of time with an active transfer. Zero without sessions.
        """
        return 0.0 * transfers if self.mean_gap is None else (1 - transfers) / self.mean_gap

    @property
    def rules(self) -> SourceRules:
        """The packet simulator's rules, which offer single packets during on times."""
        return SourceRules(on_application, on_finished, {"on_until": -1, "left": 0})

    def packet_parameters(self, packet_bytes: int) -> dict[str, float]:
        """Numbers that the packet rules read from the flow's record, by field name.

        Mean times `on`, `off` and `gap`, and the `interval` between packets, s; `tail_index`, the
        shape; `memoryless`, 1 for exponential times, else 0; mean `transfer`, packets. Without
        sessions `gap` and `transfer` are 0.
        """
        return {
            "on": float(self.on),
            "off": float(self.off),
            "interval": 1 / self.rate,
            "tail_index": float(self.shape),
            "memoryless": int(self.times == "exponential"),
            "gap": float(self.mean_gap or 0),
            "transfer": (self.mean_size or 0) * BYTES / packet_bytes,
        }
