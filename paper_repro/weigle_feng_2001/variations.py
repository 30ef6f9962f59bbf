"""What the paper says makes no difference, and what one flow loses in slow start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.weigle_feng_2001.bars import against
from paper_repro.weigle_feng_2001.counts import Totals
from paper_repro.weigle_feng_2001.formulas import SECONDS
from paper_repro.weigle_feng_2001.networks import table_1, with_drop_tail, with_laws
from paper_repro.weigle_feng_2001.tables import in_flight, propagation_ms
from paper_repro.weigle_feng_2001.traffic import CBR_MBPS, GAP_S, KINDS, LOWER, OFF_S, ON_S
from vegasfluid.traffic import TrafficSource

__all__ = ["SLOW_START", "VARIATIONS"]

LARGE = (100, 105)
LONGER = 3
"""Times the paper's 200 s."""
SEEDS = (1, 2, 3)
SHORTER_BUFFER = "packets, a buffer of one bandwidth-delay product"


def carrying_this(job: Job, traffic: TrafficSource) -> Job:
    """The same flows with other applications."""
    flows = {name: replace(of, traffic=traffic) for name, of in job.network.flows.items()}
    return replace(job, network=replace(job.network, flows=flows))


def variation_jobs() -> Mapping[str, Job]:
    """Network 2 two-way at (100, 105): as in figure 5, longer, and with other applications."""
    size, rate = LOWER[0], vf.mbps(LOWER[1])
    found = {kind: replace(against(2, kind, LARGE), seeds=SEEDS) for kind in KINDS}
    for kind in KINDS:
        found[f"longer_{kind}"] = replace(found[kind], until=float(LONGER * SECONDS))
    exponential = vf.OnOff(ON_S, OFF_S, rate, times="exponential", mean_gap=GAP_S, mean_size=size)
    found["exponential"] = carrying_this(found["pareto"], exponential)
    found["rate"] = replace(
        carrying_this(found["bulk"], vf.Cbr(vf.mbps(CBR_MBPS[1]))), seeds=SEEDS[:1]
    )
    return found


def share(runs: Sequence[Totals]) -> float:
    """Vegas's part of all packets acknowledged, mean over seeds."""
    return float(np.mean([run.acked["vegas"] / run.all_acked for run in runs]))


def measure_variations(results: Results) -> Evidence:
    """By how much Vegas's share differs."""
    evidence = Evidence()
    longer = [share(results[f"longer_{kind}"]) - share(results[kind]) for kind in KINDS]
    found = {
        "longer": longer,
        "exponential": share(results["exponential"]) - share(results["pareto"]),
        "constant_rate": share(results["rate"]) - share(results["bulk"]),
    }
    for name, value in found.items():
        evidence.note(PACKETS, f"variations.{name}", value)
    return evidence


VARIATIONS = Experiment(
    "variations", "Longer runs and other distributions", measure_variations, variation_jobs
)  # fmt: skip

FIRST_SECONDS = 2.0
ACCESS_MBPS = 1000


def burst() -> float:
    """Packets that the access links of network 3 send in its round trip."""
    return vf.mbps(ACCESS_MBPS) * propagation_ms(table_1(3)) / 1e3


def lost_at_first(run: xr.Dataset) -> float:
    """Packets lost in the first seconds, over those that the access link sends in a round trip."""
    return float(run["dropped"].isel(time=-1, flow_class=0)) / burst()


def slow_start_jobs() -> Mapping[str, Job]:
    """One flow that begins on the idle network 3, with its RED queue and with a short buffer."""
    found = {}
    for law, counts in {"reno": (1, 0), "vegas": (0, 1)}.items():
        alone = with_laws(table_1(3), *counts)
        short = with_drop_tail(alone, round(in_flight(alone)))
        found[law] = Job(alone, FIRST_SECONDS, keep=lost_at_first)
        found[f"short_{law}"] = Job(short, FIRST_SECONDS, keep=lost_at_first)
    return found


def measure_slow_start(results: Results) -> Evidence:
    """What the overshoot of slow start loses."""
    evidence = Evidence()
    for source, prefix in {PACKETS: "", SHORTER_BUFFER: "short_"}.items():
        reno, vegas = (results[f"{prefix}{law}"][0] for law in ("reno", "vegas"))
        evidence.note(source, "slow_start.lost", reno)
        avoided = 1 - vegas / reno if reno else float("nan")
        evidence.note(source, "slow_start.avoided", avoided)
    return evidence


SLOW_START = Experiment(
    "slow_start", "What slow start loses on network 3", measure_slow_start, slow_start_jobs
)  # fmt: skip
