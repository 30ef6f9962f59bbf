"""Coordinates of a network's flows in the stability charts, by SymPy from their drifts."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from vegasfluid.analysis.charts.drift_derivatives import drift_derivatives, evaluate, substitutions
from vegasfluid.analysis.charts.flow_groups import FlowGroup, flow_groups, link_drop_prob
from vegasfluid.analysis.charts.stability_boundaries import RenoPoint, VegasPoint
from vegasfluid.congestion.reno import Reno
from vegasfluid.errors import InvalidInput, Unsupported

if TYPE_CHECKING:
    from vegasfluid.analysis.equilibria.equilibrium import Equilibrium

__all__ = ["RenoLoop", "points_at", "reno_loop", "reno_point", "vegas_point"]

SAME = 1e-6
"""Largest relative difference between Vegas's gain from the drift's derivative by the window and
that from its derivative by the round-trip time. Above it the chart does not apply."""


def only_group(equilibrium: Equilibrium, caller: str) -> FlowGroup:
    """The single flow group of a network with one link, at equilibrium.

    Raises:
        InvalidInput: if there are several groups (the message names `caller`) or several links.
    """
    first, *others = flow_groups(equilibrium)
    if others:
        raise InvalidInput(caller, "the number of flow groups", "1", len(others) + 1)
    return first


def equivalent_count(equilibrium: Equilibrium, group: FlowGroup) -> float:
    """Number of flows like those of `group` that would send as much as all flows of the network.

    It is a fraction in general: total sending rate divided by the rate of one flow of the group.
    """
    return sum(other.count * other.rate for other in flow_groups(equilibrium)) / group.rate


class RenoLoop(NamedTuple):
    """Reno flows at equilibrium, and the feedback loop of Hollot and others with their queue.

    Args:
        group: the flows.
        count: N, how many such flows would send as much as all flows; not always whole.
        slope: slope p' of the drop probability over the averaged queue, 1/packets.
        averaging_rate: rate of the queue's average, 1/s; infinite without averaging.
        poles: poles of Hollot's loop, 2 N / (R^2 C) and 1 / R; 1/s.
        gain: steady-state gain of the loop, p' (R C)^3 / (2 N)^2, dimensionless.
    """

    group: FlowGroup
    count: float
    slope: float
    averaging_rate: float
    poles: tuple[float, float]
    gain: float


def reno_loop(equilibrium: Equilibrium, caller: str, group: FlowGroup | None = None) -> RenoLoop:
    """The feedback loop of Reno flows and their one queue: poles (1/s), slope (1/packets) and gain.

    Args:
        equilibrium: of a network with one link.
        caller: function whose name an error message begins with.
        group: the Reno flows; None: the network's only flow group.

    Raises:
        InvalidInput: for several links, or for several flow groups if no group is given.
        Unsupported: for flows without Reno, or a drop probability that does not rise with the
            queue alone.
    """
    group, prob = group or only_group(equilibrium, caller), link_drop_prob(equilibrium)
    network = equilibrium.network
    if not isinstance(group.flows.law, Reno):
        raise Unsupported(caller, f"law {group.flows.law.name}", "the chart is for Reno flows")
    denominator, numerator = float(prob.denominator.subs("s", 0)), float(prob.queue.subs("s", 0))
    if prob.arrivals != 0 or not numerator > 0:
        reason = "the chart needs a drop probability that depends on the queue alone and increases"
        raise Unsupported(caller, f"aqm {network.link.aqm.name}", reason)
    rtt, capacity = group.values["rtt"], network.link.capacity
    count = equivalent_count(equilibrium, group)
    poles = 2 * count / (rtt**2 * capacity), 1 / rtt
    gain = numerator / denominator * (rtt * capacity) ** 3 / (2 * count) ** 2
    rate = denominator if prob.denominator.free_symbols else math.inf
    return RenoLoop(group, count, numerator / denominator, rate, poles, gain)


def reno_point(equilibrium: Equilibrium, group: FlowGroup | None = None) -> RenoPoint:
    """The point of Reno flows at one RED queue in the chart of Reno over RED.

    Args:
        equilibrium: of a network with one link.
        group: the flows, from `flow_groups`. The point describes a link with the same queue and
            total rate, but with flows like these only. None: the network's only flow group.

    Returns:
        The window (packets), the gain and the averaging constant (dimensionless), and the
        probability that a packet is dropped.

    Raises:
        InvalidInput: for several links, or for several flow groups if no group is given.
        Unsupported: for flows without Reno, or a drop probability that does not rise with the
            queue alone.

    >>> from vegasfluid import Flows, Link, Network, Red, Reno
    >>> from vegasfluid.analysis import equilibrium
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> network = Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)})
    >>> point = reno_point(equilibrium(network))
    >>> f"{point.cwnd:.3f}, {point.gain:.3f}, {point.averaging:.3f}", point.stable
    ('12.251, 0.507, 0.242', True)
    """
    loop = reno_loop(equilibrium, "reno_point", group)
    values = loop.group.values
    dropped = float(link_drop_prob(equilibrium, loop.group.drop_field).value)
    gain = loop.count * loop.slope / values["drop_prob"]
    return RenoPoint(values["cwnd"], gain, loop.averaging_rate * values["rtt"], dropped)


def vegas_point(equilibrium: Equilibrium, group: FlowGroup | None = None) -> VegasPoint:
    """The point of flows that control their backlog in the chart of Vegas without losses.

    The gain is the derivative of the drift by the backlog W (R - T) / R, times -R.

    Args:
        equilibrium: of a network with one link.
        group: the flows, from `flow_groups`; None: the network's only flow group.

    Returns:
        Base RTT over RTT, the gain (packets per RTT per packet of backlog),
        and the window reduction by losses, packets per RTT.

    Raises:
        InvalidInput: for several links, or for several flow groups if no group is given.
        Unsupported: for a continuum of equilibria, laws with other states than the window, laws
            that do not control the backlog, or flows at a window limit.
    """
    if equilibrium.upper is not None:
        reason = "the chart shows isolated equilibria"
        raise Unsupported("vegas_point", "a continuum of equilibria", reason)
    group = group or only_group(equilibrium, "vegas_point")
    derivatives = drift_derivatives(group.flows.law, group.values, equilibrium.options.loss_process)
    if derivatives.states != ("cwnd",):
        reason = "the chart is for congestion controls whose only state is the window"
        raise Unsupported("vegas_point", f"law {group.flows.law.name}", reason)
    numbers = substitutions({**group.values, "drop_prob": 0})
    drift, by_cwnd, by_rtt, by_acks = (
        float(evaluate(matrix, numbers)[0])
        for matrix in (derivatives.drift, derivatives.state, derivatives.rtt, derivatives.acks)
    )
    cwnd, rtt, base_rtt = (group.values[name] for name in ("cwnd", "rtt", "base_rtt"))
    gain_by_cwnd = -(by_cwnd + by_acks / rtt) * rtt / (1 - base_rtt / rtt)
    gain_by_rtt = -by_rtt * rtt**3 / (cwnd * base_rtt)
    if not gain_by_rtt > 0 or abs(gain_by_cwnd - gain_by_rtt) > SAME * gain_by_rtt:
        reason = (
            "the chart is for controls of the backlog W (R - T) / R that are not at a window limit"
        )
        raise Unsupported("vegas_point", f"law {group.flows.law.name}", reason)
    return VegasPoint(base_rtt / rtt, gain_by_rtt, drift * rtt)


def points_at(equilibrium: Equilibrium) -> dict[str, RenoPoint | VegasPoint]:
    """Points of a network's flow classes in the stability charts of Reno and of Vegas.

    A chart is for a link with flows of one class. Where there are several classes, the point of
    each describes a link with this class alone and the same queue. So the points do not show
    whether the whole network is stable; `stability` does.

    Args:
        equilibrium: of the network; flows that neither chart covers get no point.

    Returns:
        Points by class name; for a class with several base RTTs one for each, by `NAME, T ms` with
        base RTT T. Empty for a network with several links or with flows in the reverse direction.
    """
    points: dict[str, RenoPoint | VegasPoint] = {}
    one_queue = len(equilibrium.network.links) == 1 and not equilibrium.network.two_way
    groups = list(flow_groups(equilibrium)) if one_queue else []
    names = [group.name for group in groups]
    for group in groups:
        rtt = f", {1e3 * group.values['base_rtt']:.4g} ms" if names.count(group.name) > 1 else ""
        for point_of in (reno_point, vegas_point):
            with suppress(InvalidInput):
                points[group.name + rtt] = point_of(equilibrium, group)
    return points
