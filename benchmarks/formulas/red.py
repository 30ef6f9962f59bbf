"""Formulas of RED's queue, on networks whose RED marks."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.formulas.cases import WITHOUT_PACKETS, Block, Group, Relation, Views, of_group
from benchmarks.formulas.independent import C_RENO, IID, SACK, reno_loss_factor
from vegasfluid.analysis.closed_forms import (
    fair_alpha_expanded,
    fair_alpha_heuristic,
    red_queue,
    red_queue_expanded,
    red_queue_linux,
    red_queue_per_min_thresh,
    red_queue_spaced,
    red_slope,
    reno_window,
)
from vegasfluid.aqm.red import Red
from vegasfluid.network import Flows, Link, Network

__all__ = ["red_block"]

OC3 = Red(6711, 26_843, max_drop=1.0, weight=0.002, ecn=True)
"""RED of Weigle and Feng's network 2 that marks, thresholds in packets."""
MODEST = Red(200, 1200, max_drop=0.05, weight=2e-4, ecn=True)
"""RED for 20 flows."""
WIDE = Red(600, 4600, max_drop=2e-5, weight=2e-6, ecn=True)
"""RED for a single flow."""
STEEP = Red(8000, 16_000, max_drop=2.2e-4, weight=1e-4, ecn=True)
"""RED for four flows of large windows."""
STEP = 1.0
"""Change of the thresholds for a difference quotient, packets."""


def of_renos(count: int, capacity: float, base_rtt: float, law: Red, ssthresh: float) -> Network:
    """Return a network of Reno flows over RED that marks."""
    buffer = 2 * float(law.max_thresh)
    flows = Flows(count, SACK, base_rtt=base_rtt, initial_ssthresh=ssthresh)
    return Network(Link(capacity, buffer, law), {"reno": flows})


def moved(law: Red, by: float) -> Red:
    """Return RED with both thresholds moved by `by` packets; its curve keeps its slope."""
    return replace(law, min_thresh=law.min_thresh + by, max_thresh=law.max_thresh + by)


def red_networks() -> dict[str, Network]:
    """Return networks over RED, by name: with wait, but for Linux's."""
    networks = {
        "large": of_renos(4, 4e5, 0.02, STEEP, 3800),
        "oc3": of_renos(50, 155e6 / 12_000, 0.007, OC3, 64),
        "modest": of_renos(20, 4000.0, 0.1, MODEST, 20),
        "linux": of_renos(20, 4000.0, 0.1, replace(MODEST, implementation="linux"), 20),
    }
    for name, by in (("at", 0.0), ("low", -STEP), ("high", STEP)):
        networks[name] = of_renos(1, 5000.0, 0.1, moved(WIDE, by), 700)
    return networks


def numbers(network: Network) -> dict[str, float]:
    """Return the parameters that formulas of RED's queue take from a network."""
    link, law = network.link, network.link.aqm
    assert isinstance(law, Red)
    thresholds = {
        name: float(getattr(law, name)) for name in ("min_thresh", "max_thresh", "max_drop")
    }
    return thresholds | {
        "slope": red_slope()(**thresholds),
        "capacity": float(link.capacity),
        "base_rtt": network.base_rtts("reno")[0],
        "count": network.flows["reno"].count,
        "loss_constant": C_RENO,
    }


def queue(group: Group) -> float:
    """Return the queue of the flow's link, packets."""
    return group.queue


def red_relations() -> list[Relation]:
    """Return the relations of RED's queue, and of fair alphas."""
    networks = red_networks()
    large = "4 Reno flows of 4000 packets over RED that marks"
    oc3 = "50 Reno flows over the link and RED of Weigle and Feng's network 2, with marks"
    modest = "20 Reno flows of 30 packets over RED that marks"
    phi = reno_loss_factor("iid")

    def fixed(formula, words, network, measurement, key="", **more):  # type: ignore[no-untyped-def]
        prediction = formula.evaluate(numbers(networks[network]))
        value = of_group(network, "reno", measurement)
        return Relation(f"{formula.name}{key}", formula, words, lambda _: prediction, value, **more)

    def per_flow(group: Group) -> float:
        return group.queue / 4

    def slope(group: Group) -> float:
        return group.drop_prob / (group.queue - WIDE.min_thresh)

    def window(group: Group) -> float:
        return reno_window()(loss_factor=phi, drop_prob=group.drop_prob)

    relations = [
        fixed(one, large, "large", queue, engines=WITHOUT_PACKETS)
        for one in (red_queue(), red_queue_expanded(1), red_queue_expanded(2))
    ]
    relations += [
        fixed(one, f"{large}: q / N", "large", per_flow, engines=WITHOUT_PACKETS)
        for one in (fair_alpha_expanded(1), fair_alpha_expanded(2))
    ]
    return [
        *relations,
        fixed(
            fair_alpha_heuristic(),
            *(f"{large}: q / N", "large", per_flow),
            engines=WITHOUT_PACKETS,
            free=WITHOUT_PACKETS,
        ),
        fixed(red_queue(), oc3, "oc3", queue, ".network2", free=("fluid",)),
        fixed(red_queue_spaced(), modest, "modest", queue),
        fixed(red_queue_linux(), modest.replace("RED", "Linux's RED"), "linux", queue),
        Relation(
            "reno_window.modest",
            reno_window(),
            f"{modest}, independent losses",
            of_group("modest", "reno", window),
            of_group("modest", "reno", lambda group: group.cwnd),
        ),
        fixed(
            red_slope(),
            "one Reno flow of 1400 packets: p / (q - q_min), p near 0",
            "at",
            slope,
            engines=WITHOUT_PACKETS,
        ),
        follows(networks["at"]),
    ]


def follows(network: Network) -> Relation:
    """Return the relation of the queue's change with the thresholds, a difference quotient."""
    formula, values = red_queue_per_min_thresh(), numbers(network)
    parameters = {name: values[name] for name in ("base_rtt", "capacity", "min_thresh")}

    def measurement(views: Views) -> float:
        return (views["high"]["reno"].queue - views["low"]["reno"].queue) / (2 * STEP)

    return Relation(
        formula.name,
        formula,
        f"one Reno flow of 1400 packets: thresholds changed by {STEP:g} packet up and down",
        of_group("at", "reno", lambda group: formula(queue=group.queue, **parameters)),
        measurement,
        WITHOUT_PACKETS,
    )


def red_block() -> Block:
    """Return the block of RED's queue."""
    networks = red_networks()
    packets = {name: networks[name] for name in ("oc3", "modest", "linux")}
    return Block(
        "red",
        networks,
        red_relations(),
        until=2000.0,
        options=IID,
        packets=packets,
        packets_until=400.0,
    )
