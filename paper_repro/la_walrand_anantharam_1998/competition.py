"""Section 1: results of others on Vegas in place of Reno, and on Vegas competing with Reno."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.la_walrand_anantharam_1998.networks import BUFFER, LAWS, PACKET_BYTES
from paper_repro.la_walrand_anantharam_1998.other_readings import SECTIONS_1_AND_2
from paper_repro.la_walrand_anantharam_1998.shifts import jobs_for
from paper_repro.other_readings import with_readings
from vegasfluid import metrics

__all__ = ["EXPERIMENT", "mixed"]

UNTIL = 140.0
"""Simulated time, s."""
SETTLED = 40.0
"""Time from which rates and windows are averaged, s."""
TRIP = 0.054
"""Round-trip propagation delay, s: the mean of table 3."""
BUFFERS = (10, 20, 45, BUFFER, 180)
"""Buffers of the bottleneck, packets."""
LARGE = (BUFFER, 180)
"""Buffers that count as large, packets."""
LONG_DELAY = 0.134
"""Round-trip propagation delay, s, at which a single Reno leaves the link idle after each loss."""
SHORT_BUFFER = 6
"""Buffer at which it does, packets."""
SAMPLES = 141
"""Samples of a trajectory, one each second."""


def mixed(counts: Mapping[str, int], buffer: int, trip: float = TRIP) -> vf.Network:
    """Return a network whose connections, of several laws, start within a second over drop-tail.

    Args:
        counts: number of connections by the columns of table 4.
        buffer: size of the buffer, packets.
        trip: round-trip propagation delay, s.
    """
    link = vf.Link(vf.mbps(1.5, PACKET_BYTES), buffer - 1, delay=vf.ms(5))
    flows = {
        law: vf.Flows(
            count,
            LAWS[law],
            base_rtt=trip,
            access=vf.mbps(10, PACKET_BYTES),
            start=vf.UniformStart(1.0),
            send_overhead=0.0,
        )
        for law, count in counts.items()
    }
    return vf.Network(link, flows, packet_bytes=PACKET_BYTES)


def kept(run: Any) -> tuple[dict[str, float], dict[str, float]]:
    """Return a connection's goodput (packets/s) and mean window (packets), by class."""
    names = [str(name) for name in run["flow_class"].values]
    rates = metrics.goodput(run, warmup=SETTLED).values
    windows = run["cwnd"].sel(time=slice(SETTLED, None)).mean("time").values
    return (
        dict(zip(names, map(float, rates), strict=True)),
        dict(zip(names, map(float, windows), strict=True)),
    )


def jobs() -> Mapping[str, Job]:
    """Return runs of five Vegas with five Reno, and of ten of either, for each buffer."""
    runs: dict[str, Job] = {}
    for buffer in BUFFERS:
        for name, counts in (
            ("beside", {"vegas": 5, "reno": 5}), ("vegas", {"vegas": 10}), ("reno", {"reno": 10}),
        ):  # fmt: skip
            network = mixed(counts, buffer)
            runs |= jobs_for(
                f"{name}/{buffer}", lambda shift, network=network: network, UNTIL, SAMPLES, 6, kept
            )
    for law in ("vegas", "reno"):
        network = mixed({law: 1}, SHORT_BUFFER, LONG_DELAY)
        runs |= jobs_for(
            f"{law}/one", lambda shift, network=network: network, UNTIL, SAMPLES, 6, kept
        )
    return runs


def results_of(results: Results, name: str) -> list[tuple[dict[str, float], dict[str, float]]]:
    """Return the results of all runs whose name starts with `name/`."""
    return [one for job, runs in results.items() if job.startswith(f"{name}/") for one in runs]


def reno_over_vegas(results: Results, buffer: int) -> list[float]:
    """Return the goodput of a Reno over that of a Vegas in the same network, for each run."""
    return [rates["reno"] / rates["vegas"] for rates, _ in results_of(results, f"beside/{buffer}")]


def vegas_over_reno_alone(results: Results, buffer: int | str) -> list[float]:
    """Return the goodput of Vegas alone over that of as many Reno alone, for each run."""
    pairs = zip(
        results_of(results, f"vegas/{buffer}"), results_of(results, f"reno/{buffer}"), strict=True
    )
    return [a["vegas"] / b["reno"] for (a, _), (b, _) in pairs]


def measure(results: Results) -> Evidence:
    """Record the ratios by buffer; the paper's is the main source."""
    evidence = Evidence()
    for buffer in BUFFERS:
        source = PACKETS if buffer == BUFFER else f"packets, buffer of {buffer}"
        evidence.note_mean(source, "competition.bandwidth", reno_over_vegas(results, buffer))
        alone = vegas_over_reno_alone(results, buffer)
        evidence.note_mean(source, "competition.alone", alone)
        ten = f"packets, ten within a second, buffer of {buffer}"
        evidence.note_mean(ten, "alone.throughput_of_ten", alone)
    single = "packets, one connection, 134 ms, buffer of 6"
    evidence.note_mean(single, "competition.alone", vegas_over_reno_alone(results, "one"))
    by_buffer = [float(np.mean(reno_over_vegas(results, buffer))) for buffer in BUFFERS]
    evidence.note(PACKETS, "competition.by_buffer", by_buffer)
    large = by_buffer[-len(LARGE) :]
    evidence.note(PACKETS, "competition.large_buffers", large)
    mixed_windows = [windows["vegas"] for _, windows in results_of(results, f"beside/{BUFFER}")]
    vegas_windows = [windows["vegas"] for _, windows in results_of(results, f"vegas/{BUFFER}")]
    evidence.note_mean(
        PACKETS, "competition.backing_off", list(np.array(mixed_windows) / np.array(vegas_windows))
    )
    return evidence


EXPERIMENT = with_readings(
    Experiment("competition", "Vegas in place of Reno, and beside Reno", measure, jobs),
    SECTIONS_1_AND_2,
)
