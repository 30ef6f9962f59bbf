"""Processes of one flow under independent losses, drawn loss by loss.

Between losses a window grows as its law says; after a number of packets that is exponentially
distributed, mean 1 / prob, it is cut.
"""

from __future__ import annotations

import math

import numpy as np

from vegasfluid.congestion.cubic import Cubic

LOSSES = 200_000


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


def cubic_alone(law: Cubic, rtt: float, prob: float) -> float:
    """The mean window of one CUBIC flow, without its Reno-friendly region."""
    cut, c = 1 - law.beta, law.C
    plateau = (c / cut) ** 0.25 * (rtt / prob) ** 0.75
    window, time, area = law.beta * plateau, 0.0, 0.0
    for packets in packets_between_losses(prob):
        k = math.cbrt((plateau - window) / c)

        def sent(t: float, plateau: float = plateau, k: float = k) -> float:
            return (plateau * t + c / 4 * ((t - k) ** 4 - k**4)) / rtt

        high = 1.0
        while sent(high) < packets:
            high *= 2
        low = 0.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if sent(middle) < packets else (low, middle)
        after = c * (low - k) ** 3 + plateau
        time, area = time + low, area + packets
        plateau = after * (1 + law.beta) / 2 if law.fast_convergence and after < plateau else after
        window = law.beta * after
    return area * rtt / time
