"""Changes that make no difference in the paper, and the losses of one flow in slow start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.other_readings import with_readings
from paper_repro.weigle_feng_2001.bars import against
from paper_repro.weigle_feng_2001.counts import Totals
from paper_repro.weigle_feng_2001.formulas import SECONDS
from paper_repro.weigle_feng_2001.networks import table_1, with_drop_tail, with_laws
from paper_repro.weigle_feng_2001.other_readings import THERE_AND_BACK_AT_FIRST, THERE_AND_BACK_ONCE
from paper_repro.weigle_feng_2001.tables import in_flight, propagation_ms
from paper_repro.weigle_feng_2001.traffic import CBR_MBPS, GAP_S, KINDS, LOWER, OFF_S, ON_S
from vegasfluid.traffic import TrafficSource

__all__ = ["SLOW_START", "VARIATIONS"]

LARGE = (100, 105)
"""Alpha and beta, packets."""
LONGER = 3
"""Duration of longer runs, relative to the paper's 200 s."""
SEEDS = (1, 2, 3)
"""Seeds of the runs."""
SHORTER_BUFFER = "packets, a buffer of one bandwidth-delay product"
"""Source of the evidence with a shorter drop-tail buffer."""


def carrying_this(job: Job, traffic: TrafficSource) -> Job:
    """Return the run with another traffic source for all flows."""
    flows = {name: replace(group, traffic=traffic) for name, group in job.network.flows.items()}
    return replace(job, network=replace(job.network, flows=flows))


def variation_jobs() -> Mapping[str, Job]:
    """Return runs of network 2, two-way, at (100, 105): as in figure 5, and with changes."""
    size, rate = LOWER[0], vf.mbps(LOWER[1])
    runs = {kind: replace(against(2, kind, LARGE), seeds=SEEDS) for kind in KINDS}
    for kind in KINDS:
        runs[f"longer_{kind}"] = replace(runs[kind], until=float(LONGER * SECONDS))
    exponential = vf.OnOff(ON_S, OFF_S, rate, times="exponential", mean_gap=GAP_S, mean_size=size)
    runs["exponential"] = carrying_this(runs["pareto"], exponential)
    runs["rate"] = replace(
        carrying_this(runs["bulk"], vf.Cbr(vf.mbps(CBR_MBPS[1]))), seeds=SEEDS[:1]
    )
    return runs


def share(runs: Sequence[Totals]) -> float:
    """Return Vegas's share of all acknowledged packets, mean over seeds."""
    return float(np.mean([run.acked["vegas"] / run.all_acked for run in runs]))


def measure_variations(results: Results) -> Evidence:
    """Record the changes of Vegas's share."""
    evidence = Evidence()
    longer = [share(results[f"longer_{kind}"]) - share(results[kind]) for kind in KINDS]
    measures = {
        "longer": longer,
        "exponential": share(results["exponential"]) - share(results["pareto"]),
        "constant_rate": share(results["rate"]) - share(results["bulk"]),
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"variations.{name}", value)
    return evidence


VARIATIONS = with_readings(
    Experiment(
        "variations", "Longer runs and other distributions", measure_variations, variation_jobs
    ),
    [THERE_AND_BACK_ONCE],
)

FIRST_SECONDS = 2.0
"""Simulated time of slow start, s."""
ACCESS_MBPS = 1000
"""Capacity of network 3's access links, Mbit/s."""


def burst() -> float:
    """Return the packets that an access link of network 3 sends in a round trip."""
    return vf.mbps(ACCESS_MBPS) * propagation_ms(table_1(3)) / 1e3


def lost_at_first(run: xr.Dataset) -> float:
    """Return the packets lost in the first 2 s, over what an access link sends in a round trip."""
    return float(run["dropped"].isel(time=-1, flow_class=0)) / burst()


def slow_start_jobs() -> Mapping[str, Job]:
    """Return runs of one flow on the idle network 3, with RED and with a short buffer."""
    runs = {}
    for law, counts in {"reno": (1, 0), "vegas": (0, 1)}.items():
        network = with_laws(table_1(3), *counts)
        short_buffer = with_drop_tail(network, round(in_flight(network)))
        runs[law] = Job(network, FIRST_SECONDS, keep=lost_at_first)
        runs[f"short_{law}"] = Job(short_buffer, FIRST_SECONDS, keep=lost_at_first)
    return runs


def measure_slow_start(results: Results) -> Evidence:
    """Record the losses of slow start's overshoot."""
    evidence = Evidence()
    for source, prefix in {PACKETS: "", SHORTER_BUFFER: "short_"}.items():
        reno, vegas = (results[f"{prefix}{law}"][0] for law in ("reno", "vegas"))
        evidence.note(source, "slow_start.lost", reno)
        avoided = 1 - vegas / reno if reno else float("nan")
        evidence.note(source, "slow_start.avoided", avoided)
    return evidence


SLOW_START = with_readings(
    Experiment(
        "slow_start", "What slow start loses on network 3", measure_slow_start, slow_start_jobs
    ),
    [THERE_AND_BACK_AT_FIRST],
)
