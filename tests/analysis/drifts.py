"""Where the laws' own drifts are zero, found by numbers: the oracle of the closed forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import brentq, root

from vegasfluid.congestion import CongestionControl
from vegasfluid.congestion.base import Signals, Window
from vegasfluid.congestion.cubic import Cubic, CubicWindow
from vegasfluid.congestion.vegas import Vegas, VegasWindow

FAR = 1e9
EXACT = 1e-14
"""To which a root is sought, of itself."""


def draws(number: int, seed: int, **spans: tuple[float, float]) -> Iterator[dict[str, float]]:
    """Seeded points, evenly drawn in the logarithm of each quantity."""
    random = np.random.default_rng(seed)
    for _ in range(number):
        yield {
            name: float(np.exp(random.uniform(np.log(low), np.log(high))))
            for name, (low, high) in spans.items()
        }


def seen(window: Any, rtt: float, prob: float, process: str = "meanfield") -> Signals:
    """What a sender observes at equilibrium."""
    rate = window / rtt
    return Signals(rtt, rate, prob * rate, FAR, loss_process=process)


def zero_of(drift: Any, low: float = 1e-3, high: float = 1e9) -> float:
    """The window at which a drift is zero."""
    return float(brentq(drift, low, high, xtol=EXACT, rtol=8 * EXACT, maxiter=500))


def window(
    law: CongestionControl, rtt: float, prob: float, process: str, low: float = 1e-3
) -> float:
    """The equilibrium window of a congestion control whose state is a window."""

    def drift(cwnd: float) -> float:
        return float(law.drift(Window(cwnd, 0.0), seen(cwnd, rtt, prob, process)).cwnd)

    return zero_of(drift, low)


def vegas_window(
    law: Vegas,
    rtt: float,
    base_rtt: float,
    prob: float,
    process: str = "meanfield",
    low: float = 3.0,
) -> float:
    """The equilibrium window of Vegas with the true base RTT."""

    def drift(cwnd: float) -> float:
        state = VegasWindow(np.float64(cwnd), np.float64(0), np.float64(base_rtt), np.float64(0))
        return float(law.drift(state, seen(cwnd, rtt, prob, process)).cwnd)

    return zero_of(drift, low)


def cubic_window(law: Cubic, rtt: float, prob: float, process: str) -> float:
    """CUBIC's window where none of its states changes."""

    def drift(logs: Any) -> Any:
        cwnd, k, elapsed, squared = np.exp(logs)
        state = CubicWindow(cwnd, k, elapsed, squared, 0.0)
        rates = law.drift(state, seen(cwnd, rtt, prob, process))
        each = prob * cwnd / rtt  # losses a second
        return (
            np.array([rate / item for rate, item in zip(rates[:4], state[:4], strict=True)]) / each
        )

    cwnd = 0.8 * max((rtt / prob) ** 0.75, prob**-0.5)
    age = rtt / (prob * cwnd)
    found = root(drift, np.log([cwnd, 0.9 * age, 0.9 * age, 1.5 * age**2]), tol=1e-13)
    assert np.max(np.abs(drift(found.x))) < 1e-12, found.message
    return float(np.exp(found.x[0]))
