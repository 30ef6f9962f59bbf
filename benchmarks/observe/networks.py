"""Random networks for `observe`: the scenario of each for the reference kernel, by its number."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["PACKET_BITS", "drawn"]

RATES, DELAYS, FLOWS = (1.0, 100.0), (5.0, 100.0), (1, 12)
"""Ranges of the rate (Mbit/s, logarithmic), the base RTT (ms, logarithmic) and of all flows."""
BUFFERS = (0.5, 2.0)
"""Range of a drop-tail buffer and of half of RED's, in packets that fit on the path."""
SMALLEST, SMALLEST_THRESHOLD = 10, 5
"""Smallest buffer and smallest lower threshold of RED, packets."""
CONTROLS, QUEUES = ("reno", "cubic", "vegas"), ("pfifo", "red", "codel")
SPREAD = 1.2
"""Largest ratio of a flow's base RTT to that of the network."""
DURATION, SAMPLE = 60.0, 0.1
"""Length of a measurement and time between samples, s."""
PACKET_BITS = 12_000
"""Bits of a full packet."""
LATEST = 2.0
"""Latest start of a flow, s."""


def drawn(number: int) -> dict[str, Any]:
    """Scenario of a random network, by its number, which is the seed.

    It has the entries of the reference kernel's scenarios (rate in Mbit/s, RTT and delays in ms,
    the queue, the flows with their congestion control, start and RTT), and `measured`: the
    indices of the flows that are measured, all or half of them.
    """
    rng = np.random.default_rng(1000 + number)
    rate, delay = (float(np.exp(rng.uniform(*np.log(each)))) for each in (RATES, DELAYS))
    path = rate * 1e3 * delay / PACKET_BITS
    count = int(rng.integers(FLOWS[0], FLOWS[1] + 1))
    controls = rng.choice(CONTROLS, size=int(rng.integers(1, 3)), replace=False)
    spread = bool(rng.integers(2))
    flows = [
        {
            "algo": str(rng.choice(controls)),
            "start": round(float(rng.uniform(0, LATEST)), 3),
            "rtt_ms": round(delay * (float(rng.uniform(1, SPREAD)) if spread else 1.0), 2),
        }
        for _ in range(count)
    ]
    seen = count if rng.integers(2) else max(1, count // 2)
    return {
        "mbps": round(rate, 2),
        "rtt_ms": round(delay, 2),
        "duration": DURATION,
        "sample": SAMPLE,
        "seed": number,
        "queue": queue(rng, path * float(rng.uniform(*BUFFERS))),
        "flows": flows,
        "measured": sorted(int(each) for each in rng.permutation(count)[:seen]),
    }


def queue(rng: np.random.Generator, size: float) -> dict[str, Any]:
    """Queue of a scenario: drop-tail (half of them), RED or CoDel; `size` in packets."""
    kind = str(rng.choice(QUEUES, p=(0.5, 0.3, 0.2)))
    if kind == "codel":
        return {"kind": kind, "limit": 1000}
    if kind == "pfifo":
        return {"kind": kind, "limit": max(round(size), SMALLEST)}
    low, prob = max(round(size / 4), SMALLEST_THRESHOLD), float(rng.choice([0.02, 0.05, 0.1]))
    return {"kind": kind, "min": low, "max": 3 * low, "limit": 6 * low, "prob": prob}
