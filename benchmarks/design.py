"""Fluid models compared with the packet simulator on 72 generated networks.

    python -m benchmarks.design [--json] [--full]

Prints the means of the packet simulator, the mean-window fluid model and the density model, and
summarises their differences: over all networks, and over those with RED and at least ten flows.
`ratio_error` is the relative standard error of the ratio of the packet simulator. A model that
fails gives NaN, which `missing` counts. The quick version takes a third of the networks with two
seeds, `--full` all with five.

The networks are a Latin hypercube of small discrepancy. The first coordinate numbers them: each
queue (RED, RED, drop-tail) meets each dialect and each competitor (Reno, CUBIC) three times. Sizes
depend on each other as an operator would choose them, so that nothing has to be cut off:

- up to 200 flows, but no more than packets fit into the path (10 where fewer fit);
- thresholds and buffers are fractions of the bandwidth-delay product, with at least two packets
  per flow (three with drop-tail), since with less all flows would mostly be in timeouts;
- max_drop is at least what Reno needs at max_thresh for an equal share;
- alpha is a multiple of a flow's equal part of the equilibrium queue of Reno alone;
- slow start ends at half of the window for an equal share;
- with drop-tail, a sender waits up to one packet time before it sends, because otherwise the phases
  of equal round-trip times would decide which flow loses packets at a full buffer (S. Floyd and
  V. Jacobson, "On traffic phase effects in packet-switched gateways", 1992).

A run takes ROUNDS times as many round trips as a fair window has packets, at least one minute, at
most ten, and at most MOST_PACKETS. If that leaves fewer rounds, its name ends with `short`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

import jax
import numpy as np
from scipy.optimize import root_scalar
from scipy.stats import qmc

from benchmarks.harness import Figures, run
from vegasfluid.aqm.base import Average, QueueDiscipline, QueueState
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import DIALECTS, Vegas
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid import record_fluid
from vegasfluid.network import Flows, Link, Network, UniformStart
from vegasfluid.quantities import mbps, ms
from vegasfluid.run_options import DEFAULT_SAMPLES
from vegasfluid.trajectory import Recording
from vegasfluid.tuning import measurement

__all__ = [
    "ENGINES",
    "Case",
    "Engine",
    "Point",
    "designed",
    "differences",
    "from_model",
    "from_packets",
    "measure",
]
__all__ += ["between", "drop_tail", "needed_drops", "own_count", "points", "rounded", "summary"]
__all__ += ["thresholds", "weight"]

Means = dict[str, float]
"""Means of a run by compared quantity."""
Engine = Callable[[Network, float, int], Recording]
"""Function from network, simulated time (s) and samples to a recording."""

ENGINES: dict[str, Engine] = {
    "fluid": partial(record_fluid, tolerance=None),
    "density": partial(record_fluid, resolution="distribution", tolerance=None),
}
"""Fluid models that are compared with the packet simulator, without error control.

A network's own steps are short enough: shorter ones change far less than the differences.
"""
WANTED = {"ratio": 0.05, "queue": 0.03}
"""Targets of median differences, with RED and at least ten flows."""
CASES = 72
"""Number of networks."""
CHOICE = 2001
"""Seed of the design."""
SEEDS = (1, 2)
"""Seeds of packet runs in the quick version."""
FULL_SEEDS = (1, 2, 3, 4, 5)
"""Seeds with `--full`."""
TUNED = "vegas"
"""Class whose ratio is measured."""
PACKET_BYTES = 1500
"""Size of a packet, bytes."""
ROUNDS = 9
"""Duration of a run in round trips per packet of a fair window."""
SHORTEST = 60.0
"""Shortest run, s."""
LONGEST = 600.0
"""Longest run, s."""
FEWEST_PACKETS = 5e5
"""Smallest number of packets of a run."""
MOST_PACKETS = 2e7
"""Largest number of packets of a run."""
NAMES = {"queue": "queue_packets", "drops": "drop_share"}
"""Names in the summary of a run, where they differ."""
COMPARED = {name: NAMES.get(name, name) for name in ("ratio", "utilisation", "queue", "drops")}
"""Compared quantities, with their names in the summary of a run."""
LEAST = {"ratio": 0.0, "queue": 1.0, "drops": 1e-5}
"""Smallest denominators of relative differences (queue in packets); others are absolute."""
MANY = 10
"""Smallest number of flows of the networks with a separate summary."""


class Point(NamedTuple):
    """A point of the design; each coordinate is between 0 and 1."""

    number: float
    recovery: float
    wait: float
    gentle: float
    bandwidth: float
    propagation: float
    flows: float
    share: float
    alpha: float
    dead_band: float
    queue_size: float
    reach: float
    max_drop: float
    averaging: float
    start: float


class Case(NamedTuple):
    """A network of the design, and the duration of its run.

    Args:
        name: name with the network's properties.
        network: network with the classes `vegas`, and `reno` or `cubic`.
        until: simulated time, s.
        warmup: time that the means leave out, s.
        red: whether the queue is RED.
        flows: number of flows of both classes.
    """

    name: str
    network: Network
    until: float
    warmup: float
    red: bool
    flows: int


class Queue(NamedTuple):
    """A queue discipline, its buffer, and its approximate equilibrium queue, packets."""

    law: QueueDiscipline
    buffer: float
    equilibrium: float


@cache
def points() -> list[Point]:
    """Return the points of the Latin hypercube."""
    cube = qmc.LatinHypercube(len(Point._fields), optimization="random-cd", rng=CHOICE)
    return [Point(*map(float, row)) for row in cube.random(CASES)]


def between(fraction: float, low: float, high: float) -> float:
    """Return the value between `low` and `high` at a fraction of a logarithmic scale."""
    return low * (high / low) ** fraction


def rounded(value: float) -> float:
    """Return the value with two significant digits, as the names print it."""
    return float(f"{value:.2g}")


def needed_drops(window: float) -> float:
    """Return the loss probability at which Reno has this mean window (packets).

    1.5 / window^2 for large ones.
    """
    return 1 / (1 + window**2 / 1.5)


def drop_tail(queue_size: float, pipe: float, flows: int) -> Queue:
    """Return drop-tail with a buffer of 0.3 to 2 bandwidth-delay products; half is the queue."""
    buffer = round(max(20.0, 3.0 * flows, between(queue_size, 0.3, 2.0) * pipe))
    return Queue(DropTail(), buffer, buffer / 2)


def thresholds(queue_size: float, reach: float, pipe: float, flows: int) -> tuple[float, float]:
    """Return RED's thresholds, packets: `low` relative to the path, `high` 2 to 4 times that."""
    low = max(10.0, 2.0 * flows, between(queue_size, 0.2, 1.0) * pipe)
    return low, between(reach, 2.0, 4.0) * low


def weight(averaging: float, pipe: float, low: float) -> float:
    """Return the weight of RED's average, over 3 to 30 times the packets on the path."""
    return 1 / (between(averaging, 3.0, 30.0) * (pipe + low))


def own_count(share: float, flows: int) -> int:
    """Return the number of Vegas flows: 20 to 80 %, and at least one flow of each class."""
    return min(max(round(flows * (0.2 + 0.6 * share)), 1), flows - 1)


def red(point: Point, pipe: float, flows: int) -> Queue:
    """Return RED, and the queue at which it drops what Reno needs for an equal share, packets."""
    low, high = thresholds(point.queue_size, point.reach, pipe, flows)
    wait, needed = point.wait < 0.5, needed_drops((pipe + high) / flows)
    on_curve = 3 * needed / (2 + needed) if wait else needed / 2
    law = Red(
        min_thresh=round(low),
        max_thresh=round(high),
        max_drop=between(point.max_drop, max(0.02, on_curve), 1.0),
        weight=weight(point.averaging, pipe, low),
        gentle=point.gentle < 0.5,
        wait=wait,
    )
    buffer = 3.0 * law.max_thresh

    def excess(queue: float) -> float:
        dropped = law.drop_prob(QueueState(queue, Average(queue), 1.0, 1.0, buffer))
        return float(dropped) - needed_drops((pipe + queue) / flows)

    bracket = (law.min_thresh, 2 * law.max_thresh)
    return Queue(law, buffer, root_scalar(excess, bracket=bracket).root)


def vegas(point: Point, dialect: str, fair: float, rtt_over_base: float) -> Vegas:
    """Return Vegas with a multiple of the fair alpha and a dead band of 0 to 4 packets.

    Both are in the dialect's units.
    """
    scale = rtt_over_base if DIALECTS[dialect].divides_by_base_rtt else 1.0
    alpha = max(1, round(between(point.alpha, 0.2, 2.0) * fair * scale))
    return Vegas(alpha, alpha + round(4 * point.dead_band * scale), dialect=dialect)


def classes(
    point: Point, flows: int, competitor: Reno | Cubic, tuned: Vegas, common: Flows
) -> dict[str, Flows]:
    """Return the flows of the competitor and of Vegas."""
    vegas_count = own_count(point.share, flows)
    others = replace(common, count=flows - vegas_count, law=competitor)
    return {competitor.name: others, TUNED: replace(common, count=vegas_count, law=tuned)}


def case_of(point: Point) -> Case:
    """Return the network at a point."""
    number = int(CASES * point.number)
    cubic, tail, dialect = number // 36 == 1, number // 12 % 3 == 2, list(DIALECTS)[number // 3 % 4]
    megabits = rounded(between(point.bandwidth, 2, 1000))
    rtt = ms(rounded(between(point.propagation, 5, 200)))
    capacity = mbps(megabits, PACKET_BYTES)
    pipe = capacity * rtt
    flows = round(between(point.flows, 2, min(200, max(10, pipe))))
    queue = drop_tail(point.queue_size, pipe, flows) if tail else red(point, pipe, flows)
    window, trip = (pipe + queue.equilibrium) / flows, (pipe + queue.equilibrium) / capacity
    recovery = "sack" if cubic or point.recovery < 0.5 else "newreno"
    competitor = Cubic(recovery=recovery) if cubic else Reno(recovery=recovery)
    common = Flows(
        flows,
        competitor,
        base_rtt=rtt,
        start=UniformStart(between(point.start, 3 * rtt, 1.0)),
        initial_ssthresh=max(2.0, window / 2),
        send_overhead=1 / capacity if tail else 0.0,
        host="textbook",  # one kind of host, so that only the congestion controls differ
    )
    tuned = vegas(point, dialect, queue.equilibrium / flows, trip / rtt)
    full_time = ROUNDS * window * trip
    until = max(full_time, SHORTEST, FEWEST_PACKETS / capacity)
    until = min(until, LONGEST, MOST_PACKETS / capacity)
    competitor_name = competitor.name if cubic else f"{competitor.name}_{recovery}"
    sizes = f"{megabits:g}Mbps_{1e3 * rtt:g}ms_{flows}flows" + "_short" * (until < full_time)
    name = f"{number:02d}_{competitor_name}_{queue.law.name}_{dialect}_{sizes}"
    link = Link(capacity, queue.buffer, queue.law)
    network = Network(link, classes(point, flows, competitor, tuned, common), PACKET_BYTES)
    return Case(name, network, until, until / 3, not tail, flows)


@cache
def designed() -> list[Case]:
    """Return all networks by number; three in a row have the same queue, dialect and competitor."""
    return sorted(map(case_of, points()))


def compared(means: Mapping[str, float]) -> Means:
    """Return the compared means of a run."""
    return {name: means[key] for name, key in COMPARED.items()}


def from_packets(case: Case, seeds: tuple[int, ...] = FULL_SEEDS) -> Means:
    """Return means of the packet simulator, and the relative standard error of the ratio."""
    measured = measurement.measure(case.network, TUNED, seeds, until=case.until, warmup=case.warmup)
    logs = measured.log_ratios
    error = logs.std(ddof=1) / math.sqrt(len(logs)) if len(logs) > 1 else math.nan
    return {**compared(measured.means()), "ratio_error": float(error)}


def from_model(case: Case, record: Engine = ENGINES["fluid"]) -> Means:
    """Return the means of a fluid model; NaN where it fails."""
    try:
        recording = record(case.network, case.until, DEFAULT_SAMPLES)
    except SolveFailed:
        return dict.fromkeys(COMPARED, math.nan)
    return compared(measurement.summary(recording, TUNED, case.warmup))


def differences(model: Means, packets: Means) -> Means:
    """Return a model's means minus the packet simulator's, relative as defined at `LEAST`."""
    units = {name: max(packets[name], least) for name, least in LEAST.items()}
    return {name: (model[name] - packets[name]) / units.get(name, 1.0) for name in COMPARED}


def summary(figures: Figures, engine: str, found: Mapping[str, Means]) -> None:
    """Add median, 90th percentile and maximum of the absolute differences.

    Args:
        figures: figures to add to.
        engine: name of the fluid model.
        found: differences by name of the case.
    """
    many = {case.name for case in designed() if case.red and case.flows >= MANY}
    for group, names in (("all", set(found)), (f"red_{MANY}flows", many & set(found))):
        for key in COMPARED:
            sizes = {name: abs(found[name][key]) for name in sorted(names)}
            known = {name: size for name, size in sizes.items() if not math.isnan(size)}
            figures.add(f"{engine}.{group}.{key}.missing", len(sizes) - len(known))
            if known:
                values, worst = list(known.values()), max(known, key=lambda name: known[name])
                target = WANTED.get(key) if group != "all" else None
                median = float(np.median(values))
                figures.add(f"{engine}.{group}.{key}.median", median, at_most=target)
                figures.add(f"{engine}.{group}.{key}.p90", float(np.quantile(values, 0.9)))
                figures.add(f"{engine}.{group}.{key}.worst.{worst}", known[worst])


def measure(full: bool) -> Figures:
    """Return figures of all networks, or of one for each queue, dialect and competitor."""
    keep_compiled_equations()
    figures = Figures()
    by_engine: dict[str, dict[str, Means]] = {engine: {} for engine in ENGINES}
    for case in designed()[:: 1 if full else 3]:
        means = {"packets": from_packets(case, FULL_SEEDS if full else SEEDS)}
        means |= {engine: from_model(case, record) for engine, record in ENGINES.items()}
        for key in (*COMPARED, "ratio_error"):
            for engine, values in means.items():
                if key in values:
                    figures.add(f"{case.name}.{key}.{engine}", values[key])
        for engine in ENGINES:
            by_engine[engine][case.name] = differences(means[engine], means["packets"])
        jax.clear_caches()  # each network is a separate program, and XLA's memory for them ends
    for engine, values in by_engine.items():
        summary(figures, engine, values)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
