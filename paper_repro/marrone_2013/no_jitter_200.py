"""Section 4.3: a delay of 200 ms without jitter, with default and with enlarged buffers, figures
14 to 23.
"""

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
BRIEF, EXTENDED = 100.0, 2000.0
BEGINNING, END = 20.0, 80.0
"""s: what comes before the first is the beginning of a test of 100 s, after the second its end."""
SLOT, LONG_SLOT = 0.05, 1.0
"""s: of a throughput curve; the paper does not say how long its are."""
NEXT_TO_NOTHING = 5.0
"""Mbit/s: looks like zero in a figure of 100."""
FULL = 0.9 * LINK_MBPS
"""Mbit/s that we take for the maximum."""
CASES = tuple(range(1, 11))
"""Seeds of the tests of Vegas that are compared with each other."""
CASE_SECONDS = 600.0
FAR = Environment(0.2)
LARGE = Environment(0.2, window=ENLARGED_WINDOW)
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


def short_jobs() -> Mapping[str, Job]:
    """Tests of 100 s with both buffers, under each reading; and one with half the delay."""
    made: dict[str, Job] = {"near": job(Environment(0.1), "reno", BRIEF)}
    for reading, (default, large) in READINGS.items():
        made |= each_law(default, BRIEF, prefix=f"{reading} default ")
        made |= each_law(large, BRIEF, prefix=f"{reading} large ")
    return made


def tests_of(results: Results, prefix: str) -> dict[str, list[RecordedFlow]]:
    """The tests of each law."""
    return {name: results[prefix + name] for name in NAMES}


def stops(records: Sequence[RecordedFlow], slot: float = SLOT) -> float:
    """The share of tests in which a slot after the beginning has next to nothing."""
    return float(np.mean([record.lowest(BEGINNING, slot) <= NEXT_TO_NOTHING for record in records]))


def note_default(evidence: Evidence, source: str, found: Mapping[str, list[RecordedFlow]]) -> None:
    """Tests with the default buffers."""
    reno, cubic, vegas = (found[name] for name in NAMES)
    rates = [record.throughput() for record in reno]
    evidence.note_mean(source, "still_200.default_reno", rates)
    others = [mean(tested) / mean(reno) for tested in (cubic, vegas)]
    evidence.note(source, "still_200.default_similar", others)
    early = mean(cubic, 0, BEGINNING) / mean(reno, 0, BEGINNING)
    evidence.note(source, "still_200.default_early", early)
    at_end = [mean(tested, END) / mean(reno, END) for tested in (cubic, vegas)]
    evidence.note(source, "still_200.default_end", at_end)
    evidence.note(source, "still_200.default_stops", stops(cubic))


def note_large(
    evidence: Evidence,
    source: str,
    found: Mapping[str, list[RecordedFlow]],
    default: Mapping[str, list[RecordedFlow]],
) -> None:
    """Tests with the enlarged buffers."""
    reno, cubic, vegas = (found[name] for name in NAMES)
    evidence.note_mean(source, "still_200.reno", [record.throughput() for record in reno])
    evidence.note(source, "still_200.reno_first", mean(reno, 0, 0.1))
    evidence.note(source, "still_200.reno_gain", mean(reno) / mean(default["reno"]))
    evidence.note(source, "still_200.reno_left", float(np.mean([c.left() for c in reno])))
    evidence.note(source, "still_200.cubic_stops", stops(cubic))
    evidence.note(source, "still_200.cubic_gain", mean(cubic) / mean(default["cubic"]))
    evidence.note(source, "still_200.vegas", mean(vegas) / mean(reno))


def measure_short(results: Results) -> Evidence:
    """What the short tests show under each reading."""
    evidence = Evidence()
    for reading in READINGS:
        source = packets(reading) if reading else PACKETS
        default = tests_of(results, f"{reading} default ")
        note_default(evidence, source, default)
        note_large(evidence, source, tests_of(results, f"{reading} large "), default)
    for name, prefix in (("default_stops", " default "), ("cubic_stops", " large ")):
        share = stops(results[f"{prefix}cubic"], LONG_SLOT)
        evidence.note(packets("in slots of 1 s"), f"still_200.{name}", share)
    half = [np.mean([c.half_way() for c in results[name]]) for name in (" large reno", "near")]
    evidence.note(PACKETS, "still_200.slower", float(half[0] / half[1]))
    return evidence


def long_jobs() -> Mapping[str, Job]:
    """Long tests with the enlarged buffers, and several of Vegas."""
    made = dict(each_law(LARGE, EXTENDED))
    made["cases"] = job(LARGE, "vegas", CASE_SECONDS, seeds=CASES)
    return made


def sawtooth_share(room: float) -> float:
    """The share of a link that one Reno flow fills whose buffer holds `room` of the product.

    From half of the full window it rises to all of it; while it is less than the product, the
    link is not full.

    >>> sawtooth_share(0.0), sawtooth_share(1.0)
    (0.75, 1.0)
    """
    return 3 / 4 * (1 + room) ** 2 / (1 + room + room**2)


def whole_cycles(record: RecordedFlow) -> float:
    """Mbit/s from the first loss in congestion avoidance to the last."""
    losses = record.times[record.losses(BRIEF)]
    return record.throughput(float(losses[0]), float(losses[-1]))


def measure_long(results: Results) -> Evidence:
    """What the long tests show."""
    evidence, half = Evidence(), EXTENDED / 2
    found = tests_of(results, "")
    gains = [mean(tested) / mean(tested, 0, BRIEF) for tested in found.values()]
    late = {name: mean(tested, half) for name, tested in found.items()}
    cycles = {name: np.mean([c.cycle(BRIEF) for c in found[name]]) for name in NAMES}
    expected = LINK_MBPS * sawtooth_share(LARGE.buffer / LARGE.product)
    vegas = found["vegas"][0]
    after = vegas.times > half
    noted = {
        "gains": gains,
        "cubic_same": gains[1],
        "cycles": float(cycles["cubic"] / cycles["reno"]),
        "reno_expected": float(np.mean([whole_cycles(c) for c in found["reno"]])) / expected,
        "vegas_moves": float(vegas.cwnd[after].std() / vegas.cwnd[after].mean()),
        "vegas_queue": float(vegas.queue[after].mean()),
        "vegas_best": late["vegas"] / max(late["reno"], late["cubic"]),
    }
    for name, value in noted.items():
        evidence.note(PACKETS, f"long_200.{name}", value)
    times = [record.reaches(FULL) for record in results["cases"]]
    evidence.note(PACKETS, "long_200.vegas_cases", max(times) / min(times))
    return evidence


def slow_case(records: Sequence[RecordedFlow]) -> RecordedFlow:
    """The test that took longest to fill the link."""
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
