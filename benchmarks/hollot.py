"""Reno over RED and PI as Misra, Gong and Towsley model it: equilibrium, stability, limit cycle.

    python -m benchmarks.hollot [--json] [--full]

The network is that of Hollot, Misra, Towsley and Gong: 60 Reno flows, 3750 packets/s, 0.2 s. The
queue marks packets independently, so nothing is lost. The fluid model is compared with the roots of
the characteristic equation of the linearised model, computed here without the fluid model, and with
a few lines of Euler's method. `--full` brackets the boundaries more closely and takes finer steps.

With z = s R, the round-trip time R, the window W and the averaging constant K, at equilibrium:

    (z + (1 + e^-z) / W) (z + 1) + (1 - e^-z) / W + A K R / (z + K R) e^-z = 0,
    A = N / (q - min_thresh)

For the PI controller of the same authors at their example (a = 1.822e-5, b = 1.816e-5, 160 Hz, 200
packets) the term with A is, with D(s) from the queue to the probability,

    (R C)^2 / (2 N) D(z / R) e^-z

The figures `hollot.pi` are differences from a computation by hand: crossover frequency and phase
margin of `vegasfluid.analysis` from those of the exact equation (relative), and from those of the
loop as the authors simplify it (relative, and in degrees); and the round-trip time at
which the loop becomes unstable (relative). `gain_boundary` has runs of the nonlinear
equations with both gains multiplied.

Sources:
    C. Hollot, V. Misra, D. Towsley and W.-B. Gong, "A control theoretic analysis of RED", INFOCOM
    2001 (abstract read; its example as later papers quote it; the linearisation derived anew), and
    "On designing improved controllers for AQM routers supporting TCP flows", INFOCOM 2001 (the
    same).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.harness import Figures, root, run
from benchmarks.hollot_pi import (
    BUFFER,
    CAPACITY,
    FLOWS,
    PI,
    PI_RTT,
    crossover,
    exact_loop,
    gain_margin,
    network_over_pi,
    package_crossover,
    simplified_loop,
)
from vegasfluid import metrics
from vegasfluid.analysis import critical_value
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.reno import Reno
from vegasfluid.fluid import MISRA_GONG_TOWSLEY, simulate_fluid
from vegasfluid.fluid.model import build
from vegasfluid.fluid.time_grid import TimeGrid, mean_field_grid
from vegasfluid.network import Flows, Link, Network

__all__ = [
    "Cycle",
    "EquilibriumPoint",
    "critical_gain",
    "critical_rate",
    "cycle_by_hand",
    "cycles",
    "equilibrium_point",
    "measure",
    "network_of",
    "phase_margin",
]

PROPAGATION = 0.2
"""Propagation delay of both ways, s."""
SLOPE, SPAN = 0.1 / 550, 550.0
"""Slope of the marking curve, 1/packets, and its extent, packets."""
MIN_THRESH = 150.0
"""Lower threshold of the runs without a slow average, packets."""
LOW = 172.5 - 2 / 15.375**2 / SLOPE
"""Lower threshold, packets, with which the example has its equilibrium at W = 15.375, q = 172.5."""
QUICK = 100.0
"""Averaging constant that is fast compared with a round trip, 1/s."""
UNTIL, SAMPLE = 400.0, 0.02
DYING = 0.95
"""A queue is stable if its oscillation shrinks below this fraction in a quarter of the run."""


class EquilibriumPoint(NamedTuple):
    """The fixed point.

    Args:
        queue: packets.
        cwnd: packets.
        prob: of a mark.
        rtt: s.
    """

    queue: float
    cwnd: float
    prob: float
    rtt: float


class Cycle(NamedTuple):
    """How the queue ends.

    Args:
        mean: packets.
        peak_to_peak: from its lowest to its highest, packets.
        period: from one rise through the mean to the next, s; NaN at equilibrium.
        before: the same a quarter of the run earlier, packets.
    """

    mean: float
    peak_to_peak: float
    period: float
    before: float


def equilibrium_point(low: float, slope: float) -> EquilibriumPoint:
    """Equilibrium: 2 / W^2 = p on the marking curve, with W = (C T + q) / N (mean field)."""

    def excess(queue: float) -> float:
        cwnd = (CAPACITY * PROPAGATION + queue) / FLOWS
        return slope * (queue - low) - 2 / cwnd**2

    queue = root(excess, low, low + SPAN)
    rtt = PROPAGATION + queue / CAPACITY
    return EquilibriumPoint(queue, rtt * CAPACITY / FLOWS, slope * (queue - low), rtt)


def gain_on_axis(omega: float, cwnd: float, averaging: float) -> complex:
    """The A with which z = i omega solves the characteristic equation; `averaging` is K R."""
    z = 1j * omega
    back = np.exp(-z)
    loop = (z + (1 + back) / cwnd) * (z + 1) + (1 - back) / cwnd
    return -loop * (z + averaging) / (averaging * back)


def critical_gain(cwnd: float, averaging: float = math.inf) -> float:
    """The largest stable A = N / (q - min_thresh).

    Args:
        cwnd: window at equilibrium, packets.
        averaging: K R, the rate of averaging times the round-trip time.

    >>> round(critical_gain(15.4), 3), round(critical_gain(1e9), 4)
    (1.292, 1.1349)
    """
    rate = min(averaging, 1e12)
    omega = root(lambda omega: gain_on_axis(omega, cwnd, rate).imag, 1e-3, 1.2)
    return gain_on_axis(omega, cwnd, rate).real


def critical_rate(low: float) -> float:
    """The rate of averaging K up to which the network of slope SLOPE is stable, 1/s."""
    at = equilibrium_point(low, SLOPE)
    gain = FLOWS / (at.queue - low)
    return root(lambda rate: critical_gain(at.cwnd, rate * at.rtt) - gain, 0.01, 3.0)


def phase_margin(rate: float, low: float) -> float:
    """Of the loop as its authors simplify it, with averaging at `rate` (1/s), degrees."""
    at = equilibrium_point(low, SLOPE)

    def loop(omega: float) -> complex:
        s = 1j * omega
        plant = (CAPACITY**2 / (2 * FLOWS)) * np.exp(-s * at.rtt)
        plant /= (s + 2 * FLOWS / (at.rtt**2 * CAPACITY)) * (s + 1 / at.rtt)
        return SLOPE * rate / (s + rate) * plant

    return crossover(loop).phase_margin


def network_of(low: float, slope: float, rate: float) -> Network:
    """The network, with averaging at `rate`, 1/s; without spacing marks come twice as often."""
    weight = -math.expm1(-rate / CAPACITY)
    law = Red(low, low + SPAN, slope * SPAN / 2, weight=weight, wait=False, ecn=True)
    at = equilibrium_point(low, slope)
    flows = Flows(FLOWS, Reno(), base_rtt=PROPAGATION, initial_ssthresh=0.9 * at.cwnd)
    return Network(Link(CAPACITY, BUFFER, law), {"reno": flows})


def cycles(low: float, slopes: np.ndarray, rates: np.ndarray) -> list[Cycle]:
    """How the queues of the fluid end for some slopes and rates of averaging, in one batch."""
    slope, rate = np.broadcast_arrays(slopes, rates)
    models = [network_of(low, *item) for item in zip(slope.tolist(), rate.tolist(), strict=True)]
    laws = [cast(Red, model.link.aqm) for model in models]
    numbers = {"max_drop": [law.max_drop for law in laws]}
    return endings(models, numbers | {"weight": [float(law.average_weight) for law in laws]})


def endings(models: list[Network], numbers: dict[str, list[float]]) -> list[Cycle]:
    """How the queues of networks end that differ in numbers of their queue discipline only.

    Args:
        models: the networks.
        numbers: for each of them the values of these numbers, by name.
    """
    fluid = build(models[0], options=MISRA_GONG_TOWSLEY)
    samples = int(UNTIL / SAMPLE) + 1
    grid = TimeGrid(
        UNTIL,
        samples,
        min(mean_field_grid(model, UNTIL).step for model in models),
        fluid.parameters.delay_bounds.longest,
    )
    layout = fluid.vector_field.saved

    def queue(values: dict[str, jax.Array]) -> jax.Array:
        law = replace(models[0].link.aqm, **values)
        parameters = fluid.parameters._replace(aqm=(law,))
        ys = replace(fluid, parameters=parameters).integrate(grid).ys
        return layout.unpack(ys).queue[:, 0]

    values = {name: jnp.array(each) for name, each in numbers.items()}
    queues = np.asarray(jax.jit(jax.vmap(queue))(values))
    return [ending(np.arange(samples) * SAMPLE, queue) for queue in queues]


def ending(times: np.ndarray, queue: np.ndarray) -> Cycle:
    """Mean, oscillation and period of the queue in the last quarter of a run."""
    quarter = len(queue) // 4
    before, last, time = queue[-2 * quarter : -quarter], queue[-quarter:], times[-quarter:]
    mean, above = float(last.mean()), last > last.mean()
    rises = time[1:][above[1:] & ~above[:-1]]
    period = float(np.diff(rises).mean()) if len(rises) > 2 else math.nan
    return Cycle(mean, float(np.ptp(last)), period, float(np.ptp(before)))


def cycle_by_hand(low: float, slope: float, rate: float, step: float) -> Cycle:
    """The same from the paper's equations, by Euler's method in steps of `step` seconds."""
    count, samples = int(UNTIL / step), round(SAMPLE / step)
    rates, probs = np.zeros(count + 1), np.zeros(count + 1)
    at = equilibrium_point(low, slope)
    cwnd, queue, average = 0.9 * at.cwnd, 0.0, 0.0
    queues = []
    for n in range(count):
        rtt = PROPAGATION + queue / CAPACITY
        rates[n] = cwnd / rtt
        probs[n] = slope * max(average - low, 0.0)
        back = n - round(rtt / step)
        lost = rates[back] * probs[back] if back >= 0 else 0.0
        cwnd, queue, average = (
            max(cwnd + step * (1 / rtt - cwnd / 2 * lost), 1.0),
            max(queue + step * (FLOWS * rates[n] - CAPACITY), 0.0),
            average + step * rate * (queue - average),
        )
        if n % samples == 0:
            queues.append(queue)
    return ending(np.arange(len(queues)) * SAMPLE, np.array(queues))


def boundary(values: np.ndarray, found: list[Cycle]) -> float:
    """Stability boundary: half-way between the last stable one of rising values and the next.

    NaN where it never does, or always.
    """
    settles = [cycle.peak_to_peak < max(DYING * cycle.before, 1e-3) for cycle in found]
    if all(settles) or not settles[0]:
        return math.nan
    return float(values[settles.index(False) - 1 :][:2].mean())


def slope_of(gain: float, low: float) -> float:
    """The slope of the curve with which N / (q - min_thresh) is `gain`, 1/packets."""
    above = FLOWS / gain
    cwnd = (CAPACITY * PROPAGATION + low + above) / FLOWS
    return 2 / cwnd**2 / above


def add_fixed_point(figures: Figures) -> None:
    """The example: windows of 15.375 packets, 172.5 in the queue."""
    at, network = equilibrium_point(LOW, SLOPE), network_of(LOW, SLOPE, 0.05)
    found = simulate_fluid(network, UNTIL, warmup=0.9 * UNTIL, options=MISRA_GONG_TOWSLEY)
    cwnd = float(metrics.time_mean(found, "cwnd").mean())
    queue = float(metrics.mean_queue(found)[0])
    figures.add("hollot.fixed_point.queue", abs(queue / at.queue - 1), at_most=0.005)
    figures.add("hollot.fixed_point.cwnd", abs(cwnd / at.cwnd - 1), at_most=0.005)


def add_boundaries(figures: Figures, parts: np.ndarray) -> None:
    """How far the fluid's boundaries are from those of the characteristic equation, relative.

    Args:
        figures: what they are added to.
        parts: values to try, in units of the critical one; rising.
    """
    slopes = slope_of(critical_gain(15.9), MIN_THRESH) * parts
    found = cycles(MIN_THRESH, slopes, np.array(QUICK))
    at = [equilibrium_point(MIN_THRESH, slope) for slope in slopes]
    gains = np.array([FLOWS / (item.queue - MIN_THRESH) for item in at])
    critical = np.array([critical_gain(item.cwnd, QUICK * item.rtt) for item in at])
    figures.add("hollot.gain_boundary", abs(boundary(gains / critical, found) - 1), at_most=0.02)
    rates = critical_rate(LOW) * parts
    found = cycles(LOW, np.array(SLOPE), rates)
    figures.add("hollot.averaging_boundary", abs(boundary(parts, found) - 1), at_most=0.02)


def add_limit_cycle(figures: Figures, step: float) -> None:
    """Beyond the boundary, against Euler's method in steps of `step` seconds."""
    slope = slope_of(1.4, MIN_THRESH)
    [found] = cycles(MIN_THRESH, np.array([slope]), np.array(QUICK))
    wanted = cycle_by_hand(MIN_THRESH, slope, QUICK, step)
    for key in Cycle._fields[:3]:
        difference = abs(getattr(found, key) / getattr(wanted, key) - 1)
        figures.add(f"hollot.limit_cycle.{key}", difference, at_most=0.02)


def add_pi(figures: Figures, parts: np.ndarray) -> None:
    """PI at its example: equilibrium, margins and boundaries against those by hand.

    Args:
        figures: what they are added to.
        parts: factors on the critical gain to try in the nonlinear equations; rising.
    """
    found = package_crossover(FLOWS, PI_RTT)
    exact, simple = (
        crossover(lambda omega, loop=loop: loop(omega, FLOWS, PI_RTT))
        for loop in (exact_loop, simplified_loop)
    )
    for key, most in (("frequency", 1e-9), ("phase_margin", 1e-9)):
        difference = abs(getattr(found, key) / getattr(exact, key) - 1)
        figures.add(f"hollot.pi.{key}", difference, at_most=most)
    simplified = abs(found.frequency / simple.frequency - 1)
    figures.add("hollot.pi.frequency.simplified", simplified, at_most=0.01)
    degrees = abs(found.phase_margin - simple.phase_margin)
    figures.add("hollot.pi.phase_margin.simplified", degrees, at_most=1.0)
    longest = root(lambda rtt: gain_margin(FLOWS, rtt) - 1, PI_RTT, 1.0)
    ours = critical_value(lambda rtt: network_over_pi(FLOWS, rtt), PI_RTT, 1.0)
    figures.add("hollot.pi.longest_rtt", abs(ours / longest - 1), at_most=1e-6)
    critical = gain_margin(FLOWS, PI_RTT)
    factors = critical * parts
    models = [network_over_pi(FLOWS, PI_RTT, factor) for factor in factors.tolist()]
    gains = {"a": (PI.a * factors).tolist(), "b": (PI.b * factors).tolist()}
    cycles = endings(models, gains)
    figures.add("hollot.pi.gain_boundary", abs(boundary(parts, cycles) - 1), at_most=0.02)


def measure(full: bool) -> Figures:
    """Everything."""
    figures = Figures()
    add_fixed_point(figures)
    width, step = (0.01, 0.001) if full else (0.02, 0.002)
    add_boundaries(figures, np.arange(1 - 5 * width, 1 + 5.5 * width, width))
    add_limit_cycle(figures, step)
    add_pi(figures, np.arange(1 - 5 * width, 1 + 5.5 * width, width))
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
