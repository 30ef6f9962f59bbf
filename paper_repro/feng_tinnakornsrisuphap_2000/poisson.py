"""Sections 2.2 and 3.2: independent Poisson sources without TCP."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.feng_tinnakornsrisuphap_2000.esnet import (
    CURRENT,
    DURATION,
    MEASURED_ROUND_TRIP,
    theoretical_cov,
)
from vegasfluid import metrics
from vegasfluid.burstiness import METHODS
from vegasfluid.congestion.unresponsive import Unresponsive

__all__ = ["POISSON"]

NAME = "poisson"
CLIENTS = (2, 8, 30, 60)
"""Numbers of sources."""
HURST = "hurst "
"""Prefix of the keys under which Hurst parameters are kept."""


def keep(run: xr.Dataset) -> Mapping[str, float]:
    """Return c.o.v. and Hurst parameters of the arrivals at the link."""
    exponents = {HURST + name: metrics.hurst(run, name).value for name in METHODS}
    return {"cov": metrics.cov(run).value, **exponents}


def jobs() -> Mapping[str, Job]:
    """Return runs of the current network's clients over one link, without congestion control."""
    traffic = vf.Poisson(vf.ms(CURRENT.packet_interval_ms))
    link = vf.Link(vf.mbps(1000), buffer=10_000)
    return {
        str(count): Job(
            vf.Network(
                link, {"udp": vf.Flows(count, Unresponsive(), base_rtt=0.01, traffic=traffic)}
            ),
            DURATION,
            keep=keep,
            bin_width=MEASURED_ROUND_TRIP,
        )
        for count in CLIENTS
    }


def measure(results: Results) -> Evidence:
    """Record c.o.v. over equation 1, its slope in logarithms, and Hurst parameters."""
    evidence = Evidence()
    values = [results[str(count)][0] for count in CLIENTS]
    cov = np.array([value["cov"] for value in values])
    theory = np.array([theoretical_cov(CURRENT, count) for count in CLIENTS])
    slope = np.polyfit(np.log(CLIENTS), np.log(cov), 1)[0]
    evidence.note(PACKETS, f"{NAME}.cov_over_theory", (cov / theory).tolist())
    evidence.note(PACKETS, f"{NAME}.slope", float(slope))
    for method in METHODS:
        source = PACKETS if method == "local_whittle" else f"packets, {method.replace('_', ' ')}"
        exponents = [value[HURST + method] for value in values]
        evidence.note(source, f"{NAME}.hurst", exponents)
    return evidence


POISSON = Experiment(
    NAME,
    "Sections 2.2 and 3.2: Poisson sources without TCP.",
    measure,
    jobs,
    quick=True,
    own_sources=True,
)
