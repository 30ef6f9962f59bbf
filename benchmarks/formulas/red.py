"""Formulas of RED's queue, on networks whose RED marks."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.formulas.cases import RESTS, Block, Group, Relation, Views, at
from benchmarks.formulas.independent import C_RENO, IID, SACK, renos_factor
from vegasfluid.analysis.closed_forms import (
    fair_alpha_expanded,
    fair_alpha_heuristic,
    red_queue,
    red_queue_expanded,
    red_queue_per_min_thresh,
    red_queue_spaced,
    red_slope,
    reno_window,
)
from vegasfluid.aqm.red import Red
from vegasfluid.network import Flows, Link, Network

__all__ = ["red_block"]

OC3 = Red(6711, 26_843, max_drop=1.0, weight=0.002, ecn=True)
"""That of Weigle and Feng's network 2."""
MODEST = Red(200, 1200, max_drop=0.05, weight=2e-4, ecn=True)
WIDE = Red(600, 4600, max_drop=2e-5, weight=2e-6, ecn=True)
STEEP = Red(8000, 16_000, max_drop=2.2e-4, weight=1e-4, ecn=True)
STEP = 1.0
"""Packets, by which thresholds are moved to see the queue follow."""


def of_renos(count: int, capacity: float, base_rtt: float, law: Red, least: float) -> Network:
    """Reno flows over RED that marks."""
    buffer = 2 * float(law.max_thresh)
    flows = Flows(count, SACK, base_rtt=base_rtt, initial_ssthresh=least)
    return Network(Link(capacity, buffer, law), {"reno": flows})


def moved(law: Red, by: float) -> Red:
    """RED with both thresholds moved, so that the slope of its curve stays."""
    return replace(law, min_thresh=law.min_thresh + by, max_thresh=law.max_thresh + by)


def red_networks() -> dict[str, Network]:
    """Networks over RED with wait, by name."""
    found = {
        "large": of_renos(4, 4e5, 0.02, STEEP, 3800),
        "oc3": of_renos(50, 155e6 / 12_000, 0.007, OC3, 64),
        "modest": of_renos(20, 4000.0, 0.1, MODEST, 20),
    }
    for name, by in (("at", 0.0), ("low", -STEP), ("high", STEP)):
        found[name] = of_renos(1, 5000.0, 0.1, moved(WIDE, by), 700)
    return found


def numbers(network: Network) -> dict[str, float]:
    """What the formulas of RED's queue take of a network."""
    link, law = network.link, network.link.aqm
    assert isinstance(law, Red)
    named = {name: float(getattr(law, name)) for name in ("min_thresh", "max_thresh", "max_drop")}
    return named | {
        "slope": red_slope()(**named),
        "capacity": float(link.capacity),
        "base_rtt": network.base_rtts("reno")[0],
        "count": network.flows["reno"].count,
        "loss_constant": C_RENO,
    }


def queue(of: Group) -> float:
    """The queue at the flow's link."""
    return of.queue


def red_relations() -> list[Relation]:
    """RED's queue, and what follows for a fair alpha."""
    networks, rest = red_networks(), RESTS
    large = "4 Reno flows of 4000 packets over RED that marks"
    oc3 = "50 Reno flows over the link and RED of Weigle and Feng's network 2, with marks"
    modest = "20 Reno flows of 30 packets over RED that marks"
    phi = renos_factor("iid")

    def fixed(formula, words, network, has, key="", **more):  # type: ignore[no-untyped-def]
        given = numbers(networks[network])
        says = formula.of(given)
        name = f"{formula.name}{key}"
        return Relation(name, formula, words, lambda _: says, at(network, "reno", has), **more)

    def own(of: Group) -> float:
        return of.queue / 4

    def slope(of: Group) -> float:
        return of.drop_prob / (of.queue - WIDE.min_thresh)

    found = [
        fixed(of, large, "large", queue, engines=rest)
        for of in (red_queue(), red_queue_expanded(1), red_queue_expanded(2))
    ]
    found += [
        fixed(of, f"{large}: q / N", "large", own, engines=rest)
        for of in (fair_alpha_expanded(1), fair_alpha_expanded(2))
    ]
    return [
        *found,
        fixed(fair_alpha_heuristic(), f"{large}: q / N", "large", own, engines=rest, free=rest),
        fixed(red_queue(), oc3, "oc3", queue, ".network2", free=("fluid",)),
        fixed(red_queue_spaced(), modest, "modest", queue),
        Relation(
            "reno_window.modest",
            reno_window(),
            f"{modest}, independent losses",
            at("modest", "reno", lambda of: reno_window()(loss_factor=phi, drop_prob=of.drop_prob)),
            at("modest", "reno", lambda of: of.cwnd),
        ),
        fixed(
            red_slope(),
            "one Reno flow of 1400 packets: p / (q - q_min), p near 0",
            "at",
            slope,
            engines=rest,
        ),
        follows(networks["at"]),
    ]


def follows(network: Network) -> Relation:
    """How much of a rise of the threshold the queue follows, by a difference."""
    formula, given = red_queue_per_min_thresh(), numbers(network)
    kept = {name: given[name] for name in ("base_rtt", "capacity", "min_thresh")}

    def has(views: Views) -> float:
        return (views["high"]["reno"].queue - views["low"]["reno"].queue) / (2 * STEP)

    return Relation(
        formula.name,
        formula,
        f"one Reno flow of 1400 packets: thresholds changed by {STEP:g} packet up and down",
        at("at", "reno", lambda of: formula(queue=of.queue, **kept)),
        has,
        RESTS,
    )


def red_block() -> Block:
    """RED's queue."""
    networks = red_networks()
    packets = {name: networks[name] for name in ("oc3", "modest")}
    return Block(
        "red",
        networks,
        red_relations(),
        until=2000.0,
        options=IID,
        packets=packets,
        packets_until=400.0,
    )
