"""From a network to the problem of a certificate; what the proof does not cover is refused."""

from __future__ import annotations

from typing import Any

from vegasfluid.analysis.proofs.problem import (
    Competitor,
    CubicCompetitor,
    Curve,
    Problem,
    Tuned,
)
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.newreno import NewReno
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput
from vegasfluid.network import Flows, Link, Network

__all__ = ["DEFAULT_EPSILON", "DEFAULT_LOSS_PROCESS", "problem_of"]

DEFAULT_EPSILON = 0.01
DEFAULT_LOSS_PROCESS = "meanfield"


def problem_of(
    network: Network,
    tuned: str = "vegas",
    ratio: float = 1.0,
    *,
    epsilon: float = DEFAULT_EPSILON,
    loss_process: str = DEFAULT_LOSS_PROCESS,
) -> Problem:
    """What a certificate of a network would speak of.

    Args:
        network: one link with RED, a Vegas class, and classes of Reno, NewReno or CUBIC.
        tuned: the name of the Vegas class; its alpha, beta and gamma do not count.
        ratio: rate of a tuned flow over the mean rate of the competitors' flows.
        epsilon: the unfairness that is shown outside of an interval of alpha.
        loss_process: how losses come.

    Raises:
        InvalidInput: for a network that the proof does not cover.

    >>> from vegasfluid import Flows, Red, Vegas
    >>> link = Link(1000.0, 200, Red(min_thresh=20, max_thresh=80))
    >>> vegas = Flows(5, Vegas(dialect="ns2"), base_rtt=0.04)
    >>> network = Network(link, {"vegas": vegas, "reno": Flows(5, Reno(), base_rtt=0.04)})
    >>> problem_of(network, ratio=0.5).competitors["reno"].count
    5
    """
    if tuned not in network.flows:
        raise InvalidInput("certificate", "tuned", "one of " + ", ".join(network.flows), tuned)
    link = network.link
    if network.events:
        raise InvalidInput("certificate", "events", "none", f"{len(network.events)} events")
    others = {name: of for name, of in network.flows.items() if name != tuned}
    if not others:
        raise InvalidInput("certificate", "competitors", "at least one class", "none")
    return Problem(
        capacity=float(link.capacity),
        buffer=float(link.buffer),
        red=curve_of(link, network),
        tuned_name=tuned,
        tuned=tuned_of(network, tuned),
        competitors={name: competitor_of(network, name) for name in others},
        loss_process=loss_process,
        ratio=float(ratio),
        epsilon=float(epsilon),
    )


def curve_of(link: Link, network: Network) -> Curve:
    """The queue law, if it is RED as the proof knows it."""
    red = link.aqm
    if type(red) is not Red:
        raise InvalidInput("certificate", "queue law", "red", red.name)
    for name in ("adaptive", "in_bytes"):
        if getattr(red, name):
            raise InvalidInput("Red", name, "false for a certificate", True)
    if link.jitter:
        raise InvalidInput("Link", "jitter", "0 for a certificate", link.jitter)
    return Curve(
        min_thresh=float(red.min_thresh),
        max_thresh=float(red.max_thresh),
        max_drop=float(red.max_drop),
        gentle=bool(red.gentle),
        wait=bool(red.wait),
        marks=bool(red.ecn) and all_alike(network),
    )


def all_alike(network: Network) -> bool:
    """Whether packets may be marked: of all classes or of none."""
    may = {name: of.ecn for name, of in network.flows.items()}
    if len(set(may.values())) > 1:
        without = next(name for name, ecn in may.items() if not ecn)
        allowed = "the same in all classes where RED marks"
        raise InvalidInput(f"flows.{without}", "ecn", allowed, False)
    return all(may.values())


def group_of(network: Network, name: str) -> dict[str, Any]:
    """The numbers of a class, if its flows are alike and send all the time."""
    flows, whose = network.flows[name], f"flows.{name}"
    simple = {"send_overhead": 0, "delayed_ack": 0, "direction": "forward"}
    for field, allowed in simple.items():
        if getattr(flows, field) not in (allowed, None):
            given = getattr(flows, field)
            raise InvalidInput(whose, field, f"{allowed} for a certificate", given)
    if flows.traffic.name != "bulk":
        raise InvalidInput(whose, "traffic", "bulk for a certificate", flows.traffic.name)
    rtts = set(network.base_rtts(name))
    if len(rtts) > 1:
        allowed = "the same for all flows of a class (make a class of each)"
        raise InvalidInput(whose, "base_rtt", allowed, f"{len(rtts)} different values")
    return {
        "count": flows.count,
        "base_rtt": float(rtts.pop()),
        "max_window": float(flows.max_window),
        "access": None if flows.access is None else float(flows.access),
    }


def tuned_of(network: Network, name: str) -> Tuned:
    """The class to tune."""
    law = network.flows[name].law
    if type(law) is not Vegas:
        raise InvalidInput(f"flows.{name}", "law", "vegas to be tuned", law.name)
    numbers = group_of(network, name)
    return Tuned(**numbers, dialect=law.dialect, softness=float(law.softness))


def competitor_of(network: Network, name: str) -> Competitor:
    """A class that is not tuned."""
    flows: Flows = network.flows[name]
    law, numbers = flows.law, group_of(network, name)
    if type(law) in (Reno, NewReno):
        return Competitor(**numbers, law=law.name)
    if isinstance(law, Cubic) and type(law) is Cubic:
        return CubicCompetitor(
            **numbers,
            law=law.name,
            C=float(law.C),
            beta=float(law.beta),
            fast_convergence=bool(law.fast_convergence),
            friendly=bool(law.friendly),
        )
    raise InvalidInput(f"flows.{name}", "law", "reno, newreno or cubic for a certificate", law.name)
