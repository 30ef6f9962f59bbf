"""48 generated networks that cover those an operator may have.

A Latin hypercube of small discrepancy over 5-600 Mbit/s, 5-150 ms, 4-100 flows, the fraction of
Vegas flows, buffers, thresholds and max_drop of 0.05-1. The first coordinate numbers the networks:
two of three have RED and one has drop-tail; every second one has mixed round-trip times of 0.5, 1
and 2 times the middle one; after every six the loss recovery of the senders changes. Sizes depend
on each other as in `benchmarks.design`: a queue holds two packets of each flow (three with
drop-tail), and max_drop reaches what Reno needs for an equal share. With drop-tail a sender waits
up to one packet time before it sends, against phase effects.

Slow start is limited only by the largest window of the path: it overshoots, as on most hosts. A run
takes ROUNDS times as many round trips as a fair window has packets, or FEWEST_PACKETS, between
SHORTEST and LONGEST, and at most MOST_PACKETS.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from scipy.stats import qmc

from benchmarks.design import (
    between,
    drop_tail,
    needed_drops,
    own_count,
    rounded,
    thresholds,
    weight,
)
from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.network import Flows, Link, Network, UniformStart
from vegasfluid.quantities import mbps, ms

__all__ = ["COUNT", "PACKET_BYTES", "TUNED", "Untuned", "untuned"]

COUNT, CHOICE = 48, 2026
"""Number of networks, and seed of the design."""
TUNED, PACKET_BYTES = "vegas", 1500
MIXED = (0.5, 1.0, 2.0)
"""Round trips, in units of the middle one."""
ROUNDS, SHORTEST, LONGEST, FEWEST_PACKETS, MOST_PACKETS = 40, 100.0, 1200.0, 5e5, 6e6
RECOVERIES = ("reno", "newreno", "sack")


class Point(NamedTuple):
    """A point of the design; each coordinate from 0 to 1."""

    number: float
    bandwidth: float
    propagation: float
    flows: float
    share: float
    queue_size: float
    reach: float
    max_drop: float
    averaging: float
    gentle: float


class Untuned(NamedTuple):
    """A network with the defaults of ns-2's Vegas, and the duration of its run.

    Args:
        name: name with the network's properties.
        network: network with the classes `reno` and `vegas`.
        until: simulated time, s.
        warmup: time that the means leave out, s.
    """

    name: str
    network: Network
    until: float
    warmup: float


def queue_of(point: Point, pipe: float, flows: int, tail: bool) -> tuple[QueueDiscipline, float]:
    """Return queue discipline and buffer, packets."""
    if tail:
        queue = drop_tail(point.queue_size, pipe, flows)
        return queue.law, queue.buffer
    low, high = thresholds(point.queue_size, point.reach, pipe, flows)
    least = needed_drops((pipe + high) / flows)
    law = Red(
        min_thresh=round(low),
        max_thresh=round(high),
        max_drop=between(point.max_drop, max(0.05, least), 1.0),
        weight=weight(point.averaging, pipe, low),
        gentle=point.gentle < 0.5,
    )
    return law, 3.0 * law.max_thresh


def network_at(point: Point) -> Untuned:
    """Return the network of a point."""
    number = int(COUNT * point.number)
    tail, mixed = number % 3 == 2, number % 2 == 1
    megabits = rounded(between(point.bandwidth, 5, 600))
    rtt = ms(rounded(between(point.propagation, 5, 150)))
    capacity = mbps(megabits, PACKET_BYTES)
    pipe = capacity * rtt
    flows = round(between(point.flows, 4, 100))
    vegas_count = own_count(point.share, flows)
    law, buffer = queue_of(point, pipe, flows, tail)
    recovery = RECOVERIES[number // 6 % len(RECOVERIES)]
    laws = {
        "reno": (flows - vegas_count, Reno(recovery=recovery)),
        TUNED: (vegas_count, Vegas(dialect="ns2")),
    }
    classes = {
        name: Flows(
            count,
            law_of_class,
            base_rtt=tuple(rtt * MIXED[n % len(MIXED)] for n in range(count)) if mixed else rtt,
            start=UniformStart(1.0),
            send_overhead=1 / capacity if tail else 0.0,
        )
        for name, (count, law_of_class) in laws.items()
    }
    window, trip = (pipe + buffer / 2) / flows, rtt + buffer / 2 / capacity
    until = max(ROUNDS * window * trip, SHORTEST, FEWEST_PACKETS / capacity)
    until = min(until, LONGEST, MOST_PACKETS / capacity)
    kind = "mixed" if mixed else "alike"
    name = f"{number:02d}_{law.name}_{kind}_{megabits:g}Mbps_{1e3 * rtt:g}ms_"
    name += f"{flows - vegas_count}+{vegas_count}"
    network = Network(Link(capacity, buffer, law), classes, PACKET_BYTES)
    return Untuned(name, network, float(round(until)), float(round(until / 3)))


@cache
def untuned() -> list[Untuned]:
    """Return all networks, by number."""
    cube = qmc.LatinHypercube(len(Point._fields), optimization="random-cd", rng=CHOICE)
    networks = [network_at(Point(*map(float, row))) for row in cube.random(COUNT)]
    return sorted(networks, key=lambda network: network.name)
