"""Section 3: two connections, one of which is rerouted; tables 1 and 2, figures 2 to 5."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from matplotlib.figure import Figure

import vegasfluid as vf
from paper_repro.experiment import NS2, PACKETS, Evidence, Experiment, Job, Results
from paper_repro.la_walrand_anantharam_1998.charts import (
    draw_queue,
    draw_sequences,
    moving_average,
    segment_times,
)
from paper_repro.la_walrand_anantharam_1998.networks import LAWS, rerouted
from paper_repro.la_walrand_anantharam_1998.recorded_run import RecordedRun
from paper_repro.la_walrand_anantharam_1998.rerouting_in_order import InOrder
from paper_repro.la_walrand_anantharam_1998.shifts import (
    jobs_for,
    note_means,
    note_range,
    note_series,
    records,
)
from paper_repro.la_walrand_anantharam_1998.tables import LOOKS
from paper_repro.reference import ns2_flows_at
from paper_repro.style import panels

__all__ = ["EXPERIMENT", "detected"]

UNTIL = 72.0
"""s."""
SAMPLES = 1441
"""One each 0.05 s."""
BEFORE, LONGER, SHORT_AGAIN = 20.0, 36.0, 60.0
"""s: when the second of the routes has settled, and when the third and the fourth begin."""
SETTLED = 42.0
"""s: when the third has."""
JUMP = 0.8
"""Packets: a window that grows by more between two samples was set anew."""
LATER = 0.75
"""s: a second look at the windows of 60 s, the very time at which the route changes."""
NS2_RUNS = tuple(f"reroute_s{seed}_rto1s" for seed in (1, 2, 3))


LAW_OF = {"vegas": LAWS["vegas"], "modified": LAWS["modified"]}
READINGS: Mapping[str, dict[str, partial[vf.Network]]] = {
    PACKETS: {law: partial(rerouted, of) for law, of in LAW_OF.items()},
    "packets, delays one way": {law: partial(rerouted, of, ways=2) for law, of in LAW_OF.items()},
    "packets, RTO 0.2 s": {law: partial(rerouted, of, min_rto=0.2) for law, of in LAW_OF.items()},
    "packets, (1) with the new baseRTT": {"modified": partial(rerouted, InOrder())},
}
"""What the packets are run for: by the source of the evidence, and by law."""


def jobs() -> Mapping[str, Job]:
    """Both laws, and other readings of what the paper leaves out."""
    made: dict[str, Job] = {}
    for source, laws in READINGS.items():
        for law, network in laws.items():
            made |= jobs_for(f"{source}/{law}", network, UNTIL, SAMPLES)
    return made


def window_at(record: RecordedRun, time: float) -> np.ndarray:
    """The windows at the sample next to a time, packets; (connection,)."""
    return record.cwnd[int(np.argmin(abs(record.time - time)))]


def detected(record: RecordedRun) -> float:
    """When the first connection has set its window anew after 36 s, s; NaN where it did not."""
    after = (record.time > LONGER) & (record.time < SHORT_AGAIN)
    cwnd, time = record.cwnd[after, 0], record.time[after]
    jumps = np.flatnonzero(np.diff(cwnd) > JUMP)
    return float(time[jumps[0] + 1]) if jumps.size else float("nan")


def note_tables(evidence: Evidence, law: str, source: str, runs: list[RecordedRun]) -> None:
    """Every cell of tables 1 and 2."""
    for look in LOOKS:
        for connection in (0, 1):
            cell = f"{law}_{look}_{connection + 1}"
            windows = [window_at(of, look)[connection] for of in runs]
            acked = [of.acked(look)[connection] for of in runs]
            note_means(evidence, f"rerouting.window_{cell}", windows, source)
            note_means(evidence, f"rerouting.acked_{cell}", acked, source)
            if source == PACKETS:
                note_range(evidence, f"rerouting.window_{cell}", windows)
                note_range(evidence, f"rerouting.acked_{cell}", acked)
            if source == PACKETS and look == SHORT_AGAIN:
                late = [window_at(of, look + LATER)[connection] for of in runs]
                note_means(evidence, f"rerouting.window_{cell}", late, "packets, 0.75 s later")


def note_ns2(evidence: Evidence) -> None:
    """The same cells of ns-2's runs of Vegas, which have a smallest timeout of 1 s."""
    looks = {look: [ns2_flows_at(name, float(look)) for name in NS2_RUNS] for look in LOOKS}
    for look, runs in looks.items():
        for connection in (0, 1):
            cell = f"vegas_{look}_{connection + 1}"
            flows = [run[connection] for run in runs]
            note_means(evidence, f"rerouting.window_{cell}", [of["cwnd"] for of in flows], NS2)
            note_means(evidence, f"rerouting.acked_{cell}", [of["acked"] for of in flows], NS2)
    pairs = list(zip(looks[60], looks[34], strict=True))
    gains = [late[0]["acked"] - early[0]["acked"] for late, early in pairs]
    shares = [
        np.diff([early[0]["acked"], late[0]["acked"]])[0]
        / sum(late[n]["acked"] - early[n]["acked"] for n in (0, 1))
        for early, late in zip(looks[60], looks[70], strict=True)
    ]
    note_means(evidence, "rerouting.gain_vegas", gains, NS2)
    note_means(evidence, "rerouting.share_after_60", shares, NS2)


def gains(runs: list[RecordedRun]) -> list[float]:
    """Packets of the first connection between 34 and 60 s."""
    return [float(of.acked(60)[0] - of.acked(34)[0]) for of in runs]


def segment_distances(record: RecordedRun) -> list[float]:
    """The last whole segment of the first connection before 36 s, and the one across it, s."""
    begins = segment_times(record, 0)
    last = int(np.flatnonzero(begins <= LONGER)[-1])
    return [float(begins[n + 1] - begins[n]) for n in (last - 1, last)]


def wandering(record: RecordedRun) -> float:
    """RMS distance of the averaged queue after 36 s from its mean on the route before, packets."""
    average, usual = moving_average(record), record.mean_queue(BEFORE, LONGER)
    return float(np.sqrt(np.mean((average[record.within(LONGER, UNTIL)] - usual) ** 2)))


def share_after_60(record: RecordedRun) -> float:
    """The first connection's part of what is delivered from 60 to 70 s."""
    rates = record.rates(60, 70)
    return float(rates[0] / rates.sum())


def note_vegas(evidence: Evidence, source: str, runs: list[RecordedRun]) -> None:
    """What the text says of figures 2 and 3."""
    means = {
        "gain_vegas": gains(runs),
        "queue_after_over_before": [
            of.mean_queue(SETTLED, SHORT_AGAIN) / of.mean_queue(BEFORE, LONGER) for of in runs
        ],
        "rate_on_shorter_route": [of.rates(18, 34)[0] / of.rates(8, 14)[0] for of in runs],
        "share_after_60": [share_after_60(of) for of in runs],
        "growth_after_60": [window_at(of, 70)[0] - window_at(of, 60)[0] for of in runs],
        "window_lost": [window_at(of, 60)[0] / window_at(of, 34)[0] for of in runs],
        "rate_when_longer": [of.rates(40, 60)[0] / of.rates(40, 60)[1] for of in runs],
        "aggressor": [window_at(of, 60)[1] / window_at(of, 34)[1] for of in runs],
    }
    for name, values in means.items():
        note_means(evidence, f"rerouting.{name}", values, source)
    note_series(evidence, "rerouting.segments", [segment_distances(of) for of in runs], source)


def note_modified(evidence: Evidence, source: str, runs: list[RecordedRun]) -> None:
    """What the text says of figures 4 and 5."""
    found = [of for of in runs if not np.isnan(detected(of))]
    comparable = [window_at(of, 70) / window_at(of, 34) for of in runs]
    note_means(evidence, "rerouting.gain_modified", gains(runs), source)
    note_series(evidence, "rerouting.window_70_over_34", comparable, source)
    means = {
        "detecting": [float(not np.isnan(detected(of))) for of in runs],
        "detected_after": [detected(of) - LONGER for of in found],
        "window_before_update": [window_at(of, detected(of) - 0.1)[0] for of in found],
        "update_over_rest": [new_window(of) / resting_window() for of in found],
        "growth_after_update": [climbed(of) for of in found],
        "shrinks_from_60": [float(window_at(of, 70)[0] < window_at(of, 60)[0]) for of in runs],
    }
    for name, values in means.items():
        note_means(evidence, f"rerouting.{name}", values, source)


def new_window(record: RecordedRun) -> float:
    """The window that equation (1) has set, packets."""
    return float(window_at(record, detected(record) + 0.05)[0])


def resting_window() -> float:
    """Where a fair share rests on the longest route, with beta packets in the queue, packets."""
    network = rerouted(LAWS["vegas"])
    trip = network.base_rtts("connection1")[0] + 0.484 - 0.134
    return network.fair_share() * trip + 3.0


def climbed(record: RecordedRun) -> float:
    """Packets by which the window grows in a round trip in the three seconds after an update."""
    begin = detected(record) + 0.5
    grown = window_at(record, begin + 3)[0] - window_at(record, begin)[0]
    return float(grown) / (3 / 0.5)


def note_both(
    evidence: Evidence, source: str, plain: list[RecordedRun], other: list[RecordedRun]
) -> None:
    """The modified Vegas against Vegas."""
    pairs = list(zip(plain, other, strict=True))
    differences = [float(abs(a.acked(34) - b.acked(34)).max()) for a, b in pairs]
    note_means(evidence, "rerouting.differences_before", differences, source)
    ratios = [b / a for a, b in zip(gains(plain), gains(other), strict=True)]
    note_means(evidence, "rerouting.improvement", ratios, source)
    calm = [wandering(b) / wandering(a) for a, b in pairs]
    note_means(evidence, "rerouting.wandering_modified_over_vegas", calm, source)
    until = [distance_from_usual(b) / distance_from_usual(a) for a, b in pairs]
    note_means(evidence, "rerouting.queue_change_modified_over_vegas", until, source)


def distance_from_usual(record: RecordedRun) -> float:
    """How far the mean queue on the longest route is from that on the one before, packets."""
    return abs(record.mean_queue(SETTLED, SHORT_AGAIN) - record.mean_queue(BEFORE, LONGER))


def measure(results: Results) -> Evidence:
    """The printed reading first, then the others as sources of their own."""
    evidence = Evidence()
    for source, laws in READINGS.items():
        runs = {law: records(results, f"{source}/{law}") for law in laws}
        for law, of in runs.items():
            note_tables(evidence, law, source, of)
        note_modified(evidence, source, runs["modified"])
        if "vegas" in runs:
            note_vegas(evidence, source, runs["vegas"])
            note_both(evidence, source, runs["vegas"], runs["modified"])
    note_ns2(evidence)
    return evidence


def draw(results: Results) -> Figure:
    """Figures 2 to 5, from the runs whose starts are exactly as printed."""
    figure, axes = panels(2, 2)
    top = 1.2 * max(float(records(results, f"{PACKETS}/{law}")[0].queue.max()) for law in LAW_OF)
    titles = {"vegas": ("2", "3", "TCP Vegas"), "modified": ("4", "5", "modified TCP Vegas")}
    for row, (law, (first, second, name)) in zip(axes, titles.items(), strict=True):
        record = records(results, f"{PACKETS}/{law}")[0]
        draw_queue(row[0], record, f"Figure {first}: queue size under {name}", top)
        draw_sequences(row[1], record, f"Figure {second}: packet sequence under {name}")
    return figure


EXPERIMENT = Experiment(
    "rerouting", "Rerouting: figures 2 to 5, tables 1 and 2", measure, jobs, draw
)
