"""Times that no real network has: hints that a number was given in another unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vegasfluid.network.link import Link
from vegasfluid.quantities import is_concrete, mbps

__all__ = ["implausible_times"]

LONGEST_TIME = 10.0
"""Longest plausible round trip without queues, or time in which a link sends a full buffer, s
(chosen: a round trip to the Moon takes 2.6 s, and queues of several seconds have been measured)."""


def implausible_times(
    links: Mapping[str, Link], base_rtts: Mapping[str, tuple[float, ...]], packet_bytes: int
) -> Iterator[str]:
    """Sentences on base RTTs, and on times to send a full buffer, of more than 10 s.

    Args:
        links: the links by name.
        base_rtts: base RTT of each flow, by class, s.
        packet_bytes: size of a data packet, bytes.

    >>> list(implausible_times({"a": Link(10, 200)}, {}, 1500))
    ['a takes 20 s to send a full buffer at 10 packets/s (0.12 Mbit/s); were Mbit/s meant?']
    >>> list(implausible_times({}, {"reno": (40.0, 0.04)}, 1500))
    ['reno has a base RTT of 40 s; were milliseconds meant?']
    """
    for name, link in links.items():
        if not (is_concrete(link.capacity) and is_concrete(link.buffer)):
            continue
        if (full := link.buffer / link.capacity) > LONGEST_TIME:
            megabits = link.capacity / mbps(1.0, packet_bytes)
            rate = f"{link.capacity:.4g} packets/s ({megabits:.4g} Mbit/s)"
            yield f"{name} takes {full:.4g} s to send a full buffer at {rate}; were Mbit/s meant?"
    for name, times in base_rtts.items():
        longest = max(filter(is_concrete, times), default=0.0)
        if longest > LONGEST_TIME:
            yield f"{name} has a base RTT of {longest:.4g} s; were milliseconds meant?"
