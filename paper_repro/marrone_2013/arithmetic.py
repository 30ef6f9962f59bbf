"""The formulas of section 2.2 and the windows of section 4.3, calculated again."""

from __future__ import annotations

import numpy as np

from paper_repro.experiment import ARITHMETIC, LINUX, Evidence, Experiment, Results
from paper_repro.marrone_2013.environment import (
    DEFAULT_WINDOW,
    ENLARGED_WINDOW,
    KERNEL_BETA,
    KERNEL_C,
    LINK_MBPS,
    WHOLE_WINDOW,
    Environment,
)
from paper_repro.marrone_2013.linux import kernel_cut
from paper_repro.marrone_2013.readings import ONE_WAY

__all__ = ["ARITHMETICS", "PAPER_BETA", "PAPER_C", "cubic_window", "plateau_time"]

PAPER_C = 0.4
"""CUBIC's constant C in section 2.2, packets/s^3."""
PAPER_BETA = 0.2
"""Fraction of the window that CUBIC gives up at a loss in section 2.2."""
W_MAX = np.array([100.0, 1667.0, 4333.0])
"""Windows at a loss, packets: a small one, and two of the test bed."""


def plateau_time(w_max: np.ndarray) -> np.ndarray:
    """Return K of section 2.2, s."""
    return np.cbrt(w_max * (PAPER_BETA / PAPER_C))


def cubic_window(t: np.ndarray | float, w_max: np.ndarray) -> np.ndarray:
    """Return CUBIC's window (packets) of equation (1) at time t (s) after a loss."""
    return PAPER_C * (t - plateau_time(w_max)) ** 3 + w_max


def mean_window(step: float, cut: float, loss: float = 1e-4) -> float:
    """Return the mean window of a sawtooth, packets.

    Args:
        step: growth per round trip, packets.
        cut: fraction of the window that a loss takes away.
        loss: packet loss probability.

    >>> round(mean_window(1.0, 0.5) * 1e-4**0.5, 3)
    1.225
    """
    top = (step / (cut * (1 - cut / 2) * loss)) ** 0.5  # the sum of the rounds is 1/loss
    return top * (1 - cut / 2)


def most_in_100_ms(environment: Environment) -> float:
    """Return the largest throughput of a test that lasts 100 ms, Mbit/s.

    The first packet arrives after half a round trip.
    """
    return LINK_MBPS * max(0.0, 0.1 - environment.round_trip / 2) / 0.1


def formulas() -> dict[str, float | list[float]]:
    """Return what the formulas of section 2.2 give, by name."""
    friendly = 3 * PAPER_BETA / (2 - PAPER_BETA)
    return {
        "at_start": list(cubic_window(0.0, W_MAX) / W_MAX),
        "friendly": mean_window(friendly, PAPER_BETA) / mean_window(1.0, 1 / 2),
        "kernel_cut": 1 - KERNEL_BETA,
        "kernel_c": KERNEL_C,
    }


def measure(results: Results) -> Evidence:
    """Record the formulas, and windows as fractions of the bandwidth-delay product."""
    evidence = Evidence()
    for name, value in formulas().items():
        evidence.note(ARITHMETIC, f"arithmetic.{name}", value)
    evidence.note(LINUX, "arithmetic.kernel_cut", kernel_cut())
    near, far = Environment(0.1), Environment(0.2)
    evidence.note(ARITHMETIC, "arithmetic.in_transit", [near.product, far.product])
    one_way = Environment(0.2, ways=2)
    evidence.note(ARITHMETIC, "arithmetic.products", far.product / near.product)
    for source, test in {ARITHMETIC: far, f"{ARITHMETIC}, {ONE_WAY}": one_way}.items():
        evidence.note(source, "arithmetic.most_in_100_ms", most_in_100_ms(test))
    windows = {
        ARITHMETIC: DEFAULT_WINDOW / far.product,
        f"{ARITHMETIC}, {ONE_WAY}": WHOLE_WINDOW / one_way.product,
    }
    for source, fraction in windows.items():
        evidence.note(source, "arithmetic.default_window", fraction)
    evidence.note(ARITHMETIC, "arithmetic.enlarged_window", ENLARGED_WINDOW / far.product)
    return evidence


ARITHMETICS = [
    Experiment("arithmetic", "Section 2.2's formulas, section 4.3's windows", measure, quick=True)
]
