"""Vegas and Reno at one RED queue that marks, and the parameters of formulas about them."""

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
    "DIALECT_LAWS",
    "ENDLESS",
    "HALF",
    "LINUX",
    "LossBlindVegas",
    "alpha_offset_of",
    "beside_reno",
    "cut_of",
    "evaluate",
    "loss_response",
    "own_queue",
    "parameters_of",
    "phi_of",
    "ratio_of",
    "ratio_row",
    "vegas",
]


LINUX = Vegas(dialect="linux")
"""Vegas of Linux with default parameters."""
DIALECT_LAWS = {name: Vegas(dialect=name) for name in ("brakmo", "ns2", "linux")}
"""Vegas with default parameters by dialect."""


@dataclass(frozen=True)
class LossBlindVegas(Vegas):
    """Vegas that does not respond to losses, as formulas without losses assume.

    For the solver and the fluid model only.
    """

    @property
    def implementation(self) -> VegasImplementation:
        """Return the dialect with a loss cut of 0."""
        return replace(super().implementation, loss_cut=0.0)


def phi_of(dialect: str) -> float:
    """Return the loss factor of a saturated Vegas with independent losses."""
    law = DIALECT_LAWS[dialect]
    return float(law.loss_factor("iid", law.init(1.0, 1.0)))


def cut_of(dialect: str) -> float:
    """Return the fraction of the window that a loss takes."""
    return DIALECT_LAWS[dialect].implementation.loss_cut


def alpha_offset_of(dialect: str) -> float:
    """Return how far above alpha the backlog of a growing window is at equilibrium, packets."""
    return DIALECT_LAWS[dialect].implementation.alpha_offset


CAPACITY = 4000.0
"""Capacity of the link, packets/s."""
COUNT = 10
"""Number of flows of each class."""
CURVE = Red(200, 1200, max_drop=0.0167, weight=2e-4, wait=False, ecn=True)
"""RED that marks, with thresholds in packets."""
HALF = 0.5
"""Ratio of rates for which some formulas give alpha."""
ENDLESS = 1000.0
"""Alpha far above every window, packets."""


def beside_reno(law: Vegas) -> Network:
    """Return a network with as many Vegas flows as Reno flows."""
    laws: dict[str, CongestionControl] = {"reno": Reno(recovery="sack"), "vegas": law}
    flows = {
        name: Flows(COUNT, one, base_rtt=0.1, host="textbook", initial_ssthresh=10)
        for name, one in laws.items()
    }
    return Network(Link(CAPACITY, 3000, CURVE), flows)


def parameters_of(network: Network, ratio: float, wait: bool = False) -> dict[str, float]:
    """Return the parameters that formulas of a fair alpha take from a network, by name."""
    link, law = network.link, network.link.aqm
    thresholds = {
        name: float(getattr(law, name)) for name in ("min_thresh", "max_thresh", "max_drop")
    }
    return thresholds | {
        "slope": red_slope(wait)(**thresholds),
        "capacity": float(link.capacity),
        "base_rtt": network.base_rtts("vegas")[0],
        "competitors": network.flows["reno"].count,
        "tuned": network.flows["vegas"].count,
        "ratio": ratio,
        "loss_constant": C_RENO,
    }


def evaluate(formula: Formula, values: dict[str, float], **more: float) -> float:
    """Return a formula's value; `values` may contain more than it takes."""
    values = values | more
    return float(formula.evaluate(values))


def ratio_of(network: str) -> Callable[[Views], float]:
    """Return a function of views: the rate of a Vegas flow over that of a Reno flow."""
    return lambda views: views[network]["vegas"].rate / views[network]["reno"].rate


def own_queue(group: Group, base_rtt: float) -> float:
    """Return a flow's backlog from its window and RTTs, packets."""
    return group.cwnd * (1 - base_rtt / group.rtt)


def vegas(alpha: float, dialect: str = "brakmo", kind: type[Vegas] = Vegas) -> Vegas:
    """Return a Vegas with beta 3 packets above alpha; without losses its window stays at alpha."""
    dead_band = (
        DIALECT_LAWS[dialect].implementation.alpha_offset
        - DIALECT_LAWS[dialect].implementation.beta_offset
        if kind is LossBlindVegas
        else 3
    )
    return kind(alpha, alpha + dead_band, dialect=dialect)


def loss_response(dialect: str) -> dict[str, float]:
    """Return a dialect's parameters `cut` and `loss_factor` of formulas."""
    return {"cut": cut_of(dialect), "loss_factor": phi_of(dialect)}


def ratio_row(
    key: str, formula: Formula, network: str, ratio: float, where: str, **more: Any
) -> Relation:
    """Return the relation of a ratio of rates with the ratio for which a formula gives alpha."""
    words = f"{where}; ratio of rates at the alpha for {ratio:g}"
    return Relation(key, formula, words, lambda _: ratio, ratio_of(network), **more)
