"""What section 5 leaves for others: mixed traffic, ECN, and a provably fair alpha."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

import vegasfluid as vf
from paper_repro.experiment import ARITHMETIC, PACKETS, Evidence, Experiment, Job, Results
from paper_repro.reference import ns2_group
from paper_repro.weigle_feng_2001.counts import Totals, ratio_of
from paper_repro.weigle_feng_2001.formulas import SECONDS
from paper_repro.weigle_feng_2001.networks import Pair, both_ways, table_1, with_pair, with_queue
from paper_repro.weigle_feng_2001.pairs import run_of
from paper_repro.weigle_feng_2001.tables import nodes
from paper_repro.weigle_feng_2001.traffic import carrying
from vegasfluid import metrics
from vegasfluid.analysis import certify_alpha

__all__ = ["SECTION_5"]

DEFAULT, LARGE = (1, 3), (100, 105)
SEEDS = (1, 2, 3)
SETTLED = 50.0
"""Seconds that the model file leaves out: an alpha that is fair at rest is judged at rest."""
TYPES = ("bulk", "nps")


def half_and_half(network: vf.Network) -> vf.Network:
    """Of each law half of the flows with infinite files, and half with NPS traffic."""
    flows = {}
    for more, kind in enumerate(TYPES):
        for name, of in carrying(network, kind).flows.items():
            flows[f"{name}_{kind}"] = replace(of, count=(of.count + more) // 2)
    return replace(network, flows=flows)


def ratios_by_kind(run: xr.Dataset) -> list[float]:
    """Goodput of a Vegas flow over a Reno flow, of each kind of traffic, in one direction."""
    rates = dict(zip(map(str, run["flow_class"].values), metrics.goodput(run).values, strict=True))
    return [float(rates[f"vegas_{kind}"] / rates[f"reno_{kind}"]) for kind in TYPES]


def marking(network: vf.Network) -> vf.Network:
    """RED that marks instead of dropping early."""
    return with_queue(network, aqm=replace(network.link.aqm, ecn=True, hard_drop=True))


def doubling(network: vf.Network) -> vf.Network:
    """A Vegas that doubles in every round trip of slow start, as ns-3's does."""

    def change(of: vf.Flows) -> vf.Flows:
        vegas = isinstance(of.law, vf.Vegas)
        return replace(of, law=replace(of.law, dialect="ns3")) if vegas else of

    return replace(network, flows={name: change(of) for name, of in network.flows.items()})


def placed(pair: Pair) -> vf.Network:
    """Network 2 with that alpha and beta, one way."""
    return with_pair(table_1(2), pair)


def settled_ratio(run: xr.Dataset) -> float:
    """Goodput of a Vegas flow over a Reno flow after the warm-up."""
    return metrics.goodput_ratio(run, "vegas")


def fair_pair() -> Pair:
    """The certified alpha in whole packets, with the gap of the recommendations."""
    alpha = round(float(certify_alpha(table_1(2)).alpha))
    return alpha, alpha + 2


def heuristic_pair() -> Pair:
    """RED_min / N with the same gap."""
    alpha = int(table_1(2).link.aqm.parameters()["min_thresh"] / nodes(table_1(2)))
    return alpha, alpha + 2


def jobs() -> Mapping[str, Job]:
    """Network 2 with mixed traffic, with marks, and with the certified alpha."""
    whole, found = float(SECONDS), {}
    for name, pair in {"default": DEFAULT, "large": LARGE}.items():
        mixed = both_ways(half_and_half(placed(pair)))
        found[f"mixed_{name}"] = Job(mixed, whole, keep=ratios_by_kind, seeds=SEEDS)
        drops = both_ways(carrying(placed(pair), "nps"))
        found[f"drops_{name}"] = run_of(drops, SEEDS)
        found[f"marks_{name}"] = run_of(marking(drops), SEEDS)
    twice = doubling(marking(both_ways(carrying(placed(LARGE), "nps"))))
    found["doubling"] = run_of(twice, SEEDS)
    for name, pair in {"certified": fair_pair(), "heuristic": heuristic_pair()}.items():
        found[name] = Job(placed(pair), whole, keep=settled_ratio, warmup=SETTLED, seeds=SEEDS)
    return found


def measure(results: Results) -> Evidence:
    """One experiment for each of the questions that section 5 leaves open."""
    evidence = Evidence()
    certificate = certify_alpha(table_1(2))
    fair, heuristic = (float(np.mean(results[name])) for name in ("certified", "heuristic"))
    plain, marked, twice = (results[name] for name in ("drops_large", "marks_large", "doubling"))
    found = {
        "mixed_default": [float(of) for of in np.mean(results["mixed_default"], axis=0)],
        "mixed_large": [float(of) for of in np.mean(results["mixed_large"], axis=0)],
        "marked_default": ratio_of(results["marks_default"]),
        "marked_large": ratio_of(marked),
        "resent_with_marks": resent(marked) / resent(plain),
        "doubling_losses": loss_rate(twice) / loss_rate(plain),
        "doubling_acked": acked(twice) / acked(plain),
        "certified": fair,
        "nearer_than_heuristic": abs(math.log(fair)) - abs(math.log(heuristic)),
    }
    for name, value in found.items():
        evidence.note(PACKETS, f"section5.{name}", value)
    evidence.note(ARITHMETIC, "section5.certified_digits", certificate.alpha.digits)
    evidence.note("packets, drops", "section5.marked_default", ratio_of(results["drops_default"]))
    evidence.note("packets, drops", "section5.marked_large", ratio_of(plain))
    evidence.note("packets, RED_min/N", "section5.certified", heuristic)
    after = [ns2_group("net2_oneway_a134_b139", law)["acked_after_warmup"]
             for law in ("vegas", "reno")]  # fmt: skip
    evidence.note("ns-2 at (134, 139)", "section5.certified", after[0] / after[1])
    return evidence


def resent(runs: Sequence[Totals]) -> float:
    """Packets sent again, all flows."""
    return float(np.mean([sum(run.resent.values()) for run in runs]))


def loss_rate(runs: Sequence[Totals]) -> float:
    """Retransmitted over sent packets of Vegas."""
    return float(np.mean([run.loss_rate("vegas") for run in runs]))


def acked(runs: Sequence[Totals]) -> float:
    """Packets acknowledged of Vegas."""
    return float(np.mean([run.acked["vegas"] for run in runs]))


SECTION_5 = Experiment(
    "section5", "Section 5: mixed traffic, ECN, a provably fair alpha", measure, jobs
)  # fmt: skip
