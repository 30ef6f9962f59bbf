"""Flows that share the bottleneck but were not measured: how many there are.

On a full link the rates of all flows have a constant sum. So the rates of two flows of N that are
alike have the correlation -1/(N - 1), whoever else was measured: the variance v of a flow's rate
and the mean covariance c of two flows give N = 1 - v/c. This needs at least two flows of the same
congestion control, whose rates vary; it does not count flows whose rate is constant. (Derived for
this project; compared with kernel traces in docs/use/observe.md.)

Where the capacity is known from elsewhere, the rate that is missing divided by the mean rate of a
flow is the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vegasfluid.observe.estimated import (
    NORMAL_QUANTILE,
    Estimated,
    block_bootstrap,
    unknown,
)
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


class Competitors(NamedTuple):
    """Flows that were not measured.

    Args:
        count: their number, if they are like the measured flows of `control`.
        rate: their total rate, packets/s.
        control: commonest congestion control of the measured flows with which they are compared;
            empty: not known.
    """

    count: Estimated
    rate: Estimated
    control: str


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
        return Competitors(unknown(why), unknown(why), control)
    interval = max(LEAST_INTERVAL, ROUND_TRIPS * float(np.nanmedian(grid.rtt)))
    rates = binned_rates(grid.time, grid.delivered[members], interval)[1]
    value = flows_of_correlation(rates)
    low, high = block_bootstrap(flows_of_correlation, rates, BLOCKS)
    high = max(high, UNLIKE * value)
    seen = len(grid.controls)
    if value < seen + ALIKE:
        why = "the measured flows differ too much for an estimate of the number from their rates"
        return Competitors(unknown(why, low=1.0), unknown(why), control)
    if not value < LARGEST:
        why = "rates of the measured flows do not compete with each other: there are many others"
        return Competitors(unknown(why, low=max(low - seen, 1.0)), unknown(why), control)
    how = f"correlation of the rates of {len(members)} flows"
    count = Estimated(
        max(value - seen, 1.0), max(low - seen, 1.0), max(high - seen, 1.0) + 0.5, how
    )
    mean = float(rates.mean())
    rate = Estimated(mean * float(count.value or 0), mean * count.low, mean * count.high, how)
    return Competitors(count, rate, control)


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


def competitors_from_share(grid: TimeGrid, capacity: Estimated) -> Competitors:
    """Number of competitors from the part of the capacity that the measured flows do not get.

    It is that part divided by the mean rate of the measured flows other than Vegas (of all, if all
    run Vegas), and at least 1.

    Args:
        grid: samples of all measured flows at common times.
        capacity: of the link, packets/s, from elsewhere than the flows.
    """
    control, members = _varying(grid.controls)
    rates = grid.packets / grid.span
    unmeasured = capacity.scaled(1.0)._replace(how="capacity that the measured flows do not get")
    missing = float(unmeasured.value or 0.0) - float(rates.sum())
    reach = (capacity.high - capacity.low) / 2
    rate = Estimated(missing, max(missing - reach, 0.0), missing + reach, unmeasured.how)
    alike = rates[members] if len(members) else rates
    each = float(alike.mean())
    spread = float(alike.std(ddof=1)) if len(alike) > 1 else 0.3 * each
    relative = float(NORMAL_QUANTILE * spread / each)
    count = missing / each
    error = relative * (count / len(alike) ** 0.5 + count**0.5)
    how = f"{unmeasured.how}, divided by the rate of a {control or 'measured'} flow"
    low, high = max(count - error, 1.0), max(count + error, 1.5)
    return Competitors(Estimated(max(count, 1.0), low, high, how), rate, control)


def _varying(controls: Sequence[str]) -> tuple[str, list[int]]:
    """Commonest congestion control of the flows whose windows vary, and the indices of these flows.

    If no window varies, it is the commonest congestion control of all flows.
    """
    members = [flow for flow, control in enumerate(controls) if control not in STEADY]
    names = [controls[flow] for flow in members] or list(controls) or [""]
    return max(names, key=names.count), members
