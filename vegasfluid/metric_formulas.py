"""Formulas of metrics: goodput, ratio, Jain's index, utilisation, queues, drops, delays.

They take the increase of a run's counters over an interval.

The formulas work alike on NumPy arrays, labelled arrays (`vegasfluid.metrics`) and JAX arrays,
which are differentiated.

Sources:
    Jain's index: R. Jain, D. Chiu and W. Hawe, DEC-TR-301, 1984. Mean queue from waiting times:
    Little's law.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["IntervalTotals", "PathMeans", "increase_from", "interpolation_position", "jain_index"]

Array = Any
"""A NumPy array, a JAX array, or an xarray DataArray."""

TINY = 1e-300
"""Added to divisors, packets: makes 0/0 equal to 0 and changes no other quotient."""


class PathMeans(NamedTuple):
    """Measures of a path of links.

    Args:
        utilisation: utilisation of the most utilised link, 0 to 1.
        queue: packets waiting on all links, mean over time.
        queueing_delay: time that a packet waits on all links, s.
        drop_share: fraction of packets dropped by any of the links.
    """

    utilisation: Array
    queue: Array
    queueing_delay: Array
    drop_share: Array


class IntervalTotals(NamedTuple):
    """Increase of a run's counters over an interval; a measure needs only those that it uses.

    Args:
        seconds: length of the interval, s.
        count: number of flows of each class; (flow_class,).
        delivered: distinct packets delivered, mean of the flows of a class; (flow_class,).
        sent: packets sent, mean of the flows of a class; (flow_class,).
        retransmitted: packets retransmitted, mean of the flows of a class; (flow_class,).
        flow_delivered: distinct packets delivered by each flow; (flow,).
        capacity: capacity of each link, packets/s; (link,).
        admitted: packets admitted to the queue; (link,).
        lost: packets dropped; (link,).
        waited: sum of the waiting times of all packets, packets s; (link,).
        lost_waited: part of `waited` of the packets that were dropped afterwards; (link,). None:
            there are none.
        work: admitted packets, each weighted by its size relative to a data packet; (link,).
        backlog: increase of the work that is still to be sent, data packets; (link,).

    A counter that is None was not read.
    """

    seconds: float
    count: Array = None
    delivered: Array = None
    sent: Array = None
    retransmitted: Array = None
    flow_delivered: Array = None
    capacity: Array = None
    admitted: Array = None
    lost: Array = None
    waited: Array = None
    lost_waited: Array = None
    work: Array = None
    backlog: Array = None

    @property
    def goodput(self) -> Array:
        """Goodput of a flow, packets/s, mean of each class; (flow_class,)."""
        return self.delivered / self.seconds

    @property
    def share(self) -> Array:
        """Fraction of the goodput of all flows that each class got, 0 to 1; (flow_class,).

        NaN for all classes if nothing was delivered.
        """
        total = self.delivered * self.count
        return total / total.sum()

    def goodput_ratio(self, tuned: int, others: Sequence[int] = ()) -> float:
        """Mean goodput of a flow of one class divided by that of a flow of other classes.

        Args:
            tuned: index of the class in the numerator.
            others: indices of the classes in the denominator, whose flows all have the same weight;
                empty: all classes but `tuned`.

        Returns:
            The ratio; infinite where the other flows delivered nothing, NaN where no flow did.
        """
        rates, counts = np.asarray(self.goodput), np.array(self.count, float)
        excluded = set(range(counts.size)) - set(others) if others else {tuned}
        counts[list(excluded)] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(rates[tuned] / (np.sum(rates * counts) / np.sum(counts)))

    @property
    def jain_index(self) -> float:
        """Jain's index of the goodputs of all n flows, 1/n to 1; 1 if nothing was delivered."""
        delivered = np.asarray(self.flow_delivered, float)
        return float(jain_index(delivered)) if np.any(delivered) else 1.0

    @property
    def utilisation(self) -> Array:
        """Fraction of the capacity of each link that was used, 0 to 1; (link,).

        The work sent is the work admitted minus the increase of the work still to be sent.
        """
        return (self.work - self.backlog) / (self.capacity * self.seconds)

    @property
    def mean_queue(self) -> Array:
        """Mean number of packets waiting at each link in the interval; (link,).

        By Little's law: the sum of all waiting times over the length of the interval.
        """
        return self.waited / self.seconds

    @property
    def queueing_delay(self) -> Array:
        """Waiting time at each link, s, mean over the packets admitted; (link,).

        0 for a link that admitted no packet and where none waited.
        """
        lost = 0.0 if self.lost_waited is None else self.lost_waited
        return (self.waited - lost) / (self.admitted + TINY)

    @property
    def drop_share(self) -> Array:
        """Fraction of the packets arriving at each link that it dropped, 0 to 1; (link,).

        0 for a link at which no packet arrived.
        """
        return self.lost / (self.lost + self.admitted + TINY)

    def over_path(self, links: Sequence[int]) -> PathMeans:
        """Utilisation, queue, queueing delay and loss ratio of a path of links.

        Args:
            links: indices of the links on the path.

        Returns:
            The largest utilisation, the sums of the mean queues (packets) and mean delays (s), and
            the fraction of packets that the links drop if they do so independently.

        >>> counters = {"admitted": np.array([80.0, 90.0]), "lost": np.array([20.0, 10.0])}
        >>> counters |= {"work": np.array([80.0, 90.0]), "backlog": np.zeros(2)}
        >>> counters |= {"waited": np.array([8.0, 18.0]), "capacity": np.array([10.0, 10.0])}
        >>> [f"{mean:.4g}" for mean in IntervalTotals(10.0, **counters).over_path([0, 1])]
        ['0.9', '2.6', '0.3', '0.28']
        """
        utilisation, queues, delays, drops = (
            [values[link] for link in links]
            for values in (self.utilisation, self.mean_queue, self.queueing_delay, self.drop_share)
        )
        passed = 1.0
        for drop in drops:
            passed = passed * (1.0 - drop)
        most = utilisation[0]
        for other in utilisation[1:]:
            most = (most + other + abs(most - other)) / 2  # the larger one, of any array type
        return PathMeans(
            most, sum(queues), sum(delays), 1.0 - passed if len(drops) > 1 else drops[0]
        )

    @property
    def retransmit_share(self) -> Array:
        """Fraction of the packets sent that were retransmissions, 0 to 1; (flow_class,).

        0 for a class that sent nothing.
        """
        return self.retransmitted / (self.sent + TINY)


def jain_index(rates: Array, count: Array = None) -> Array:
    """Jain's fairness index of the rates x of n flows, (sum x)^2 / (n sum x^2): from 1/n to 1.

    Args:
        rates: rate of each flow, or of a flow of each group, in any unit; (flow,) or (group,).
        count: number of flows in each group, (group,); None: one flow for each rate.

    Returns:
        The index; NaN if all rates are 0.

    >>> float(jain_index(np.array([1.0, 0.0]), np.array([3, 1])))
    0.75
    """
    flows, number = (1, rates.size) if count is None else (count, count.sum())
    return (flows * rates).sum() ** 2 / (number * (flows * rates**2).sum())


def interpolation_position(times: np.ndarray, time: float) -> tuple[int, float]:
    """Position of a time among sample times, for linear interpolation between two samples.

    Args:
        times: increasing sample times, s; (sample,).
        time: time at which a value is wanted, s.

    Returns:
        The index i, at least 1, of the first sample at or after `time`, and the weight of sample i;
        sample i - 1 has the rest. (Outside the samples this extrapolates.)

    >>> interpolation_position(np.array([0.0, 1.0, 3.0]), 2.5)
    (2, 0.75)
    """
    after = int(np.clip(np.searchsorted(times, time), 1, times.size - 1))
    return after, float((time - times[after - 1]) / (times[after] - times[after - 1]))


def increase_from(low: Array, high: Array, last: Array, weight: float) -> Array:
    """Increase of a counter from a time between two samples to a later sample, in its unit.

    It is a sum of increases, not a difference from an interpolated value, so that rounding errors
    never make it negative for a counter that never decreases.

    Args:
        low: counter at the sample before the time.
        high: counter at the sample after the time.
        last: counter at the later sample.
        weight: weight of `high` in the linear interpolation between `low` and `high`, 0 to 1.

    >>> increase_from(2.0, 6.0, 7.0, 0.25)
    4.0
    """
    return (last - high) + (1 - weight) * (high - low)
