"""Section 4.1: a delay of 100 ms without jitter, figures 2 to 7."""

from __future__ import annotations

from collections.abc import Mapping

from paper_repro.experiment import LINUX, PACKETS, Evidence, Experiment, Job, Results
from paper_repro.marrone_2013.drawing import draw_panels, throughput, windows
from paper_repro.marrone_2013.environment import HELD, NETEM_LIMIT, WHOLE_WINDOW, Environment
from paper_repro.marrone_2013.linux import kernel
from paper_repro.marrone_2013.readings import DELAY_LINE, ONE_WAY, packets
from paper_repro.marrone_2013.recorded_flow import each_law, mean

__all__ = ["FIGURES_2_TO_7"]

NAMES = ("reno", "cubic", "vegas")
"""Congestion controls."""
BRIEF = 100.0
"""Simulated time of the paper's test, s."""
EXTENDED = 300.0
"""Simulated time of a longer test, s."""
INITIAL = 10.0
"""Time that counts as the initial phase, s (chosen)."""
READINGS = {
    "": Environment(0.1),
    ONE_WAY: Environment(0.1, window=WHOLE_WINDOW, ways=2),
    DELAY_LINE: Environment(0.1, buffer=NETEM_LIMIT - HELD // 2),
}
"""Environments by reading; the first is the usual one."""


def jobs() -> Mapping[str, Job]:
    """Return the tests of each congestion control under each reading, and longer tests."""
    runs: dict[str, Job] = {}
    for reading, environment in READINGS.items():
        runs |= each_law(environment, BRIEF, prefix=reading)
    return runs | each_law(Environment(0.1), EXTENDED, prefix="long ")


def note(evidence: Evidence, source: str, prefix: str, results: Results) -> None:
    """Record measures of one reading."""
    records = {name: results[prefix + name] for name in NAMES}
    for name in NAMES:
        rates = [test.throughput() for test in records[name]]
        evidence.note_mean(source, f"plain_100.{name}", rates)
    begin = {name: mean(records[name], 0, INITIAL) for name in NAMES}
    total = {name: mean(records[name]) for name in NAMES}
    evidence.note(source, "plain_100.start", begin["cubic"] / min(begin["reno"], begin["vegas"]))
    evidence.note(source, "plain_100.total", total["cubic"] / max(total["reno"], total["vegas"]))


def measure(results: Results) -> Evidence:
    """Record measures of each reading, of longer tests and of a Linux kernel."""
    evidence = Evidence()
    for reading in READINGS:
        note(evidence, packets(reading) if reading else PACKETS, reading, results)
    longer = [mean(results[f"long {name}"]) / mean(results[name]) for name in NAMES]
    evidence.note(PACKETS, "plain_100.longer", longer)
    for name in NAMES:
        evidence.note(LINUX, f"plain_100.{name}", kernel("none", name, "mbps"))
    return evidence


FIGURES_2_TO_7 = [
    Experiment(
        "plain_100",
        "Figures 2 to 7: d = 100 ms, no jitter",
        measure,
        jobs,
        draw_panels(
            [
                [
                    throughput("Fig. 2: Reno", reno="reno"),
                    throughput("Fig. 3: CUBIC", cubic="cubic"),
                    throughput("Fig. 4: Vegas", vegas="vegas"),
                ],
                [
                    windows("Fig. 5: Reno", "reno", "reno"),
                    windows("Fig. 6: CUBIC", "cubic", "cubic"),
                    windows("Fig. 7: Vegas", "vegas", "vegas"),
                ],
            ]
        ),
    )
]
