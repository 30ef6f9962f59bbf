"""Networks with CUBIC, HighSpeed or Scalable TCP as competitors, ten (or four) flows of each.

Three for each: RED and drop-tail at 155 Mbit/s and 30 ms, and RED at 600 Mbit/s with four flows of
each, whose windows are large enough for the competitor to differ from Reno.
"""

from __future__ import annotations

from benchmarks.tuning.networks import PACKET_BYTES, TUNED, Untuned
from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.network import Flows, Link, Network, UniformStart
from vegasfluid.quantities import mbps, ms

__all__ = ["rivals"]

LAWS = {"cubic": Cubic(), "highspeed": HighSpeed(), "scalable": Scalable()}
"""Congestion controls that compete with Vegas."""
UNTIL = 60.0
"""Simulated time, s."""
WARMUP = 20.0
"""Time that means leave out, s."""


def red(buffer: float) -> Red:
    """Return RED with thresholds at a fifth and four fifths of the buffer (packets)."""
    return Red(min_thresh=buffer / 5, max_thresh=4 * buffer / 5, max_drop=0.1)


def network_with(
    law: CongestionControl, megabits: float, buffer: float, queue: QueueDiscipline, flows: int
) -> Network:
    """Return a network with `flows` flows of each of two classes."""
    capacity = mbps(megabits, PACKET_BYTES)
    common = {
        "base_rtt": ms(30),
        "access": mbps(1000, PACKET_BYTES),
        "start": UniformStart(1.0),
        "send_overhead": 1 / capacity if isinstance(queue, DropTail) else 0.0,
    }
    classes = {
        "other": Flows(flows, law, **common),
        TUNED: Flows(flows, Vegas(dialect="ns2"), **common),
    }
    return Network(Link(capacity, buffer, queue), classes, PACKET_BYTES)


def rivals() -> list[Untuned]:
    """Return Vegas with each competitor on three links."""
    links = {
        "red": (155.0, 3000.0, red(3000.0), 10),
        "droptail": (155.0, 600.0, DropTail(), 10),
        "fast": (600.0, 6000.0, red(6000.0), 4),
    }
    return [
        Untuned(f"rival_{name}_{link}", network_with(law, *parameters), UNTIL, WARMUP)
        for name, law in LAWS.items()
        for link, parameters in links.items()
    ]
