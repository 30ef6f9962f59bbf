"""Warnings about networks that are valid but probably not what was meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vegasfluid.network.link import Link
from vegasfluid.quantities import is_concrete, mbps

__all__ = ["implausible_times", "small_buffers", "weak_access"]

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


def weak_access(links: Mapping[str, Link], access_rates: Iterable[Any]) -> Iterator[str]:
    """Yield one sentence if the access links together are slower than the slowest link.

    Args:
        links: the links by name.
        access_rates: for each class the sum of its flows' access rates, packets/s; infinite where
            the access links have no limit.
    """
    slowest = min(link.capacity for link in links.values())
    if below(sum(access_rates), slowest):
        yield "the access links together cannot fill the link."


def small_buffers(links: Mapping[str, Link]) -> Iterator[str]:
    """Sentences on links whose buffer is smaller than the upper threshold of the AQM."""
    for name, link in links.items():
        high = link.aqm.upper_threshold
        if high is not None and below(link.buffer, high):
            which = "" if len(links) == 1 else f" of {name}"
            yield f"the buffer{which} is full before the AQM's upper threshold is reached."


def below(a: Any, b: Any) -> bool:
    """Whether `a` and `b` are both plain numbers (not traced) and `a` is smaller."""
    return is_concrete(a) and is_concrete(b) and a < b
