"""Section 2: Vegas without other congestion controls, and Reno in its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.la_walrand_anantharam_1998.networks import (
    BUFFER,
    LAWS,
    NO_LIMIT,
    PACKET_BYTES,
    gateway,
    persistent,
)
from paper_repro.la_walrand_anantharam_1998.other_readings import SECTIONS_1_AND_2
from paper_repro.la_walrand_anantharam_1998.recorded_run import RecordedRun
from paper_repro.la_walrand_anantharam_1998.shifts import jobs_for, note_means, records
from paper_repro.la_walrand_anantharam_1998.tables import CAPACITY
from paper_repro.other_readings import Change, unchanged, with_readings

__all__ = ["EXPERIMENT", "single"]

UNTIL = 60.0
"""Simulated time, s."""
SETTLED = 30.0
"""Time from which the connections are at equilibrium, s."""
SAMPLES = 1201
"""Samples of a trajectory, one every 0.05 s."""
SHORT, USUAL, LONG = 0.088, 0.134, 0.484
"""Round-trip propagation delays of section 3, s."""
TOGETHER = (0.0,) * 10
"""Start times of ten connections, s."""
SHALLOW = 6
"""Buffer at which a single Reno leaves the link idle after each loss, packets."""
BACKED_UP = 60.0
"""Initial window far above the bandwidth-delay product plus beta, packets."""


def single(
    law: str, trip: float, cwnd: float = 1.0, doubles: bool = True, buffer: int = BUFFER
) -> vf.Network:
    """Return a network with one connection over the bottleneck of figure 6.

    Args:
        law: column of table 4.
        trip: round-trip propagation delay, s.
        cwnd: initial window, packets.
        doubles: whether it starts with slow start.
        buffer: size of the buffer, packets.
    """
    flows = vf.Flows(
        1,
        LAWS[law],
        base_rtt=trip,
        access=vf.mbps(10, PACKET_BYTES),
        initial_window=cwnd,
        send_overhead=0.0,
    )
    flows = flows if doubles else replace(flows, initial_ssthresh=2)
    link = replace(gateway(None), buffer=buffer - 1)
    return vf.Network(link, {"connection1": flows}, packet_bytes=PACKET_BYTES)


def jobs() -> Mapping[str, Job]:
    """Return runs of single connections, and of ten that start together with correct base RTTs."""
    networks = {
        "grow": single("vegas", USUAL, doubles=False),
        "shrink": single("vegas", USUAL, BACKED_UP, doubles=False),
        "steady/88": single("vegas", SHORT),
        "steady/134": single("vegas", USUAL),
        "steady/484": single("vegas", LONG),
    }
    runs: dict[str, Job] = {}
    for name, network in networks.items():
        runs |= jobs_for(name, lambda shift, network=network: network, UNTIL, SAMPLES, shifts=1)
    for law in ("vegas", "reno"):
        runs |= jobs_for(
            f"ten/{law}",
            lambda shift, law=law: persistent(
                LAWS[law], gateway(None), shift, max_window=NO_LIMIT, starts=TOGETHER
            ),
            UNTIL,
            SAMPLES,
        )
        for name, buffer in (("one", BUFFER), ("shallow", SHALLOW)):
            network = single(law, USUAL, buffer=buffer)
            runs |= jobs_for(
                f"{name}/{law}", lambda shift, network=network: network, UNTIL, SAMPLES, 1
            )
    return runs


def windows_a_round(record: RecordedRun, begin: float, end: float, trip: float) -> float:
    """Return the change of the only window per round trip, packets, between two times."""
    period = record.within(begin, end)
    time, cwnd = record.time[period], record.cwnd[period, 0]
    trips = np.maximum(cwnd / CAPACITY, trip)
    rounds = float((np.diff(time) / trips[1:]).sum())
    return float(cwnd[-1] - cwnd[0]) / rounds


def backlogs(record: RecordedRun, network: vf.Network) -> np.ndarray:
    """Return the backlog (w - r d) of each connection at equilibrium, packets; (connection,)."""
    trips = np.array([network.base_rtts(name)[0] for name in network.flows])
    return record.backlogs(trips, SETTLED, UNTIL)


def note_steps(evidence: Evidence, results: Results, change: Change) -> None:
    """Record the steps of the window per round trip, and a single connection's equilibrium."""
    grow, shrink = records(results, "grow")[0], records(results, "shrink")[0]
    settled = {trip: records(results, f"steady/{trip}")[0] for trip in (88, 134, 484)}
    network = change(single("vegas", USUAL))
    base_rtt = network.flows["connection1"].base_rtt
    trip = base_rtt if isinstance(base_rtt, float) else USUAL
    windows = settled[134].cwnd[settled[134].within(SETTLED, UNTIL), 0]
    measures = {
        "steps": [
            windows_a_round(grow, 0.5, 3.0, trip),
            float(windows[-1] - windows[0]),
            windows_a_round(shrink, 0.5, 4.0, trip),
        ],
        "backlog": float(backlogs(settled[134], network)[0]),
        "windows_by_trip": [record.mean_windows(SETTLED, UNTIL)[0] for record in settled.values()],
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"alone.{name}", value)


def note_ten(evidence: Evidence, results: Results, change: Change) -> None:
    """Record measures of ten connections that start together and so know their base RTTs."""
    vegas, reno = records(results, "ten/vegas"), records(results, "ten/reno")
    network = change(persistent(LAWS["vegas"], gateway(None), starts=TOGETHER))
    queues = [record.mean_queue(SETTLED, UNTIL) for record in vegas]
    sums = [float(backlogs(record, network).sum()) for record in vegas]
    pairs = list(zip(vegas, reno, strict=True))
    means = {
        "queue_of_ten": queues,
        "backlog_over_queue": [a / b for a, b in zip(sums, queues, strict=True)],
        "throughput_of_ten": [total(a) / total(b) for a, b in pairs],
        "resent_over_reno": [a.resent / b.resent for a, b in pairs],
        "delay_over_reno": [
            a.mean_queue(SETTLED, UNTIL) / b.mean_queue(SETTLED, UNTIL) for a, b in pairs
        ],
        "jitter_over_reno": [deviation(a.queue, a) / deviation(b.queue, b) for a, b in pairs],
        "drops_vegas": [record.dropped.sum() for record in vegas],
        "drops_reno": [record.dropped.sum() for record in reno],
    }
    for name, values in means.items():
        note_means(evidence, f"alone.{name}", values)
    together = "packets, ten that start together"
    for name in ("alone.throughput_of_one", "competition.alone"):
        note_means(evidence, name, means["throughput_of_ten"], together)


def total(record: RecordedRun) -> float:
    """Return the packets delivered to all connections."""
    return float(record.acked(UNTIL).sum())


def deviation(values: np.ndarray, record: RecordedRun) -> float:
    """Return the standard deviation after the start, packets."""
    return float(values[record.within(SETTLED, UNTIL)].std())


def measure(results: Results, change: Change = unchanged) -> Evidence:
    """Record steps and equilibria of Vegas, and Vegas compared with Reno."""
    evidence = Evidence()
    note_steps(evidence, results, change)
    note_ten(evidence, results, change)
    vegas, reno = records(results, "one/vegas")[0], records(results, "one/reno")[0]
    evidence.note(
        PACKETS,
        "alone.oscillation_over_reno",
        deviation(vegas.cwnd[:, 0], vegas) / deviation(reno.cwnd[:, 0], reno),
    )
    evidence.note(PACKETS, "alone.throughput_of_one", total(vegas) / total(reno))
    shallow = [total(records(results, f"shallow/{law}")[0]) for law in ("vegas", "reno")]
    source = f"packets, buffer of {SHALLOW}"
    evidence.note(source, "alone.throughput_of_one", shallow[0] / shallow[1])
    return evidence


EXPERIMENT = with_readings(
    Experiment("alone", "Vegas by itself, and Reno in its place", measure, jobs),
    SECTIONS_1_AND_2,
    measure,
)
