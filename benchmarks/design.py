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

- up to 200 flows, but no more than the path holds packets (10 where it holds fewer);
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
Engine = Callable[[Network, float, int], Recording]

ENGINES: dict[str, Engine] = {
    "fluid": partial(record_fluid, tolerance=None),
    "density": partial(record_fluid, resolution="distribution", tolerance=None),
}
"""What is held against the packet simulator; with a network's own steps, as what shorter ones
change is far below the differences that are looked at.
"""
WANTED = {"ratio": 0.05, "queue": 0.03}
"""Median differences at most, with RED and ten flows or more."""
CASES, CHOICE = 72, 2001
"""Number of networks, and seed of the design."""
SEEDS, FULL_SEEDS = (1, 2), (1, 2, 3, 4, 5)
TUNED, PACKET_BYTES = "vegas", 1500
ROUNDS, SHORTEST, LONGEST, FEWEST_PACKETS, MOST_PACKETS = 9, 60.0, 600.0, 5e5, 2e7
NAMES = {"queue": "queue_packets", "drops": "drop_share"}
COMPARED = {name: NAMES.get(name, name) for name in ("ratio", "utilisation", "queue", "drops")}
"""Compared quantities, with their names in the summary of a run."""
LEAST = {"ratio": 0.0, "queue": 1.0, "drops": 1e-5}
"""Differences are relative, to so much at least (the queue in packets); others are absolute."""
MANY = 10
"""Flows of the networks that are judged apart, too."""


class Point(NamedTuple):
    """A point of the design; each coordinate from 0 to 1."""

    number: float
    recovery: float
    wait: float
    gentle: float
    bandwidth: float
    propagation: float
    flows: float
    share: float
    alpha: float
    dead_zone: float
    room: float
    reach: float
    max_drop: float
    averaging: float
    start: float


class Case(NamedTuple):
    """A network of the design, and how long to run it.

    Args:
        name: tells where it lies in the design.
        network: of the classes `vegas`, and `reno` or `cubic`.
        until: simulated time, s.
        warmup: time that the means leave out, s.
        red: whether the queue is RED.
        flows: of both classes.
    """

    name: str
    network: Network
    until: float
    warmup: float
    red: bool
    flows: int


class Queue(NamedTuple):
    """A queue: its law, its buffer, and about where it rests, packets."""

    law: QueueDiscipline
    buffer: float
    resting: float


@cache
def points() -> list[Point]:
    """The Latin hypercube."""
    cube = qmc.LatinHypercube(len(Point._fields), optimization="random-cd", rng=CHOICE)
    return [Point(*map(float, row)) for row in cube.random(CASES)]


def between(part: float, low: float, high: float) -> float:
    """From `low` to `high`, evenly on a logarithmic scale."""
    return low * (high / low) ** part


def rounded(value: float) -> float:
    """Two digits, so that a name can tell it."""
    return float(f"{value:.2g}")


def needed_drops(window: float) -> float:
    """Loss probability at which Reno has this mean window: 1.5 / window^2 for large ones."""
    return 1 / (1 + window**2 / 1.5)


def drop_tail(room: float, held: float, flows: int) -> Queue:
    """A buffer of 0.3 to 2 times what the path holds; the queue takes half of it."""
    buffer = round(max(20.0, 3.0 * flows, between(room, 0.3, 2.0) * held))
    return Queue(DropTail(), buffer, buffer / 2)


def thresholds(room: float, reach: float, held: float, flows: int) -> tuple[float, float]:
    """RED's thresholds: the lower a part of what the path holds, the upper 2 to 4 times that."""
    low = max(10.0, 2.0 * flows, between(room, 0.2, 1.0) * held)
    return low, between(reach, 2.0, 4.0) * low


def weight(averaging: float, held: float, low: float) -> float:
    """Weight of RED's average, which extends over 3 to 30 times the packets on the path."""
    return 1 / (between(averaging, 3.0, 30.0) * (held + low))


def own_count(share: float, flows: int) -> int:
    """Number of Vegas flows: a fraction of 0.2 to 0.8, and at least one flow of each class."""
    return min(max(round(flows * (0.2 + 0.6 * share)), 1), flows - 1)


def red(point: Point, held: float, flows: int) -> Queue:
    """RED, and the queue at which it drops what Reno needs for an equal share, packets."""
    low, high = thresholds(point.room, point.reach, held, flows)
    wait, needed = point.wait < 0.5, needed_drops((held + high) / flows)
    on_curve = 3 * needed / (2 + needed) if wait else needed / 2
    law = Red(
        min_thresh=round(low),
        max_thresh=round(high),
        max_drop=between(point.max_drop, max(0.02, on_curve), 1.0),
        weight=weight(point.averaging, held, low),
        gentle=point.gentle < 0.5,
        wait=wait,
    )
    buffer = 3.0 * law.max_thresh

    def excess(queue: float) -> float:
        dropped = law.drop_prob(QueueState(queue, Average(queue), 1.0, 1.0, buffer))
        return float(dropped) - needed_drops((held + queue) / flows)

    bracket = (law.min_thresh, 2 * law.max_thresh)
    return Queue(law, buffer, root_scalar(excess, bracket=bracket).root)


def vegas(point: Point, dialect: str, fair: float, rtt_over_base: float) -> Vegas:
    """A multiple of the fair alpha and a dead zone of 0 to 4 packets, as the dialect counts."""
    scale = rtt_over_base if DIALECTS[dialect].divides_by_base_rtt else 1.0
    alpha = max(1, round(between(point.alpha, 0.2, 2.0) * fair * scale))
    return Vegas(alpha, alpha + round(4 * point.dead_zone * scale), dialect=dialect)


def classes(
    point: Point, flows: int, competitor: Reno | Cubic, tuned: Vegas, common: Flows
) -> dict[str, Flows]:
    """The flows, shared out among the competitor and Vegas."""
    own = own_count(point.share, flows)
    others = replace(common, count=flows - own, law=competitor)
    return {competitor.name: others, TUNED: replace(common, count=own, law=tuned)}


def case_of(point: Point) -> Case:
    """The network at a point."""
    number = int(CASES * point.number)
    cubic, tail, dialect = number // 36 == 1, number // 12 % 3 == 2, list(DIALECTS)[number // 3 % 4]
    megabits = rounded(between(point.bandwidth, 2, 1000))
    rtt = ms(rounded(between(point.propagation, 5, 200)))
    capacity = mbps(megabits, PACKET_BYTES)
    held = capacity * rtt
    flows = round(between(point.flows, 2, min(200, max(10, held))))
    queue = drop_tail(point.room, held, flows) if tail else red(point, held, flows)
    window, trip = (held + queue.resting) / flows, (held + queue.resting) / capacity
    recovery = "sack" if cubic or point.recovery < 0.5 else "newreno"
    competitor = Cubic(recovery=recovery) if cubic else Reno(recovery=recovery)
    common = Flows(
        flows,
        competitor,
        base_rtt=rtt,
        start=UniformStart(between(point.start, 3 * rtt, 1.0)),
        initial_ssthresh=max(2.0, window / 2),
        send_overhead=1 / capacity if tail else 0.0,
    )
    tuned = vegas(point, dialect, queue.resting / flows, trip / rtt)
    wanted = ROUNDS * window * trip
    until = max(wanted, SHORTEST, FEWEST_PACKETS / capacity)
    until = min(until, LONGEST, MOST_PACKETS / capacity)
    kind = competitor.name if cubic else f"{competitor.name}_{recovery}"
    sizes = f"{megabits:g}Mbps_{1e3 * rtt:g}ms_{flows}flows" + "_short" * (until < wanted)
    name = f"{number:02d}_{kind}_{queue.law.name}_{dialect}_{sizes}"
    link = Link(capacity, queue.buffer, queue.law)
    network = Network(link, classes(point, flows, competitor, tuned, common), PACKET_BYTES)
    return Case(name, network, until, until / 3, not tail, flows)


@cache
def designed() -> list[Case]:
    """All networks by number; of a queue, a dialect and a competitor there are three in a row."""
    return sorted(map(case_of, points()))


def compared(of: Mapping[str, float]) -> Means:
    """Averages of a run that are compared."""
    return {name: of[key] for name, key in COMPARED.items()}


def from_packets(case: Case, seeds: tuple[int, ...] = FULL_SEEDS) -> Means:
    """Means of the packet simulator over seeds, and the relative standard error of the ratio."""
    found = measurement.measure(case.network, TUNED, seeds, until=case.until, warmup=case.warmup)
    logs = found.log_ratios
    error = logs.std(ddof=1) / math.sqrt(len(logs)) if len(logs) > 1 else math.nan
    return {**compared(found.means()), "ratio_error": float(error)}


def from_model(case: Case, record: Engine = ENGINES["fluid"]) -> Means:
    """The means of a fluid; NaN where it fails."""
    try:
        recording = record(case.network, case.until, DEFAULT_SAMPLES)
    except SolveFailed:
        return dict.fromkeys(COMPARED, math.nan)
    return compared(measurement.summary(recording, TUNED, case.warmup))


def differences(model: Means, packets: Means) -> Means:
    """A model's means less the packet simulator's; relative, as LEAST says."""
    units = {name: max(packets[name], least) for name, least in LEAST.items()}
    return {name: (model[name] - packets[name]) / units.get(name, 1.0) for name in COMPARED}


def summary(figures: Figures, engine: str, found: Mapping[str, Means]) -> None:
    """Median, 90th percentile and worst of the differences, either way.

    Args:
        figures: what they are added to.
        engine: whose differences.
        found: differences by the names of the cases.
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
    """All networks, or one of each queue, dialect and competitor."""
    keep_compiled_equations()
    figures = Figures()
    found: dict[str, dict[str, Means]] = {engine: {} for engine in ENGINES}
    for case in designed()[:: 1 if full else 3]:
        means = {"packets": from_packets(case, FULL_SEEDS if full else SEEDS)}
        means |= {engine: from_model(case, record) for engine, record in ENGINES.items()}
        for key in (*COMPARED, "ratio_error"):
            for engine, of in means.items():
                if key in of:
                    figures.add(f"{case.name}.{key}.{engine}", of[key])
        for engine in ENGINES:
            found[engine][case.name] = differences(means[engine], means["packets"])
        jax.clear_caches()  # each network is a program of its own, and XLA's memory for them ends
    for engine, of in found.items():
        summary(figures, engine, of)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
