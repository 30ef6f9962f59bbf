"""The PI controller of Hollot, Misra, Towsley and Gong at their example: its loop by hand.

60 Reno flows, 3750 packets/s, a queue of 200 packets and a round-trip time of 0.246 s at
equilibrium. `benchmarks.hollot` compares `package_crossover` with the two loops here, which do not
use the fluid model.

Sources:
    C. Hollot, V. Misra, D. Towsley and W.-B. Gong, "On designing improved controllers for AQM
    routers supporting TCP flows", INFOCOM 2001 (abstract read; the example as later papers and ns-2
    quote it; both loops derived anew).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from benchmarks.harness import root
from vegasfluid.analysis import equilibrium, linearise
from vegasfluid.analysis.linear_stability.margins import delay_margin, nyquist_loci
from vegasfluid.aqm.pi import Pi
from vegasfluid.congestion.reno import Reno
from vegasfluid.network import Flows, Link, Network

__all__ = ["BUFFER", "CAPACITY", "FLOWS", "PI", "PI_RTT", "Crossover", "crossover", "exact_loop"]
__all__ += ["gain_margin", "network_over_pi", "package_crossover", "simplified_loop"]

FLOWS, CAPACITY = 60, 3750.0
"""Flows of the example, and its capacity, packets/s."""
BUFFER = 20_000.0
"""Buffer, packets (chosen: never full)."""
PI = Pi(a=1.822e-5, b=1.816e-5, w=160.0, q_ref=200.0, ecn=True)
"""PI controller of the example; it marks, so that nothing is lost."""
PI_RTT = 0.246
"""Longest round-trip time that the controller is designed for, s."""
SENDING = (1 + 40 / 1500) / CAPACITY
"""Transmission times of a packet and its ACK, s; they are part of the round-trip time."""


class Crossover(NamedTuple):
    """Where the gain of an open loop is 1.

    Args:
        frequency: rad/s.
        phase_margin: degrees.
    """

    frequency: float
    phase_margin: float


def crossover(loop: Callable[[float], complex]) -> Crossover:
    """Crossover of an open loop, a function of the frequency (rad/s), by its continuous phase."""
    frequency = root(lambda omega: abs(loop(omega)) - 1, 1e-4, 100.0)
    path = np.linspace(1e-6, frequency, 2000)
    phase = np.unwrap(np.angle([loop(omega) for omega in path]))
    return Crossover(frequency, 180 + math.degrees(phase[-1]))


def simplified_loop(omega: float, flows: float, rtt: float) -> complex:
    """The loop over PI at i omega (rad/s) as its authors have it, for some flows and an RTT (s).

    The controller is K (s/z + 1) / s; the bilinear transform of it has the gains a and b.
    """
    s = 1j * omega
    gain = (PI.a - PI.b) * PI.w
    zero = gain / ((PI.a + PI.b) / 2)
    plant = CAPACITY**2 / (2 * flows) * np.exp(-s * rtt)
    plant /= (s + 2 * flows / (rtt**2 * CAPACITY)) * (s + 1 / rtt)
    return gain * (s / zero + 1) / s * plant


def exact_loop(omega: float, flows: float, rtt: float) -> complex:
    """The loop over PI at i omega (rad/s) without any simplification of the fluid's equations."""
    s, cwnd = 1j * omega, rtt * CAPACITY / flows
    z, back = s * rtt, np.exp(-s * rtt)
    controller = (PI.a - PI.b / (1 + s / PI.w)) / (s / PI.w)
    denominator = (z + (1 + back) / cwnd) * (z + 1) + (1 - back) / cwnd
    return (rtt * CAPACITY) ** 2 / (2 * flows) * controller * back / denominator


def gain_margin(flows: float, rtt: float) -> float:
    """Factor on both gains of PI at which the exact loop becomes unstable."""
    omega = root(lambda omega: exact_loop(omega, flows, rtt).imag, 0.01 / rtt, 1.2 / rtt)
    return -1 / exact_loop(omega, flows, rtt).real


def network_over_pi(flows: int, rtt: float, gain: float = 1.0) -> Network:
    """The network over PI, with a round-trip time at equilibrium (s) and a factor on both gains."""
    aqm = replace(PI, a=gain * PI.a, b=gain * PI.b)
    base_rtt = rtt - PI.q_ref / CAPACITY - SENDING
    start = 0.9 * rtt * CAPACITY / flows
    reno = Flows(flows, Reno(), base_rtt=base_rtt, initial_ssthresh=start, ecn=True)
    return Network(Link(CAPACITY, BUFFER, aqm), {"reno": reno})


def package_crossover(flows: int, rtt: float) -> Crossover:
    """Crossover of the network over PI by the package's linear stability analysis."""
    margin = delay_margin(nyquist_loci(linearise(equilibrium(network_over_pi(flows, rtt)))))
    if margin is None:
        return Crossover(math.nan, math.nan)
    return Crossover(margin.frequency, math.degrees(margin.frequency * margin.margin))
