"""Vegas switched on for a flow in mid-life, and set for each flow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.net100_2004.path import (
    BUFFER,
    GAMMA,
    LINE,
    ROUND_TRIP,
    STANDARD,
    Flow,
    alone,
    one_of,
    product,
    vegas,
)
from vegasfluid.congestion.base import CongestionControl, PacketRules
from vegasfluid.congestion.vegas import DIALECTS
from vegasfluid.congestion.vegas.linux import NO_SAMPLE, as_reno, begin_round
from vegasfluid.congestion.vegas.linux import increase_window as increase_linux_window

__all__ = ["SWITCHING", "SwitchedVegas"]

SWITCHED_AT = 60.0
"""Time at which Vegas is switched on, s."""
SWITCH = int(SWITCHED_AT * 10**12)
"""The same time in the simulator's unit, ps."""
UNTIL = 180.0
"""Simulated time, s."""
SETTLED = 120.0
"""Time from which the switched flow is measured, s."""
SYSCTL, WAD = (1, 3), (60, 80)
"""Alpha and beta of the sysctl variables, and of the WAD, packets."""
LAST = 20.0
"""Length of the last part of a test, s."""
FIRST = 5.0
"""Length of a test of the first slow start, s."""
HUGE = 999_999.0
"""Gamma that never ends slow start, packets."""


def grow_by_time(flow: Any, now: int, acked: int) -> None:
    """Grow a flow's window as Reno's up to 60 s, then as Linux's Vegas.

    Vegas learns its base RTT from then on.
    """
    if now < SWITCH:
        as_reno(flow, acked)
        flow.base_rtt = NO_SAMPLE
        begin_round(flow)
    else:
        increase_linux_window(flow, now, acked)


SWITCHED = replace(DIALECTS["linux"].rules, increase_window=grow_by_time)
"""Packet rules of a Vegas that is on from 60 s on."""


@dataclass(frozen=True)
class SwitchedVegas(vf.Vegas):
    """Reno that becomes Linux's Vegas after 60 s."""

    @property
    def rules(self) -> PacketRules:
        """Return the rules of Linux's Vegas with another growth up to 60 s."""
        return SWITCHED


def differences(run: xr.Dataset) -> dict[str, tuple[float, float]]:
    """Return the mean Vegasdiff (packets) of the last 20 s, and all decisions, by flow class."""
    names = ("vegas_below_alpha", "vegas_unchanged", "vegas_above_beta")
    late = run["vegas_diff"].sel(time=slice(float(run["time"][-1]) - LAST, None)).mean("time")
    decisions = run[list(names)].isel(time=-1).to_array().sum("variable")
    return {
        str(name): (float(late.sel(flow_class=name)), float(decisions.sel(flow_class=name)))
        for name in run["flow_class"].values
    }


def by_flow(*, with_standard: bool) -> Job:
    """Return a test of Vegas set by the WAD beside Vegas by sysctl, and perhaps standard TCP."""
    laws: dict[str, CongestionControl] = {"wad": vegas(*WAD), "sysctl": vegas(*SYSCTL, gamma=2)}
    if with_standard:
        laws["standard"] = STANDARD
    flows = {name: one_of(law) for name, law in laws.items()}
    network = vf.Network(vf.Link(LINE, BUFFER), flows, ack_bytes=52)
    return Job(network, UNTIL, keep=differences, samples=3601)


def jobs() -> Mapping[str, Job]:
    """Return tests of the switch, of per-flow settings, and of gamma."""
    alpha, beta = WAD
    return {
        "switched": alone(SwitchedVegas(alpha, beta, GAMMA, dialect="linux"), UNTIL),
        "per_flow": by_flow(with_standard=True),
        "only_vegas": by_flow(with_standard=False),
        "without_gamma": alone(vegas(*WAD, HUGE), FIRST),
        "with_gamma": alone(vegas(*WAD), FIRST),
    }


def after_switch(run: Flow) -> dict[str, float | list[float]]:
    """Return window (bandwidth-delay products), largest RTT (ms), drops and decisions.

    Drops and decisions are those before and after the switch; window and RTT are those from 120 s
    on.
    """
    late = run.times >= SETTLED
    decided = run.below + run.unchanged + run.above
    at_switch = [float(np.interp(SWITCHED_AT, run.times, x)) for x in (run.dropped, decided)]
    return {
        "window": float(run.cwnd[late].mean()) / product(),
        "rtt": 1e3 * float(run.rtt[late].max()),
        "drops_after": float(run.dropped[-1]) - at_switch[0],
        "decisions": [at_switch[1], float(decided[-1]) - at_switch[1]],
    }


def measure(results: Results) -> Evidence:
    """Record what the tests show."""
    evidence = Evidence()
    found = after_switch(results["switched"][0])
    before, after = found["decisions"]  # type: ignore[misc]
    rounds = (UNTIL - SWITCHED_AT) / ROUND_TRIP
    mixture, pair = results["per_flow"][0], results["only_vegas"][0]
    starts = [results[name][0].dropped[-1] for name in ("with_gamma", "without_gamma")]
    measures = {
        "window": found["window"],
        "rtt": found["rtt"],
        "drops_after": found["drops_after"],
        "on_and_off": [before, after / rounds],
        "per_flow": [float(mixture[name][1] > 0) for name in ("wad", "sysctl", "standard")],
        "wad_difference": pair["wad"][0],
        "sysctl_difference": pair["sysctl"][0],
        "losses_without_gamma": float(starts[1] - starts[0]),
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"switching.{name}", value)
    return evidence


SWITCHING = [
    Experiment("switching", "Vegas by flow and in mid-life", measure, jobs)
]  # fmt: skip
