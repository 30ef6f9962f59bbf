"""The bottleneck's capacity, and whether flows that were not seen share it.

While the queue is not empty, the link sends at its capacity. If all flows are seen, their total
rate is then constant; if it varies, the rest of the capacity belongs to flows that are not seen,
and the end hosts' samples alone give a lower bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vegasfluid.observe.estimated import NORMAL_QUANTILE, Estimated, unknown
from vegasfluid.observe.time_grid import STEADY, TimeGrid, binned_rates

__all__ = ["Capacity", "capacity"]

BUSY_PACKETS = 1.5
"""Queue, in packets beyond one for each flow, above which the link is taken as busy: receivers that
delay ACKs make RTTs longer by about a packet of each flow without a queue."""
LEAST_DELAY = 5e-5
"""Queueing delay from which on the link is taken as busy, s (chosen: hosts delay packets and ACKs
by some tens of microseconds, and smoothed RTTs within one machine vary by less)."""
BUSY_SHARE = 0.98
"""Fraction of an interval in which packets have to wait for the link to be busy in it."""
LEAST_BUSY, LEAST_SHORT = 3, 10
"""Smallest number of busy intervals from which a capacity is estimated, and of those of two RTTs,
which have few packets and so vary."""
FULL_SHARE = 0.5
"""Fraction of time with a queue from which on a constant rate is the capacity: windows that the
host limits give a constant rate, too, but no queue."""
SHORT_ROUND_TRIPS = 2.0
"""Length of the intervals, in RTTs, if the queue empties so often that few longer ones are busy."""
PACKETS_OF_INTERVAL = 2.0
"""Uncertainty of the number of packets delivered in an interval, packets."""
CONSTANT = 0.02
"""Coefficient of variation of the total rate up to which it is constant: 0.000 to 0.012 on kernel
traces of which all flows are seen, above 0.025 where half of them are and not all are Vegas."""
COARSEST = 0.05
"""Largest uncertainty of the rate of an interval at which rates may be called constant (chosen)."""
ROUND_TRIPS = 5.0
"""Length of the intervals over which rates are compared, in RTTs; at least `LEAST_INTERVAL`."""
LEAST_INTERVAL, STEPS = 1.0, 10.0
"""Shortest interval over which rates are compared: s, and steps of time between samples."""
UPPER = 0.95
"""Quantile of a normal distribution that is `NORMAL_QUANTILE` standard deviations above its
median."""
ROUNDING = 5e-4
"""Relative uncertainty of the size of packets and of clocks."""


class Capacity(NamedTuple):
    """Capacity of the bottleneck and the evidence from rates.

    Args:
        packets_per_s: the capacity, packets/s.
        busy: fraction of time in which the queue was not empty, 0 to 1.
        variation: coefficient of variation of the total rate while it was not empty; NaN: the queue
            was filled in fewer than three intervals.
        all_seen: whether the flows that were seen fill the link, as their total rate is constant.
    """

    packets_per_s: Estimated
    busy: float
    variation: float
    all_seen: bool


def capacity(grid: TimeGrid, delay: np.ndarray) -> Capacity:
    """Capacity from the rates of the flows.

    It is known if their total rate is constant while the queue is not empty. Otherwise, and if the
    queue was hardly ever filled, the lower bound is the largest total rate. Data that was given to
    TCP may wait in a send buffer: where such data was counted, rates are known that much less.

    Args:
        grid: samples of all flows at common times.
        delay: queueing delay at these times, s; (time,).
    """
    total = grid.delivered.sum(axis=0)
    mean_rate = float(total[-1] - total[0]) / grid.span
    queued = delay * mean_rate > max(BUSY_PACKETS + len(grid.rtt), LEAST_DELAY * mean_rate)
    rtt = float(np.nanmedian(grid.rtt))
    least = max(LEAST_INTERVAL, STEPS * grid.step)
    rates, is_busy = _rates(grid.time, total, queued, max(least, ROUND_TRIPS * rtt))
    undelivered = float(grid.undelivered.sum())
    highest = _lower_bound(grid, mean_rate, rates, undelivered)
    wanted = LEAST_BUSY
    is_constant = float(rates.std() / rates.mean()) <= CONSTANT
    if is_busy.sum() < LEAST_BUSY and is_constant and np.mean(queued) > FULL_SHARE:
        is_busy = np.full(len(rates), True)
    elif is_busy.sum() < LEAST_BUSY:
        rates, is_busy = _rates(grid.time, total, queued, SHORT_ROUND_TRIPS * rtt)
        wanted = LEAST_SHORT
    busy = float(np.mean(queued))
    if is_busy.sum() < wanted:
        why = "the link was not full for long enough; the largest rate is a lower bound"
        return Capacity(unknown(why, low=highest), busy, float("nan"), all_seen=False)
    used = rates[is_busy]
    variation = _variation(used, bool(is_busy.all()))
    counted = (PACKETS_OF_INTERVAL + undelivered) / (mean_rate * grid.span / len(rates))
    if counted > COARSEST:
        why = "data given to TCP was counted, not data delivered, and send buffers hold much of it"
        if undelivered <= PACKETS_OF_INTERVAL:
            why = "too few packets were delivered while the link was full"
        return Capacity(unknown(why, low=highest), busy, float("nan"), all_seen=False)
    if variation <= max(CONSTANT, counted):
        found = _constant_rate(grid.time, total, used, bool(is_busy.all()))
        found = found.widened(undelivered / grid.span)
        if set(grid.controls) <= set(STEADY):
            found = found._replace(how=f"{found.how}; other Vegas flows would not show")
        return Capacity(found, busy, variation, all_seen=True)
    why = "other flows hide the rate of the link; the largest rate is a lower bound"
    return Capacity(unknown(why, low=highest), busy, variation, all_seen=False)


def _lower_bound(grid: TimeGrid, mean_rate: float, rates: np.ndarray, undelivered: float) -> float:
    """Largest total rate at which data was surely delivered, packets/s.

    Args:
        grid: samples of all flows at common times.
        mean_rate: mean total rate, packets/s.
        rates: total rates in intervals of equal length, packets/s; (interval,).
        undelivered: packets that may have been counted and not delivered.
    """
    of_all = mean_rate - undelivered / grid.span
    of_intervals = rates - undelivered * len(rates) / grid.span
    return float(np.max(of_intervals, initial=max(of_all, 0.0)))


def _rates(
    time: np.ndarray, total: np.ndarray, queued: np.ndarray, interval: float
) -> tuple[np.ndarray, np.ndarray]:
    """Rates in intervals, packets/s, and whether the link was busy in each; (interval,) both.

    Args:
        time: times, s; (time,).
        total: packets delivered by then; (time,).
        queued: whether packets were waiting; (time,).
        interval: length of the intervals, s.
    """
    edges, rates = binned_rates(time, total, interval)
    within = [queued[(time >= first) & (time <= last)] for first, last in edges]
    return rates, np.array([each.mean() > BUSY_SHARE for each in within], dtype=bool)


def _variation(rates: np.ndarray, always: bool) -> float:
    """Coefficient of variation of the rates in the intervals in which the link was busy.

    If it was not busy all the time, these intervals may contain moments in which it was not, which
    lower some rates: then only those above the median count.

    Args:
        rates: rates, packets/s; (interval,).
        always: whether the link was busy all the time.
    """
    if always:
        return float(rates.std() / rates.mean())
    middle = float(np.median(rates))
    return (float(np.quantile(rates, UPPER)) - middle) / middle / NORMAL_QUANTILE


def _constant_rate(
    time: np.ndarray, total: np.ndarray, rates: np.ndarray, always: bool
) -> Estimated:
    """Capacity where the total rate is constant, packets/s.

    If the link was always busy, it is the slope of the packets delivered over time; its error comes
    from both ends only. Otherwise it is the median over the intervals in which the link was busy.

    Args:
        time: times, s; (time,).
        total: packets delivered by then; (time,).
        rates: rates in the intervals in which the link was busy, packets/s.
        always: whether it was busy all the time.
    """
    if always:
        slope, first = np.polyfit(time, total, 1)
        rest = total - (first + slope * time)
        error = np.sqrt(2) * float(rest.std()) / (time[-1] - time[0])
        value = float(slope)
    else:
        value = float(np.median(rates))
        error = float(rates.std()) / np.sqrt(max(len(rates) - 1, 1))
    reach = NORMAL_QUANTILE * error + ROUNDING * value
    how = "packets delivered per second while the queue was not empty"
    # Where a queue empties between two samples, the link sends less than it could.
    high = max(value + reach, float(np.max(rates)))
    return Estimated(value, value - reach, high, how)
