"""Open questions of section 5: mixed traffic, ECN, and a provably fair alpha."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import ARITHMETIC, PACKETS, Evidence, Experiment, Job, Results
from paper_repro.other_readings import with_readings
from paper_repro.reference import ns2_group
from paper_repro.weigle_feng_2001.counts import Totals, ratio_of
from paper_repro.weigle_feng_2001.formulas import SECONDS
from paper_repro.weigle_feng_2001.networks import Pair, both_ways, table_1, with_pair, with_queue
from paper_repro.weigle_feng_2001.other_readings import THERE_AND_BACK_ONCE
from paper_repro.weigle_feng_2001.pairs import run_of
from paper_repro.weigle_feng_2001.tables import nodes
from paper_repro.weigle_feng_2001.traffic import carrying
from vegasfluid import metrics
from vegasfluid.analysis import certify_alpha

__all__ = ["SECTION_5"]

DEFAULT = (1, 3)
"""Default alpha and beta, packets."""
LARGE = (100, 105)
"""Large alpha and beta, packets."""
SEEDS = (1, 2, 3)
"""Seeds of the runs."""
SETTLED = 50.0
"""Warm-up, s, as in the model file: an alpha that is fair at equilibrium is tested there."""
TYPES = ("bulk", "nps")
"""Traffic sources that are mixed."""


def half_and_half(network: vf.Network) -> vf.Network:
    """Return the network with half of each class sending infinite files, and half NPS traffic."""
    flows = {}
    for extra, kind in enumerate(TYPES):
        for name, group in carrying(network, kind).flows.items():
            flows[f"{name}_{kind}"] = replace(group, count=(group.count + extra) // 2)
    return replace(network, flows=flows)


def ratios_by_kind(run: xr.Dataset) -> list[float]:
    """Return the goodput of a Vegas flow over a Reno flow, by traffic source, in one direction."""
    rates = dict(zip(map(str, run["flow_class"].values), metrics.goodput(run).values, strict=True))
    return [float(rates[f"vegas_{kind}"] / rates[f"reno_{kind}"]) for kind in TYPES]


def marking(network: vf.Network) -> vf.Network:
    """Return the network with RED that marks packets instead of dropping them early."""
    return with_queue(network, aqm=replace(network.link.aqm, ecn=True, hard_drop=True))


def doubling(network: vf.Network) -> vf.Network:
    """Return the network with Vegas that doubles in every round trip of slow start, as in ns-3.

    Its hosts stay those of ns-2.
    """

    def change(flows: vf.Flows) -> vf.Flows:
        law = replace(flows.law, dialect="ns3") if isinstance(flows.law, vf.Vegas) else flows.law
        return replace(flows, law=law, host="ns2")

    return replace(network, flows={name: change(flows) for name, flows in network.flows.items()})


def placed(pair: Pair) -> vf.Network:
    """Return network 2 with this alpha and beta, and one-way data."""
    return with_pair(table_1(2), pair)


def settled_ratio(run: xr.Dataset) -> float:
    """Return the goodput of a Vegas flow over a Reno flow after the warm-up."""
    return metrics.goodput_ratio(run, "vegas")


def fair_pair() -> Pair:
    """Return the certified alpha in whole packets, and beta 2 packets above."""
    alpha = round(float(certify_alpha(table_1(2)).alpha))
    return alpha, alpha + 2


def heuristic_pair() -> Pair:
    """Return RED_min / N as alpha, and beta 2 packets above."""
    alpha = int(table_1(2).link.aqm.parameters()["min_thresh"] / nodes(table_1(2)))
    return alpha, alpha + 2


def jobs() -> Mapping[str, Job]:
    """Return runs of network 2 with mixed traffic, with marks, and with the certified alpha."""
    until, runs = float(SECONDS), {}
    for name, pair in {"default": DEFAULT, "large": LARGE}.items():
        mixed = both_ways(half_and_half(placed(pair)))
        runs[f"mixed_{name}"] = Job(mixed, until, keep=ratios_by_kind, seeds=SEEDS)
        drops = both_ways(carrying(placed(pair), "nps"))
        runs[f"drops_{name}"] = run_of(drops, SEEDS)
        runs[f"marks_{name}"] = run_of(marking(drops), SEEDS)
    network = doubling(marking(both_ways(carrying(placed(LARGE), "nps"))))
    runs["doubling"] = run_of(network, SEEDS)
    for name, pair in {"certified": fair_pair(), "heuristic": heuristic_pair()}.items():
        runs[name] = Job(placed(pair), until, keep=settled_ratio, warmup=SETTLED, seeds=SEEDS)
    return runs


def measure(results: Results) -> Evidence:
    """Record the results for each open question."""
    evidence = Evidence()
    certificate = certify_alpha(table_1(2))
    fair, heuristic = (float(np.mean(results[name])) for name in ("certified", "heuristic"))
    plain, marked, doubled = (results[name] for name in ("drops_large", "marks_large", "doubling"))
    measures = {
        "mixed_default": [float(mean) for mean in np.mean(results["mixed_default"], axis=0)],
        "mixed_large": [float(mean) for mean in np.mean(results["mixed_large"], axis=0)],
        "marked_default": ratio_of(results["marks_default"]),
        "marked_large": ratio_of(marked),
        "resent_with_marks": resent(marked) / resent(plain),
        "doubling_losses": loss_rate(doubled) / loss_rate(plain),
        "doubling_acked": acked(doubled) / acked(plain),
        "certified": fair,
        "nearer_than_heuristic": abs(math.log(fair)) - abs(math.log(heuristic)),
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"section5.{name}", value)
    evidence.note(ARITHMETIC, "section5.certified_digits", certificate.alpha.digits)
    evidence.note("packets, drops", "section5.marked_default", ratio_of(results["drops_default"]))
    evidence.note("packets, drops", "section5.marked_large", ratio_of(plain))
    evidence.note("packets, RED_min/N", "section5.certified", heuristic)
    acked_packets = [ns2_group("net2_oneway_a134_b139", law)["acked_after_warmup"]
             for law in ("vegas", "reno")]  # fmt: skip
    evidence.note("ns-2 at (134, 139)", "section5.certified", acked_packets[0] / acked_packets[1])
    return evidence


def resent(runs: Sequence[Totals]) -> float:
    """Return the retransmissions of all flows, mean over seeds."""
    return float(np.mean([sum(run.resent.values()) for run in runs]))


def loss_rate(runs: Sequence[Totals]) -> float:
    """Return retransmissions over packets sent of Vegas, mean over seeds."""
    return float(np.mean([run.loss_rate("vegas") for run in runs]))


def acked(runs: Sequence[Totals]) -> float:
    """Return the acknowledged packets of Vegas, mean over seeds."""
    return float(np.mean([run.acked["vegas"] for run in runs]))


SECTION_5 = with_readings(
    Experiment("section5", "Section 5: mixed traffic, ECN, a provably fair alpha", measure, jobs),
    [THERE_AND_BACK_ONCE],
)
