"""Tables 1 to 3: the content of the model files, and the text's statements about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import ARITHMETIC, PACKETS, Evidence, Experiment, Job, Results
from paper_repro.weigle_feng_2001.networks import table_1
from paper_repro.weigle_feng_2001.traffic import (
    CBR_MBPS,
    GAP_S,
    HIGHER,
    LOWER,
    OFF_S,
    ON_S,
    SHAPE,
    nps,
)
from vegasfluid.quantities import mbps

__all__ = ["TABLES_2_AND_3", "TABLE_1", "in_flight", "propagation_ms"]

NUMBERS = (1, 2, 3, 4)
"""Numbers of the networks."""
ROUTERS = 2
"""Router nodes of figure 2."""
EACH_NETWORK = f"{ARITHMETIC}, networks of table 1"
"""Source of the evidence from a count of topologies that takes each network for one."""


def propagation_ms(network: vf.Network) -> float:
    """Return the round-trip propagation delay, ms."""
    return 1e3 * next(iter(network.flows.values())).propagation([network.link])[0]


def in_flight(network: vf.Network) -> float:
    """Return the bandwidth-delay product, packets."""
    return network.link.capacity * propagation_ms(network) / 1e3


def access(network: vf.Network, name: str) -> float:
    """Return a parameter of the access links, equal for all flows; NaN where it is None."""
    (value,) = {getattr(flows, name) for flows in network.flows.values()}
    return math.nan if value is None else float(value)


def nodes(network: vf.Network) -> float:
    """Return the number of source nodes, which have one flow each."""
    return sum(flows.count for flows in network.flows.values() if flows.direction == "forward")


ROWS: Mapping[str, Callable[[vf.Network], float]] = {
    "nodes": nodes,
    "access_mbps": lambda x: access(x, "access") / mbps(1),
    "access_ms": lambda x: 1e3 * access(x, "access_delay"),
    "link_mbps": lambda x: x.link.capacity / mbps(1),
    "link_ms": lambda x: 1e3 * x.link.delay,
    "buffer": lambda x: x.link.buffer,
    "red_min": lambda x: x.link.aqm.parameters()["min_thresh"],
    "red_max": lambda x: x.link.aqm.parameters()["max_thresh"],
}
"""Functions that compute a row of table 1 from a network."""
VARIED = ("buffer", "red_min", "red_max")
"""Rows in which network 1 has a range."""


def row(name: str, *, besides: int = 0) -> list[float]:
    """Return a row of table 1, without the first `besides` networks."""
    return [float(ROWS[name](table_1(number))) for number in NUMBERS[besides:]]


def settings() -> set[tuple[float, ...]]:
    """Return the distinct parameters of the networks, without delays."""
    names = [name for name in ROWS if not name.endswith("_ms")]
    return {tuple(float(ROWS[name](table_1(number))) for name in names) for number in NUMBERS}


def rows_that_differ(one: vf.Network, other: vf.Network) -> list[str]:
    """Return the rows of table 1 in which two networks differ."""
    return [name for name, read in ROWS.items() if read(one) != read(other)]


def measure_table_1(results: Results) -> Evidence:
    """Record the rows of table 1, and statements about the networks."""
    evidence = Evidence()
    for name in ROWS:
        evidence.note(ARITHMETIC, f"table1.{name}", row(name, besides=int(name in VARIED)))
    differing = rows_that_differ(table_1(3), table_1(4))
    evidence.note(ARITHMETIC, "table1.networks", len(NUMBERS))
    hosts = [2 * nodes(table_1(number)) + ROUTERS for number in NUMBERS]
    evidence.note(ARITHMETIC, "table1.total_nodes", hosts)
    evidence.note(ARITHMETIC, "table1.topologies", len(settings()))
    evidence.note(EACH_NETWORK, "table1.topologies", len(NUMBERS))
    others = [name for name in differing if not name.endswith("_ms")]
    evidence.note(ARITHMETIC, "table1.other_differences_of_3_and_4", len(others))
    evidence.note(ARITHMETIC, "table1.packet_bytes", [table_1(n).packet_bytes for n in NUMBERS])
    return evidence


TABLE_1 = Experiment(
    "table1", "Table 1: the networks", measure_table_1, quick=True
)  # fmt: skip


SPARE = vf.mbps(100_000)
"""Capacity of a link without queueing, packets/s."""
SHORT = 1e-4
"""Base round-trip time, s, at which a flow is sent as soon as it arrives."""
WIDE = 2000.0
"""Window, packets, with which a flow is sent as soon as it arrives."""
SECONDS = 20.0
"""Simulated time of sessions, s."""
SAMPLES = 2001
"""Samples of a trajectory, one every 10 ms."""
CYCLES_S = 100.0
"""Simulated time of on and off times, s: 1000 of each for every flow."""


def transfers() -> vf.Network:
    """Return a network that delivers each flow at once, so that lengths and gaps are visible."""
    traffic = nps(LOWER[0], vf.mbps(LOWER[1]))
    reno = vf.Flows(
        40, vf.Reno(), base_rtt=SHORT, initial_window=WIDE, max_window=WIDE, traffic=traffic
    )
    return vf.Network(vf.Link(SPARE, 1e6), {"reno": reno})


def on_and_off() -> vf.Network:
    """Return a network with endless on and off times, sent without congestion control."""
    forever = vf.OnOff(ON_S, OFF_S, vf.mbps(LOWER[1]), SHAPE)
    flows = vf.Flows(40, vf.Unresponsive(), base_rtt=SHORT, traffic=forever)
    return vf.Network(vf.Link(SPARE, 1e6), {"udp": flows})


class Bursts(NamedTuple):
    """Flows that are sent at once."""

    lengths: np.ndarray
    """Lengths of the flows, packets; (flow,)."""
    gaps: np.ndarray
    """Times from the end of a flow to the start of the same source's next, s; (gap,)."""
    first: np.ndarray
    """Start of each source's first flow, s; (source,)."""


def bursts(run: xr.Dataset) -> Bursts:
    """Return lengths and gaps, from the packets delivered between samples."""
    times, delivered = run["time"].values, run["flow_delivered"].values
    lengths, gaps, first = [], [], []
    for source in delivered.T:
        moving = np.diff(source) > 0
        edges = np.flatnonzero(np.diff(np.r_[False, moving, False].astype(int)))
        begins, ends = edges[::2], edges[1::2]
        complete = ends < len(times) - 1  # the last one may not be over
        lengths += list((source[ends] - source[begins])[complete])
        gaps += list(times[begins[1:]] - times[ends[:-1]])
        first.append(times[begins[0]])
    return Bursts(np.array(lengths), np.array(gaps), np.array(first))


def duty(run: xr.Dataset) -> float:
    """Return the fraction of the time in which on-off sources are on."""
    sent = float(run["delivered"].isel(time=-1, flow_class=0))
    return sent / (vf.mbps(LOWER[1]) * float(run["time"][-1]))


def traffic_jobs() -> Mapping[str, Job]:
    """Return runs of flows delivered at once, and of on-off sources."""
    return {
        "transfers": Job(transfers(), SECONDS, keep=bursts, samples=SAMPLES),
        "on_and_off": Job(on_and_off(), CYCLES_S, keep=duty),
    }


def measure_traffic(results: Results) -> Evidence:
    """Record table 3's numbers as the generators produce them, and the offered rates."""
    evidence = Evidence()
    (flows,) = results["transfers"]
    smallest = LOWER[0] * 1e6 / 1500 / 3  # a third of the mean at shape 1.5
    shape = len(flows.lengths) / np.sum(np.log(np.maximum(flows.lengths / smallest, 1)))
    measures = {
        "gap_s": np.mean(flows.gaps),
        "gap_variation": np.std(flows.gaps) / np.mean(flows.gaps),
        "shape": shape,
        "median_mb": np.median(flows.lengths) * 1500 / 1e6,
        "first_s": np.mean(flows.first),
        "on_share": results["on_and_off"][0],
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"table3.{name}", float(value))
    evidence.note(ARITHMETIC, "table3.offered_mbps", offered_mbps())
    evidence.note(ARITHMETIC, "table3.cbr_mbps", list(map(float, CBR_MBPS)))
    for place, name in enumerate(("lengths_mb", "rates_mbps")):
        evidence.note(ARITHMETIC, f"table3.{name}", [LOWER[place], HIGHER[place]])
    return evidence


def offered_mbps() -> list[float]:
    """Return the rates that sources of CBR, NPS and Pareto offer without congestion, Mbit/s.

    CBR sends at its rate. A flow of Pareto or NPS takes its length over its mean rate, and the time
    between flows is added.
    """
    size, rate = LOWER
    means = [rate, rate * ON_S / (ON_S + OFF_S)]
    return [rate] + [8 * size / (8 * size / mean + GAP_S) for mean in means]


TABLES_2_AND_3 = Experiment(
    "table3", "Tables 2 and 3: the traffic", measure_traffic, traffic_jobs, own_sources=True
)  # fmt: skip
