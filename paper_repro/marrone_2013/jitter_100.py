"""Section 4.2: a delay of 100 ms with jitter, figures 8 to 13."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import rankdata

from paper_repro.experiment import LINUX, PACKETS, Evidence, Experiment, Job, Results
from paper_repro.marrone_2013.drawing import draw_panels, fastest, slowest, throughput, windows
from paper_repro.marrone_2013.environment import LINK_MBPS, UNDOING, WHOLE_WINDOW, Environment
from paper_repro.marrone_2013.linux import kernel
from paper_repro.marrone_2013.readings import IN_ORDER, ONE_WAY, UNDONE, packets
from paper_repro.marrone_2013.recorded_flow import RecordedFlow, each_law, job, mean

__all__ = ["FIGURES_8_TO_13", "correlation", "scatter"]

JITTER = 0.001
"""Jitter of each router, s."""
BRIEF = 100.0
"""Simulated time of the paper's test, s."""
EXTENDED = 1000.0
"""Simulated time of a long test, s."""
SEEDS = tuple(range(1, 21))
"""Seeds of the short tests."""
MORE_SEEDS = tuple(range(21, 61))
"""Seeds of the short tests that also count where Reno's and CUBIC's scatter is compared."""
FEW_SEEDS = (1, 2, 3)
"""Seeds of the long tests and of some readings."""
AVERAGE = 70.0
"""Throughput in the paper, Mbit/s: "average (70Mbps, approx)"."""
GOOD_ARE_70 = packets("70 Mbit/s is what the good cases have")
"""Source of the evidence if 70 Mbit/s is the throughput of the cases above the average."""
FULL = 0.9 * LINK_MBPS
"""Throughput that counts as the maximum, Mbit/s (chosen)."""
LARGEST = 0.99 * LINK_MBPS
"""Throughput that is the maximum but for the last hundredth, Mbit/s."""
EARLY = 5.0
"""Time at which the first slow start has ended, s."""
HERE = Environment(0.1, JITTER)
"""Environment in the usual reading."""
FARTHER = Environment(0.1, JITTER, WHOLE_WINDOW, ways=2)
"""Environment whose d is a one-way delay."""


def jobs() -> Mapping[str, Job]:
    """Return short tests and three long ones, and those of the other readings."""
    runs = dict(each_law(HERE, BRIEF, seeds=SEEDS))
    runs |= each_law(HERE, BRIEF, names=("reno", "cubic"), seeds=MORE_SEEDS, prefix="more ")
    runs |= each_law(HERE, EXTENDED, names=("reno", "vegas"), seeds=FEW_SEEDS, prefix="long ")
    for name, law in UNDOING.items():
        runs[UNDONE + name] = job(HERE, name, BRIEF, seeds=SEEDS, law=law)
    runs[f"long {UNDONE}reno"] = job(HERE, "reno", EXTENDED, seeds=FEW_SEEDS, law=UNDOING["reno"])
    runs |= each_law(FARTHER, EXTENDED, names=("reno",), seeds=FEW_SEEDS, prefix=f"long {ONE_WAY}")
    in_order = Environment(0.1, JITTER, reorders=False)
    pair = ("reno", "vegas")
    runs |= each_law(in_order, BRIEF, names=pair, seeds=FEW_SEEDS, prefix=IN_ORDER)
    return runs | each_law(FARTHER, BRIEF, seeds=SEEDS, prefix=ONE_WAY)


def low_threshold(record: RecordedFlow, environment: Environment) -> bool:
    """Return whether ssthresh after slow start is below half the bandwidth-delay product."""
    return float(np.interp(EARLY, record.times, record.ssthresh)) < environment.product / 2


def note_reno(
    evidence: Evidence, source: str, records: Sequence[RecordedFlow], environment: Environment
) -> None:
    """Record measures of Reno's short tests."""
    rates = [record.throughput() for record in records]
    evidence.note_mean(source, "jitter_100.reno", rates)
    evidence.note_mean(source, "jitter_100.fast_share", [float(r > AVERAGE) for r in rates])
    if source == PACKETS:
        above = [float(r > np.mean(rates)) for r in rates]
        evidence.note_mean(GOOD_ARE_70, "jitter_100.fast_share", above)
        good = [r for r in rates if r > np.mean(rates)]
        evidence.note(GOOD_ARE_70, "jitter_100.reno", float(np.mean(good)))
    low = [float(low_threshold(record, environment)) for record in records]
    evidence.note_mean(source, "jitter_100.low_share", low)
    evidence.note(source, "jitter_100.good_start", min(c.reaches(FULL) for c in records))


def note_long(evidence: Evidence, source: str, records: Sequence[RecordedFlow]) -> None:
    """Record measures of Reno's long tests."""
    evidence.note_mean(source, "jitter_100.reaches", [c.reaches(FULL) for c in records])
    evidence.note_mean(source, "jitter_100.maximum", [c.reaches(LARGEST) for c in records])
    nearly, window = f"{source}, 90 Mbit/s counts", f"{source}, the window's maximum"
    evidence.note_mean(nearly, "jitter_100.maximum", [c.reaches(FULL) for c in records])
    evidence.note_mean(window, "jitter_100.maximum", [c.largest_window_at() for c in records])
    late = [c.throughput(EXTENDED / 2) for c in records]
    evidence.note_mean(source, "jitter_100.stable", late)


def note_cubic(
    evidence: Evidence, source: str, cubic: Sequence[RecordedFlow], reno: Sequence[RecordedFlow]
) -> None:
    """Record CUBIC's short tests compared with Reno's."""
    evidence.note(source, "jitter_100.better", mean(cubic) / mean(reno))
    slower = [float(c.throughput() < mean(cubic)) for c in reno]
    evidence.note_mean(source, "jitter_100.reno_below", slower)


def note_scatter(evidence: Evidence, results: Results) -> None:
    """Record the standard deviation of CUBIC's short tests less that of Reno's, Mbit/s."""
    for prefix in ("", UNDONE, ONE_WAY):
        source = packets(prefix) if prefix else PACKETS
        cubic, reno = ([*results[f"{prefix}{law}"], *results.get(f"more {prefix}{law}", ())]
                       for law in ("cubic", "reno"))  # fmt: skip
        rates = [np.array([c.throughput() for c in records]) for records in (cubic, reno)]
        evidence.note(source, "jitter_100.even", scatter(rates[0]) - scatter(rates[1]))
        if not prefix:
            others = np.sort(rates[1])[:-1]
            fewer = "packets, without Reno's fastest test"
            evidence.note(fewer, "jitter_100.even", scatter(rates[0]) - scatter(others))
            first = slice(len(results["reno"]))
            pair = [scatter(part[first]) for part in rates]
            evidence.note("packets, 20 tests", "jitter_100.even", pair[0] - pair[1])


def scatter(rates: np.ndarray) -> float:
    """Return the standard deviation of rates of tests, Mbit/s."""
    return float(np.std(rates, ddof=1))


def note_vegas(
    evidence: Evidence,
    source: str,
    vegas: Sequence[RecordedFlow],
    reno: Sequence[RecordedFlow],
    environment: Environment,
) -> None:
    """Record Vegas's short tests compared with Reno's."""
    evidence.note(source, "jitter_100.vegas", mean(vegas) / mean(reno))
    curves = [np.mean([c.cwnd for c in records], axis=0) for records in (vegas, reno)]
    deviation = np.abs(curves[0] - curves[1]).mean() / curves[1].mean()
    evidence.note(source, "jitter_100.same_curve", float(deviation))
    rounds = BRIEF / environment.round_trip
    evidence.note_mean(source, "jitter_100.decides", [c.decided[-1] / rounds for c in vegas])


def threshold_rise(record: RecordedFlow, threshold: np.ndarray) -> float:
    """Return the rise of a threshold between losses, as a fraction of the window's rise.

    NaN if the window is never above the threshold.
    """
    changes, growth = np.diff(threshold), np.diff(record.cwnd)
    avoidance = (record.times[1:] > EARLY) & (growth > 0) & (threshold[:-1] < record.cwnd[:-1])
    if not avoidance.any():
        return float("nan")
    return float(np.maximum(changes[avoidance], 0).sum() / growth[avoidance].sum())


def measure(results: Results) -> Evidence:
    """Record measures of each reading, and of a newer kernel."""
    evidence = Evidence()
    for prefix in ("", UNDONE, IN_ORDER, ONE_WAY):
        source, reno = packets(prefix) if prefix else PACKETS, results[f"{prefix}reno"]
        environment = FARTHER if prefix == ONE_WAY else HERE
        note_reno(evidence, source, reno, environment)
        if f"{prefix}cubic" in results:
            note_cubic(evidence, source, results[f"{prefix}cubic"], reno)
        note_vegas(evidence, source, results[f"{prefix}vegas"], reno, environment)
    note_scatter(evidence, results)
    note_long(evidence, PACKETS, results["long reno"])
    note_causes(evidence, results)
    note_thresholds(evidence, results)
    for prefix in (UNDONE, ONE_WAY):
        note_long(evidence, packets(prefix), results[f"long {prefix}reno"])
    note_kernel(evidence)
    return evidence


def note_causes(evidence: Evidence, results: Results) -> None:
    """Record Vegas's decisions without reordering, and its time to the maximum."""
    rounds = BRIEF / HERE.round_trip
    decided = [record.decided[-1] / rounds for record in results[f"{IN_ORDER}vegas"]]
    evidence.note_mean(PACKETS, "jitter_100.decides_in_order", decided)
    reaches = [record.reaches(FULL) for record in results["long vegas"]]
    evidence.note_mean(PACKETS, "jitter_100.vegas_reaches", reaches)
    evidence.note(LINUX, "jitter_100.decides_in_order", kernel("in_order", "vegas", "vegas_on"))


def note_thresholds(evidence: Evidence, results: Results) -> None:
    """Record whether Reno's threshold rises, and its correlation with the throughput."""
    record, undone = results["long reno"][0], results[f"long {UNDONE}reno"][0]
    probed = "packets, as tcp_probe prints it"
    evidence.note(PACKETS, "jitter_100.rises", threshold_rise(record, record.ssthresh))
    evidence.note(probed, "jitter_100.rises", threshold_rise(record, record.probed()))
    evidence.note(packets(UNDONE), "jitter_100.rises", threshold_rise(undone, undone.ssthresh))
    thresholds, rates = thresholds_and_rates(results["reno"])
    others = np.arange(len(rates)) != thresholds.argmax()
    pairs = {
        PACKETS: (thresholds, rates),
        "packets, by rank": (rankdata(thresholds), rankdata(rates)),
        "packets, without the highest threshold": (thresholds[others], rates[others]),
        packets(UNDONE): thresholds_and_rates(results[f"{UNDONE}reno"]),
    }
    for source, pair in pairs.items():
        evidence.note(source, "jitter_100.threshold_and_rate", correlation(*pair))


def thresholds_and_rates(records: Sequence[RecordedFlow]) -> tuple[np.ndarray, np.ndarray]:
    """Return thresholds after slow start, packets, and throughputs, Mbit/s, of tests."""
    thresholds = np.array([float(np.interp(EARLY, c.times, c.ssthresh)) for c in records])
    return thresholds, np.array([record.throughput() for record in records])


def correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Return the correlation of two series; NaN if one of them is constant."""
    if min(np.ptp(first), np.ptp(second)) == 0:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def note_kernel(evidence: Evidence) -> None:
    """Record a newer kernel's measures on the same path."""
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
