"""Network 1: one Reno flow competing with one Vegas flow, as in figures 3 and 4."""

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
"""Directions of the data."""
SEEDS = tuple(range(1, 21))
"""Seeds of the runs."""
DITHER = 0.1
"""Period in which the flows start at random, s, so that both directions differ."""

Queue = Callable[[vf.Network], vf.Network]
"""Function that replaces the queue of a network's link."""


def one_against_one(queue: Queue, pair: Pair, way: str, spread: float = DITHER) -> vf.Network:
    """Return network 1 with one Reno and one Vegas flow in each direction.

    Args:
        queue: function that replaces the queue of the link.
        pair: alpha and beta, packets.
        way: `one_way` or `two_way`.
        spread: period in which the flows start, s.
    """
    network = starting(queue(with_pair(table_1(1), pair)), spread)
    return both_ways(network) if way == "two_way" else network


def run_of(network: vf.Network, seeds: Sequence[int] = (1,)) -> Job:
    """Return a simulation of the paper's duration, counted from time 0."""
    return Job(network, float(SECONDS), keep=totals, seeds=seeds)


def with_rate(network: vf.Network, rate: float) -> vf.Network:
    """Return the network with applications of a constant rate (Mbit/s)."""
    traffic = vf.Cbr(vf.mbps(rate))
    flows = {name: replace(group, traffic=traffic) for name, group in network.flows.items()}
    return replace(network, flows=flows)


def ns2_counts(prefix: str) -> tuple[float, float] | None:
    """Return the acknowledged packets of Reno and Vegas, mean over ns-2's runs with a prefix."""
    names = ns2_names(prefix)
    if not names:
        return None
    sums = [sum(ns2_group(name, law)["acked_total"] for name in names) for law in ("reno", "vegas")]
    return sums[0] / len(names), sums[1] / len(names)


def ns2_ratio(prefix: str) -> float:
    """Return Vegas's acknowledged packets over Reno's, in ns-2's runs with a prefix."""
    counts = ns2_counts(prefix)
    assert counts is not None
    return counts[1] / counts[0]
