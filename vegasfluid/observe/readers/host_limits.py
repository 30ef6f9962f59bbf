"""Time in which the hosts limited a flow: the receiver's window, or the sender's buffer.

Linux counts the time in which a connection had data to send (`busy`), and the parts of it in which
the receiver's window (`rwnd_limited`) or the send buffer (`sndbuf_limited`) stopped it. Congestion
control does not set the rate then, and the flow may not fill the link.

Sources:
    iproute2 6.1, misc/ss.c: `tcp_stats_print`; Linux 6.1, net/ipv4/tcp.c:
    `tcp_get_info_chrono_stats`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["TIMES", "HostLimits", "limits_note"]

BUSY = "busy"
"""Word of `ss` for the time with data to send."""
LIMITED = ("rwnd_limited", "sndbuf_limited")
"""Words for its parts in which the receiver's window or the send buffer stopped the connection."""
TIMES = (BUSY, *LIMITED)
"""Words with times in ms, such as `busy:1200ms` and `rwnd_limited:300ms(25.0%)`."""
NOTED = 0.05
"""Fraction of the busy time from which on a limited flow is noted (chosen)."""


class HostLimits:
    """Times of one connection in its first and its last listing."""

    def __init__(self) -> None:
        self.first: tuple[float, float] | None = None
        self.last = (0.0, 0.0)

    def add(self, values: Mapping[str, float]) -> None:
        """Add a listing: times in ms by word. `ss` leaves out those that are 0."""
        self.last = (values.get(BUSY, 0.0), sum(values.get(name, 0.0) for name in LIMITED))
        self.first = self.last if self.first is None else self.first

    @property
    def fraction(self) -> float:
        """Fraction of the time with data to send in which the hosts limited the connection.

        It is that between the first and the last listing or, with one listing, since the connection
        began.
        """
        busy, limited = self.last
        before = self.first or (0.0, 0.0)
        if busy > before[0]:
            busy, limited = busy - before[0], limited - before[1]
        return limited / busy if busy > 0 else 0.0


def limits_note(source: str, limits: Iterable[HostLimits]) -> list[str]:
    """The note on limited flows, in a list; an empty list if hosts limited none of them.

    Args:
        source: name of the file.
        limits: times of each flow.
    """
    fractions = [each.fraction for each in limits]
    limited = [fraction for fraction in fractions if fraction >= NOTED]
    if not limited:
        return []
    return [
        f"{source}: hosts limited {len(limited)} of {len(fractions)} flows, for up to"
        f" {max(limited):.0%} of the time (receiver's window or send buffer): their rates and"
        " windows do not show congestion control alone, and may not fill the link. Larger buffers"
        " help: net.ipv4.tcp_rmem at the receiver, net.ipv4.tcp_wmem at the sender."
    ]
