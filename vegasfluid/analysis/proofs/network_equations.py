"""From a network to its reduced equations; what these do not cover is refused.

Sources:
    As `reduced` says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vegasfluid.analysis.proofs.links import ReducedQueue, ReducedRed, ReducedTail
from vegasfluid.analysis.proofs.monotone_network import Reduced
from vegasfluid.analysis.proofs.problem import (
    CERTIFIABLE_DIALECTS,
    Competitor,
    CubicCompetitor,
)
from vegasfluid.analysis.proofs.response_functions import window_at_rest
from vegasfluid.analysis.proofs.senders import Crowd, LossBased, ReducedSender, ReducedVegas
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.newreno import NewReno
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.network import Flows, Link, Network

__all__ = ["reduced_network"]

SHAPE = ("C", "beta", "fast_convergence", "friendly")
LARGEST_BETA = 0.9
"""CUBIC that keeps more of its window at a loss could have more losses a round trip at rest than
the fluid counts (`fluid.senders`: five)."""


def reduced_network(network: Network, options: FluidOptions) -> Reduced:
    """The reduced equations of a network.

    Args:
        network: with RED or drop-tail links; Reno, NewReno, CUBIC and Vegas flows that send all the
            time.
        options: of the fluid model, without recovery, timeouts and whole packets.

    Raises:
        InvalidInput: for what they do not cover.
    """
    for name in ("recovery", "timeouts", "whole_packets"):
        if getattr(options, name):
            raise InvalidInput("FluidOptions", name, "false for a proof", True)
    senders = [sender for name in network.flows for sender in senders_of(network, name, options)]
    kinds = Counter(link for sender in senders for link in sender.crowd.path)
    queues = [
        queue_of(name, link, kinds[number] == 1)
        for number, (name, link) in enumerate(network.links.items())
    ]
    return Reduced(queues, senders)


def queue_of(name: str, link: Link, alike: bool) -> ReducedQueue:
    """A link, if it is known how it loses packets.

    Args:
        name: its name.
        link: the link.
        alike: whether all flows that cross it are of one kind.
    """
    if link.jitter:
        raise InvalidInput(name, "jitter", "0 for a proof", link.jitter)
    if type(link.aqm) is Red:
        return ReducedRed(link, link.aqm)
    if type(link.aqm) is DropTail and link.aqm.losses_follow_growth:
        same = alike and link.aqm.losses == "overflow"
        return ReducedTail(link) if same else ReducedQueue(link)
    allowed = "red, or droptail whose losses are overflow or synchronised, for a proof"
    raise InvalidInput(name, "aqm", allowed, link.aqm.name)


def senders_of(network: Network, name: str, options: FluidOptions) -> Iterator[ReducedSender]:
    """The flows of a class, by their base RTT."""
    flows, process = network.flows[name], options.loss_process
    require_plain(name, flows)
    links = network.path(name)
    require_marks_once(name, flows, links)
    if process != "meanfield" and any(link.aqm.losses_follow_growth for link in links):
        allowed = "meanfield for a proof where flows cross drop-tail links"
        raise InvalidInput("FluidOptions", "loss_process", allowed, process)
    places = list(network.links)
    path = tuple(places.index(link) for link in flows.path or places)
    for base_rtt, count in Counter(network.base_rtts(name)).items():
        crowd = Crowd(
            count=count,
            base_rtt=float(base_rtt),
            path=path,
            capable=bool(flows.ecn),
            max_window=float(flows.max_window),
            access=None if flows.access is None else float(flows.access),
        )
        yield sender_of(name, flows, crowd, process)


def require_plain(name: str, flows: Flows) -> None:
    """Refuse flows that do not send all the time, or whose ACKs are hindered."""
    plain = {"send_overhead": 0, "delayed_ack": 0, "direction": "forward"}
    for field, allowed in plain.items():
        if getattr(flows, field) not in (allowed, None):
            given = getattr(flows, field)
            raise InvalidInput(f"flows.{name}", field, f"{allowed} for a proof", given)
    if flows.traffic.name != "bulk":
        raise InvalidInput(f"flows.{name}", "traffic", "bulk for a proof", flows.traffic.name)


def require_marks_once(name: str, flows: Flows, links: tuple[Link, ...]) -> None:
    """Refuse ways of several links with marks, on which losses may fall where a queue rises."""
    if flows.ecn and len(links) > 1 and any(getattr(link.aqm, "ecn", False) for link in links):
        raise InvalidInput(
            f"flows.{name}", "path", "of one link where packets are marked", f"{len(links)} links"
        )


def sender_of(name: str, flows: Flows, crowd: Crowd, process: str) -> ReducedSender:
    """A flow of a class, if it is known at which window its law rests."""
    law = flows.law
    numbers = {
        "count": crowd.count,
        "base_rtt": crowd.base_rtt,
        "max_window": crowd.max_window,
        "access": crowd.access,
        "law": law.name,
    }
    if type(law) is Vegas and law.dialect in CERTIFIABLE_DIALECTS:
        return ReducedVegas(crowd, law, process)
    if type(law) in (Reno, NewReno):
        return LossBased(crowd, window_at_rest(Competitor(**numbers), process))
    if type(law) is Cubic:
        if law.beta > LARGEST_BETA:
            allowed = f"at most {LARGEST_BETA} for a proof"
            raise InvalidInput(f"flows.{name}", "beta", allowed, law.beta)
        shape = {field: getattr(law, field) for field in SHAPE}
        return LossBased(crowd, window_at_rest(CubicCompetitor(**numbers, **shape), process))
    dialects = " or ".join(CERTIFIABLE_DIALECTS)
    allowed = f"reno, newreno, cubic, or vegas of {dialects}, for a proof"
    given = f"{law.name} of {law.dialect}" if isinstance(law, Vegas) else law.name
    raise InvalidInput(f"flows.{name}", "law", allowed, given)
