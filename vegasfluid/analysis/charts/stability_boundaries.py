"""The stability boundaries of two dimensionless charts: Reno over RED, and Vegas without losses.

For Reno over a queue that marks by its average (rate K), with z = s R, the characteristic function
is

    (z + (1 + e^-z) / W) (z + 1) + (1 - e^-z) / W + A K R / (z + K R) e^-z,   A = N p' / p

It depends on the window W, the gain A and K R only, and is stable up to A_c(W, K R). For a linear
RED curve from min_thresh, A = N / (q - min_thresh). So without averaging and with large windows,
each flow needs about 0.88 packets of queue above min_thresh. Where packets are dropped instead of
marked, (1 - p) e^-z + p (W z + 1 + e^-z) replaces e^-z, because p W = 2 / W is not small.

For Vegas without losses, whose window grows by G packets less per round trip for each packet of
backlog, with t = T/R, it is

    (z + G (1 - t)) (z + 1) + G t e^-z

With z = i w on the boundary, w determines G (1 - t) and G t. The boundary goes from t = 1,
G = 1.135 to t = 0.6934, G infinite, with a fold at t = 0.6813. So Vegas is stable up to G_c(t). For
t below 0.6813 (q / C above 0.468 T) it is stable for any G, and between 0.6813 and 0.6934 for small
and for large G. (Roots of higher frequencies cross later: their boundaries have t above 0.88 and
gains above 40.)

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

__all__ = ["HIGHEST_FREQUENCY", "LOWEST_FREQUENCY", "STABLE_AT_ANY_GAIN", "STABLE_AT_HIGH_GAIN"]
__all__ += ["BoundaryPoint", "RenoPoint", "VegasPoint", "find_zero", "reno_critical_gain"]
__all__ += ["vegas_boundary", "vegas_critical_gain", "vegas_unstable_gains"]


def find_zero(function: Callable[[float], float], low: float, high: float) -> float:
    """The zero of a function between arguments `low` and `high`, at which its signs differ.

    The error is about 1e-15, relative or in the unit of the argument. If the signs are equal, SciPy
    raises a ValueError.
    """
    return root_scalar(function, bracket=(low, high), xtol=1e-15).root


FREQUENCIES = np.geomspace(1e-6, 4.0, 2000)
"""Grid of frequencies (units of 1/R) on which the first crossing of Reno's stability boundary is
bracketed."""
LOWEST_FREQUENCY = find_zero(lambda omega: omega * math.tan(omega) - 1, 0.5, 1.5)
"""Frequency, in units of 1/R, at which Vegas's boundary starts, at T/R = 1."""
HIGHEST_FREQUENCY = find_zero(lambda omega: omega + math.atan(omega) - math.pi, 1.0, 3.0)
"""Frequency, in units of 1/R, at which the gain of Vegas's boundary becomes infinite."""


class BoundaryPoint(NamedTuple):
    """A point on the stability boundary of Vegas's chart.

    Args:
        rtt_ratio: T/R, base RTT over round-trip time.
        gain: G, packets per round trip by which the window grows less for each packet of backlog.
    """

    rtt_ratio: float
    gain: float


def vegas_boundary(omega: float) -> BoundaryPoint:
    """The point of Vegas's stability boundary where the loop oscillates at a frequency omega / R.

    Args:
        omega: frequency in units of 1/R (R is the round-trip time), from LOWEST_FREQUENCY to below
            HIGHEST_FREQUENCY; other values are not rejected but have no meaning.

    Returns:
        Base RTT over RTT, and the gain, packets per RTT per packet of backlog.

    >>> f"{vegas_boundary(1.0).rtt_ratio:.4f}, {vegas_boundary(1.0).gain:.4f}"
    '0.8691, 1.6654'
    """
    delayed = omega * (1 + omega**2) / (omega * math.cos(omega) + math.sin(omega))
    gain = omega**2 + delayed * (1 - math.cos(omega))
    return BoundaryPoint(delayed / gain, gain)


FOLD_FREQUENCY: float = minimize_scalar(
    lambda omega: vegas_boundary(omega).rtt_ratio,
    bounds=(LOWEST_FREQUENCY, HIGHEST_FREQUENCY),
    options={"xatol": 1e-10},
).x  # type: ignore[attr-defined]
"""Frequency, in units of 1/R, at which the boundary's T/R is smallest."""
STABLE_AT_ANY_GAIN = vegas_boundary(FOLD_FREQUENCY).rtt_ratio
"""T/R up to which Vegas is stable with any gain: 0.68131."""
STABLE_AT_HIGH_GAIN = vegas_boundary(HIGHEST_FREQUENCY).rtt_ratio
"""T/R up to which Vegas is stable with a large gain: 0.69342."""


def reno_critical_gain(
    cwnd: float = math.inf, averaging: float = math.inf, drop_prob: float = 0.0
) -> float:
    """The gain N p' / p (dimensionless) up to which Reno over RED is stable; infinite if always.

    This is the first boundary. With drops and windows below about 5 packets, much larger gains may
    be stable again.

    Args:
        cwnd: W, packets.
        averaging: K R, the rate at which the queue is averaged times the round-trip time;
            infinite without averaging.
        drop_prob: probability that a packet is dropped; 0 where packets are marked.

    Raises:
        InvalidInput: if the window or the averaging is not above 0.

    >>> [round(reno_critical_gain(cwnd), 3) for cwnd in (5, 50, float("inf"))]
    [1.608, 1.184, 1.135]
    """
    for name, value in (("cwnd", cwnd), ("averaging", averaging)):
        if not value > 0:
            raise InvalidInput("reno_critical_gain", name, "above 0", value)
    lost = drop_prob * cwnd if drop_prob else 0.0

    def parts(omega: Any) -> Any:
        """Two terms of the characteristic function at frequency omega / R.

        The first has no feedback; the second is the feedback with a gain of 1.
        """
        z = 1j * omega
        delay = np.exp(-z)
        window = z + (1 + delay) / cwnd
        feedback = ((1 - drop_prob) * delay + lost * window) / (1 + z / averaging)
        return window * (z + 1) + (1 - delay) / cwnd, feedback

    def product(omega: Any) -> Any:
        """A complex number that is real and positive where a gain puts a root at i omega / R."""
        open_part, feedback = parts(omega)
        return -open_part * np.conj(feedback)

    values = product(FREQUENCIES)
    crossings = np.flatnonzero((values.imag[:-1] * values.imag[1:] <= 0) & (values.real[1:] > 0))
    if not crossings.size:
        return math.inf
    low, high = FREQUENCIES[crossings[0] : crossings[0] + 2]
    open_part, feedback = parts(find_zero(lambda omega: product(omega).imag, low, high))
    return float((-open_part / feedback).real)


def vegas_unstable_gains(rtt_ratio: float) -> tuple[float, float]:
    """The lowest and the highest gain between which Vegas without losses is unstable.

    A gain is in packets per round trip by which the window grows less, per packet of backlog. Both
    are infinite if no gain is unstable; the highest is infinite if all above the lowest are.

    Args:
        rtt_ratio: T/R, base RTT over round-trip time, above 0, at most 1.

    Raises:
        InvalidInput: for a ratio outside that range.

    >>> [tuple(round(gain, 3) for gain in vegas_unstable_gains(t)) for t in (0.9, 0.69, 0.6)]
    [(1.497, inf), (7.399, 122.257), (inf, inf)]
    """
    if not 0 < rtt_ratio <= 1:
        raise InvalidInput("vegas_unstable_gains", "rtt_ratio", "above 0, at most 1", rtt_ratio)
    if rtt_ratio <= STABLE_AT_ANY_GAIN:
        return math.inf, math.inf

    def excess(omega: float) -> float:
        """T/R of the stability boundary at frequency omega / R, less the given T/R."""
        return vegas_boundary(omega).rtt_ratio - rtt_ratio

    first = LOWEST_FREQUENCY
    if excess(LOWEST_FREQUENCY) > 0:
        first = find_zero(excess, LOWEST_FREQUENCY, FOLD_FREQUENCY)
    last = math.inf
    if rtt_ratio < STABLE_AT_HIGH_GAIN:
        last = vegas_boundary(find_zero(excess, FOLD_FREQUENCY, HIGHEST_FREQUENCY)).gain
    return vegas_boundary(first).gain, last


def vegas_critical_gain(rtt_ratio: float) -> float:
    """The gain up to which Vegas without losses is stable; infinite if it is for all gains.

    A gain is in packets per round trip by which the window grows less, per packet of backlog.

    Args:
        rtt_ratio: T/R, base RTT over round-trip time, above 0, at most 1.

    Raises:
        InvalidInput: for a ratio outside that range.

    >>> [round(vegas_critical_gain(ratio), 3) for ratio in (1.0, 0.9, 0.68)]
    [1.135, 1.497, inf]
    """
    return vegas_unstable_gains(rtt_ratio)[0]


class RenoPoint(NamedTuple):
    """A point in the chart of Reno over RED.

    Args:
        cwnd: window W of a flow, packets.
        gain: A = N p' / p, dimensionless: flows times slope of the drop probability over the queue
            (1/packets), divided by the drop probability.
        averaging: K R, rate of the queue's average times round-trip time; infinite without
            averaging.
        drop_prob: probability that a packet is dropped; 0 where packets are marked.
    """

    cwnd: float
    gain: float
    averaging: float
    drop_prob: float = 0.0

    @property
    def critical(self) -> float:
        """Dimensionless gain N p' / p up to which Reno is stable here; infinite if it always is."""
        return reno_critical_gain(self.cwnd, self.averaging, self.drop_prob)

    @property
    def stable(self) -> bool:
        """Whether the gain of this point is below the critical one, so that Reno is stable.

        False at very large gains, too, which may be stable with drops and windows below 5 packets.
        """
        return self.gain < self.critical


class VegasPoint(NamedTuple):
    """A point in the chart of Vegas without losses.

    Args:
        rtt_ratio: T/R, base RTT over round-trip time.
        gain: G, packets per round trip by which the window grows less for each packet of backlog.
        losses: packets per round trip by which losses reduce the window, which the chart leaves
            out.
    """

    rtt_ratio: float
    gain: float
    losses: float

    @property
    def critical(self) -> float:
        """Gain up to which Vegas is stable at this T/R, packets per RTT per packet of backlog.

        Infinite if no gain is unstable.
        """
        return vegas_critical_gain(self.rtt_ratio)

    @property
    def stable(self) -> bool:
        """Whether Vegas is stable: the gain is outside the range of unstable ones at this T/R."""
        low, high = vegas_unstable_gains(self.rtt_ratio)
        return self.gain < low or self.gain > high
