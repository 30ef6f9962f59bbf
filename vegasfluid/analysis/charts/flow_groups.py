"""Flow groups and the drop probability of a single link at equilibrium, as numbers for SymPy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vegasfluid.analysis.charts.drift_derivatives import (
    DropProbResponse,
    StateValues,
    drop_prob_response,
)
from vegasfluid.errors import Unsupported
from vegasfluid.network import Flows

if TYPE_CHECKING:
    from vegasfluid.analysis.equilibria.equilibrium import Equilibrium

__all__ = ["FlowGroup", "flow_groups", "link_drop_prob"]


class FlowGroup(NamedTuple):
    """Flows of one class and one base RTT, at equilibrium.

    Args:
        name: name of their class.
        flows: their class.
        count: number of flows.
        rate: sending rate of one flow, packets/s.
        limit: rate that application and access link allow one flow, packets/s.
        values: numbers for the symbols of the class's drift: cwnd (packets), rtt and base_rtt (s),
            drop_prob, and the other states.
    """

    name: str
    flows: Flows
    count: int
    rate: float
    limit: float
    values: StateValues

    @property
    def window_limited(self) -> bool:
        """Whether the congestion control has a window; without one (UDP) the rate is `limit`."""
        return self.flows.law.rules.reliable

    @property
    def drop_field(self) -> str:
        """Name of the queue discipline's probability with which the group's packets are dropped.

        `forced_prob` for flows with ECN and a window, whose packets are usually marked; `drop_prob`
        for all others.
        """
        return "forced_prob" if self.flows.ecn and self.window_limited else "drop_prob"


def flow_groups(equilibrium: Equilibrium) -> Iterator[FlowGroup]:
    """Yield the flow groups of a network with one link at equilibrium, in the fluid model's order.

    The order is that of the classes, and within a class that in which its base RTTs first occur.
    Rates are of one flow, packets/s.

    Args:
        equilibrium: of a network with one link, without flows in the reverse direction.

    Raises:
        InvalidInput: for a network with several links (`Unsupported` for flows in the reverse
            direction).
    """
    network, queue = equilibrium.network.resolved(), float(equilibrium.values.queue[0])
    if network.two_way:
        reason = "ACKs wait among data, and the charts are for a single queue"
        raise Unsupported("stability charts", "direction reverse", reason)
    windows, classes = iter(equilibrium.values.cwnd), equilibrium.solution.unknowns.classes
    for (name, flows), states in zip(network.flows.items(), classes, strict=True):
        access = np.inf if flows.access is None else flows.access
        limit = min(flows.traffic.rate_limit(network.packet_bytes), access)
        for number, (base_rtt, count) in enumerate(Counter(network.base_rtts(name)).items()):
            values = {field: float(np.asarray(state)[number]) for field, state in states.items()}
            values |= {"cwnd": float(next(windows))}
            values |= {"rtt": base_rtt + queue / network.link.capacity, "base_rtt": base_rtt}
            values |= {"drop_prob": float(equilibrium.values.drop_prob[0])}
            rate = values["cwnd"] / values["rtt"] if flows.law.rules.reliable else limit
            yield FlowGroup(name, flows, count, rate, limit, values)


def link_drop_prob(equilibrium: Equilibrium, prob: str = "loss_signal_prob") -> DropProbResponse:
    """Linear response of a probability of a network's one link to its queue and arrival rate.

    Args:
        equilibrium: of a network with one link, without flows in the reverse direction.
        prob: `loss_signal_prob`: loss signals per packet; `drop_prob`: drop or mark of a packet;
            `forced_prob`: drop of a packet that may be marked.

    Returns:
        The probability at equilibrium, and its transfer functions as polynomials in s (1/s).

    Raises:
        InvalidInput: for a network with several links (`Unsupported` for flows in the reverse
            direction).
    """
    arrivals = sum(group.count * group.rate for group in flow_groups(equilibrium))
    link, [state] = equilibrium.network.resolved().link, equilibrium.solution.unknowns.aqm_states
    values = {name: float(np.asarray(value)) for name, value in state._asdict().items()}
    values |= {"queue": float(equilibrium.values.queue[0]), "buffer": link.buffer}
    values |= {"arrivals": arrivals, "capacity": link.capacity}
    return drop_prob_response(link.aqm, prob, values)
