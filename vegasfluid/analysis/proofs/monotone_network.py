"""The equilibrium equations of a network as functions of its queues alone, in interval arithmetic.

For given queues each class has its equilibrium rate (`senders`). Along a path each link drops its
fraction: with p_h the fraction dropped by the h-th link, of a flow's rate x the part
x (1 - p_1) ... (1 - p_h) passes it, and the sender sees x (p_1 + (1 - p_1) p_2 + ...) losses per
second. Marks count as losses and remove nothing. With u_l the occupancy of link l (`links`), a
network is in equilibrium if and only if every link satisfies

    F_l(u) = sum N x (1 - p_1) ... (1 - p_h)  -  C_l  -  min(u_l, 0)  =  0

Each F_l falls, or stays, where any occupancy rises, so two corners of a box enclose it. F_l is
positive where u_l is below -C_l, and negative where a RED link drops everything: F points into the
box of all occupancies. So there is an equilibrium. Where the Jacobian at every equilibrium is
regular, the signs of det(-F'), the indices, add up to 1, and the number of equilibria is odd.

Sources:
    Several equilibria of heterogeneous congestion controls, and their odd number: A. Tang, J. Wang,
    S. Low and M. Chiang, IEEE/ACM ToN 15(4), 2007 (abstract read; the degree argument above is our
    own wording for these equations). The equations derived for this project from
    `fluid/vector_field.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from flint import arb, arb_mat

from vegasfluid.analysis.proofs.intervals import Interval, slope_of, value_of, variable
from vegasfluid.analysis.proofs.links import LinkState, LosslessLink
from vegasfluid.analysis.proofs.senders import Sender

__all__ = ["MonotoneNetwork"]

Rate = Callable[[Sender, Interval, Interval], Interval]
"""The rate of a sender (packets/s) as a function of loss probability and round-trip time (s)."""


class PathState(NamedTuple):
    """Losses and delay that the packets of a sender meet along their path.

    Args:
        lost: probability that a packet is lost or marked.
        rtt: round-trip time, s.
        passed: fraction of the sender's packets that passes each link.
    """

    lost: Interval
    rtt: Interval
    passed: list[Interval]


class MonotoneNetwork:
    """The equations F(u) = 0 of a network: the excess of each link, packets/s.

    The excess is traffic plus spare capacity minus capacity. It falls, or stays, where an occupancy
    u rises. An occupancy is the queue (packets) plus the fraction of arrivals that overflow; if
    negative, minus the spare capacity (packets/s).

    Args:
        links: the links.
        senders: one for each group of identical flows.
    """

    def __init__(self, links: Sequence[LosslessLink], senders: Sequence[Sender]) -> None:
        self.links, self.senders = tuple(links), tuple(senders)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The lowest and highest occupancy of each link, between which all equilibria lie.

        An occupancy is the queue (packets) plus the fraction of arrivals that overflow; if
        negative, minus the spare capacity (packets/s).
        """
        return [(link.bottom, link.top) for link in self.links]

    @property
    def scale(self) -> list[float]:
        """The capacity of each link, packets/s, by which relative measures divide its equation."""
        return [float(link.capacity) for link in self.links]

    def excess(self, states: Sequence[LinkState], rate: Rate) -> list[Interval]:
        """Traffic through each link plus spare capacity minus capacity, packets/s; (links,).

        It is 0 in equilibrium.

        Args:
            states: delay, spare capacity and loss probabilities at each link.
            rate: the rate (packets/s) of a flow for its loss probability and round-trip time (s).
        """
        excess: list[Interval] = [
            state.spare - link.capacity for link, state in zip(self.links, states, strict=True)
        ]
        for sender in self.senders:
            path = self.path_state(sender, states)
            sent = sender.group.count * rate(sender, path.lost, path.rtt)
            for link, fraction in zip(sender.route.path, path.passed, strict=True):
                excess[link] = excess[link] + fraction * sent
        return excess

    def path_state(self, sender: Sender, states: Sequence[LinkState]) -> PathState:
        """A sender's loss probability, RTT (s), and fraction of packets that passes each link.

        Args:
            sender: one flow, with its path and base RTT.
            states: delay and loss probabilities at each link of the network.
        """
        rtt, lost, passing = sender.base_rtt, arb(0), arb(1)
        passed: list[Interval] = []
        for link in sender.route.path:
            state = states[link]
            rtt = rtt + state.wait
            lost = lost + passing * state.lost
            passing = passing * (1 - (state.dropped if sender.route.ecn else state.lost))
            passed.append(passing)
        return PathState(lost, rtt, passed)

    def link_states(self, occupancies: Sequence[Interval]) -> list[LinkState]:
        """Queueing delay, spare capacity and loss probabilities of each link at its occupancy.

        Args:
            occupancies: of each link: queue (packets) plus fraction of arrivals that overflow; if
                negative, minus the spare capacity (packets/s).
        """
        pairs = zip(self.links, occupancies, strict=True)
        return [link.state(occupancy) for link, occupancy in pairs]

    def occupancies(self, queues: Sequence[float], lost: Sequence[float]) -> list[float]:
        """The approximate occupancy of each link in a known equilibrium.

        Args:
            queues: queue of each link, packets.
            lost: probability that a packet is dropped or marked, of each link.

        Returns:
            The occupancy of each link: queue (packets) plus fraction of arrivals that overflow;
            without a queue, minus the spare capacity (packets/s).
        """
        known = zip(self.links, queues, lost, strict=True)
        filled = [link.occupancy(float(queue), float(prob)) for link, queue, prob in known]
        excess = self.at([arb(occupancy) for occupancy in filled])
        return [
            occupancy if occupancy > 0 else min(float(spare), 0.0)
            for occupancy, spare in zip(filled, excess, strict=True)
        ]

    def upper_bound(self, low: Sequence[arb]) -> list[arb]:
        """Upper bounds of traffic + spare capacity - capacity (packets/s) of each link in a box.

        Args:
            low: the lowest occupancy of each link.
        """
        return self.values(low, lambda sender, lost, rtt: sender.highest_rate(lost, rtt))

    def lower_bound(self, high: Sequence[arb]) -> list[arb]:
        """Lower bounds of traffic + spare capacity - capacity (packets/s) of each link in a box.

        Args:
            high: the highest occupancy of each link.
        """
        return self.values(high, lambda sender, lost, rtt: sender.lowest_rate(lost, rtt))

    def at(self, occupancies: Sequence[arb]) -> list[arb]:
        """Enclosures of traffic + spare capacity - capacity of each link, packets/s; (links,).

        Args:
            occupancies: of each link: queue (packets) plus fraction of arrivals that overflow; if
                negative, minus the spare capacity (packets/s).
        """
        return self.values(occupancies, lambda sender, lost, rtt: sender.rate(lost, rtt))

    def values(self, occupancies: Sequence[arb], rate: Rate) -> list[arb]:
        """Traffic + spare capacity - capacity of each link, packets/s, without slopes; (links,).

        Args:
            occupancies: of each link: queue (packets) plus fraction of arrivals that overflow; if
                negative, minus the spare capacity (packets/s).
            rate: the rate (packets/s) of a flow for its loss probability and round-trip time (s).
        """
        return [value_of(excess) for excess in self.excess(self.link_states(occupancies), rate)]

    def slopes(self, occupancies: Sequence[arb]) -> arb_mat:
        """An interval matrix: derivatives of each link's excess by the links' occupancies.

        The excess is traffic + spare capacity - capacity, packets/s.

        Args:
            occupancies: an interval for each link: queue (packets) plus fraction of arrivals that
                overflow; if negative, minus the spare capacity (packets/s).

        Returns:
            The Jacobian: one row for each excess, one column for each occupancy.
        """
        fixed = self.link_states(occupancies)
        varied = self.link_states([variable(occupancy) for occupancy in occupancies])
        rate_slopes = {
            sender: sender.slopes(*self.path_state(sender, fixed)[:2]) for sender in self.senders
        }

        def rate(sender: Sender, lost: Interval, rtt: Interval) -> Interval:
            return rate_slopes[sender].along(lost, rtt)

        columns = []
        for column in range(len(self.links)):
            states = [varied[link] if link == column else s for link, s in enumerate(fixed)]
            columns.append([slope_of(excess) for excess in self.excess(states, rate)])
        return arb_mat([list(row) for row in zip(*columns, strict=True)])
