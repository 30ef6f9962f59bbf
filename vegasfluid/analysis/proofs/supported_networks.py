"""From a network to the parameters of a proof; a network that no proof covers is invalid input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from vegasfluid.analysis.proofs.links import DropTailLink, LosslessLink, RedLink
from vegasfluid.analysis.proofs.monotone_network import MonotoneNetwork
from vegasfluid.analysis.proofs.problem import (
    PROVABLE_DIALECTS,
    CubicFlows,
    FairAlphaProblem,
    LossBasedFlows,
    RedProfile,
    VegasFlows,
)
from vegasfluid.analysis.proofs.senders import LossBasedSender, Route, Sender, VegasSender
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.newreno import NewReno
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput, Unsupported, Words
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.network import Flows, Link, Network

__all__ = ["DEFAULT_EPSILON", "DEFAULT_LOSS_PROCESS", "fair_alpha_problem", "monotone_network"]

DEFAULT_EPSILON = 0.01
"""Unfairness `abs(ln(achieved ratio / ratio))` by which a certificate bounds alpha: 1 %."""
DEFAULT_LOSS_PROCESS = "meanfield"
"""How losses arrive: as in the fluid model of Misra, Gong and Towsley."""
LARGEST_BETA = 0.9
"""CUBIC that keeps more of its window at a loss could have more losses a round trip in equilibrium
than the fluid counts (`fluid.senders`: five)."""
REQUIRED_VALUES = {"send_overhead": 0, "direction": "forward"}
"""Fields of a flow class that the equilibrium equations do not model: required value, or None."""
PURPOSE = "to prove the number of equilibria"
"""Purpose of a required value in errors of `monotone_network`."""


def fair_alpha_problem(
    network: Network,
    tuned: str = "vegas",
    ratio: float = 1.0,
    *,
    epsilon: float = DEFAULT_EPSILON,
    loss_process: str = DEFAULT_LOSS_PROCESS,
) -> FairAlphaProblem:
    """The parameters of a network that a certificate of its fair alpha depends on.

    Args:
        network: one link with RED, a Vegas class, and classes of Reno, NewReno or CUBIC.
        tuned: the name of the Vegas class; its alpha, beta and gamma are ignored.
        ratio: rate of a tuned flow over the mean rate of the competitors' flows.
        epsilon: unfairness `abs(ln(achieved ratio / ratio))` by which a certificate bounds alpha.
        loss_process: how losses arrive: meanfield, periodic or iid.

    Raises:
        InvalidInput: for a network that the proof does not cover.

    >>> from vegasfluid import Flows, Red, Vegas
    >>> link = Link(1000.0, 200, Red(min_thresh=20, max_thresh=80))
    >>> vegas = Flows(5, Vegas(dialect="ns2"), base_rtt=0.04)
    >>> network = Network(link, {"vegas": vegas, "reno": Flows(5, Reno(), base_rtt=0.04)})
    >>> fair_alpha_problem(network, ratio=0.5).competitors["reno"].count
    5
    """
    if tuned not in network.flows:
        raise InvalidInput("certificate", "tuned", "one of " + ", ".join(network.flows), tuned)
    network = network.resolved()
    link = network.link
    if network.events:
        raise InvalidInput("certificate", "events", "none", Words(f"{len(network.events)} events"))
    others = [name for name in network.flows if name != tuned]
    if not others:
        raise InvalidInput("certificate", "competitors", "at least one class", Words("none"))
    return FairAlphaProblem(
        capacity=float(link.capacity),
        buffer=float(link.buffer),
        red=certified_red(link, network),
        tuned_name=tuned,
        tuned=tuned_flows(network, tuned),
        competitors={name: competing_flows(network, name) for name in others},
        loss_process=loss_process,
        ratio=float(ratio),
        epsilon=float(epsilon),
    )


def certified_red(link: Link, network: Network) -> RedProfile:
    """RED's equilibrium parameters on a link, if a certificate covers its options.

    Args:
        link: the link.
        network: its network; RED marks only if all of its classes use ECN.

    Raises:
        InvalidInput: for another queue discipline, adaptive RED, jitter, and ECN in some classes
            only. (RED in bytes is the same, as only data packets of one size wait there.)
    """
    red = link.aqm
    if type(red) is not Red:
        raise InvalidInput("certificate", "aqm", "red", red.name)
    if red.adaptive:
        raise InvalidInput("Red", "adaptive", "False for a certificate", True)
    if link.jitter:
        raise InvalidInput("Link", "jitter", "0 for a certificate", link.jitter)
    return red_profile(red, marks=bool(red.ecn) and all_or_no_ecn(network))


def red_profile(red: Red, *, marks: bool) -> RedProfile:
    """RED's parameters that matter in equilibrium: thresholds (packets), max_drop and switches.

    Args:
        red: the queue discipline.
        marks: whether it marks packets of ECN-capable flows instead of dropping them.
    """
    return RedProfile(
        min_thresh=float(red.min_thresh),
        max_thresh=float(red.max_thresh),
        max_drop=float(red.max_drop),
        gentle=bool(red.gentle),
        wait=red.waits,
        marks=marks,
        implementation=red.chosen_implementation,
    )


def all_or_no_ecn(network: Network) -> bool:
    """Whether all classes use ECN; False if none does.

    Raises:
        InvalidInput: if some classes use it and others do not.
    """
    ecn = {name: flows.ecn for name, flows in network.flows.items()}
    if len(set(ecn.values())) > 1:
        without = next(name for name, capable in ecn.items() if not capable)
        allowed = "the same in all classes where RED marks"
        raise InvalidInput(f"flows.{without}", "ecn", allowed, False)
    return all(ecn.values())


def only_base_rtt(network: Network, name: str) -> float:
    """The base RTT of all flows of a class, s.

    Raises:
        InvalidInput: if its flows have different ones.
    """
    rtts = set(network.base_rtts(name))
    if len(rtts) > 1:
        allowed = "the same for all flows of a class (make a class of each)"
        raise InvalidInput(
            f"flows.{name}", "base_rtt", allowed, Words(f"{len(rtts)} different values")
        )
    return rtts.pop()


def tuned_flows(network: Network, name: str) -> VegasFlows:
    """The parameters of the Vegas class to tune: number, base RTT, limits, dialect, softness.

    Args:
        network: the network.
        name: name of the class.

    Raises:
        InvalidInput: for a class that is not Vegas, or not covered by a certificate.
    """
    flows = network.flows[name]
    if type(flows.law) is not Vegas:
        raise InvalidInput(f"flows.{name}", "law", "vegas to be tuned", flows.law.name)
    require_bulk(name, flows, "for a certificate")
    return vegas_flows(flows, flows.law, flows.count, only_base_rtt(network, name))


def competing_flows(network: Network, name: str) -> LossBasedFlows:
    """The parameters of a class that is not tuned: number, base RTT, limits, congestion control.

    Args:
        network: the network.
        name: name of the class.

    Raises:
        InvalidInput: unless it is Reno, NewReno or CUBIC and covered by a certificate.
    """
    flows = network.flows[name]
    require_bulk(name, flows, "for a certificate")
    group = loss_based_flows(flows, flows.count, only_base_rtt(network, name))
    if group is None:
        allowed = "reno, newreno or cubic for a certificate"
        raise InvalidInput(f"flows.{name}", "law", allowed, flows.law.name)
    return group


def require_bulk(name: str, flows: Flows, purpose: str) -> None:
    """Raise InvalidInput unless flows send bulk data forward, without overhead or delayed ACKs.

    Args:
        name: name of the class.
        flows: the class, complete; delayed ACKs are allowed if its law does not count ACKs.
        purpose: end of the message, such as `for a certificate`.
    """
    delayed_ack = flows.settings.delayed_ack
    if delayed_ack and flows.law.counts_acks:
        raise InvalidInput(f"flows.{name}", "delayed_ack", f"0 {purpose}", delayed_ack)
    for field, required in REQUIRED_VALUES.items():
        given = getattr(flows, field)
        if given not in (required, None):
            raise InvalidInput(f"flows.{name}", field, f"{required} {purpose}", given)
    if not flows.traffic.endless:
        allowed = f"bulk {purpose}"
        raise InvalidInput(f"flows.{name}", "traffic", allowed, flows.traffic.name)


def group_fields(flows: Flows, count: int, base_rtt: float) -> dict[str, Any]:
    """The fields of a `FlowGroup` for some flows of a class, as a dict by name of the field.

    `base_rtt` is in s, `max_window` in packets, `access` in packets/s (None: no limit).

    Args:
        flows: the class.
        count: number of flows.
        base_rtt: their base RTT, s.
    """
    return {
        "count": count,
        "base_rtt": float(base_rtt),
        "max_window": float(flows.max_window),
        "access": None if flows.access is None else float(flows.access),
    }


def vegas_flows(flows: Flows, law: Vegas, count: int, base_rtt: float) -> VegasFlows:
    """The parameters of a number of identical Vegas flows of a class.

    Args:
        flows: the class.
        law: its congestion control.
        count: number of flows.
        base_rtt: their base RTT, s.
    """
    fields = group_fields(flows, count, base_rtt)
    return VegasFlows(**fields, dialect=law.dialect, softness=float(law.softness))


def loss_based_flows(flows: Flows, count: int, base_rtt: float) -> LossBasedFlows | None:
    """The parameters of a number of identical flows of a class; None unless Reno, NewReno or CUBIC.

    Args:
        flows: the class.
        count: number of flows.
        base_rtt: their base RTT, s.

    Raises:
        Unsupported: for CUBIC with a `friendly_increase`.
    """
    law, fields = flows.law, group_fields(flows, count, base_rtt)
    if type(law) in (Reno, NewReno):
        return LossBasedFlows(**fields, law=law.name)
    if isinstance(law, Cubic) and type(law) is Cubic:
        if law.friendly_increase is not None:
            what = f"friendly_increase {law.friendly_increase:g}"
            reason = "a certificate has the increase that follows from beta"
            raise Unsupported(type(law).__name__, what, reason)
        return CubicFlows(
            **fields,
            law=law.name,
            C=float(law.C),
            beta=float(law.beta),
            fast_convergence=bool(law.fast_convergence),
            friendly=bool(law.friendly),
            implementation=law.implementation or "rfc9438",
        )
    return None


def monotone_network(network: Network, options: FluidOptions) -> MonotoneNetwork:
    """The equilibrium equations of a network as functions of its links' queues alone.

    They serve the proof that the network has no other equilibrium.

    Args:
        network: with RED or drop-tail links; Reno, NewReno, CUBIC and Vegas flows that always have
            data to send.
        options: fluid options, without recovery, timeouts and whole packets.

    Raises:
        InvalidInput: for what the equations do not cover.
    """
    for name in ("recovery", "timeouts", "whole_packets"):
        if getattr(options, name):
            raise InvalidInput("FluidOptions", name, f"False {PURPOSE}", True)
    network = network.resolved()
    senders = [sender for name in network.flows for sender in senders_of(network, name, options)]
    groups_on_link = Counter(link for sender in senders for link in sender.route.path)
    links = [
        link_equations(name, link, alike=groups_on_link[index] == 1)
        for index, (name, link) in enumerate(network.links.items())
    ]
    return MonotoneNetwork(links, senders)


def link_equations(name: str, link: Link, *, alike: bool) -> LosslessLink:
    """The equations of a link in equilibrium: losses and delay as functions of its occupancy.

    Args:
        name: its name.
        link: the link.
        alike: whether all flows that cross it are identical.

    Raises:
        InvalidInput: for jitter, and for a queue discipline that the proof does not cover.
    """
    if link.jitter:
        raise InvalidInput(name, "jitter", f"0 {PURPOSE}", link.jitter)
    capacity, buffer = float(link.capacity), float(link.buffer)
    if type(link.aqm) is Red:
        profile = red_profile(link.aqm, marks=bool(link.aqm.ecn))
        return RedLink(capacity, buffer, profile, hard_drop=bool(link.aqm.hard_drop))
    if type(link.aqm) is DropTail and link.aqm.losses_follow_growth:
        losses_known = alike and link.aqm.losses == "overflow"
        return (DropTailLink if losses_known else LosslessLink)(capacity, buffer)
    allowed = f"red, or droptail whose losses are overflow or synchronised, {PURPOSE}"
    raise InvalidInput(name, "aqm", allowed, link.aqm.name)


def senders_of(network: Network, name: str, options: FluidOptions) -> Iterator[Sender]:
    """Yield senders for a class, one for the flows of each base RTT: rates as functions of losses.

    Args:
        network: the network.
        name: name of the class.
        options: fluid options, of which the loss process is used.

    Raises:
        InvalidInput: for flows that the proof does not cover.
    """
    flows, process = network.flows[name], options.loss_process
    require_bulk(name, flows, PURPOSE)
    links = network.links_of(name)
    require_single_marking(name, flows, links)
    if process != "meanfield" and any(link.aqm.losses_follow_growth for link in links):
        allowed = f"meanfield where flows cross drop-tail links, {PURPOSE}"
        raise InvalidInput("FluidOptions", "loss_process", allowed, process)
    link_names = list(network.links)
    path = tuple(link_names.index(link) for link in flows.path or link_names)
    route = Route(path, bool(flows.ecn))
    for base_rtt, count in Counter(network.base_rtts(name)).items():
        yield sender_of(name, flows, count, base_rtt, route, process)


def require_single_marking(name: str, flows: Flows, links: tuple[Link, ...]) -> None:
    """Raise InvalidInput for ECN flows whose path has several links, one of which marks packets.

    Losses could then fall as a queue grows.

    Args:
        name: name of the class.
        flows: the class.
        links: the links on its path.
    """
    if flows.ecn and len(links) > 1 and any(link.aqm.marks for link in links):
        allowed = f"1 where ECN flows cross a link that marks packets, {PURPOSE}"
        raise InvalidInput(f"flows.{name}", "the number of links on the path", allowed, len(links))


def sender_of(
    name: str, flows: Flows, count: int, base_rtt: float, route: Route, process: str
) -> Sender:
    """The equilibrium rate of some flows of a class as a function of losses and round-trip time.

    Args:
        name: name of the class.
        flows: the class.
        count: number of flows.
        base_rtt: their base RTT, s.
        route: their path.
        process: how losses arrive.

    Raises:
        InvalidInput: for a congestion control without known equilibrium windows.
    """
    law = flows.law
    if isinstance(law, Vegas) and type(law) is Vegas and law.dialect in PROVABLE_DIALECTS:
        return VegasSender(
            vegas_flows(flows, law, count, base_rtt), route, process, law.equilibrium_backlogs
        )
    if isinstance(law, Cubic) and law.beta > LARGEST_BETA:
        raise InvalidInput(f"flows.{name}", "beta", f"at most {LARGEST_BETA} {PURPOSE}", law.beta)
    group = loss_based_flows(flows, count, base_rtt)
    if group is not None:
        return LossBasedSender(group, route, process)
    dialects = " or ".join(PROVABLE_DIALECTS)
    allowed = f"reno, newreno, cubic, or vegas of {dialects}, {PURPOSE}"
    given = f"{law.name} of {law.dialect}" if isinstance(law, Vegas) else law.name
    raise InvalidInput(f"flows.{name}", "law", allowed, given)
