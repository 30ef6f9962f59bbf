"""Network 1: one Reno flow against one Vegas flow, as figures 3 and 4 run them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import vegasfluid as vf
from paper_repro.experiment import Job
from paper_repro.reference import ns2_group, ns2_names
from paper_repro.weigle_feng_2001.counts import totals
from paper_repro.weigle_feng_2001.formulas import SECONDS
from paper_repro.weigle_feng_2001.networks import Pair, both_ways, starting, table_1, with_pair

__all__ = [
    "SEEDS",
    "WAYS",
    "ns2_counts",
    "ns2_ratio",
    "one_against_one",
    "run_of",
    "with_rate",
]

WAYS = ("one_way", "two_way")
SEEDS = tuple(range(1, 21))
DITHER = 0.1
"""Seconds in which the flows start: near time 0, but not so that both directions are mirrors."""

Queue = Callable[[vf.Network], vf.Network]
"""Puts another queue in front of the link."""


def one_against_one(queue: Queue, pair: Pair, way: str, spread: float = DITHER) -> vf.Network:
    """One Reno and one Vegas flow in each direction.

    Args:
        queue: the queue of the link.
        pair: alpha and beta.
        way: `one_way` or `two_way`.
        spread: seconds in which the flows start.
    """
    network = starting(queue(with_pair(table_1(1), pair)), spread)
    return both_ways(network) if way == "two_way" else network


def run_of(network: vf.Network, seeds: Sequence[int] = (1,)) -> Job:
    """A simulation as long as the paper's, counted from its beginning."""
    return Job(network, float(SECONDS), keep=totals, seeds=seeds)


def with_rate(network: vf.Network, rate: float) -> vf.Network:
    """With applications that hand over packets at a constant rate (Mbit/s)."""
    traffic = vf.Cbr(vf.mbps(rate))
    flows = {name: replace(of, traffic=traffic) for name, of in network.flows.items()}
    return replace(network, flows=flows)


def ns2_counts(prefix: str) -> tuple[float, float] | None:
    """Packets acknowledged for Reno and Vegas in the runs of ns-2 that begin so, mean."""
    names = ns2_names(prefix)
    if not names:
        return None
    sums = [sum(ns2_group(name, law)["acked_total"] for name in names) for law in ("reno", "vegas")]
    return sums[0] / len(names), sums[1] / len(names)


def ns2_ratio(prefix: str) -> float:
    """What Vegas had over what Reno had in the runs of ns-2 that begin so."""
    counts = ns2_counts(prefix)
    assert counts is not None
    return counts[1] / counts[0]
