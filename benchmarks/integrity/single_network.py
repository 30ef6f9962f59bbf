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

__all__ = ["Found", "beyond_estimate", "fluid", "look"]

OTHER_SAMPLES = 287
"""Number of samples of the run with other samples."""
SEEDS = (1, 2, 3)
"""Seeds of the packet runs."""
LEAST_RATIO = 1e-3
"""Ratio below which a class counts as starved."""


@dataclass(frozen=True)
class Found:
    """Results for one network.

    Args:
        number: number of the network.
        red: whether the queue is RED.
        faults: a line for each fault.
        error: error that the run states.
        halved: change by half the tolerance minus that error.
        read: change by other samples.
        warnings: warnings of the run.
        ratios: goodput of the first class over that of the others, in the fluid model and the
            packet simulator; NaN with one class.
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
    """Return the results for one network with both simulators."""
    keep_compiled_equations()
    case = drawn(number)
    red = case.network.link.aqm.name == "red"
    try:
        run = fluid(case)
        resampled, halved = fluid(case, samples=OTHER_SAMPLES), beyond_estimate(case, run)
    except SolveFailed as failed:
        return Found(number, red, [str(failed)])
    assert run.error is not None  # with a tolerance a run always has one
    return Found(
        number,
        red,
        faults(run),
        max(run.error),
        halved,
        max(difference(resampled, run, case.warmup)),
        validity_warnings(run, case.warmup),
        (first_to_others(run, case.warmup), packets(case)),
    )


def fluid(case: Drawn, samples: int = DEFAULT_SAMPLES, tolerance: float = TOLERANCE) -> Recording:
    """Return the fluid run."""
    return record_fluid(case.network, case.until, samples, warmup=case.warmup, tolerance=tolerance)


def beyond_estimate(case: Drawn, run: Recording) -> float:
    """Return the change of a run by half the tolerance minus the error that it states.

    The largest of goodput, queue and drops, relative; at most 0 where the estimate is right.
    """
    accurate = fluid(case, tolerance=TOLERANCE / 2)
    changes = np.array(difference(run, accurate, case.warmup))
    return float(np.max(changes - np.array(run.error)))


def packets(case: Drawn) -> float:
    """Return the ratio of the classes in packet runs, geometric mean over seeds."""
    times = sample_times(case.until, case.warmup, DEFAULT_SAMPLES)
    runs = [record_packets(case.network, times, seed) for seed in SEEDS]
    return float(np.exp(np.mean([np.log(first_to_others(run, case.warmup)) for run in runs])))


def first_to_others(run: Recording, warmup: float) -> float:
    """Return the goodput of a flow of the first class over that of others, clipped."""
    if len(run.network.flows) == 1:
        return float("nan")
    return float(np.clip(run.totals_after(warmup).goodput_ratio(0), LEAST_RATIO, 1 / LEAST_RATIO))
