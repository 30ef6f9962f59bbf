"""The page's first graph: four tests from Oak Ridge to Berkeley, and sentences on gamma."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.net100_2004.coarse_clock import CoarseVegas
from paper_repro.net100_2004.other_readings import OF_HOSTS_AND_PATH
from paper_repro.net100_2004.path import (
    GAMMA,
    LINE,
    ROUND_TRIP,
    STANDARD,
    Flow,
    alone,
    product,
    unlimited,
    vegas,
)
from paper_repro.other_readings import with_readings
from paper_repro.style import COLOURS, PAPER_MARK, label, panels

__all__ = ["FIRST_GRAPH"]

SECONDS = 120.0
"""Simulated time of a test, s; the page does not print it."""
LARGER_BUFFER = round(0.030 * LINE)
"""Buffer of another reading, packets: 30 ms at the line's rate."""
STARTED = 5.0
"""Time at which slow start has ended, s."""
LAST = 5.0
"""Length of the last part of a test, s."""
HUGE = 999_999.0
"""Gamma that never ends slow start, packets."""
OTHER = "packets, slow start every other round trip and 30 ms of buffer"
"""Source of the evidence under another reading."""
ALPHA = 60
"""Larger lower threshold of the page, packets."""
BETA = 80
"""Larger upper threshold of the page, packets."""
THRESHOLDS = {"6_8": (6, 8), "60_80": (ALPHA, BETA)}
"""Alpha and beta of the tests, packets."""
STYLES = {
    "standard": ("standard", "reno", "-"),
    "coarse_60_80": ("60/80, 10 ms clock", "other", "-"),
    "6_8": ("6/8", "vegas", "--"),
    "60_80": ("60/80", "fourth", ":"),
}
"""Title, colour and line style of each test."""


def jobs() -> Mapping[str, Job]:
    """Return the four tests, and others that single sentences need."""
    runs = {name: alone(vegas(*pair), SECONDS) for name, pair in THRESHOLDS.items()}
    for name, (alpha, beta) in THRESHOLDS.items():
        law = CoarseVegas(alpha=alpha, beta=beta, gamma=GAMMA, dialect="linux")
        runs[f"coarse_{name}"] = alone(law, SECONDS)
    return runs | {
        "standard": alone(STANDARD, SECONDS),
        "default": alone(vegas(1, 3, 2), SECONDS),
        "unlimited": unlimited(vegas(60, 80), STARTED),
        "gamma_off": unlimited(vegas(60, 80, HUGE), STARTED),
        **{
            f"other_{name}": alone(vf.Vegas(alpha, beta, GAMMA), SECONDS, buffer=LARGER_BUFFER)
            for name, (alpha, beta) in THRESHOLDS.items()
        },
    }


def counters(run: Flow) -> dict[str, Any]:
    """Return what Net100's counters report after slow start and at the end of a test."""
    begin = int(np.searchsorted(run.times, STARTED))
    end = int(np.searchsorted(run.times, run.times[-1] - LAST))
    up, down = run.below[-1] - run.below[begin], run.above[-1] - run.above[begin]
    last = run.difference[end:]
    in_band = np.all((last >= ALPHA) & (last <= BETA))
    moves = run.below[-1] + run.above[-1] - run.below[end] - run.above[end]
    unchanged = (run.unchanged[-1] - run.unchanged[end]) / run.decisions(run.times[end])
    return {
        "moves": float(run.cwnd[-1] - run.cwnd[begin] - (up - down)),
        "once_a_round": run.decisions(STARTED) * ROUND_TRIP / (run.times[-1] - STARTED),
        "no_change": [float(moves), float(last.min()), float(last.max())],
        "unchanged_fraction": float(unchanged) if in_band else float("nan"),
        "in_avoidance": run.decisions(STARTED),
    }


def standard_rtt(run: Flow) -> list[float]:
    """Return the largest RTT up to the first loss, and the smallest of the next 10 s, ms."""
    loss = run.first_loss()
    later = slice(loss, np.searchsorted(run.times, run.times[loss] + 10))
    return [1e3 * float(run.rtt[: loss + 1].max()), 1e3 * float(run.rtt[later].min())]


def measure(results: Results) -> Evidence:
    """Record what the tests show."""
    runs: dict[str, Flow] = {name: results[name][0] for name in results}
    measures = counters(runs["60_80"]) | {
        "standard_losses": float(runs["standard"].dropped[-1]),
        "gamma_off": float(runs["gamma_off"].ended[-1]),
        "gamma_in_first": float(runs["unlimited"].ended[-1]),
        "default": float(runs["default"].difference[-1]),
        "standard_rtt": standard_rtt(runs["standard"]),
        "fine_timer": runs["60_80"].mbps() / runs["coarse_60_80"].mbps(),
        "coarse_rtt": 1e3 * float(runs["coarse_60_80"].rtt[-1]),
    }
    evidence = Evidence()
    for name, value in measures.items():
        evidence.note(PACKETS, f"alone.{name}", value)
    other = runs["6_8"].mbps() / runs["coarse_6_8"].mbps()
    evidence.note("packets, alpha/beta 6/8", "alone.fine_timer", other)
    evidence.note("packets, no buffer limits", "alone.ended", runs["unlimited"].ended[-1])
    for source, prefix in ((PACKETS, ""), (OTHER, "other_")):
        note_slow_start(evidence, source, [runs[prefix + name] for name in THRESHOLDS])
    return evidence


def note_slow_start(evidence: Evidence, source: str, pair: Sequence[Flow]) -> None:
    """Record losses, last windows, slow starts that gamma ended, and RTTs (ms) of two tests."""
    evidence.note(source, "alone.vegas_losses", [float(flow.dropped[-1]) for flow in pair])
    evidence.note(source, "alone.window", [float(flow.cwnd[-1]) / product() for flow in pair])
    evidence.note(source, "alone.ended", [float(flow.ended[-1]) for flow in pair])
    after = [flow.rtt[flow.times > STARTED] for flow in pair]
    evidence.note(source, "alone.rtt", [1e3 * float(rtt.mean()) for rtt in after])
    evidence.note(source, "alone.largest_rtt", [1e3 * float(flow.rtt.max()) for flow in pair])
    later = [1e3 * float(rtt.max()) for rtt in after]
    evidence.note(f"{source}, after slow start", "alone.largest_rtt", later)


def draw(results: Results) -> Figure:
    """Plot throughput and RTT of the four tests, and the RTT during slow start."""
    figure, ((rate, rtt, start),) = panels(1, 3)
    for name, (title, colour, line) in STYLES.items():
        run: Flow = results[name][0]
        edges = np.arange(0.0, SECONDS + 0.5, 1.0)
        mbps = np.diff(np.interp(edges, run.times, run.delivered)) * 0.012
        style: dict[str, Any] = {"color": COLOURS[colour], "linestyle": line, "label": title}
        rate.plot(edges[1:], mbps, **style)
        for axes in (rtt, start):
            axes.plot(run.times, 1e3 * run.rtt, linewidth=1.2, **style)
    start.plot([1.2, 1.25, 1.3], [70, 80, 90], **PAPER_MARK)
    start.set_xlim(0, 3)
    rate.set_ylim(0, 800)
    for axes in (rtt, start):
        axes.set_ylim(60, 100)
    label(rate, "Throughput, alone on the path", "time (s)", "throughput (Mbit/s)")
    label(rtt, "Round trip", "time (s)", "RTT (ms)", legend=False)
    label(start, "Round trip at the beginning", "time (s)", "RTT (ms)")
    return figure


FIRST_GRAPH = [
    with_readings(
        Experiment(
            "alone",
            "First graph: standard TCP and Vegas from Oak Ridge to Berkeley",
            measure,
            jobs,
            draw,
            quick=True,
        ),
        OF_HOSTS_AND_PATH,
    )
]
