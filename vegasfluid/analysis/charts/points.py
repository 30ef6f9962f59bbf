"""Where a network's flows stand in the charts, by SymPy from the drifts of their laws."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from vegasfluid.analysis.characteristic import Group, groups_at, signal_at
from vegasfluid.analysis.charts.edges import RenoPoint, VegasPoint
from vegasfluid.analysis.responses import numbers_at, put, slopes
from vegasfluid.congestion.reno import Reno
from vegasfluid.errors import InvalidInput

if TYPE_CHECKING:
    from vegasfluid.analysis.equilibria.equilibrium import Equilibrium

__all__ = ["Marking", "marking", "points_at", "reno_point", "vegas_point"]

SAME = 1e-6
"""Of itself: a gain that is read off the window, and off the round-trip time."""


def only_group(rest: Equilibrium, whose: str) -> Group:
    """The flows of a network that are all alike."""
    first, *others = groups_at(rest)
    if others:
        raise InvalidInput(whose, "flows", "of one class and one base RTT", len(others) + 1)
    return first


def filling(rest: Equilibrium, group: Group) -> float:
    """How many flows like these would send what all flows of the network do."""
    return sum(of.count * of.rate for of in groups_at(rest)) / group.rate


class Marking(NamedTuple):
    """Reno flows at rest, and how their queue marks.

    Args:
        group: the flows.
        count: how many they are, or would be without the others.
        slope: of the probability over the average queue, 1/packets.
        rate: of averaging, 1/s; infinite without it.
        poles: of Hollot's loop, 2 N / (R^2 C) and 1 / R; 1/s.
        loop: its steady gain, p' (R C)^3 / (2 N)^2.
    """

    group: Group
    count: float
    slope: float
    rate: float
    poles: tuple[float, float]
    loop: float


def marking(rest: Equilibrium, whose: str, group: Group | None = None) -> Marking:
    """Reno flows, by default of a network that has no others, and their one queue."""
    group, found = group or only_group(rest, whose), signal_at(rest)
    if not isinstance(group.flows.law, Reno):
        raise InvalidInput(whose, "law", "Reno", group.flows.law.name)
    own, slope = (float(of.subs("s", 0)) for of in (found.own, found.queue))
    if found.arrivals != 0 or not slope > 0:
        allowed = "one that drops by its queue alone, and there"
        raise InvalidInput(whose, "aqm", allowed, rest.network.link.aqm.name)
    rtt, capacity, count = group.place["rtt"], rest.network.link.capacity, filling(rest, group)
    poles = 2 * count / (rtt**2 * capacity), 1 / rtt
    loop = slope / own * (rtt * capacity) ** 3 / (2 * count) ** 2
    rate = own if found.own.free_symbols else math.inf
    return Marking(group, count, slope / own, rate, poles, loop)


def reno_point(rest: Equilibrium, group: Group | None = None) -> RenoPoint:
    """Where Reno flows at one RED queue stand in the chart.

    Args:
        rest: of one link.
        group: the flows, of `groups_at(rest)`: they are placed as if flows like them filled the
            link to the same queue. None: the network has one class with one base RTT.

    Raises:
        InvalidInput: for other networks.

    >>> from vegasfluid import Flows, Link, Network, Red, Reno
    >>> from vegasfluid.analysis import equilibrium
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> network = Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)})
    >>> point = reno_point(equilibrium(network))
    >>> f"{point.cwnd:.3f}, {point.gain:.3f}, {point.averaging:.3f}", point.stable
    ('12.251, 0.507, 0.242', True)
    """
    own = marking(rest, "reno_point", group)
    here = own.group.place
    dropped = float(signal_at(rest, own.group.drops).value)
    gain = own.count * own.slope / here["drop_prob"]
    return RenoPoint(here["cwnd"], gain, own.rate * here["rtt"], dropped)


def vegas_point(rest: Equilibrium, group: Group | None = None) -> VegasPoint:
    """Where flows that hold their backlog stand in the chart of Vegas.

    The gain is the slope of the law's drift over W (R - T) / R, its own packets in the queue.

    Args:
        rest: of one link; one point, and no set.
        group: the flows, as for `reno_point`.

    Raises:
        InvalidInput: for other networks, and laws that do not judge by that backlog.
    """
    if rest.upper is not None:
        raise InvalidInput("vegas_point", "rest", "one point, and no set of them", "a set")
    group = group or only_group(rest, "vegas_point")
    found = slopes(group.flows.law, group.place, rest.options.loss_process)
    if found.states != ("cwnd",):
        raise InvalidInput("vegas_point", "law", "one with a window alone", group.flows.law.name)
    numbers = numbers_at({**group.place, "drop_prob": 0})
    growth, window, rtt, acks = (
        float(put(of, numbers)[0]) for of in (found.drift, found.inside, found.rtt, found.acks)
    )
    cwnd, now, base = (group.place[name] for name in ("cwnd", "rtt", "base_rtt"))
    by_window = -(window + acks / now) * now / (1 - base / now)
    by_rtt = -rtt * now**3 / (cwnd * base)
    if not by_rtt > 0 or abs(by_window - by_rtt) > SAME * by_rtt:
        allowed = "one that judges by W (R - T) / R, and not held at a limit"
        raise InvalidInput("vegas_point", "law", allowed, group.flows.law.name)
    return VegasPoint(base / now, by_rtt, growth * now)


def points_at(rest: Equilibrium) -> dict[str, RenoPoint | VegasPoint]:
    """The places of a network's flows, by their class, and by base RTT where it has several.

    Flows of several classes stand where they would if flows like them filled the link to the same
    queue: the charts know of no others. What all of them do together `stability` tells.

    Args:
        rest: of the network. Flows whose law or queue is in neither chart have no place.
    """
    found: dict[str, RenoPoint | VegasPoint] = {}
    groups = list(groups_at(rest)) if len(rest.network.links) == 1 else []
    names = [group.name for group in groups]
    for group in groups:
        rtt = f", {1e3 * group.place['base_rtt']:.4g} ms" if names.count(group.name) > 1 else ""
        for place_of in (reno_point, vegas_point):
            with suppress(InvalidInput):
                found[group.name + rtt] = place_of(rest, group)
    return found
