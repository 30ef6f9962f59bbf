"""Section 4.3.1: a delay of 200 ms with jitter, figures 24 to 28."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.marrone_2013.drawing import draw_panels, throughput, windows
from paper_repro.marrone_2013.environment import (
    ENLARGED_WINDOW,
    HELD,
    LAWS,
    LINK_MBPS,
    NETEM_LIMIT,
    UNDOING,
    Environment,
)
from paper_repro.marrone_2013.readings import DELAY_LINE, UNDONE, packets
from paper_repro.marrone_2013.recorded_flow import RecordedFlow, job, mean

__all__ = ["FIGURES_24_TO_28"]

JITTER = 0.001
"""Jitter of each router, s."""
BRIEF = 100.0
"""End of the first period for which throughputs are compared, s."""
MIDDLE = 300.0
"""End of the second period, s."""
EXTENDED = 2000.0
"""Simulated time of a test, s."""
NEAR_SECONDS = 1000.0
"""Simulated time of a test with half the delay, s."""
SEEDS = (1, 2)
"""Seeds of the tests."""
HALF = LINK_MBPS / 2
"""Half of the link's capacity, Mbit/s."""
FULL = 0.9 * LINK_MBPS
"""Throughput that counts as the maximum, Mbit/s (chosen)."""
LARGEST = 0.99 * LINK_MBPS
"""Throughput that is the maximum but for the last hundredth, Mbit/s."""
ROOF = 1200.0
"""Time at which Reno and Vegas have reached the maximum in the paper, s."""
FAR = Environment(0.2, JITTER, ENLARGED_WINDOW)
"""Environment with d = 200 ms."""
NEAR = Environment(0.1, JITTER, ENLARGED_WINDOW)
"""Environment with half the delay."""
SMALL = Environment(0.2, JITTER, ENLARGED_WINDOW, buffer=NETEM_LIMIT - HELD)
"""Environment whose netem buffer also contains the delayed packets."""


def jobs() -> Mapping[str, Job]:
    """Return long tests under both readings, and tests to compare them with."""
    runs = {"small": job(SMALL, "vegas", EXTENDED, seeds=SEEDS[:1])}
    for name, buffer in (("still", NETEM_LIMIT), ("small still", SMALL.buffer)):
        steady = Environment(0.2, 0.0, ENLARGED_WINDOW, buffer=buffer)
        runs[name] = job(steady, "vegas", EXTENDED, seeds=SEEDS[:1])
    for prefix, laws in (("", LAWS), (UNDONE, UNDOING)):
        for name, law in laws.items():
            runs[prefix + name] = job(FAR, name, EXTENDED, seeds=SEEDS, law=law)
        near = job(NEAR, "reno", NEAR_SECONDS, seeds=SEEDS, law=laws["reno"])
        runs[f"{prefix}near"] = near
    return runs


def times_to(rate: float, records: list[RecordedFlow]) -> float:
    """Return the mean time until a rate (Mbit/s) is reached, s."""
    return float(np.mean([record.reaches(rate) for record in records]))


def note_pair(evidence: Evidence, source: str, prefix: str, results: Results) -> None:
    """Record comparisons of Reno and CUBIC over short and long times."""
    reno, cubic = results[f"{prefix}reno"], results[f"{prefix}cubic"]
    evidence.note_mean(source, "jitter_200.reaches", [c.reaches(FULL) for c in reno])
    slower = times_to(FULL, reno) / times_to(FULL, results[f"{prefix}near"])
    evidence.note(source, "jitter_200.slower", slower)
    for name, end in (("first_100", BRIEF), ("first_300", MIDDLE)):
        evidence.note(source, f"jitter_200.{name}", mean(cubic, 0, end) / mean(reno, 0, end))
    evidence.note(source, "jitter_200.attack", times_to(HALF, reno) / times_to(HALF, cubic))
    for name, after in (("cycles", 0.0), ("later_cycles", BRIEF)):
        cycles = [np.mean([record.cycle(after) for record in runs]) for runs in (cubic, reno)]
        evidence.note(source, f"jitter_200.{name}", float(cycles[0] / cycles[1]))
    evidence.note(
        source,
        "jitter_200.more_even",
        [mean(reno, 0, BRIEF) / mean(cubic, 0, BRIEF), mean(reno) / mean(cubic)],
    )


def note_maximum(evidence: Evidence, source: str, prefix: str, results: Results) -> None:
    """Record when Reno and Vegas reach their maximum, by three definitions of it, s."""
    definitions = {
        source: lambda record: record.reaches(LARGEST),
        f"{source}, 90 Mbit/s counts": lambda record: record.reaches(FULL),
        f"{source}, the window's maximum": lambda record: record.largest_window_at(),
    }
    for name, time_of in definitions.items():
        times = [[time_of(record) for record in results[prefix + law]] for law in ("reno", "vegas")]
        evidence.note_mean_series(name, "jitter_200.maximum", np.transpose(times))


def note_vegas(evidence: Evidence, source: str, prefix: str, results: Results) -> None:
    """Record comparisons of Vegas with Reno, with CUBIC and with Vegas without jitter."""
    reno, cubic, vegas = (results[prefix + name] for name in ("reno", "cubic", "vegas"))
    steady = results["still"]
    measures = {
        "vegas": mean(vegas) / mean(reno),
        "vegas_attack": times_to(HALF, vegas) / times_to(HALF, reno),
        "vegas_left": float(np.mean([record.left(ROOF) for record in vegas])),
        "vegas_worse": mean(vegas, ROOF) / mean(steady, ROOF),
        "short": [mean(records, 0, BRIEF) / mean(records, ROOF) for records in (reno, vegas)],
        "even": [mean(records) / mean(cubic) for records in (reno, vegas)],
    }
    for name, value in measures.items():
        evidence.note(source, f"jitter_200.{name}", value)


def measure(results: Results) -> Evidence:
    """Record measures under both readings."""
    evidence = Evidence()
    for source, prefix in ((PACKETS, ""), (packets(UNDONE), UNDONE)):
        note_pair(evidence, source, prefix, results)
        note_vegas(evidence, source, prefix, results)
        note_maximum(evidence, source, prefix, results)
    worse = mean(results["small"], ROOF) / mean(results["small still"], ROOF)
    evidence.note(packets(DELAY_LINE), "jitter_200.vegas_worse", worse)
    return evidence


FIGURES_24_TO_28 = [
    Experiment(
        "jitter_200",
        "Figures 24 to 28: d = 200 ms, jitter of +-1 ms",
        measure,
        jobs,
        draw_panels(
            [
                [
                    windows("Fig. 24: Reno", "reno", "reno", mark=(1200, FAR.product)),
                    windows("Fig. 25: Vegas", "vegas", "vegas", mark=(1200, FAR.product)),
                    windows("Fig. 26: CUBIC", "cubic", "cubic", until=MIDDLE),
                ],
                [
                    throughput("Fig. 27: CUBIC and Reno", until=MIDDLE, cubic="cubic", reno="reno"),
                    throughput("Fig. 28: CUBIC and Reno", until=BRIEF, cubic="cubic", reno="reno"),
                ],
            ]
        ),
    )
]
