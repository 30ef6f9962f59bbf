"""The edges of two dimensionless charts of stability: Reno over RED, and Vegas by itself.

Reno over a queue that marks, and averages at a rate K: with z = s R its characteristic function is

    (z + (1 + e^-z) / W) (z + 1) + (1 - e^-z) / W + A K R / (z + K R) e^-z,   A = N p' / p

so that its window W, its gain A and K R decide: it is stable up to A_c(W, K R). Of a straight curve
that begins at min_thresh A = N / (q - min_thresh), so that without averaging, and with large
windows, each flow has to hold some 0.88 packets of queue above it. Where packets are dropped and
not marked, (1 - p) e^-z + p (W z + 1 + e^-z) stands for e^-z: p W = 2 / W is not little.

Vegas without losses, whose step a round trip falls by G for each packet of backlog; t = T/R:

    (z + G (1 - t)) (z + 1) + G t e^-z

With z = i w on its edge, G (1 - t) and G t follow from w: the edge runs from t = 1, G = 1.135, to
t = 0.6934, G infinite, and on its way bulges to t = 0.6813. So Vegas is stable up to G_c(t), below
0.6813 for any G (where q / C is above 0.468 T); and between the two for small G and for large.
(Roots of higher frequencies come later: their edges have t above 0.88 and gains above 40.)

Source:
    Both charts: derived for this project.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar, root_scalar

from vegasfluid.errors import InvalidInput

__all__ = ["ALWAYS_STABLE", "EDGE_BEGINS", "EDGE_ENDS", "STEEP_STABLE", "Edge", "RenoPoint"]
__all__ += ["VegasPoint", "reno_critical_gain", "vegas_critical_gain", "vegas_edge"]
__all__ += ["vegas_unstable_gains", "zero"]


def zero(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function of a frequency is zero."""
    return root_scalar(function, bracket=(low, high), xtol=1e-15).root


FREQUENCIES = np.geomspace(1e-6, 4.0, 2000)
"""Where a first crossing is looked for, in units of 1/R."""
EDGE_BEGINS = zero(lambda omega: omega * math.tan(omega) - 1, 0.5, 1.5)
EDGE_ENDS = zero(lambda omega: omega + math.atan(omega) - math.pi, 1.0, 3.0)
"""Where the edge of Vegas's chart begins, at T/R = 1, and where it leaves for infinite gains."""


class Edge(NamedTuple):
    """A point on the edge of Vegas's chart.

    Args:
        rtt_ratio: T/R.
        gain: G, 1/packets.
    """

    rtt_ratio: float
    gain: float


def vegas_edge(omega: float) -> Edge:
    """Where Vegas by itself has a root at i omega / R.

    Args:
        omega: from EDGE_BEGINS to below EDGE_ENDS.

    >>> f"{vegas_edge(1.0).rtt_ratio:.4f}, {vegas_edge(1.0).gain:.4f}"
    '0.8691, 1.6654'
    """
    late = omega * (1 + omega**2) / (omega * math.cos(omega) + math.sin(omega))
    gain = omega**2 + late * (1 - math.cos(omega))
    return Edge(late / gain, gain)


BETWEEN: Any = {"bounds": (EDGE_BEGINS, EDGE_ENDS), "options": {"xatol": 1e-10}}
FOUND: Any = minimize_scalar(lambda omega: vegas_edge(omega).rtt_ratio, **BETWEEN)
BULGE = FOUND.x
ALWAYS_STABLE = vegas_edge(BULGE).rtt_ratio
"""T/R up to which a Vegas is stable whatever its gain: 0.68131."""
STEEP_STABLE = vegas_edge(EDGE_ENDS).rtt_ratio
"""T/R up to which it is where its gain is large enough: 0.69342."""


def reno_critical_gain(
    cwnd: float = math.inf, averaging: float = math.inf, drop_prob: float = 0.0
) -> float:
    """The gain A_c up to which Reno over RED is stable; infinite where it always is.

    Of windows below some 5 packets that lose packets, much larger gains may be stable again.

    Args:
        cwnd: W, packets.
        averaging: K R, the rate at which the queue is averaged times the round-trip time;
            infinite without averaging.
        drop_prob: share of packets that are dropped; 0 where they are marked.

    Raises:
        InvalidInput: where one of the first two is not above 0.

    >>> [round(reno_critical_gain(cwnd), 3) for cwnd in (5, 50, float("inf"))]
    [1.608, 1.184, 1.135]
    """
    for name, value in (("cwnd", cwnd), ("averaging", averaging)):
        if not value > 0:
            raise InvalidInput("reno_critical_gain", name, "above 0", value)
    lost = drop_prob * cwnd if drop_prob else 0.0

    def parts(omega: Any) -> Any:
        z = 1j * omega
        late = np.exp(-z)
        own = z + (1 + late) / cwnd
        told = ((1 - drop_prob) * late + lost * own) / (1 + z / averaging)
        return own * (z + 1) + (1 - late) / cwnd, told

    def product(omega: Any) -> Any:
        own, told = parts(omega)
        return -own * np.conj(told)

    values = product(FREQUENCIES)
    turns = np.flatnonzero((values.imag[:-1] * values.imag[1:] <= 0) & (values.real[1:] > 0))
    if not turns.size:
        return math.inf
    low, high = FREQUENCIES[turns[0] : turns[0] + 2]
    own, told = parts(zero(lambda omega: product(omega).imag, low, high))
    return float((-own / told).real)


def vegas_unstable_gains(rtt_ratio: float) -> tuple[float, float]:
    """The gains between which Vegas by itself oscillates, 1/packets; infinite where none is.

    Args:
        rtt_ratio: T/R, the part of the round-trip time that is no queue, above 0, at most 1.

    Raises:
        InvalidInput: for a ratio beyond that.

    >>> [tuple(round(gain, 3) for gain in vegas_unstable_gains(of)) for of in (0.9, 0.69, 0.6)]
    [(1.497, inf), (7.399, 122.257), (inf, inf)]
    """
    if not 0 < rtt_ratio <= 1:
        raise InvalidInput("vegas_unstable_gains", "rtt_ratio", "above 0, at most 1", rtt_ratio)
    if rtt_ratio <= ALWAYS_STABLE:
        return math.inf, math.inf

    def beyond(omega: float) -> float:
        return vegas_edge(omega).rtt_ratio - rtt_ratio

    first = zero(beyond, EDGE_BEGINS, BULGE) if beyond(EDGE_BEGINS) > 0 else EDGE_BEGINS
    steep = rtt_ratio < STEEP_STABLE
    last = vegas_edge(zero(beyond, BULGE, EDGE_ENDS)).gain if steep else math.inf
    return vegas_edge(first).gain, last


def vegas_critical_gain(rtt_ratio: float) -> float:
    """The gain G_c up to which Vegas by itself is stable, 1/packets; infinite where any is.

    Args:
        rtt_ratio: as for `vegas_unstable_gains`.

    >>> [round(vegas_critical_gain(ratio), 3) for ratio in (1.0, 0.9, 0.68)]
    [1.135, 1.497, inf]
    """
    return vegas_unstable_gains(rtt_ratio)[0]


class RenoPoint(NamedTuple):
    """A network's place in the chart of Reno over RED.

    Args:
        cwnd: W, packets.
        gain: A = N p' / p.
        averaging: K R; infinite without averaging.
        drop_prob: share of packets that are dropped; 0 where they are marked.
    """

    cwnd: float
    gain: float
    averaging: float
    drop_prob: float = 0.0

    @property
    def critical(self) -> float:
        """The gain up to which it would be stable."""
        return reno_critical_gain(self.cwnd, self.averaging, self.drop_prob)

    @property
    def stable(self) -> bool:
        """Whether it is."""
        return self.gain < self.critical


class VegasPoint(NamedTuple):
    """A network's place in the chart of Vegas.

    Args:
        rtt_ratio: T/R.
        gain: G, by which a round trip's step falls for each packet of backlog.
        losses: what losses take of a window in a round trip, packets, which the chart leaves out.
    """

    rtt_ratio: float
    gain: float
    losses: float

    @property
    def critical(self) -> float:
        """The gain up to which it would be stable."""
        return vegas_critical_gain(self.rtt_ratio)

    @property
    def stable(self) -> bool:
        """Whether it is."""
        low, high = vegas_unstable_gains(self.rtt_ratio)
        return self.gain < low or self.gain > high
