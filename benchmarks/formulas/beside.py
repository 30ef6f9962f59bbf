"""Vegas beside Reno over RED that marks, and what formulas of it take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.formulas.cases import Group, Relation, Views
from benchmarks.formulas.independent import C_RENO
from vegasfluid.analysis.closed_forms import (
    Formula,
    red_slope,
)
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.congestion.vegas.implementation import VegasImplementation
from vegasfluid.network import Flows, Link, Network

__all__ = [
    "CAPACITY",
    "COUNT",
    "CURVE",
    "ENDLESS",
    "HALF",
    "LINUX",
    "PARTS",
    "Deaf",
    "answers",
    "beside_reno",
    "cut_of",
    "given",
    "of",
    "own_queue",
    "phi_of",
    "ratio_of",
    "ratio_row",
    "rise_of",
    "vegas",
]


LINUX = Vegas(dialect="linux")
PARTS = {name: Vegas(dialect=name) for name in ("brakmo", "ns2", "linux")}


@dataclass(frozen=True)
class Deaf(Vegas):
    """A Vegas that answers no losses, as formulas without losses of its own have it.

    It is for solver and fluid; packets are lost to all.
    """

    @property
    def implementation(self) -> VegasImplementation:
        """The dialect without its cut."""
        return replace(super().implementation, loss_cut=0.0)


def phi_of(dialect: str) -> float:
    """How much independent losses weigh for a saturated Vegas."""
    law = PARTS[dialect]
    return float(law.loss_factor("iid", law.init(1.0, 1.0)))


def cut_of(dialect: str) -> float:
    """The share of the window that a loss takes."""
    return PARTS[dialect].implementation.loss_cut


def rise_of(dialect: str) -> float:
    """Where a growing window rests above alpha, packets."""
    return PARTS[dialect].implementation.alpha_offset


CAPACITY, COUNT = 4000.0, 10
CURVE = Red(200, 1200, max_drop=0.0167, weight=2e-4, wait=False, ecn=True)
HALF = 0.5
"""A ratio that is asked for."""
ENDLESS = 1000.0
"""Packets; an alpha that no window comes near to."""


def beside_reno(law: Vegas) -> Network:
    """As many Vegas flows as Reno flows."""
    laws: dict[str, CongestionControl] = {"reno": Reno(recovery="sack"), "vegas": law}
    flows = {
        name: Flows(COUNT, own, base_rtt=0.1, initial_ssthresh=10) for name, own in laws.items()
    }
    return Network(Link(CAPACITY, 3000, CURVE), flows)


def given(network: Network, ratio: float, wait: bool = False) -> dict[str, float]:
    """What formulas of a fair alpha take of a network."""
    link, law = network.link, network.link.aqm
    named = {name: float(getattr(law, name)) for name in ("min_thresh", "max_thresh", "max_drop")}
    return named | {
        "slope": red_slope(wait)(**named),
        "capacity": float(link.capacity),
        "base_rtt": network.base_rtts("vegas")[0],
        "competitors": network.flows["reno"].count,
        "tuned": network.flows["vegas"].count,
        "ratio": ratio,
        "loss_constant": C_RENO,
    }


def of(formula: Formula, values: dict[str, float], **more: float) -> float:
    """A formula's value, of more than it takes."""
    values = values | more
    return float(formula.of(values))


def ratio_of(network: str) -> Callable[[Views], float]:
    """What a Vegas flow gets over what a Reno flow gets."""
    return lambda views: views[network]["vegas"].rate / views[network]["reno"].rate


def own_queue(group: Group, base_rtt: float) -> float:
    """A flow's backlog by its window, packets."""
    return group.cwnd * (1 - base_rtt / group.rtt)


def vegas(alpha: float, dialect: str = "brakmo", kind: type[Vegas] = Vegas) -> Vegas:
    """With room between alpha and beta, unless no losses keep the window at alpha."""
    room = (
        PARTS[dialect].implementation.alpha_offset - PARTS[dialect].implementation.beta_offset
        if kind is Deaf
        else 3
    )
    return kind(alpha, alpha + room, dialect=dialect)


def answers(dialect: str) -> dict[str, float]:
    """What a loss takes, and how much losses weigh."""
    return {"cut": cut_of(dialect), "loss_factor": phi_of(dialect)}


def ratio_row(
    key: str, formula: Formula, network: str, ratio: float, where: str, **more: Any
) -> Relation:
    """The ratio at an alpha that a formula has for it."""
    words = f"{where}; ratio of rates at the alpha for {ratio:g}"
    return Relation(key, formula, words, lambda _: ratio, ratio_of(network), **more)
