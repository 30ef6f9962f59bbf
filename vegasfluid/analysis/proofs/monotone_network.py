"""The fluid's equations at rest as functions of its queues alone, in balls.

For given queues each class has the rate at which its law rests (`reduced_senders`). Along its way
each link takes its part: with p_h the share that its h-th link drops, a flow that sends x brings x
(1 - p_1) ... (1 - p_h) behind it, and learns of x (p_1 + (1 - p_1) p_2 + ...) losses a second;
marks count as losses, and take nothing away. With u_l the place of link l (`reduced_queues`) a
network is at rest if and only if of every link

    F_l(u) = sum N x (1 - p_1) ... (1 - p_h)  -  C_l  -  min(u_l, 0)  =  0

Each F_l falls, or stays, where any place rises, so that two corners of a box enclose it. Where u_l
is below -C_l, F_l is above 0, and where a RED link drops everything it is below: F points into the
box of all places. So there is a rest; and where the slopes at every rest make a regular matrix, the
signs of det(-F'), the indices, add up to 1, and the number of rests is odd.

Sources:
    Several rests of several protocols, and their odd number: A. Tang, J. Wang, S. Low and M.
    Chiang, IEEE/ACM ToN 15(4), 2007 (abstract read; the degree argument above is our own wording
    for these equations). The rest derived for this project from `fluid/equations.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from flint import arb, arb_mat

from vegasfluid.analysis.proofs.intervals import Number, slope_of, value_of, variable
from vegasfluid.analysis.proofs.links import Met, ReducedQueue
from vegasfluid.analysis.proofs.senders import ReducedSender

__all__ = ["Reduced"]

Rate = Callable[[ReducedSender, Number, Number], Number]


class Way(NamedTuple):
    """What the packets of a sender meet on their way.

    Args:
        lost: the share that their sender learns to be lost or marked.
        rtt: s.
        parts: the share that is left behind each link.
    """

    lost: Number
    rtt: Number
    parts: list[Number]


class Reduced:
    """The equations.

    Args:
        queues: of each link.
        senders: of each class of flows that are alike.
    """

    def __init__(self, queues: Sequence[ReducedQueue], senders: Sequence[ReducedSender]) -> None:
        self.queues, self.senders = tuple(queues), tuple(senders)

    @property
    def size(self) -> int:
        """How many links there are."""
        return len(self.queues)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The box of all places."""
        return [(queue.bottom, queue.top) for queue in self.queues]

    @property
    def scale(self) -> list[float]:
        """What F is measured by, packets/s."""
        return [float(queue.capacity) for queue in self.queues]

    def excess(self, met: Sequence[Met], rate: Rate) -> list[Number]:
        """F of each link, packets/s.

        Args:
            met: what packets meet at each link.
            rate: of a sender, for a share of losses and a round-trip time.
        """
        found: list[Number] = [
            at.spare - queue.capacity for queue, at in zip(self.queues, met, strict=True)
        ]
        for sender in self.senders:
            way = self.way(sender, met)
            sent = sender.crowd.count * rate(sender, way.lost, way.rtt)
            for link, part in zip(sender.crowd.path, way.parts, strict=True):
                found[link] = found[link] + part * sent
        return found

    def way(self, sender: ReducedSender, met: Sequence[Met]) -> Way:
        """What the packets of a sender meet."""
        rtt, lost, left = sender.base_rtt, arb(0), arb(1)
        parts: list[Number] = []
        for link in sender.crowd.path:
            at = met[link]
            rtt = rtt + at.wait
            lost = lost + left * at.lost
            left = left * (1 - (at.dropped if sender.crowd.capable else at.lost))
            parts.append(left)
        return Way(lost, rtt, parts)

    def met(self, places: Sequence[Number]) -> list[Met]:
        """What packets meet at each link."""
        return [queue.met(place) for queue, place in zip(self.queues, places, strict=True)]

    def places(self, queues: Sequence[float], lost: Sequence[float]) -> list[float]:
        """The place of each link at a rest that is known.

        Args:
            queues: packets.
            lost: the share of packets that each link drops or marks.
        """
        ends = zip(self.queues, queues, lost, strict=True)
        filled = [queue.filled(float(at), float(share)) for queue, at, share in ends]
        excess = self.at([arb(at) for at in filled])
        return [
            at if at > 0 else min(float(of), 0.0) for at, of in zip(filled, excess, strict=True)
        ]

    def highest(self, low: Sequence[arb]) -> list[arb]:
        """F at most, in a box with this corner of smallest places."""
        return self.values(low, lambda sender, lost, rtt: sender.highest(lost, rtt))

    def lowest(self, high: Sequence[arb]) -> list[arb]:
        """F at least, in a box with this corner of largest places."""
        return self.values(high, lambda sender, lost, rtt: sender.lowest(lost, rtt))

    def at(self, places: Sequence[arb]) -> list[arb]:
        """F in balls of places."""
        return self.values(places, lambda sender, lost, rtt: sender.rate(lost, rtt))

    def values(self, places: Sequence[arb], rate: Rate) -> list[arb]:
        """F where places have no slopes."""
        return [value_of(of) for of in self.excess(self.met(places), rate)]

    def slopes(self, places: Sequence[arb]) -> arb_mat:
        """The matrix of slopes of F by the places, anywhere in a box."""
        still = self.met(places)
        varied = [variable(place) for place in places]
        moving = self.met(varied)
        known = {sender: sender.slopes(*self.way(sender, still)[:2]) for sender in self.senders}

        def rate(sender: ReducedSender, lost: Number, rtt: Number) -> Number:
            return known[sender].follow(lost, rtt)

        columns = []
        for number in range(self.size):
            met = [moving[link] if link == number else at for link, at in enumerate(still)]
            columns.append([slope_of(of) for of in self.excess(met, rate)])
        return arb_mat([list(row) for row in zip(*columns, strict=True)])
