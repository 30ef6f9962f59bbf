"""Sessions: transfers of Pareto size with exponential gaps, each over a new connection.

Sources:
    E. Weigle and W. Feng, LA-UR-01-3420, 2001, section 3 ("no packet spacing": all packets of a
    transfer are offered to TCP at once). Overlapping sessions are the cross traffic of W. Feng and
    P. Tinnakornsrisuphap, SC 2000: they arrive as a Poisson process, independently of TCP.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Gt

from vegasfluid.clock import NEVER, picoseconds
from vegasfluid.limits import Smallest
from vegasfluid.quantities import Megabytes, Positive, Seconds, Share
from vegasfluid.traffic.base import (
    CONTINUED,
    NEW_CONNECTION,
    SourceRules,
    TrafficSource,
)
from vegasfluid.traffic.random_variates import exponential, pareto

__all__ = ["BYTES", "HEAVIEST", "Sessions", "mean_transfer", "transfer_size"]

BYTES = 1e6
"""Bytes per MB."""
HEAVIEST = Smallest(1.01, "with a smaller shape no run is long enough for the mean", or_zero=False)
"""Smallest shape of a Pareto distribution: with it 99 % of the variates are below the mean."""
LARGEST = 1e9
"""Largest size of a transfer, packets (chosen: more than any run sends)."""


def transfer_size(flow: Any) -> int:
    """Random size of a transfer: whole packets, at least 1 and at most 1e9 + 1.

    It is a Pareto variate with the mean `transfer` (packets) and the shape `tail_index` of the
    flow's record, rounded up.
    """
    return int(min(pareto(flow, flow.transfer, flow.tail_index), LARGEST)) + 1


def mean_transfer(megabytes: float, packet_bytes: int) -> float:
    """Mean number of packets in a transfer; rounding each size up adds about one half.

    Args:
        megabytes: mean size, MB (1 000 000 bytes).
        packet_bytes: size of a packet, bytes.
    """
    return megabytes * BYTES / packet_bytes + 0.5


def on_application(flow: Any, now: int) -> int:
    """Count a session that arrives at `now` (ps), and start one if the flow has none active.

    The first call only schedules the first session. With overlapping sessions each arrival
    schedules the next one. All packets of a session that starts are added to `flow.offered`.

    Returns:
        NEW_CONNECTION if a session starts, else CONTINUED.
    """
    if flow.arrives_at < 0:
        flow.arrives_at = now + picoseconds(exponential(flow, flow.gap))
    elif now >= flow.arrives_at:
        flow.arrived += 1
        flow.arrives_at = NEVER
        if flow.overlapping:
            flow.arrives_at = now + picoseconds(exponential(flow, flow.gap)) + 1
    flow.app_at = flow.arrives_at
    if flow.busy or flow.arrived == 0:
        return CONTINUED
    flow.arrived -= 1
    flow.busy = 1
    flow.offered += transfer_size(flow)
    return NEW_CONNECTION


def on_finished(flow: Any, now: int) -> None:
    """End a session whose last ACK comes at `now` (ps), and schedule what follows.

    With overlapping sessions, a waiting session starts at once. Otherwise the next session comes
    after a random gap.
    """
    flow.busy = 0
    flow.finished += 1
    if not flow.overlapping:
        flow.arrives_at = now + picoseconds(exponential(flow, flow.gap)) + 1
        flow.app_at = flow.arrives_at
    elif flow.arrived > 0:
        flow.app_at = now


@dataclass(frozen=True)
class Sessions(TrafficSource):
    """Transfers whose packets are offered to TCP at once ("no packet spacing").

    >>> Sessions(mean_gap=0.5, mean_size=10.0).shape
    1.5
    """

    name: ClassVar[str] = "sessions"
    sources: ClassVar[tuple[str, ...]] = (
        "Weigle and Feng, LA-UR-01-3420, 2001, section 3",
        "Feng and Tinnakornsrisuphap, SC 2000 (overlapping)",
    )

    mean_gap: Annotated[Seconds, Positive]
    """Mean time from a transfer's end to the next start; between arrivals if `overlapping`."""
    mean_size: Annotated[Megabytes, Positive]
    """Mean size of a transfer, in 1 000 000 bytes."""
    shape: Annotated[Share, Gt(1), HEAVIEST] = 1.5
    """Shape of the sizes' Pareto distribution; above 1, so that the mean exists."""
    overlapping: bool = False
    """Whether sessions arrive independently and wait while another of the flow is active."""

    def mean_transfer_size(self, packet_bytes: int) -> float:
        """Mean number of packets in a transfer, of `packet_bytes` bytes, each size rounded up."""
        return mean_transfer(self.mean_size, packet_bytes)

    def initial_transfers(self) -> float:
        """Number of active transfers of a flow at its start: 0, as it begins with a gap."""
        return 0.0

    def arrival_rate(self, transfers: Any) -> Any:
        """Rate at which a flow's new transfers arrive, 1/s.

        With overlapping sessions it is 1 / `mean_gap`. Otherwise it is (1 - `transfers`) /
        `mean_gap`, as a gap begins when a transfer ends; `transfers` is then the fraction of time
        with an active transfer.
        """
        return (1.0 + 0.0 * transfers if self.overlapping else 1 - transfers) / self.mean_gap

    def busy_fraction(self, transfers: Any) -> Any:
        """Fraction of time in which a flow has an active transfer, 0 to 1.

        It is n, the mean number of `transfers` that are active or waiting. With overlapping
        sessions it is n / (1 + n), as in an M/M/1 queue.
        """
        return transfers / (1 + transfers) if self.overlapping else transfers

    @property
    def rules(self) -> SourceRules:
        """The packet simulator's functions for when a session comes, and what follows its last ACK.

        A session offers all packets of a transfer of random size at once, over a new connection.
        The next one comes a random gap after the last ACK. If `overlapping`, sessions come
        independently of transfers, and wait while another one is active.
        """
        state = {"arrives_at": -1, "arrived": 0, "busy": 0}
        return SourceRules(on_application, on_finished, state)

    def packet_parameters(self, packet_bytes: int) -> dict[str, float]:
        """Numbers that the packet rules read from the flow's record, by field name.

        Mean `gap`, s; mean `transfer`, packets; `tail_index` (shape); `overlapping` as 0 or 1.
        """
        return {
            "gap": float(self.mean_gap),
            "transfer": self.mean_size * BYTES / packet_bytes,
            "tail_index": float(self.shape),
            "overlapping": int(self.overlapping),
        }
