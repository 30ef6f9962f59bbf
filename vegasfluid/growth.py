"""What the counters of a run gained after the warm-up, and every mean that follows from it.

The formulas are written once, for plain arrays (thousands of runs in a search), for labelled ones
(`vegasfluid.metrics`) and for JAX's, that are differentiated, alike.

Sources:
    Jain's index: R. Jain, D. Chiu and W. Hawe, DEC-TR-301, 1984. Mean queue from waiting times:
    Little's law.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Growth", "Path", "place_in"]

Array = Any
"""A NumPy array, a JAX array, or an xarray DataArray."""

NOTHING = 1e-300
"""A share of nothing is zero: this is added to divisors, and changes none but zero."""


class Path(NamedTuple):
    """What the links on a path are to its packets, taken together.

    Args:
        utilisation: of the link that is used most.
        queue: packets waiting, mean over time, on all links.
        queueing_delay: waiting time of a packet on all links, s.
        drop_share: the part of packets that some link drops.
    """

    utilisation: Array
    queue: Array
    queueing_delay: Array
    drop_share: Array


class Growth(NamedTuple):
    """What was gained between two times; a mean needs only the counters that it is made of.

    Args:
        seconds: between them.
        count: flows; (flow_class,).
        delivered: packets delivered once, mean of a flow; (flow_class,).
        sent: packets sent, mean of a flow; (flow_class,).
        retransmitted: packets sent again, mean of a flow; (flow_class,).
        of_flows: packets delivered once by each flow; (flow,).
        capacity: packets/s; (link,).
        admitted: packets; (link,).
        lost: packets dropped; (link,).
        waited: waiting time of all packets, packets s; (link,).
        work: admitted, in data packets' worth; (link,).
        queued: by how much more there is still to be sent, in data packets' worth; (link,).
    """

    seconds: float
    count: Array = None
    delivered: Array = None
    sent: Array = None
    retransmitted: Array = None
    of_flows: Array = None
    capacity: Array = None
    admitted: Array = None
    lost: Array = None
    waited: Array = None
    work: Array = None
    queued: Array = None

    @property
    def goodput(self) -> Array:
        """Packets a second delivered once, mean of a flow of each class; (flow_class,)."""
        return self.delivered / self.seconds

    @property
    def share(self) -> Array:
        """The part of all goodput that each class has; (flow_class,)."""
        total = self.delivered * self.count
        return total / total.sum()

    def ratio(self, tuned: int, others: Sequence[int] = ()) -> float:
        """Goodput of a flow of class number `tuned` over that of a flow of other classes.

        Args:
            tuned: number of the class.
            others: numbers of the classes to compare it with; none: all others.
        """
        rates, counts = np.asarray(self.goodput), np.array(self.count, float)
        left_out = set(range(counts.size)) - set(others) if others else {tuned}
        counts[list(left_out)] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(rates[tuned] / (np.sum(rates * counts) / np.sum(counts)))

    @property
    def jain_index(self) -> float:
        """Jain's fairness index over all flows: (sum x)^2 / (n sum x^2)."""
        gained = np.asarray(self.of_flows, float)
        squares = float(np.sum(gained**2))
        return float(np.sum(gained)) ** 2 / (gained.size * squares) if squares else 1.0

    @property
    def utilisation(self) -> Array:
        """The part of each link's capacity that was sent; (link,)."""
        return (self.work - self.queued) / (self.capacity * self.seconds)

    @property
    def mean_queue(self) -> Array:
        """Packets waiting, mean over time; (link,)."""
        return self.waited / self.seconds

    @property
    def queueing_delay(self) -> Array:
        """Waiting time of a packet, s; (link,)."""
        return self.waited / (self.admitted + NOTHING)

    @property
    def drop_share(self) -> Array:
        """The part of arriving packets that each link dropped; (link,)."""
        return self.lost / (self.lost + self.admitted + NOTHING)

    def along(self, links: Sequence[int]) -> Path:
        """What some links come to for packets that cross them all.

        >>> sent = {"admitted": np.array([80.0, 90.0]), "lost": np.array([20.0, 10.0])}
        >>> used = {"work": np.array([80.0, 90.0]), "queued": np.zeros(2)}
        >>> waits = {"waited": np.array([8.0, 18.0]), "capacity": np.array([10.0, 10.0])}
        >>> [f"{of:.4g}" for of in Growth(10.0, **sent, **used, **waits).along([0, 1])]
        ['0.9', '2.6', '0.3', '0.28']
        """
        utilisation, waiting, delay, lost = (
            [of[link] for link in links]
            for of in (self.utilisation, self.mean_queue, self.queueing_delay, self.drop_share)
        )
        through = 1.0
        for share in lost:
            through = through * (1.0 - share)
        most = utilisation[0]
        for used in utilisation[1:]:
            most = (most + used + abs(most - used)) / 2  # the larger one, of any array
        return Path(most, sum(waiting), sum(delay), 1.0 - through if len(lost) > 1 else lost[0])

    @property
    def retransmit_share(self) -> Array:
        """The part of sent packets that was sent again; (flow_class,)."""
        return self.retransmitted / (self.sent + NOTHING)


def place_in(times: np.ndarray, time: float) -> tuple[int, float]:
    """Where a time lies among sample times: the sample after it, and how far on the way to that.

    >>> place_in(np.array([0.0, 1.0, 3.0]), 2.5)
    (2, 0.75)
    """
    after = int(np.clip(np.searchsorted(times, time), 1, times.size - 1))
    return after, float((time - times[after - 1]) / (times[after] - times[after - 1]))
