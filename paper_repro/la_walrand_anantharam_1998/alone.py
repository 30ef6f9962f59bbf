"""Section 2: what Vegas does by itself, and what Reno does in its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.la_walrand_anantharam_1998.networks import (
    LAWS,
    NO_LIMIT,
    PACKET_BYTES,
    gateway,
    persistent,
)
from paper_repro.la_walrand_anantharam_1998.recorded_run import RecordedRun
from paper_repro.la_walrand_anantharam_1998.shifts import jobs_for, note_means, records
from paper_repro.la_walrand_anantharam_1998.tables import CAPACITY

__all__ = ["EXPERIMENT", "single"]

UNTIL, SETTLED = 60.0, 30.0
"""s."""
SAMPLES = 1201
SHORT, USUAL, LONG = 0.088, 0.134, 0.484
"""s: round trips of section 3."""
TOGETHER = (0.0,) * 10
BACKED_UP = 60.0
"""Packets of a first window that is far above alpha and beta."""


def single(law: str, trip: float, cwnd: float = 1.0, doubles: bool = True) -> vf.Network:
    """One connection over the bottleneck of figure 6.

    Args:
        law: a column of table 4.
        trip: propagation there and back, s.
        cwnd: the first window, packets.
        doubles: whether it begins with slow start.
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
    return vf.Network(gateway(None), {"connection1": flows}, packet_bytes=PACKET_BYTES)


def jobs() -> Mapping[str, Job]:
    """Single connections; and ten that start together, so that their base RTTs are right."""
    one = {
        "grow": single("vegas", USUAL, doubles=False),
        "shrink": single("vegas", USUAL, BACKED_UP, doubles=False),
        "rest/88": single("vegas", SHORT),
        "rest/134": single("vegas", USUAL),
        "rest/484": single("vegas", LONG),
    }
    made: dict[str, Job] = {}
    for name, network in one.items():
        made |= jobs_for(name, lambda shift, of=network: of, UNTIL, SAMPLES, shifts=1)
    for law in ("vegas", "reno"):
        made |= jobs_for(
            f"ten/{law}",
            lambda shift, law=law: persistent(
                LAWS[law], gateway(None), shift, max_window=NO_LIMIT, starts=TOGETHER
            ),
            UNTIL,
            SAMPLES,
        )
        made |= jobs_for(f"one/{law}", lambda shift, law=law: single(law, USUAL), UNTIL, SAMPLES, 1)
    return made


def windows_a_round(record: RecordedRun, begin: float, end: float, trip: float) -> float:
    """Packets by which the only window changes in a round trip."""
    inside = record.within(begin, end)
    time, cwnd = record.time[inside], record.cwnd[inside, 0]
    trips = np.maximum(cwnd / CAPACITY, trip)
    rounds = float((np.diff(time) / trips[1:]).sum())
    return float(cwnd[-1] - cwnd[0]) / rounds


def backlogs(record: RecordedRun, network: vf.Network) -> np.ndarray:
    """Backlog (w - r d) of each connection at rest, packets; (connection,)."""
    trips = np.array([network.base_rtts(name)[0] for name in network.flows])
    return record.backlogs(trips, SETTLED, UNTIL)


def note_steps(evidence: Evidence, results: Results) -> None:
    """The rule of the window, and where a single connection rests."""
    grow, shrink = records(results, "grow")[0], records(results, "shrink")[0]
    rest = {trip: records(results, f"rest/{trip}")[0] for trip in (88, 134, 484)}
    at_rest = rest[134].cwnd[rest[134].within(SETTLED, UNTIL), 0]
    found = {
        "steps": [
            windows_a_round(grow, 0.5, 3.0, USUAL),
            float(at_rest[-1] - at_rest[0]),
            windows_a_round(shrink, 0.5, 4.0, USUAL),
        ],
        "backlog": float(backlogs(rest[134], single("vegas", USUAL))[0]),
        "windows_by_trip": [record.mean_windows(SETTLED, UNTIL)[0] for record in rest.values()],
    }
    for name, value in found.items():
        evidence.note(PACKETS, f"alone.{name}", value)


def note_ten(evidence: Evidence, results: Results) -> None:
    """Ten connections that start together: right base RTTs."""
    vegas, reno = records(results, "ten/vegas"), records(results, "ten/reno")
    network = persistent(LAWS["vegas"], gateway(None), starts=TOGETHER)
    queues = [of.mean_queue(SETTLED, UNTIL) for of in vegas]
    sums = [float(backlogs(of, network).sum()) for of in vegas]
    pairs = list(zip(vegas, reno, strict=True))
    means = {
        "queue_of_ten": queues,
        "backlog_over_queue": [a / b for a, b in zip(sums, queues, strict=True)],
        "throughput_of_ten": [total(a) / total(b) for a, b in pairs],
        "resent_over_reno": [a.resent / b.resent for a, b in pairs],
        "delay_over_reno": [
            a.mean_queue(SETTLED, UNTIL) / b.mean_queue(SETTLED, UNTIL) for a, b in pairs
        ],
        "jitter_over_reno": [swing(a.queue, a) / swing(b.queue, b) for a, b in pairs],
        "drops_vegas": [of.dropped.sum() for of in vegas],
        "drops_reno": [of.dropped.sum() for of in reno],
    }
    for name, values in means.items():
        note_means(evidence, f"alone.{name}", values)


def total(record: RecordedRun) -> float:
    """Packets of all connections."""
    return float(record.acked(UNTIL).sum())


def swing(values: np.ndarray, record: RecordedRun) -> float:
    """Standard deviation after the start, packets."""
    return float(values[record.within(SETTLED, UNTIL)].std())


def measure(results: Results) -> Evidence:
    """Rules, rest and Reno."""
    evidence = Evidence()
    note_steps(evidence, results)
    note_ten(evidence, results)
    vegas, reno = records(results, "one/vegas")[0], records(results, "one/reno")[0]
    evidence.note(
        PACKETS,
        "alone.oscillation_over_reno",
        swing(vegas.cwnd[:, 0], vegas) / swing(reno.cwnd[:, 0], reno),
    )
    evidence.note(PACKETS, "alone.throughput_of_one", total(vegas) / total(reno))
    return evidence


EXPERIMENT = Experiment("alone", "Vegas by itself, and Reno in its place", measure, jobs)
