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
    AS_PRINTED,
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
"""Simulated time, s."""
SAMPLES = 1441
"""Samples of a trajectory, one every 0.05 s."""
BEFORE = 20.0
"""Time from which the second route is at equilibrium, s."""
LONGER = 36.0
"""Time at which the longer third route starts, s."""
SHORT_AGAIN = 60.0
"""Time at which the fourth route starts, s."""
SETTLED = 42.0
"""Time from which the third route is at equilibrium, s."""
JUMP = 0.8
"""Growth of a window between two samples, packets, above which equation (1) has set it."""
LONGEST_TRIP = 0.484
"""Round-trip propagation delay of the third route, s."""
LATER = 0.75
"""Delay of a second reading of the windows of 60 s, s: the route changes at 60 s exactly."""
SOON = 62.0
"""Time soon after the fourth route has started, s: 20 of its round trips."""
NS2_RUNS = tuple(f"reroute_s{seed}_rto1s" for seed in (1, 2, 3))
"""Names of ns-2's runs."""


LAW_OF = {"vegas": LAWS["vegas"], "modified": LAWS["modified"]}
"""Congestion control by column of tables 1 and 2."""
READINGS: Mapping[str, dict[str, partial[vf.Network]]] = {
    PACKETS: {law: partial(rerouted, item) for law, item in LAW_OF.items()},
    "packets, delays one way": {
        law: partial(rerouted, item, ways=2) for law, item in LAW_OF.items()
    },
    "packets, RTO 0.2 s": {
        law: partial(rerouted, item, min_rto=0.2) for law, item in LAW_OF.items()
    },
    "packets, (1) with the new baseRTT": {"modified": partial(rerouted, InOrder())},
}
"""Functions from a shift to a network, by source of the evidence and congestion control."""


def jobs() -> Mapping[str, Job]:
    """Return runs of Vegas and modified Vegas under each reading."""
    runs: dict[str, Job] = {}
    for source, laws in READINGS.items():
        for law, network in laws.items():
            runs |= jobs_for(f"{source}/{law}", network, UNTIL, SAMPLES)
    return runs


def window_at(record: RecordedRun, time: float) -> np.ndarray:
    """Return the windows at the sample nearest to a time (s), packets; (connection,)."""
    return record.cwnd[int(np.argmin(abs(record.time - time)))]


def detected(record: RecordedRun) -> float:
    """Return when the first window jumps on the longer route, s; NaN if it does not."""
    after = (record.time > LONGER) & (record.time < SHORT_AGAIN)
    cwnd, time = record.cwnd[after, 0], record.time[after]
    jumps = np.flatnonzero(np.diff(cwnd) > JUMP)
    return float(time[jumps[0] + 1]) if jumps.size else float("nan")


def note_tables(evidence: Evidence, law: str, source: str, runs: list[RecordedRun]) -> None:
    """Record every cell of tables 1 and 2."""
    for time in LOOKS:
        for connection in (0, 1):
            cell = f"{law}_{time}_{connection + 1}"
            windows = [window_at(run, time)[connection] for run in runs]
            acked = [run.acked(time)[connection] for run in runs]
            note_means(evidence, f"rerouting.window_{cell}", windows, source)
            note_means(evidence, f"rerouting.acked_{cell}", acked, source)
            if source == PACKETS:
                note_range(evidence, f"rerouting.window_{cell}", windows)
                note_range(evidence, f"rerouting.acked_{cell}", acked)
            if source == PACKETS and time == SHORT_AGAIN:
                late = [window_at(run, time + LATER)[connection] for run in runs]
                note_means(evidence, f"rerouting.window_{cell}", late, "packets, 0.75 s later")


def note_ns2(evidence: Evidence) -> None:
    """Record the same cells of ns-2's runs of Vegas, whose smallest timeout is 1 s."""
    by_time = {time: [ns2_flows_at(name, float(time)) for name in NS2_RUNS] for time in LOOKS}
    for time, runs in by_time.items():
        for connection in (0, 1):
            cell = f"vegas_{time}_{connection + 1}"
            flows = [run[connection] for run in runs]
            note_means(evidence, f"rerouting.window_{cell}", [flow["cwnd"] for flow in flows], NS2)
            note_means(evidence, f"rerouting.acked_{cell}", [flow["acked"] for flow in flows], NS2)
    pairs = list(zip(by_time[60], by_time[34], strict=True))
    gains = [late[0]["acked"] - early[0]["acked"] for late, early in pairs]
    shares = [
        np.diff([early[0]["acked"], late[0]["acked"]])[0]
        / sum(late[n]["acked"] - early[n]["acked"] for n in (0, 1))
        for early, late in zip(by_time[60], by_time[70], strict=True)
    ]
    note_means(evidence, "rerouting.gain_vegas", gains, NS2)
    note_means(evidence, "rerouting.share_after_60", shares, NS2)


def gains(runs: list[RecordedRun]) -> list[float]:
    """Return the packets of the first connection between 34 and 60 s, for each run."""
    return [float(run.acked(60)[0] - run.acked(34)[0]) for run in runs]


def segment_distances(record: RecordedRun) -> list[float]:
    """Return the durations of the first connection's last segment before 36 s and the next, s."""
    begins = segment_times(record, 0)
    last = int(np.flatnonzero(begins <= LONGER)[-1])
    return [float(begins[n + 1] - begins[n]) for n in (last - 1, last)]


def queue_deviation(record: RecordedRun) -> float:
    """Return the RMS deviation of the averaged queue after 36 s from its earlier mean, packets."""
    average, usual = moving_average(record), record.mean_queue(BEFORE, LONGER)
    return float(np.sqrt(np.mean((average[record.within(LONGER, UNTIL)] - usual) ** 2)))


def share_after_60(record: RecordedRun) -> float:
    """Return the first connection's share of the goodput from 60 to 70 s."""
    rates = record.rates(60, 70)
    return float(rates[0] / rates.sum())


def note_vegas(evidence: Evidence, source: str, runs: list[RecordedRun]) -> None:
    """Record statements about figures 2 and 3."""
    means = {
        "gain_vegas": gains(runs),
        "queue_after_over_before": [
            run.mean_queue(SETTLED, SHORT_AGAIN) / run.mean_queue(BEFORE, LONGER) for run in runs
        ],
        "rate_on_shorter_route": [run.rates(18, 34)[0] / run.rates(8, 14)[0] for run in runs],
        "share_after_60": [share_after_60(run) for run in runs],
        "growth_after_60": [window_at(run, 70)[0] - window_at(run, 60)[0] for run in runs],
        "window_lost": [window_at(run, 60)[0] / window_at(run, 34)[0] for run in runs],
        "rate_when_longer": [run.rates(40, 60)[0] / run.rates(40, 60)[1] for run in runs],
        "aggressor": [window_at(run, 60)[1] / window_at(run, 34)[1] for run in runs],
    }
    for name, values in means.items():
        note_means(evidence, f"rerouting.{name}", values, source)
    note_series(evidence, "rerouting.segments", [segment_distances(run) for run in runs], source)


def note_modified(evidence: Evidence, source: str, runs: list[RecordedRun]) -> None:
    """Record statements about figures 4 and 5."""
    detecting = [run for run in runs if not np.isnan(detected(run))]
    windows = [window_at(run, 70) / window_at(run, 34) for run in runs]
    note_means(evidence, "rerouting.gain_modified", gains(runs), source)
    note_series(evidence, "rerouting.window_70_over_34", windows, source)
    means = {
        "detecting": [float(not np.isnan(detected(run))) for run in runs],
        "detected_after": [detected(run) - LONGER for run in detecting],
        "window_before_update": [window_at(run, detected(run) - 0.1)[0] for run in detecting],
        "update_over_rest": [new_window(run) / equilibrium_window() for run in detecting],
        "growth_after_update": [growth_after_update(run) for run in detecting],
        "trips_to_detect": [(detected(run) - LONGER) / LONGEST_TRIP for run in detecting],
        "rate_after_update": [rate_after_update(run) for run in detecting],
        "window_62_over_60": [
            window_at(run, SOON)[0] / window_at(run, SHORT_AGAIN)[0] for run in runs
        ],
        "shrinks_from_60": [float(window_at(run, 70)[0] < window_at(run, 60)[0]) for run in runs],
    }
    for name, values in means.items():
        note_means(evidence, f"rerouting.{name}", values, source)


def new_window(record: RecordedRun) -> float:
    """Return the window that equation (1) has set, packets."""
    return float(window_at(record, detected(record) + 0.05)[0])


def equilibrium_window() -> float:
    """Return the window of a fair share on the longest route with beta queued, packets."""
    network = rerouted(LAWS["vegas"])
    trip = network.base_rtts("connection1")[0] + 0.484 - 0.134
    return network.fair_share() * trip + 3.0


def growth_after_update(record: RecordedRun) -> float:
    """Return the window's growth per round trip in the three seconds after an update, packets."""
    begin = detected(record) + 0.5
    growth = window_at(record, begin + 3)[0] - window_at(record, begin)[0]
    return float(growth) / (3 / 0.5)


def rate_after_update(record: RecordedRun) -> float:
    """Return the rate soon after a detection over that just before it, of the first connection."""
    time = detected(record)
    after, before = record.rates(time + 1, time + 6)[0], record.rates(time - 1, time)[0]
    return float(after / before)


def note_both(
    evidence: Evidence, source: str, plain: list[RecordedRun], other: list[RecordedRun]
) -> None:
    """Record comparisons of the modified Vegas with Vegas."""
    pairs = list(zip(plain, other, strict=True))
    differences = [float(abs(a.acked(34) - b.acked(34)).max()) for a, b in pairs]
    note_means(evidence, "rerouting.differences_before", differences, source)
    ratios = [b / a for a, b in zip(gains(plain), gains(other), strict=True)]
    note_means(evidence, "rerouting.improvement", ratios, source)
    deviations = [queue_deviation(b) / queue_deviation(a) for a, b in pairs]
    note_means(evidence, "rerouting.wandering_modified_over_vegas", deviations, source)
    changes = [queue_change(b) / queue_change(a) for a, b in pairs]
    note_means(evidence, "rerouting.queue_change_modified_over_vegas", changes, source)


def queue_change(record: RecordedRun) -> float:
    """Return the mean queue's change from the second route to the longest one, packets."""
    return abs(record.mean_queue(SETTLED, SHORT_AGAIN) - record.mean_queue(BEFORE, LONGER))


def measure(results: Results) -> Evidence:
    """Record the evidence of every reading, and of ns-2.

    A reading of the modified Vegas alone is compared with the usual runs of Vegas.
    """
    evidence = Evidence()
    plain = records(results, f"{PACKETS}/vegas")
    for source, laws in READINGS.items():
        runs = {law: records(results, f"{source}/{law}") for law in laws}
        for law, law_runs in runs.items():
            note_tables(evidence, law, source, law_runs)
        note_modified(evidence, source, runs["modified"])
        if "vegas" in runs:
            note_vegas(evidence, source, runs["vegas"])
        note_both(evidence, source, runs.get("vegas", plain), runs["modified"])
    modified = records(results, f"{PACKETS}/modified")
    note_vegas(evidence, AS_PRINTED, plain[:1])
    note_modified(evidence, AS_PRINTED, modified[:1])
    note_both(evidence, AS_PRINTED, plain[:1], modified[:1])
    note_ns2(evidence)
    return evidence


def draw(results: Results) -> Figure:
    """Plot figures 2 to 5, from the runs with the printed start times."""
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
