"""Processes of one flow under independent losses, drawn loss by loss.

Between losses a window grows by its drift; after a number of packets that is exponentially
distributed, mean 1 / prob, it is cut.
"""

from __future__ import annotations

import math

import numpy as np

from vegasfluid.congestion.cubic import Cubic

LOSSES = 200_000
FLOWS = 500
"""Flows of CUBIC, drawn side by side."""


def packets_between_losses(prob: float) -> np.ndarray:
    return np.random.default_rng(11).exponential(1 / prob, LOSSES)


def capped_aimd(cut: float, cap: float, prob: float) -> float:
    """The mean window that grows by one a round trip up to a cap, and loses a share."""
    window, time, area = cap, 0.0, 0.0
    for packets in packets_between_losses(prob):
        to_cap = (cap**2 - window**2) / 2
        if packets < to_cap:
            after = math.sqrt(window**2 + 2 * packets)
            time += after - window
        else:
            after = cap
            time += cap - window + (packets - to_cap) / cap
        area += packets
        window = after * (1 - cut)
    return area / time


def friendly_alone(cut: float, increase: float, prob: float) -> float:
    """The mean window of CUBIC flows, each alone, in the Reno-friendly region of RFC 9438.

    The window grows by `increase` packets a round trip up to the window before the loss, and by one
    above it.
    """
    prior = np.full(FLOWS, 1.4 / math.sqrt(prob))
    time = area = 0.0
    for packets in packets_between_losses(prob).reshape(-1, FLOWS):
        start = (1 - cut) * prior
        below = np.minimum(packets, (prior**2 - start**2) / (2 * increase))
        at_prior = np.sqrt(start**2 + 2 * increase * below)
        after = np.sqrt(at_prior**2 + 2 * (packets - below))
        time += ((at_prior - start) / increase + after - at_prior).sum()
        area += packets.sum()
        prior = after
    return float(area / time)


def cubic_alone(law: Cubic, rtt: float, prob: float) -> float:
    """The mean window of CUBIC flows, each alone, without its Reno-friendly region."""
    cut, c = 1 - law.beta, law.C
    plateau = np.full(FLOWS, (c / cut) ** 0.25 * (rtt / prob) ** 0.75)
    window, time, area = law.beta * plateau, 0.0, 0.0
    for packets in packets_between_losses(prob).reshape(-1, FLOWS):
        k = np.cbrt((plateau - window) / c)
        after, low = at_loss(packets * rtt, plateau, k, c)
        time, area = time + low.sum(), area + packets.sum()
        falling = law.fast_convergence & (after < plateau)
        plateau = np.where(falling, after * (1 + law.beta) / 2, after)
        window = law.beta * after
    return float(area * rtt / time)


def at_loss(
    area: np.ndarray, plateau: np.ndarray, k: np.ndarray, c: float
) -> tuple[np.ndarray, np.ndarray]:
    """The window when it has sent so much (packets times round trips), and when that is, s.

    By bisection of the integral of c (t - k)^3 + plateau, and Newton's method from there.
    """

    def sent(t: np.ndarray) -> np.ndarray:
        return plateau * t + c / 4 * (np.square(np.square(t - k)) - np.square(np.square(k)))

    low, high = np.zeros_like(area), np.ones_like(area)
    while np.any(sent(high) < area):
        high *= 2
    for _ in range(12):
        middle = (low + high) / 2
        below = sent(middle) < area
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    for _ in range(3):
        low -= (sent(low) - area) / (c * (low - k) ** 3 + plateau)
    assert np.all(np.abs(sent(low) - area) <= 1e-9 * area)
    return c * (low - k) ** 3 + plateau, low
