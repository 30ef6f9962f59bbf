"""Flows that share the bottleneck but were not measured: how many there are.

On a full link the rates of all flows have a constant sum. So the rates of two flows of N that are
alike have the correlation -1/(N - 1), whoever else was measured: the variance v of a flow's rate
and the mean covariance c of two flows give N = 1 - v/c. This needs at least two flows of the same
congestion control, whose rates vary; it does not count flows whose rate is constant. (Derived for
this project; compared with kernel traces in docs/use/observe.md.)

Where the capacity is known from elsewhere, the rate that is missing divided by the mean rate of a
flow is the number. Drops in the queue show which of the measured flows the others are like
(`vegasfluid.observe.drop_weights`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vegasfluid.observe.drop_weights import drop_weights
from vegasfluid.observe.estimated import (
    NORMAL_QUANTILE,
    Estimated,
    block_bootstrap,
    unknown,
)
from vegasfluid.observe.link_counters import QueueDrops
from vegasfluid.observe.time_grid import STEADY, TimeGrid, binned_rates

__all__ = ["Competitors", "competitors_from_rates", "competitors_from_share"]

ROUND_TRIPS = 3.0
"""Length of the intervals over which rates are compared, in RTTs; at least `LEAST_INTERVAL`."""
LEAST_INTERVAL = 0.3
"""Shortest interval over which rates are compared, s."""
BLOCKS = 20
"""Blocks of the bootstrap."""
LARGEST = 200.0
"""Number of flows from which correlations do not show the number (chosen: they are below 1 %)."""
ALIKE = 0.5
"""Number of competitors below which an estimate is rejected: as the sum of the measured rates
varies, there is at least one."""
UNLIKE = 1.6
"""Factor by which there may be more flows in all than the correlation shows, because flows differ
or lose packets together (kernel traces: 1.0 to 1.5)."""
UNKNOWN_SPREAD = 0.3
"""Relative standard deviation of the rates of flows where one flow stands for all (chosen)."""
LEAST_FLOWS = 1.2
"""Effective number of flows (1 over the sum of squared weights) below which one stands for all
(chosen)."""
LEAST_SPREAD = 0.1
"""Least relative standard deviation of the rates of flows: flows that were not measured may differ
more than measured ones (chosen on kernel traces 1 to 60)."""


class Competitors(NamedTuple):
    """Flows that were not measured.

    Args:
        count: their number, if they are like the measured flows.
        rate: their total rate, packets/s.
        control: commonest congestion control of the measured flows with which they are compared,
            other than Vegas if there is another; empty: not known.
        alike: number of flows of `control` that have their total rate, for a model. It differs
            from `count` where some of the measured flows are Vegas.
    """

    count: Estimated
    rate: Estimated
    control: str
    alike: Estimated


def competitors_from_rates(grid: TimeGrid) -> Competitors:
    """Number of competitors from the correlations of the measured flows' rates.

    Not known with fewer than two measured flows other than Vegas, if the result is below half a
    competitor, or from 200 flows on.

    Args:
        grid: samples of all measured flows at common times.
    """
    control, members = _varying(grid.controls)
    if len(members) < 2:
        why = "an estimate from rates needs two measured flows that are not Vegas"
        return Competitors(unknown(why), unknown(why), control, unknown(why))
    interval = max(LEAST_INTERVAL, ROUND_TRIPS * float(np.nanmedian(grid.rtt)))
    rates = binned_rates(grid.time, grid.delivered[members], interval)[1]
    value = flows_of_correlation(rates)
    low, high = block_bootstrap(flows_of_correlation, rates, BLOCKS)
    high = max(high, UNLIKE * value)
    seen = len(grid.controls)
    if value < seen + ALIKE:
        why = "the measured flows differ too much for an estimate of the number from their rates"
        count = unknown(why, low=1.0)
        return Competitors(count, unknown(why), control, count)
    if not value < LARGEST:
        why = "rates of the measured flows do not compete with each other: there are many others"
        count = unknown(why, low=max(low - seen, 1.0) if low < LARGEST else 1.0)
        return Competitors(count, unknown(why), control, count)
    how = f"correlation of the rates of {len(members)} flows"
    count = Estimated(
        max(value - seen, 1.0), max(low - seen, 1.0), max(high - seen, 1.0) + 0.5, how
    )
    mean = float(rates.mean())
    rate = Estimated(mean * float(count.value or 0), mean * count.low, mean * count.high, how)
    return Competitors(count, rate, control, count)


def flows_of_correlation(rates: np.ndarray) -> float:
    """Number of flows N = 1 - v/c on a full link; infinity where rates do not exclude each other.

    Args:
        rates: rates of at least two flows that are alike; (flow, interval).

    >>> import numpy as np
    >>> first = np.array([1.0, 3.0, 2.0, 4.0])
    >>> flows_of_correlation(np.stack([first, 5 - first]))
    2.0
    """
    covariance = np.cov(rates)
    flows = len(rates)
    variance = float(np.trace(covariance)) / flows
    mutual = (float(covariance.sum()) - flows * variance) / (flows * (flows - 1))
    return 1 - variance / mutual if mutual < 0 else float("inf")


def competitors_from_share(
    grid: TimeGrid, capacity: Estimated, drops: QueueDrops | None = None
) -> Competitors:
    """Number of competitors from the part of the capacity that the measured flows do not get.

    It is that part divided by the mean rate of the measured flows, and at least 1. Where the queue
    counted drops, flows count more that lose as large a fraction of their packets as the
    competitors do.

    Args:
        grid: samples of all measured flows at common times.
        capacity: of the link, packets/s, from elsewhere than the flows.
        drops: packets that the bottleneck's queue dropped; None: not known.
    """
    rates = grid.packets / grid.span
    how = "capacity that the measured flows do not get"
    missing = float(capacity.value or 0.0) - float(rates.sum())
    reach = (capacity.high - capacity.low) / 2
    rate = Estimated(missing, max(missing - reach, 0.0), missing + reach, how)
    weights = drop_weights(grid, drops, float(capacity.value or 0.0))
    members = _varying(grid.controls)[1] or list(range(len(rates)))
    control = max(
        (grid.controls[flow] for flow in members),
        key=lambda name: sum(weights[flow] for flow in members if grid.controls[flow] == name),
    )
    weighted = ", weighted by drops" if np.ptp(weights) > 0 else ""
    name = control if len(set(grid.controls)) == 1 and control else "measured"
    how += ", divided by the rate of a {} flow" + weighted
    count = _count(rate, rates, weights, how.format(name))
    if len(members) == len(rates):
        return Competitors(count, rate, control, count)
    alike = _count(rate, rates[members], weights[members], how.format(control or "measured"))
    return Competitors(count, rate, control, alike)


def _count(rate: Estimated, rates: np.ndarray, weights: np.ndarray, how: str) -> Estimated:
    """Number of flows that have a total rate if they are a mixture of the measured ones.

    Its interval is that of a sum of so many rates, drawn from those of the mixture.

    Args:
        rate: the total rate, packets/s.
        rates: mean rates of the measured flows, packets/s; (flow,).
        weights: relative weights of these flows in the mixture; (flow,).
        how: how the number was estimated.
    """
    weights = weights / weights.sum()
    mean = float(weights @ rates)
    total = float(rate.value or 0.0)
    count, flows = total / mean, 1.0 / float(weights @ weights)
    spread = UNKNOWN_SPREAD
    if flows > LEAST_FLOWS:
        variance = float(weights @ (rates - mean) ** 2) * flows / (flows - 1)
        spread = max(variance**0.5 / mean, LEAST_SPREAD)
    drawn = NORMAL_QUANTILE * spread * (count**2 / flows + count) ** 0.5
    error = float(np.hypot(drawn, (rate.high - rate.low) / 2 / mean))
    return Estimated(max(count, 1.0), max(count - error, 1.0), max(count + error, 1.5), how)


def _varying(controls: Sequence[str]) -> tuple[str, list[int]]:
    """Commonest congestion control of the flows whose windows vary, and the indices of these flows.

    If no window varies, it is the commonest congestion control of all flows.
    """
    members = [flow for flow, control in enumerate(controls) if control not in STEADY]
    names = [controls[flow] for flow in members] or list(controls) or [""]
    return max(names, key=names.count), members
