"""Random networks for the soak test: all congestion controls and queues, sizes far apart.

The number of a network determines it, so that one can be examined alone. Rates, round-trip times
and numbers of flows are uniform on logarithmic scales; buffers and thresholds are fractions of what
the path holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.newreno import NewReno
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.congestion.vegas import DIALECTS, Vegas
from vegasfluid.congestion.vegas_rerouting import VegasRerouting
from vegasfluid.network import Flows, Link, Network, UniformStart
from vegasfluid.quantities import mbps, ms

__all__ = ["SEED", "Drawn", "drawn"]

SEED = 30
"""Seed of all networks."""
LOSS_BASED = (Reno, NewReno, Cubic, HighSpeed, Scalable)
"""Congestion controls that respond to losses only."""
MEGABITS = (1.0, 1000.0)
"""Range of the capacity, Mbit/s."""
MILLISECONDS = (1.0, 300.0)
"""Range of base RTTs, ms."""
FLOWS = (1, 200)
"""Range of the number of flows."""
APART = 3.0
"""Largest factor between the RTTs of a network's classes."""
EPOCHS = 12
"""Duration of a run in units of the time in which Reno's window grows by half a fair window."""
SHORTEST = 20.0
"""Shortest run, s."""
LONGEST = 200.0
"""Longest run, s."""
MOST_PACKETS = 4e6
"""Largest number of packets of a run that is longer than the shortest."""


class Drawn(NamedTuple):
    """A random network, and the duration of its run.

    Args:
        number: number of the network.
        network: random network.
        until: simulated time, s.
        warmup: time that means leave out, s.
    """

    number: int
    network: Network
    until: float
    warmup: float


class Draw:
    """Random numbers of one network."""

    def __init__(self, number: int) -> None:
        self.random = np.random.default_rng([SEED, number])

    def log(self, low: float, high: float) -> float:
        """Return a number that is uniform on a logarithmic scale."""
        return float(np.exp(self.random.uniform(np.log(low), np.log(high))))

    def yes(self, probability: float = 0.5) -> bool:
        """Return True with a probability."""
        return bool(self.random.random() < probability)

    def split(self, total: int, parts: int) -> list[int]:
        """Return a number of flows split at random into parts of at least one."""
        cuts = np.sort(self.random.choice(np.arange(1, total), parts - 1, replace=False))
        return np.diff([0, *cuts, total]).astype(int).tolist()


def drawn(number: int) -> Drawn:
    """Return the network of a number."""
    draw = Draw(number)
    capacity, base = mbps(draw.log(*MEGABITS)), draw.log(*MILLISECONDS)
    total = round(draw.log(*FLOWS))
    parts = min(int(draw.random.integers(1, 4)), total)
    rtts = [ms(base)] + [ms(rtt_near(draw, base)) for _ in range(parts - 1)]
    pipe = capacity * float(np.mean(rtts))
    buffer = float(round(max(10.0, draw.log(0.3, 3.0) * pipe, 2.0 * total * draw.yes(0.8))))
    link = Link(capacity, buffer, red(draw, buffer) if draw.yes() else DropTail())
    window = (pipe + buffer / 2) / total
    flows = {}
    for index, (count, rtt) in enumerate(zip(draw.split(total, parts), rtts, strict=True)):
        law = law_of(draw, buffer / 2 / total)
        flows[f"{law.name}{index}"] = Flows(
            count,
            law,
            base_rtt=rtt,
            ecn=draw.yes(0.8),
            start=UniformStart(1.0),
            initial_ssthresh=max(2.0, window / 2) if draw.yes() else 1e9,
        )
    trip = (pipe + buffer / 2) / capacity
    until = min(max(EPOCHS * window / 2 * trip, SHORTEST), LONGEST)
    until = max(min(until, MOST_PACKETS / capacity), SHORTEST)
    return Drawn(number, Network(link, flows), until, until / 4)


def rtt_near(draw: Draw, base: float) -> float:
    """Return the RTT of another class, ms: the same, or one within a factor of 3."""
    if draw.yes(1 / 3):
        return base
    return float(np.clip(draw.log(base / APART, base * APART), *MILLISECONDS))


def red(draw: Draw, buffer: float) -> QueueDiscipline:
    """Return RED with thresholds within a buffer; half of them mark."""
    low = draw.log(0.05, 0.3) * buffer
    return Red(
        min_thresh=max(low, 2.0),
        max_thresh=max(low, 2.0) * draw.log(1.5, 3.0),
        max_drop=draw.log(0.02, 1.0),
        weight=draw.log(0.0005, 0.1),
        gentle=draw.yes(),
        wait=draw.yes(),
        ecn=draw.yes(),
    )


def law_of(draw: Draw, fair: float) -> CongestionControl:
    """Return a congestion control: half are Vegas, with alpha around a fair backlog (packets)."""
    if draw.yes():
        return LOSS_BASED[int(draw.random.integers(len(LOSS_BASED)))]()
    if draw.yes(0.1):
        return VegasRerouting()
    alpha = max(1, round(draw.log(0.3, 2.0) * fair))
    width = int(draw.random.integers(0, 4))
    dialect = list(DIALECTS)[int(draw.random.integers(len(DIALECTS)))]
    return Vegas(alpha, alpha + width, dialect=dialect)
