"""Figure 3: network 1 over drop-tail queues of different sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import vegasfluid as vf
from paper_repro.experiment import NS2, PACKETS, Evidence, Experiment, Job, Results
from paper_repro.reference import ns2_group, ns2_names
from paper_repro.weigle_feng_2001.counts import Totals, mean_of, ratio_of
from paper_repro.weigle_feng_2001.drawing import Panel, draw_columns
from paper_repro.weigle_feng_2001.formulas import SECONDS, full_two_way, full_utilisation
from paper_repro.weigle_feng_2001.heuristics import QUEUES, third_of
from paper_repro.weigle_feng_2001.networks import (
    Pair,
    read_as_round_trips,
    table_1,
    with_drop_tail,
    with_laws,
)
from paper_repro.weigle_feng_2001.pairs import (
    SEEDS,
    WAYS,
    ns2_counts,
    ns2_ratio,
    one_against_one,
    run_of,
    with_rate,
)
from paper_repro.weigle_feng_2001.tables import propagation_ms
from paper_repro.weigle_feng_2001.traffic import CBR_MBPS
from vegasfluid import metrics

__all__ = ["FIGURE_3", "backlog"]

RAISED = 2
"""Increase of alpha and beta, packets, for "slightly changing our heuristic"."""
LATER = 5.0
"""Start of Vegas after Reno in one of the readings, s."""
THERE_AND_BACK = "packets, delays there and back"
"""Source of the evidence with table 1's delays read as round-trip delays."""
COMPARED = {"vegas_only": (0, 2), "mixed": (1, 1), "reno_only": (2, 0)}
"""Numbers of Reno and of Vegas flows in networks whose need of buffer space is compared."""
SHORT_AND_LONG = (10, 50)
"""Queues of these networks, packets."""
RENO_ONLY = "packets, Reno only"
"""Source of the evidence on buffer space from a comparison with Reno alone."""
CONSTANT_RATE = "packets, CBR at 10 Mbit/s"
"""Source of the evidence with applications of a constant rate."""
TOGETHER = "packets, all at time 0"
"""Source of the evidence with starts as in table 2."""


def raised(queue: int) -> Pair:
    """Return the heuristic's alpha and beta, raised for queues below 20 packets."""
    alpha, beta = third_of(queue)
    return (alpha + RAISED, beta + RAISED) if queue < 20 else (alpha, beta)


READINGS = {
    PACKETS: "",
    TOGETHER: "together_",
    "packets, starts within 1 s": "apart_",
    "packets, Vegas 5 s later": "late_",
    THERE_AND_BACK: "there_and_back_",
    CONSTANT_RATE: "rate_",
}
"""Prefixes of the jobs' names, by source of the evidence."""


def jobs() -> Mapping[str, Job]:
    """Return the runs by reading, direction and queue, and those with raised thresholds."""
    runs = {}
    for way in WAYS:
        for queue in QUEUES:
            change = partial(with_drop_tail, queue=queue)
            pair = third_of(queue)
            network = one_against_one(change, pair, way)
            readings = {
                "": network,
                "apart_": one_against_one(change, pair, way, 1.0),
                "late_": vegas_later(network),
                "there_and_back_": read_as_round_trips(network),
                "rate_": with_rate(network, CBR_MBPS[0]),
                "raised_": one_against_one(change, raised(queue), way),
            }
            runs |= {f"{name}{way}_{queue}": run_of(one, SEEDS) for name, one in readings.items()}
            for name, one in {"": pair, "raised_": raised(queue)}.items():
                together = one_against_one(change, one, way, 0.0)  # nothing is left to chance
                runs[f"{name}together_{way}_{queue}"] = run_of(together)
        network = one_against_one(partial(with_drop_tail, queue=50), third_of(50), way)
        runs[f"timing_{way}"] = Job(
            network, float(SECONDS), keep=variation, bin_width=propagation_ms(network) / 1e3
        )
    for name, counts in COMPARED.items():
        for queue in SHORT_AND_LONG:
            change = partial(two_flows, queue=queue, counts=counts)
            runs[f"{name}_{queue}"] = run_of(one_against_one(change, (1, 3), "one_way"), SEEDS)
    return runs


def two_flows(network: vf.Network, queue: int, counts: tuple[int, int]) -> vf.Network:
    """Return two flows over a drop-tail queue (packets), by the numbers of Reno and of Vegas."""
    return with_laws(with_drop_tail(network, queue), *counts)


def vegas_later(network: vf.Network) -> vf.Network:
    """Return the network with Vegas flows that start after Reno has filled the queue."""

    def change(flows: vf.Flows) -> vf.Flows:
        return replace(flows, start=LATER) if isinstance(flows.law, vf.Vegas) else flows

    return replace(network, flows={name: change(flows) for name, flows in network.flows.items()})


def variation(run: xr.Dataset) -> float:
    """Return the c.o.v. of the data packets that arrive in a round trip."""
    return float(metrics.cov(run, link="bottleneck")[0])


Measures = dict[str, float | list[float]]
"""Numbers or series by name."""
Runs = Sequence[Sequence[Totals]]
"""Runs by queue and seed."""


def measures_of(one: Runs, two: Runs) -> Measures:
    """Return the measures of section 4.1, from one-way and two-way runs."""
    return (
        ratios_by_queue([ratio_of(runs) for runs in one], [ratio_of(runs) for runs in two])
        | utilisations(one, two)
        | losses(one, two)
        | backlogs(one)
    )


def ratios_by_queue(one: Sequence[float], two: Sequence[float]) -> Measures:
    """Return Vegas over Reno by size of the queue, and the effect of reverse traffic."""
    small, middle = QUEUES.index(10) + 1, QUEUES.index(20) + 1
    return {
        "small": list(one[:small]),
        "middle": list(one[small - 1 : middle]),
        "large": list(one[middle:]),
        "favour": float(np.mean(np.log(two) - np.log(one))),
        "trend": float(np.corrcoef(QUEUES, np.log(one))[0, 1]),
        "trend_two_way": float(np.corrcoef(QUEUES, np.log(two))[0, 1]),
    }


def backlogs(one: Runs) -> Measures:
    """Return backlogs by size of the queue, what follows from them, and the queue's variation."""
    base_rtt = propagation_ms(table_1(1)) / 1e3
    reno, vegas = ([backlog(runs, law, base_rtt) for runs in one] for law in ("reno", "vegas"))
    ratios = np.log([ratio_of(runs) for runs in one])
    alphas = [third_of(queue)[0] for queue in QUEUES]
    variations = [mean_of(runs, "queue_spread") / mean_of(runs, "queue") for runs in one]
    return {
        "unequal": float(np.exp(np.abs(ratios).max())),
        "rate_follows_backlog": float(np.corrcoef(np.log(np.divide(vegas, reno)), ratios)[0, 1]),
        "reno_backlog": reno,
        "vegas_backlog_over_alpha": [
            held - alpha for held, alpha in zip(vegas, alphas, strict=True)
        ],
        "queue_variation": variations,
    }


def utilisations(one: Runs, two: Runs) -> Measures:
    """Return utilisations, and a flow's goodput with reverse traffic over that without."""
    acks = full_two_way() / full_utilisation(1)
    used = [[mean_of(runs, "utilisation") for runs in way] for way in (one, two)]
    return {
        "utilisation_one_way": used[0],
        "utilisation_two_way": [value / acks for value in used[1]],
        "two_way_over_one_way": [after / before for before, after in zip(*used, strict=True)],
    }


def losses(one: Runs, two: Runs) -> Measures:
    """Return drops, and the backlog and losses of Reno over those of Vegas."""
    by_queue = [np.array([mean_of(runs, "dropped") for runs in way]) for way in (one, two)]
    dropped = [np.mean(fractions) for fractions in by_queue]
    base_rtt = propagation_ms(table_1(1)) / 1e3
    buffered = [[backlog(runs, law, base_rtt) for law in ("reno", "vegas")] for runs in one]
    return {
        "more_drops": float(dropped[1] - dropped[0]),
        "drops_two_way_over_one_way": (by_queue[1] / by_queue[0]).tolist(),
        "at_equal_drops": at_equal_drops(one, two),
        "lost_acks": float(np.mean([mean_of(runs, "lost_acks") for runs in two])),
        "windows": float(
            np.mean([run.cwnd["vegas"] / run.cwnd["reno"] for runs in one for run in runs])
        ),
        "buffered": float(np.mean([reno / vegas for reno, vegas in buffered])),
        "losses": loss_rate(two, "reno") / loss_rate(two, "vegas"),
    }


def at_equal_drops(one: Runs, two: Runs) -> list[float]:
    """Return utilisation, and Vegas over Reno, two-way over one-way at the same drop rate.

    The one-way values lie between those of our queues, by the logarithm of the drop rate. The means
    are over the two-way runs whose drop rate is within those of the one-way ones.
    """
    drops = [np.log([mean_of(runs, "dropped") for runs in way]) for way in (one, two)]
    acks = full_two_way() / full_utilisation(1)
    used = [[mean_of(runs, "utilisation") for runs in way] for way in (one, two)]
    pairs = (
        (used[0], [value / acks for value in used[1]]),
        [[ratio_of(runs) for runs in way] for way in (one, two)],
    )
    order = np.argsort(drops[0])
    inside = (drops[1] >= drops[0].min()) & (drops[1] <= drops[0].max())
    ratios = []
    for before, after in pairs:
        there = np.interp(drops[1], drops[0][order], np.array(before)[order])
        ratios.append(float(np.mean((np.array(after) / there)[inside])))
    return ratios


def window_ratio(run: Totals) -> float:
    """Return the mean window of Vegas over that of Reno."""
    return run.cwnd["vegas"] / run.cwnd["reno"]


def loss_rate(by_queue: Runs, law: str) -> float:
    """Return retransmissions over packets sent of a congestion control, mean over queues."""
    return float(np.mean([np.mean([run.loss_rate(law) for run in runs]) for runs in by_queue]))


def backlog(runs: Sequence[Totals], law: str, base_rtt: float) -> float:
    """Return a flow's packets in the queue: window minus rate times base RTT (s); one-way."""
    rates = [run.acked[law] / SECONDS for run in runs]
    return float(np.mean([run.cwnd[law] for run in runs]) - np.mean(rates) * base_rtt)


def runs_of(results: Results, prefix: str) -> tuple[Runs, Runs]:
    """Return the one-way and two-way runs of a reading."""
    one, two = ([results[f"{prefix}{way}_{queue}"] for queue in QUEUES] for way in WAYS)
    return one, two


def measure(results: Results) -> Evidence:
    """Record the measures of section 4.1."""
    evidence = Evidence()
    for source, prefix in READINGS.items():
        for name, value in measures_of(*runs_of(results, prefix)).items():
            evidence.note(source, f"figure3.{name}", value)
    for name, value in ns2_measures().items():
        evidence.note(NS2, f"figure3.{name}", value)
    for source, prefix in {PACKETS: "raised_", TOGETHER: "raised_together_"}.items():
        ratios = [[ratio_of(runs) for runs in way] for way in runs_of(results, prefix)]
        evidence.note(source, "figure3.raised", ratios[0])
        evidence.note(source, "figure3.raised_two_way", ratios[1])
    for source in (PACKETS, NS2):
        trend = evidence.found[source]["figure3.trend_two_way"]
        evidence.note(f"{source}, with reverse traffic", "figure3.trend", trend)
    note_buffer_space(evidence, results)
    timing = [results[f"timing_{way}"][0] for way in WAYS]
    evidence.note(PACKETS, "figure3.timing", timing[1] / timing[0])
    return evidence


def note_buffer_space(evidence: Evidence, results: Results) -> None:
    """Record what a longer queue changes with Vegas only, over what it changes with Reno."""
    gains = {}
    for name in COMPARED:
        short, long = (
            mean_of(results[f"{name}_{queue}"], "utilisation") for queue in SHORT_AND_LONG
        )
        gains[name] = long - short
    evidence.note(PACKETS, "figure3.vegas_only", gains["vegas_only"])
    for source, name in {PACKETS: "mixed", RENO_ONLY: "reno_only"}.items():
        ratio = abs(gains["vegas_only"] / gains[name])
        evidence.note(source, "figure3.buffer_effect_over_reno", ratio)


def ns2_runs(way: str) -> list[str]:
    """Return the prefixes of ns-2's runs by queue; flows start within the first second."""
    return [f"fig3_q{queue}_{way.replace('_', '')}_" for queue in QUEUES]


def ns2_used(prefix: str) -> float:
    """Return the mean utilisation of ns-2's runs with a prefix."""
    return float(np.mean([ns2_group(name, "vegas")["utilisation"] for name in ns2_names(prefix)]))


def ns2_measures() -> Measures:
    """Return the measures of ns-2's runs."""
    ratios = [[ns2_ratio(name) for name in ns2_runs(way)] for way in WAYS]
    used = [[ns2_used(name) for name in ns2_runs(way)] for way in WAYS]
    return ratios_by_queue(*ratios) | {
        "utilisation_one_way": used[0],
        "utilisation_two_way": used[1],
    }


def draw(results: Results) -> Figure:
    """Plot packets acknowledged and retransmitted, one-way and two-way."""
    columns = [
        Panel(
            f"Figure 3: {way.replace('_', '-')} traffic",
            "queue size (packets)",
            [str(queue) for queue in QUEUES],
            runs,
            [ns2_counts(name) for name in ns2_runs(way)],
        )
        for way, runs in zip(WAYS, runs_of(results, ""), strict=True)
    ]
    return draw_columns(columns)


FIGURE_3 = Experiment(
    "figure3", "Figure 3: network 1, queues of different sizes", measure, jobs, draw
)  # fmt: skip
