"""Section 1: what others found, Vegas in place of Reno, and Vegas beside Reno."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.la_walrand_anantharam_1998.networks import BUFFER, LAWS, PACKET_BYTES
from paper_repro.la_walrand_anantharam_1998.shifts import jobs_for
from vegasfluid import metrics

__all__ = ["EXPERIMENT", "mixed"]

UNTIL, SETTLED = 140.0, 40.0
"""s."""
TRIP = 0.054
"""s: the mean of table 3."""
BUFFERS = (10, 20, 45, BUFFER, 180)
LARGE = (BUFFER, 180)
"""Packets."""
LONG_WAY, SHORT_BUFFER = 0.134, 6
"""s and packets: where a single Reno leaves a link empty after each loss."""
SAMPLES = 141


def mixed(kinds: Mapping[str, int], buffer: int, trip: float = TRIP) -> vf.Network:
    """Connections of several laws that start within a second, over drop-tail.

    Args:
        kinds: how many of each, by the columns of table 4.
        buffer: packets.
        trip: propagation there and back, s.
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
        for law, count in kinds.items()
    }
    return vf.Network(link, flows, packet_bytes=PACKET_BYTES)


def kept(run: Any) -> tuple[dict[str, float], dict[str, float]]:
    """Packets a second and windows of a connection of each law."""
    names = [str(name) for name in run["flow_class"].values]
    rates = metrics.goodput(run, warmup=SETTLED).values
    windows = run["cwnd"].sel(time=slice(SETTLED, None)).mean("time").values
    return (
        dict(zip(names, map(float, rates), strict=True)),
        dict(zip(names, map(float, windows), strict=True)),
    )


def jobs() -> Mapping[str, Job]:
    """Five of each side by side, and ten of each alone, over buffers small and large."""
    made: dict[str, Job] = {}
    for buffer in BUFFERS:
        for name, kinds in (
            ("beside", {"vegas": 5, "reno": 5}), ("vegas", {"vegas": 10}), ("reno", {"reno": 10}),
        ):  # fmt: skip
            network = mixed(kinds, buffer)
            made |= jobs_for(
                f"{name}/{buffer}", lambda shift, of=network: of, UNTIL, SAMPLES, 6, kept
            )
    for law in ("vegas", "reno"):
        network = mixed({law: 1}, SHORT_BUFFER, LONG_WAY)
        made |= jobs_for(f"{law}/one", lambda shift, of=network: of, UNTIL, SAMPLES, 6, kept)
    return made


def of_kind(results: Results, name: str) -> list[tuple[dict[str, float], dict[str, float]]]:
    """What was kept of the runs of a kind."""
    return [one for job, runs in results.items() if job.startswith(f"{name}/") for one in runs]


def reno_over_vegas(results: Results, buffer: int) -> list[float]:
    """Goodput of a Reno over that of a Vegas beside it, each run."""
    return [rates["reno"] / rates["vegas"] for rates, _ in of_kind(results, f"beside/{buffer}")]


def vegas_over_reno_alone(results: Results, buffer: int | str) -> list[float]:
    """Goodput of Vegas over that of as many Reno, each run."""
    pairs = zip(
        of_kind(results, f"vegas/{buffer}"), of_kind(results, f"reno/{buffer}"), strict=True
    )
    return [a["vegas"] / b["reno"] for (a, _), (b, _) in pairs]


def measure(results: Results) -> Evidence:
    """On the paper's buffer; the others as further sources, and as a series."""
    evidence = Evidence()
    for buffer in BUFFERS:
        source = PACKETS if buffer == BUFFER else f"packets, buffer of {buffer}"
        evidence.note_mean(source, "competition.bandwidth", reno_over_vegas(results, buffer))
        evidence.note_mean(source, "competition.alone", vegas_over_reno_alone(results, buffer))
    single = "packets, one connection, 134 ms, buffer of 6"
    evidence.note_mean(single, "competition.alone", vegas_over_reno_alone(results, "one"))
    by_buffer = [float(np.mean(reno_over_vegas(results, buffer))) for buffer in BUFFERS]
    evidence.note(PACKETS, "competition.by_buffer", by_buffer)
    large = by_buffer[-len(LARGE) :]
    evidence.note(PACKETS, "competition.large_buffers", large)
    beside = [windows["vegas"] for _, windows in of_kind(results, f"beside/{BUFFER}")]
    alone = [windows["vegas"] for _, windows in of_kind(results, f"vegas/{BUFFER}")]
    evidence.note_mean(PACKETS, "competition.backing_off", list(np.array(beside) / np.array(alone)))
    return evidence


EXPERIMENT = Experiment("competition", "Vegas in place of Reno, and beside Reno", measure, jobs)
