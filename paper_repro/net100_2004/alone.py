"""The page's first graph: four tests from Oak Ridge to Berkeley, and its sentences on gamma."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.net100_2004.coarse_clock import CoarseVegas
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
from paper_repro.style import COLOURS, PAPER_MARK, label, panels

__all__ = ["FIRST_GRAPH"]

SECONDS = 120.0
"""s; the page does not say how long a test was."""
LARGER_BUFFER = round(0.030 * LINE)
"""Packets: 30 ms, for another reading."""
STARTED, LAST = 5.0, 5.0
"""s: slow start is over after the first; the second is the end of a test that is looked at."""
HUGE = 999_999.0
OTHER = "packets, slow start every other round trip and 30 ms of buffer"
ALPHA, BETA = 60, 80
THRESHOLDS = {"6_8": (6, 8), "60_80": (ALPHA, BETA)}
LOOKS = {
    "standard": ("standard", "reno", "-"),
    "coarse_60_80": ("60/80, 10 ms clock", "other", "-"),
    "6_8": ("6/8", "vegas", "--"),
    "60_80": ("60/80", "fourth", ":"),
}
"""Title, colour and line of each test."""


def jobs() -> Mapping[str, Job]:
    """The four tests, and others that a sentence needs."""
    made = {name: alone(vegas(*pair), SECONDS) for name, pair in THRESHOLDS.items()}
    for name, (alpha, beta) in THRESHOLDS.items():
        law = CoarseVegas(alpha=alpha, beta=beta, gamma=GAMMA, dialect="linux")
        made[f"coarse_{name}"] = alone(law, SECONDS)
    return made | {
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
    """What Net100's counters say of a test, after slow start and at its end."""
    begin = int(np.searchsorted(run.times, STARTED))
    end = int(np.searchsorted(run.times, run.times[-1] - LAST))
    up, down = run.below[-1] - run.below[begin], run.above[-1] - run.above[begin]
    resting = np.all((run.difference[end:] >= ALPHA) & (run.difference[end:] <= BETA))
    unchanged = (run.unchanged[-1] - run.unchanged[end]) / run.decisions(run.times[end])
    return {
        "moves": float(run.cwnd[-1] - run.cwnd[begin] - (up - down)),
        "once_a_round": run.decisions(STARTED) * ROUND_TRIP / (run.times[-1] - STARTED),
        "no_change": float(unchanged) if resting else float("nan"),
        "in_avoidance": run.decisions(STARTED),
    }


def standard_rtt(run: Flow) -> list[float]:
    """The largest round trip up to the first loss, and the smallest of the next ten seconds, ms."""
    loss = run.first_loss()
    later = slice(loss, np.searchsorted(run.times, run.times[loss] + 10))
    return [1e3 * float(run.rtt[: loss + 1].max()), 1e3 * float(run.rtt[later].min())]


def measure(results: Results) -> Evidence:
    """What the tests show."""
    run: dict[str, Flow] = {name: results[name][0] for name in results}
    pair = [run[name] for name in THRESHOLDS]
    noted = counters(run["60_80"]) | {
        "standard_losses": float(run["standard"].dropped[-1]),
        "gamma_off": float(run["gamma_off"].ended[-1]),
        "gamma_in_first": float(run["unlimited"].ended[-1]),
        "default": float(run["default"].difference[-1]),
        "window": [float(flow.cwnd[-1]) / product() for flow in pair],
        "standard_rtt": standard_rtt(run["standard"]),
        "fine_timer": run["60_80"].mbps() / run["coarse_60_80"].mbps(),
        "coarse_rtt": 1e3 * float(run["coarse_60_80"].rtt[-1]),
    }
    evidence = Evidence()
    for name, value in noted.items():
        evidence.note(PACKETS, f"alone.{name}", value)
    other = run["6_8"].mbps() / run["coarse_6_8"].mbps()
    evidence.note("packets, alpha/beta 6/8", "alone.fine_timer", other)
    evidence.note("packets, no buffer limits", "alone.ended", run["unlimited"].ended[-1])
    for source, prefix in ((PACKETS, ""), (OTHER, "other_")):
        note_slow_start(evidence, source, [run[prefix + name] for name in THRESHOLDS])
    return evidence


def note_slow_start(evidence: Evidence, source: str, pair: Sequence[Flow]) -> None:
    """How the two tests of Vegas begin: losses, slow starts that gamma ended, round trips."""
    evidence.note(source, "alone.vegas_losses", [float(flow.dropped[-1]) for flow in pair])
    evidence.note(source, "alone.ended", [float(flow.ended[-1]) for flow in pair])
    after = [flow.rtt[flow.times > STARTED] for flow in pair]
    evidence.note(source, "alone.rtt", [1e3 * float(rtt.mean()) for rtt in after])
    evidence.note(source, "alone.largest_rtt", [1e3 * float(flow.rtt.max()) for flow in pair])


def draw(results: Results) -> Figure:
    """Throughput and round trip of the four tests, and the round trips of slow start."""
    figure, ((rate, rtt, start),) = panels(1, 3)
    for name, (title, colour, line) in LOOKS.items():
        run: Flow = results[name][0]
        edges = np.arange(0.0, SECONDS + 0.5, 1.0)
        mbps = np.diff(np.interp(edges, run.times, run.delivered)) * 0.012
        look: dict[str, Any] = {"color": COLOURS[colour], "linestyle": line, "label": title}
        rate.plot(edges[1:], mbps, **look)
        for axes in (rtt, start):
            axes.plot(run.times, 1e3 * run.rtt, linewidth=1.2, **look)
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
    Experiment(
        "alone",
        "First graph: standard TCP and Vegas from Oak Ridge to Berkeley",
        measure,
        jobs,
        draw,
        quick=True,
    )
]
