"""A soak test of the fluid model: invariants, error estimates and packets on random networks.

    python -m benchmarks.integrity [--json] [--full]

Of every network: nothing stands still, leaves its domain or makes packets; half the tolerance moves
no mean by more than the run said it may be off; other samples move none by a thousandth. Beside
packets (three seeds): where the fluid warns of nothing its ratios are right, and where they are far
off it warns.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context

import numpy as np

from benchmarks.harness import Figures, run
from benchmarks.integrity.checks import faults
from benchmarks.integrity.networks import Drawn, drawn
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid import TOLERANCE, record_fluid
from vegasfluid.fluid.accuracy import difference
from vegasfluid.fluid.validity import doubts
from vegasfluid.packet.simulate import record_packets
from vegasfluid.times import DEFAULT_SAMPLES, sample_times
from vegasfluid.trajectory import Recording
from vegasfluid.workers import processors

NETWORKS, QUICK = 1000, 60
OTHER_SAMPLES, SEEDS = 287, (1, 2, 3)
FAR = 0.25
"""A ratio that is off by more is far off."""
EACH = 20
"""Networks that a process takes before another one is begun: compiled programs stay in memory."""


@dataclass(frozen=True)
class Found:
    """What a network showed.

    Args:
        number: by which it was drawn.
        red: whether its queue is RED's.
        faults: a line each.
        error: what the run says of its error.
        halved: what half the tolerance changed, as far as it is beyond that error.
        read: what other samples changed.
        warnings: of the run.
        ratios: goodput of the first class over that of the others, by fluid and by packets; NaN
            where there is one class.
    """

    number: int
    red: bool
    faults: list[str] = field(default_factory=list)
    error: float = float("nan")
    halved: float = float("nan")
    read: float = float("nan")
    warnings: list[str] = field(default_factory=list)
    ratios: tuple[float, float] = (float("nan"), float("nan"))


def look(number: int) -> Found:
    """One network, by both simulators."""
    keep_compiled_equations()
    of = drawn(number)
    red = of.network.link.aqm.name == "red"
    try:
        usual = fluid(of)
        exact, other = fluid(of, tolerance=TOLERANCE / 2), fluid(of, samples=OTHER_SAMPLES)
    except SolveFailed as failed:
        return Found(number, red, [str(failed)])
    told = np.array(usual.error)
    moved = np.array(difference(usual, exact, of.warmup))
    return Found(
        number,
        red,
        faults(usual),
        float(told.max()),
        float(np.max(moved - told)),
        max(difference(other, usual, of.warmup)),
        doubts(usual, of.warmup),
        (first_to_others(usual, of.warmup), packets(of)),
    )


def fluid(of: Drawn, samples: int = DEFAULT_SAMPLES, tolerance: float = TOLERANCE) -> Recording:
    """The fluid's run."""
    return record_fluid(of.network, of.until, samples, warmup=of.warmup, tolerance=tolerance)


def packets(of: Drawn) -> float:
    """The ratio of the classes by packets, over some seeds."""
    times = sample_times(of.until, of.warmup, DEFAULT_SAMPLES)
    runs = [record_packets(of.network, times, seed) for seed in SEEDS]
    return float(np.exp(np.mean([np.log(first_to_others(run, of.warmup)) for run in runs])))


def first_to_others(run: Recording, warmup: float) -> float:
    """Goodput of a flow of the first class over that of a flow of the others."""
    return run.growth(warmup).ratio(0) if len(run.network.flows) > 1 else float("nan")


def measure(full: bool) -> Figures:
    """Check all networks, as many at a time as there are processors.

    The result of each is printed to standard error as a line of JSON.
    """
    spawn, found = get_context("spawn"), []
    with ProcessPoolExecutor(processors(), mp_context=spawn, max_tasks_per_child=EACH) as pool:
        for of in pool.map(look, range(NETWORKS if full else QUICK)):
            found.append(of)
            print(json.dumps(asdict(of)), file=sys.stderr, flush=True)
    return summary(found)


def summary(found: list[Found]) -> Figures:
    """Counts and shares, with what is wanted of them."""
    figures = Figures()
    figures.add("integrity.networks", len(found))
    figures.add("integrity.with_faults", sum(bool(of.faults) for of in found), at_most=0)
    whole = [of for of in found if np.isfinite(of.error)]
    figures.add("integrity.error.met", share(of.error <= TOLERANCE for of in whole))
    figures.add("integrity.halved.within", share(of.halved <= 0 for of in whole), at_least=0.99)
    figures.add("integrity.samples.largest", max(of.read for of in whole), at_most=1e-3)
    for red, law, wanted in ((True, "red", 0.06), (False, "droptail", 0.10)):
        several = [of for of in whole if of.red == red and np.isfinite(of.ratios[0])]
        add_packets(figures, f"integrity.{law}", several, wanted)
    return figures


def add_packets(figures: Figures, name: str, found: list[Found], wanted: float) -> None:
    """How far fluid and packets are apart, and whether a fluid that is far off says so."""
    off = np.array([abs(of.ratios[0] / of.ratios[1] - 1) for of in found])
    warned = np.array([bool(of.warnings) for of in found])
    if np.any(~warned):
        figures.add(f"{name}.unwarned.median", float(np.median(off[~warned])), at_most=wanted)
    figures.add(f"{name}.unwarned.number", int(np.sum(~warned)))
    if np.any(off > FAR):
        figures.add(f"{name}.far_off.warned", float(np.mean(warned[off > FAR])), at_least=0.9)
    figures.add(f"{name}.far_off.number", int(np.sum(off > FAR)))


def share(of: Iterable[bool]) -> float:
    """The part of them that are true."""
    return float(np.mean(list(of)))


if __name__ == "__main__":
    run(measure, "Hold random networks to what no run of the fluid may break.")
