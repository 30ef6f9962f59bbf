"""Section 4.3: a delay of 200 ms without jitter and two buffer sizes, figures 14 to 23."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.marrone_2013.drawing import draw_panels, throughput, windows
from paper_repro.marrone_2013.environment import (
    ENLARGED_WINDOW,
    HELD,
    LINK_MBPS,
    NETEM_LIMIT,
    WHOLE_WINDOW,
    Environment,
)
from paper_repro.marrone_2013.readings import DELAY_LINE, ONE_WAY, packets
from paper_repro.marrone_2013.recorded_flow import RecordedFlow, each_law, job, mean

__all__ = ["FIGURES_14_TO_23", "sawtooth_share"]

NAMES = ("reno", "cubic", "vegas")
"""Congestion controls."""
BRIEF = 100.0
"""Simulated time of the paper's test, s."""
EXTENDED = 2000.0
"""Simulated time of a long test, s."""
BEGINNING = 20.0
"""End of the first part of a test of 100 s, s."""
END = 80.0
"""Start of the last part of such a test, s."""
SLOT = 0.05
"""Time slot of a throughput curve, s; the paper does not print its own."""
LONG_SLOT = 1.0
"""Time slot of the other reading, s."""
NEXT_TO_NOTHING = 5.0
"""Throughput that looks like zero in a figure of 100, Mbit/s (chosen)."""
HALF = 0.1
"""Largest distance from half that counts as the middle of a window (chosen)."""
FULL = 0.9 * LINK_MBPS
"""Throughput that counts as the maximum, Mbit/s (chosen)."""
CASES = tuple(range(1, 11))
"""Seeds of the tests of Vegas that are compared with each other."""
CASE_SECONDS = 600.0
"""Simulated time of such a test, s."""
FAR = Environment(0.2)
"""Environment with the default buffers."""
LARGE = Environment(0.2, window=ENLARGED_WINDOW)
"""Environment with the enlarged buffers."""
READINGS = {
    "": (FAR, LARGE),
    ONE_WAY: (
        Environment(0.2, window=WHOLE_WINDOW, ways=2),
        Environment(0.2, window=ENLARGED_WINDOW, ways=2),
    ),
    DELAY_LINE: (
        Environment(0.2, buffer=NETEM_LIMIT - HELD),
        Environment(0.2, window=ENLARGED_WINDOW, buffer=NETEM_LIMIT - HELD),
    ),
}
"""Environments with default and enlarged buffers, by reading."""


def short_jobs() -> Mapping[str, Job]:
    """Return tests of 100 s with both buffers under each reading, and one with half the delay."""
    runs: dict[str, Job] = {"near": job(Environment(0.1), "reno", BRIEF)}
    for reading, (default, large) in READINGS.items():
        runs |= each_law(default, BRIEF, prefix=f"{reading} default ")
        runs |= each_law(large, BRIEF, prefix=f"{reading} large ")
    return runs


def tests_of(results: Results, prefix: str) -> dict[str, list[RecordedFlow]]:
    """Return the tests by congestion control."""
    return {name: results[prefix + name] for name in NAMES}


def stops(records: Sequence[RecordedFlow], slot: float = SLOT) -> float:
    """Return the fraction of tests with a slot of almost no throughput after the first part."""
    return float(np.mean([record.lowest(BEGINNING, slot) <= NEXT_TO_NOTHING for record in records]))


def note_default(evidence: Evidence, source: str, tests: Mapping[str, list[RecordedFlow]]) -> None:
    """Record measures of tests with the default buffers."""
    reno, cubic, vegas = (tests[name] for name in NAMES)
    rates = [record.throughput() for record in reno]
    evidence.note_mean(source, "still_200.default_reno", rates)
    others = [mean(records) / mean(reno) for records in (cubic, vegas)]
    evidence.note(source, "still_200.default_similar", others)
    if source != PACKETS:
        evidence.note(source, "conclusions.cubic_default", others[0])
    early = mean(cubic, 0, BEGINNING) / mean(reno, 0, BEGINNING)
    evidence.note(source, "still_200.default_early", early)
    at_end = [mean(records, END) / mean(reno, END) for records in (cubic, vegas)]
    evidence.note(source, "still_200.default_end", at_end)
    evidence.note(source, "still_200.default_stops", stops(cubic))


def note_large(
    evidence: Evidence,
    source: str,
    tests: Mapping[str, list[RecordedFlow]],
    default: Mapping[str, list[RecordedFlow]],
) -> None:
    """Record measures of tests with the enlarged buffers."""
    reno, cubic, vegas = (tests[name] for name in NAMES)
    evidence.note_mean(source, "still_200.reno", [record.throughput() for record in reno])
    evidence.note(source, "still_200.reno_first", mean(reno, 0, 0.1))
    evidence.note(source, "still_200.reno_gain", mean(reno) / mean(default["reno"]))
    left = [c.left() for c in reno]
    evidence.note(source, "still_200.reno_left", float(np.mean(left)))
    halved = [float(abs(part - 0.5) <= HALF) for part in left]
    evidence.note_mean(source, "still_200.reno_halved", halved)
    if source == PACKETS:
        evidence.note("packets, left in each test", "still_200.reno_halved", left)
    evidence.note(source, "still_200.cubic_stops", stops(cubic))
    evidence.note(source, "still_200.cubic_gain", mean(cubic) / mean(default["cubic"]))
    evidence.note(source, "still_200.vegas", mean(vegas) / mean(reno))


def measure_short(results: Results) -> Evidence:
    """Record measures of the short tests under each reading."""
    evidence = Evidence()
    for reading in READINGS:
        source = packets(reading) if reading else PACKETS
        default = tests_of(results, f"{reading} default ")
        note_default(evidence, source, default)
        note_large(evidence, source, tests_of(results, f"{reading} large "), default)
    for name, prefix in (("default_stops", " default "), ("cubic_stops", " large ")):
        fraction = stops(results[f"{prefix}cubic"], LONG_SLOT)
        evidence.note(packets("in slots of 1 s"), f"still_200.{name}", fraction)
    times = [np.mean([c.half_way() for c in results[name]]) for name in (" large reno", "near")]
    evidence.note(PACKETS, "still_200.slower", float(times[0] / times[1]))
    return evidence


def long_jobs() -> Mapping[str, Job]:
    """Return long tests with the enlarged buffers, and ten of Vegas."""
    runs = dict(each_law(LARGE, EXTENDED))
    runs["cases"] = job(LARGE, "vegas", CASE_SECONDS, seeds=CASES)
    return runs


def sawtooth_share(buffer: float) -> float:
    """Return the fraction of a link that one Reno flow uses.

    The window rises from half its maximum; below the bandwidth-delay product the link is not full.

    Args:
        buffer: size of the buffer relative to the bandwidth-delay product, 0 to 1.

    >>> sawtooth_share(0.0), sawtooth_share(1.0)
    (0.75, 1.0)
    """
    return 3 / 4 * (1 + buffer) ** 2 / (1 + buffer + buffer**2)


def whole_cycles(record: RecordedFlow) -> float:
    """Return the throughput from the first to the last loss of congestion avoidance, Mbit/s."""
    losses = record.times[record.losses(BRIEF)]
    return record.throughput(float(losses[0]), float(losses[-1]))


def measure_long(results: Results) -> Evidence:
    """Record measures of the long tests."""
    evidence, half = Evidence(), EXTENDED / 2
    tests = tests_of(results, "")
    gains = [mean(records) / mean(records, 0, BRIEF) for records in tests.values()]
    late = {name: mean(records, half) for name, records in tests.items()}
    cycles = {name: np.mean([c.cycle(BRIEF) for c in tests[name]]) for name in NAMES}
    expected = LINK_MBPS * sawtooth_share(LARGE.buffer / LARGE.product)
    vegas = tests["vegas"][0]
    late_half = vegas.times > half
    measures = {
        "gains": gains,
        "cubic_same": gains[1],
        "cycles": float(cycles["cubic"] / cycles["reno"]),
        "reno_expected": float(np.mean([whole_cycles(c) for c in tests["reno"]])) / expected,
        "vegas_moves": float(vegas.cwnd[late_half].std() / vegas.cwnd[late_half].mean()),
        "vegas_queue": float(vegas.queue[late_half].mean()),
        "vegas_best": late["vegas"] / max(late["reno"], late["cubic"]),
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"long_200.{name}", value)
    times = [record.reaches(FULL) for record in results["cases"]]
    evidence.note(PACKETS, "long_200.vegas_cases", max(times) / min(times))
    return evidence


def slow_case(records: Sequence[RecordedFlow]) -> RecordedFlow:
    """Return the test that takes longest to fill the link."""
    return max(records, key=lambda record: record.reaches(FULL))


FIGURES_14_TO_23 = [
    Experiment(
        "still_200",
        "Figures 14 to 17: d = 200 ms, no jitter, enlarged buffers",
        measure_short,
        short_jobs,
        draw_panels(
            [
                [
                    throughput("Fig. 14: Reno", mark=(50, 80), reno=" large reno"),
                    windows("Fig. 15: Reno", "reno", " large reno"),
                ],
                [
                    throughput("Fig. 16: CUBIC", cubic=" large cubic"),
                    windows("Fig. 17: CUBIC", "cubic", " large cubic"),
                ],
            ]
        ),
    ),
    Experiment(
        "long_200",
        "Figures 18 to 23: d = 200 ms, no jitter, enlarged buffers, extended time",
        measure_long,
        long_jobs,
        draw_panels(
            [
                [
                    throughput("Fig. 18: Reno", reno="reno"),
                    throughput("Fig. 20: Vegas", vegas="vegas"),
                    throughput("Fig. 22: Vegas, slowest case", pick=slow_case, vegas="cases"),
                ],
                [
                    windows("Fig. 19: Reno", "reno", "reno"),
                    windows("Fig. 21: Vegas", "vegas", "vegas"),
                    windows("Fig. 23: Vegas, slowest case", "vegas", "cases", slow_case),
                ],
            ]
        ),
    ),
]
