"""Table 2 and section 3.2: when flows of Pareto and NPS traffic start.

A flow has a packet here, so that its start is seen and the gap after it begins at once: the lengths
of flows do not enter the times between them. The sources are those of all other experiments.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import xarray as xr
from scipy.stats import kstest

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.weigle_feng_2001.traffic import GAP_S, KINDS, LOWER

__all__ = ["ARRIVALS", "over_critical_values", "starts"]

SOURCES = 200
"""Sources of a run."""
SEEDS = {"nps": range(1, 21), "pareto": range(21, 41)}
"""Seeds by kind of traffic; with the same ones both would draw the same gaps."""
SECONDS = 30.0
"""Simulated time, s: three times the mean time of the gaps that count."""
SAMPLES = 30001
"""Samples of a trajectory, one every millisecond."""
GAPS = 20
"""Gaps of each source that count, the first ones: so long ones are not left out at the end."""
TINY_MB = 1e-5
"""Mean length of a flow, MB, with which nearly all flows have one packet."""
SPARE = vf.mbps(100_000)
"""Capacity of a link without queueing, packets/s."""
SHORT = 1e-4
"""Base round-trip time, s."""
CRITICAL_DISTANCE, CRITICAL_CORRELATION = 1.63, 2.58
"""Critical values at the level of 1 %, times the root of the number of gaps: of the distance of
Kolmogorov and Smirnov, and of a correlation."""


def network_of(kind: str) -> vf.Network:
    """Return a network that delivers each flow, of one packet, at once."""
    traffic = KINDS[kind](TINY_MB, vf.mbps(LOWER[1]))
    flows = vf.Flows(SOURCES, vf.Reno(), base_rtt=SHORT, traffic=traffic)
    return vf.Network(vf.Link(SPARE, 1e6), {"reno": flows})


def starts(run: xr.Dataset) -> np.ndarray:
    """Return the times of each source's first flows, s; (source, flow)."""
    times, delivered = run["time"].values, run["flow_delivered"].values
    return np.array(
        [np.repeat(times[1:], np.diff(source).astype(int))[: GAPS + 1] for source in delivered.T]
    )


def jobs() -> Mapping[str, Job]:
    """Return one job for each kind of traffic and seed.

    The sources of all seeds are one sample: what chance allows is part of the measures.
    """
    return {
        f"{kind}/{seed}": Job(network_of(kind), SECONDS, starts, seeds=(seed,), samples=SAMPLES)
        for kind, seeds in SEEDS.items()
        for seed in seeds
    }


def over_critical_values(gaps: np.ndarray) -> list[float]:
    """Return how far gaps are from a Poisson process, over what chance allows in one case in 100.

    Args:
        gaps: times from a flow's end to the same source's next start, s; (source, gap).

    Returns:
        The distance of Kolmogorov and Smirnov from the exponential distribution of table 3's mean,
        and the correlation of a gap with the next one, each over its critical value.
    """
    distance = kstest(gaps.ravel(), "expon", args=(0.0, GAP_S)).statistic
    correlation = np.corrcoef(gaps[:, :-1].ravel(), gaps[:, 1:].ravel())[0, 1]
    return [
        float(distance) * math.sqrt(gaps.size) / CRITICAL_DISTANCE,
        abs(float(correlation)) * math.sqrt(gaps[:, 1:].size) / CRITICAL_CORRELATION,
    ]


def measure(results: Results) -> Evidence:
    """Record first starts, and how far the gaps are from those of a Poisson process."""
    evidence = Evidence()
    by_kind = [
        np.concatenate([results[f"{kind}/{seed}"][0] for seed in seeds])
        for kind, seeds in SEEDS.items()
    ]
    distances = [over_critical_values(np.diff(times)) for times in by_kind]
    for place, name in enumerate(("distance", "correlation")):
        values = [pair[place] for pair in distances]
        evidence.note(PACKETS, f"arrivals.{name}_over_critical", values)
    first = np.transpose([times[:, 0] for times in by_kind])
    evidence.note_mean_series(PACKETS, "arrivals.first_s", first)
    return evidence


ARRIVALS = Experiment("arrivals", "Table 2: starts of flows", measure, jobs, own_sources=True)
