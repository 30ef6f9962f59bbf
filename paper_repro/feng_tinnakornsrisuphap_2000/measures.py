"""The measures behind the claims about figures 4 to 10, the same for both networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from paper_repro.experiment import PACKETS, Evidence
from paper_repro.feng_tinnakornsrisuphap_2000.esnet import DURATION
from paper_repro.feng_tinnakornsrisuphap_2000.summary import Summary
from paper_repro.feng_tinnakornsrisuphap_2000.sweep import (
    LANL_ONLY,
    LAWS,
    READINGS,
    Curve,
    Sweep,
    note_each_seed,
)
from vegasfluid.burstiness import METHODS

__all__ = [
    "METHOD",
    "WHOLE",
    "Found",
    "Runs",
    "note_few",
    "note_shared",
    "over_all_numbers",
    "saturation",
]

Runs = Mapping[str, list[Summary]]
"""Summaries of the runs of one topology, by the run's name."""
HARDLY = 0.10
"""Excess of the c.o.v. over theory (fraction) that is still small; the paper's "less than 10 %"."""
OTHER_BOUNDS = (0.05, 0.20)
"""Other excesses from which Reno's burstiness may be said to begin."""
WHOLE = (PACKETS, LANL_ONLY)
"""Sources of evidence that have all points of the curves."""
METHOD = "local_whittle"
"""Estimator of the Hurst parameter by which the claims are decided."""
ALIKE = "our numbers of clients counted alike"
"""Another mean over the axis: of the numbers of clients that we ran."""
MANY = 12
"""Clients from which Vegas's Hurst parameter is compared with Reno's."""


@dataclass(frozen=True)
class Found:
    """The runs of one topology, and the evidence to which their measures are added.

    Args:
        prefix: name of the experiment.
        sweep: definition of the runs.
        results: summaries of the runs.
        busy: number of clients from which the network is congested.
        evidence: the record to add to.
    """

    prefix: str
    sweep: Sweep
    results: Runs
    busy: int
    evidence: Evidence

    def curve(self, law: str, queue: str = "fifo", reading: str = PACKETS) -> Curve:
        """Return the runs of a congestion control, a queue discipline and a reading, by clients."""
        return self.sweep.curve(self.results, law, queue, reading)

    def note(self, measure: str, values: np.ndarray, source: str = PACKETS) -> None:
        """Record the mean over seeds of values (seed,), or of a series (place, seed)."""
        note_each_seed(self.evidence, source, f"{self.prefix}.{measure}", values)

    def note_one(self, measure: str, value: float, source: str = PACKETS) -> None:
        """Record one number that follows from all runs."""
        self.evidence.note(source, f"{self.prefix}.{measure}", value)


def note_shared(found: Found) -> None:
    """Record the measures that both topologies have."""
    for source in READINGS:
        for law in LAWS:
            curve = found.curve(law, reading=source)
            if curve.points:
                note_law(found, law, curve, source)
        note_both_laws(found, source)
    for source in WHOLE:
        note_whole_curves(found, source)
        note_hursts(found, source)
    note_red(found)
    note_places(found)


def note_law(found: Found, law: str, curve: Curve, source: str) -> None:
    """Record the measures of one congestion control under one reading."""
    last = max(curve.clients)
    found.note(f"{law}_excess_60", curve.excess(last)[0], source)
    found.note(f"{law}_loss_60", curve.each(lambda run: run.loss, last)[0], source)
    lost = curve.each(lambda run: run.loss_with_acks, last)[0]
    found.note(f"{law}_loss_60", lost, f"{source}, ACKs counted")
    found.note(f"{law}_resent_60", curve.each(lambda run: run.resent, last)[0], source)
    found.note(f"{law}_excess_largest", curve.excess().max(0), source)
    found.note(f"{law}_loss_largest", curve.each(lambda run: run.loss).max(0), source)
    if source != PACKETS:
        found.note(f"{law}_hurst_largest", hursts(curve).max(0), source)
    if len(curve.clients) > 1:
        found.note(f"{law}_saturation", saturation(curve), source)


def hursts(curve: Curve, *clients: int, method: str = METHOD) -> np.ndarray:
    """Return the Hurst parameters at the LANL router; (clients, seed)."""
    return curve.each(lambda run: run.hurst[method], *clients)


def saturation(curve: Curve) -> np.ndarray:
    """Return the number of clients at which the packets stop growing; (seed,).

    There the line through the origin and the fewest clients reaches the packets of the most.
    """
    packets = curve.each(lambda run: run.packets)
    fewest, most = min(curve.clients), max(curve.clients)
    rate = packets[curve.clients.index(fewest)] / fewest
    return packets[curve.clients.index(most)] / rate


def note_both_laws(found: Found, source: str) -> None:
    """Record the throughput and goodput of Vegas over those of Reno, in congestion.

    And which part of the packets that Reno transmits more than Vegas are retransmissions.
    """
    reno, vegas = (found.curve(law, reading=source) for law in LAWS)
    busy = [count for count in reno.clients if count >= found.busy and count in vegas.points]
    if not busy:
        return
    seeds = min(reno.seeds, vegas.seeds)

    def ratio(pick: str) -> np.ndarray:
        pair = [c.each(lambda run: getattr(run, pick), *busy)[:, :seeds] for c in (vegas, reno)]
        return pair[0] / pair[1]

    found.note("packets_vegas_over_reno", ratio("packets").mean(0), source)
    found.note("goodput_vegas_over_reno", ratio("delivered").mean(0), source)
    sent = [c.each(lambda run: run.packets, busy[-1])[0, :seeds] for c in (reno, vegas)]
    resent = reno.each(lambda run: run.resent, busy[-1])[0, :seeds] / 100 * sent[0]
    found.note("resent_part_of_excess", resent / (sent[0] - sent[1]), source)


def note_whole_curves(found: Found, source: str) -> None:
    """Record the measures that need all points of the curves."""
    reno, vegas = (found.curve(law, reading=source) for law in LAWS)
    clients = np.array(reno.clients)
    excess = reno.excess().mean(1)
    above, busy = excess > HARDLY, clients >= found.busy
    if above.any():
        found.note_one("reno_begins", float(clients[above][0]), source)
    for bound in OTHER_BOUNDS:
        if (excess > bound).any():
            first = float(clients[excess > bound][0])
            found.note_one("reno_begins", first, f"{source}, above {100 * bound:g} % counts")
    found.note_one("vegas_share_hardly", float(np.mean(vegas.excess().mean(1) < HARDLY)), source)
    found.note("vegas_axis_hardly", axis_below(vegas, HARDLY), source)
    alike = (vegas.excess() < HARDLY).mean(0)
    found.note("vegas_axis_hardly", alike, f"{source}, {ALIKE}")
    found.note_one("reno_excess_when_busy", float(excess[busy].mean()), source)
    found.note_one("kicks_in", float(excess[busy].mean() / excess[~busy].mean()), source)


def axis_below(curve: Curve, bound: float) -> np.ndarray:
    """Return the fraction of all numbers of clients whose excess is below a bound; (seed,).

    They go from the fewest to the most clients of our runs; between these the excess is linear.
    """
    clients = np.arange(min(curve.clients), max(curve.clients) + 1)
    lines = [np.interp(clients, curve.clients, excess) for excess in curve.excess().T]
    return np.array([float(np.mean(line < bound)) for line in lines])


def over_all_numbers(
    clients: Sequence[int], values: np.ndarray, end: int | None = None
) -> np.ndarray:
    """Return the mean of values over all numbers of clients; (seed,).

    Args:
        clients: numbers of clients that were run.
        values: their values, between which the line is straight; (clients, seed).
        end: number of clients at which the axis ends, without it; None: the most clients.
    """
    numbers = np.arange(min(clients), max(clients) + 1 if end is None else end)
    return np.array([np.interp(numbers, clients, line).mean() for line in values.T])


def note_hursts(found: Found, source: str) -> None:
    """Record Hurst parameters by each method that gives finite values."""
    reno, vegas = (found.curve(law, reading=source) for law in LAWS)
    many = [count for count in reno.clients if count >= MANY]
    for method in METHODS:
        name = source if method == METHOD else f"{source}, {method.replace('_', ' ')}"
        seeds = min(reno.seeds, vegas.seeds)
        pair = [hursts(c, *many, method=method)[:, :seeds] for c in (reno, vegas)]
        difference = pair[0] - pair[1]
        for measure, values, place in (
            ("hurst_reno_12", pair[0][0], name),
            ("hurst_reno_less_vegas", over_all_numbers(many, difference), name),
            ("hurst_reno_less_vegas", difference.mean(0), f"{name}, {ALIKE}"),
            ("hurst_reno_over_vegas", difference.mean(0), name),
            ("reno_hurst_largest", hursts(reno, method=method).max(0), name),
        ):
            if np.isfinite(values).all():
                found.note(measure, values, place)


def note_few(found: Found, clients: int, source: str) -> None:
    """Record which fraction of the load Reno leaves undelivered, and its loss in per cent."""
    reno = found.curve("reno", reading=source)
    sites = 1 if source == LANL_ONLY else 2
    offered = sites * clients * found.sweep.topology.client_rate * DURATION
    delivered = reno.each(lambda run: run.delivered, clients)[0]
    found.note(f"reno_short_{clients}", 1 - delivered / offered, source)
    found.note(f"reno_loss_{clients}", reno.each(lambda run: run.loss, clients)[0], source)


def note_red(found: Found) -> None:
    """Record the largest changes by RED in the routers, over congestion controls and clients."""
    changes: dict[str, list[float]] = {"cov": [], "packets": [], "loss": []}
    for law, count in product(LAWS, found.sweep.red_clients):
        plain, red = (found.curve(law, queue).points[count][0] for queue in ("fifo", "red"))
        changes["cov"].append(abs(red.cov / plain.cov - 1))
        changes["packets"].append(abs(red.packets / plain.packets - 1))
        changes["loss"].append(abs(red.loss - plain.loss))
    for name, values in changes.items():
        found.evidence.note_pair(PACKETS, f"{found.prefix}.red_changes_{name}", max(values))


def note_places(found: Found) -> None:
    """Record the fraction of drops at the switch, and how often queues are below RED."""
    curves = [found.curve(law, queue) for law, queue in product(LAWS, ("fifo", "red"))]
    runs = [run for curve in curves for runs in curve.points.values() for run in runs]
    router, switch = sum(run.router_drops for run in runs), sum(run.switch_drops for run in runs)
    found.note_one("drops_at_switch", switch / (router + switch))
    found.note_one("below_red", min(run.below_red for run in runs))
    found.note_one("below_red_mean", float(np.mean([run.below_red for run in runs])))
