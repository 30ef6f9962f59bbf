"""Section 4.2: a delay of 100 ms with jitter, figures 8 to 13."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from paper_repro.experiment import LINUX, PACKETS, Evidence, Experiment, Job, Results
from paper_repro.marrone_2013.drawing import draw_panels, fastest, slowest, throughput, windows
from paper_repro.marrone_2013.environment import LINK_MBPS, UNDOING, WHOLE_WINDOW, Environment
from paper_repro.marrone_2013.linux import kernel
from paper_repro.marrone_2013.readings import IN_ORDER, ONE_WAY, UNDONE, packets
from paper_repro.marrone_2013.recorded_flow import RecordedFlow, each_law, job, mean

__all__ = ["FIGURES_8_TO_13"]

JITTER = 0.001
BRIEF, EXTENDED = 100.0, 1000.0
SEEDS, FEW_SEEDS = tuple(range(1, 21)), (1, 2, 3)
AVERAGE = 70.0
"""Mbit/s: the paper's "average (70Mbps, approx)"."""
FULL = 0.9 * LINK_MBPS
"""Mbit/s that we take for the maximum."""
EARLY = 5.0
"""s after which the first slow start is over."""
HERE = Environment(0.1, JITTER)
FARTHER = Environment(0.1, JITTER, WHOLE_WINDOW, ways=2)


def jobs() -> Mapping[str, Job]:
    """Many short tests and some long ones, and the other readings."""
    made = dict(each_law(HERE, BRIEF, seeds=SEEDS))
    made |= each_law(HERE, EXTENDED, names=("reno", "vegas"), seeds=FEW_SEEDS, prefix="long ")
    for name, law in UNDOING.items():
        made[UNDONE + name] = job(HERE, name, BRIEF, seeds=SEEDS, law=law)
    made[f"long {UNDONE}reno"] = job(HERE, "reno", EXTENDED, seeds=FEW_SEEDS, law=UNDOING["reno"])
    made |= each_law(FARTHER, EXTENDED, names=("reno",), seeds=FEW_SEEDS, prefix=f"long {ONE_WAY}")
    in_order = Environment(0.1, JITTER, reorders=False)
    pair = ("reno", "vegas")
    made |= each_law(in_order, BRIEF, names=pair, seeds=FEW_SEEDS, prefix=IN_ORDER)
    return made | each_law(FARTHER, BRIEF, seeds=SEEDS, prefix=ONE_WAY)


def low_threshold(record: RecordedFlow, environment: Environment) -> bool:
    """Whether slow start was left at less than half of what the path holds."""
    return float(np.interp(EARLY, record.times, record.ssthresh)) < environment.product / 2


def note_reno(
    evidence: Evidence, source: str, brief: Sequence[RecordedFlow], environment: Environment
) -> None:
    """Reno's short tests."""
    rates = [record.throughput() for record in brief]
    evidence.note_mean(source, "jitter_100.reno", rates)
    evidence.note_mean(source, "jitter_100.fast_share", [float(r > AVERAGE) for r in rates])
    low = [float(low_threshold(record, environment)) for record in brief]
    evidence.note_mean(source, "jitter_100.low_share", low)
    evidence.note(source, "jitter_100.good_start", min(c.reaches(FULL) for c in brief))


def note_long(evidence: Evidence, source: str, long: Sequence[RecordedFlow]) -> None:
    """Reno's long tests."""
    evidence.note_mean(source, "jitter_100.reaches", [c.reaches(FULL) for c in long])
    late = [c.throughput(EXTENDED / 2) for c in long]
    evidence.note_mean(source, "jitter_100.stable", late)


def note_cubic(
    evidence: Evidence, source: str, cubic: Sequence[RecordedFlow], reno: Sequence[RecordedFlow]
) -> None:
    """CUBIC's short tests beside Reno's."""
    spread = [np.std([c.throughput() for c in records], ddof=1) for records in (cubic, reno)]
    evidence.note(source, "jitter_100.even", float(spread[0] - spread[1]))
    evidence.note(source, "jitter_100.better", mean(cubic) / mean(reno))
    below = [float(c.throughput() < mean(cubic)) for c in reno]
    evidence.note_mean(source, "jitter_100.reno_below", below)


def note_vegas(
    evidence: Evidence,
    source: str,
    vegas: Sequence[RecordedFlow],
    reno: Sequence[RecordedFlow],
    environment: Environment,
) -> None:
    """Vegas's short tests beside Reno's."""
    evidence.note(source, "jitter_100.vegas", mean(vegas) / mean(reno))
    curves = [np.mean([c.cwnd for c in records], axis=0) for records in (vegas, reno)]
    away = np.abs(curves[0] - curves[1]).mean() / curves[1].mean()
    evidence.note(source, "jitter_100.same_curve", float(away))
    rounds = BRIEF / environment.round_trip
    evidence.note_mean(source, "jitter_100.decides", [c.decided[-1] / rounds for c in vegas])


def threshold_rise(record: RecordedFlow, threshold: np.ndarray) -> float:
    """How much a threshold rises between losses over a test, as a share of the window's rise."""
    rises, grown = np.diff(threshold), np.diff(record.cwnd)
    avoiding = (record.times[1:] > EARLY) & (grown > 0) & (threshold[:-1] < record.cwnd[:-1])
    return float(np.maximum(rises[avoiding], 0).sum() / grown[avoiding].sum())


def measure(results: Results) -> Evidence:
    """What the runs show under each reading, beside what a newer kernel shows."""
    evidence = Evidence()
    for prefix in ("", UNDONE, IN_ORDER, ONE_WAY):
        source, reno = packets(prefix) if prefix else PACKETS, results[f"{prefix}reno"]
        environment = FARTHER if prefix == ONE_WAY else HERE
        note_reno(evidence, source, reno, environment)
        if f"{prefix}cubic" in results:
            note_cubic(evidence, source, results[f"{prefix}cubic"], reno)
        note_vegas(evidence, source, results[f"{prefix}vegas"], reno, environment)
    note_long(evidence, PACKETS, results["long reno"])
    for prefix in (UNDONE, ONE_WAY):
        note_long(evidence, packets(prefix), results[f"long {prefix}reno"])
    record = results["long reno"][0]
    probed = "packets, as tcp_probe prints it"
    evidence.note(PACKETS, "jitter_100.rises", threshold_rise(record, record.ssthresh))
    evidence.note(probed, "jitter_100.rises", threshold_rise(record, record.probed()))
    note_kernel(evidence)
    return evidence


def note_kernel(evidence: Evidence) -> None:
    """What a newer kernel does on the same path."""
    reno, cubic, vegas = (kernel("reorders", name, "mbps") for name in ("reno", "cubic", "vegas"))
    evidence.note(LINUX, "jitter_100.reno", reno)
    evidence.note(LINUX, "jitter_100.better", cubic / reno)
    evidence.note(LINUX, "jitter_100.vegas", vegas / reno)
    evidence.note(LINUX, "jitter_100.decides", kernel("reorders", "vegas", "vegas_on"))


FIGURES_8_TO_13 = [
    Experiment(
        "jitter_100",
        "Figures 8 to 13: d = 100 ms, jitter of +-1 ms",
        measure,
        jobs,
        draw_panels(
            [
                [
                    windows("Fig. 8: Reno, the slowest of 20", "reno", "reno", slowest),
                    windows(
                        "Fig. 9: Reno, extended", "reno", "long reno", mark=(300, HERE.product)
                    ),
                    windows("Fig. 10: Reno, the fastest of 20", "reno", "reno", fastest),
                ],
                [
                    throughput("Fig. 11: CUBIC and Reno", cubic="cubic", reno="reno"),
                    windows("Fig. 12: CUBIC", "cubic", "cubic"),
                    windows("Fig. 13: Vegas, extended", "vegas", "long vegas"),
                ],
            ]
        ),
    )
]
