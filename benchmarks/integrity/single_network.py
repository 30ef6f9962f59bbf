"""One random network of the soak test: faults of its fluid run, and the packet simulator's ratio.

This is a separate module because spawned processes import it by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from benchmarks.integrity.checks import faults
from benchmarks.integrity.networks import Drawn, drawn
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.errors import SolveFailed
from vegasfluid.fluid import TOLERANCE, record_fluid
from vegasfluid.fluid.accuracy import difference
from vegasfluid.fluid.validity import validity_warnings
from vegasfluid.packet.simulate import record_packets
from vegasfluid.run_options import DEFAULT_SAMPLES, sample_times
from vegasfluid.trajectory import Recording

__all__ = ["Found", "look"]

OTHER_SAMPLES, SEEDS = 287, (1, 2, 3)
LEAST_RATIO = 1e-3
"""A class that gets less is starved, however much less it is."""


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
        validity_warnings(usual, of.warmup),
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
    """Goodput of a flow of the first class over that of a flow of the others, within bounds."""
    if len(run.network.flows) == 1:
        return float("nan")
    return float(np.clip(run.totals_after(warmup).goodput_ratio(0), LEAST_RATIO, 1 / LEAST_RATIO))
