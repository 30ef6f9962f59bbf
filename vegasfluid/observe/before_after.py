"""Comparison of a network before and after a change of settings, from measurements of both.

The intervals are bootstraps over blocks of time, so they contain the variation within a
measurement, and not that from one measurement to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from vegasfluid.metric_formulas import jain_index
from vegasfluid.observe.base_rtt import base_rtts
from vegasfluid.observe.estimate import NetworkEstimate, estimate_grid
from vegasfluid.observe.estimated import Estimated, block_bootstrap, unknown
from vegasfluid.observe.link_counters import link_counters
from vegasfluid.observe.measurement import Measurement
from vegasfluid.observe.time_grid import TimeGrid, time_grid

__all__ = ["BeforeAfter", "GoalVerdict", "ObservedChange", "ObservedMeans", "compare"]

VEGAS = "vegas"
"""Name of Vegas in measurements."""
BLOCKS = 20
"""Blocks of time in a resample (chosen, as for other intervals)."""
WITHIN = 0.15
"""Largest relative difference of a ratio from its goal at which the goal is reached (chosen: the
packet simulator agrees with Linux's kernel to 10 % on most networks, and a measurement of a few
minutes determines a ratio to some 5 %)."""
ALIKE = 0.10
"""Largest relative difference of capacities or base RTTs of one network in two measurements."""
ALIKE_SECONDS = 2e-3
"""Largest difference of base RTTs of one network in two measurements, s."""

GoalVerdict = Literal["reached", "missed", "undecided", "unknown"]
"""Whether the goal is reached: the 90 % interval of the ratio lies within the goal's range
(reached), outside it (missed) or across one of its ends (undecided), or there is no ratio
(unknown)."""


class ObservedMeans(NamedTuple):
    """Means of a measurement with their 90 % intervals.

    Args:
        flows: number of flows by congestion control; an empty name: not known.
        ratio: goodput of a Vegas flow over that of another flow, means over the flows.
        throughput: mean total rate of all measured flows, packets/s.
        queueing_delay: mean queueing delay, s.
        retransmit_share: packets sent again, relative to packets delivered.
        jain_index: Jain's index of the flows' goodputs.
        estimate: what the measurement shows of the network.
    """

    flows: dict[str, int]
    ratio: Estimated
    throughput: Estimated
    queueing_delay: Estimated
    retransmit_share: Estimated
    jain_index: Estimated
    estimate: NetworkEstimate


class ObservedChange(NamedTuple):
    """A mean before and after the change.

    Args:
        name: its name in JSON, with the unit.
        before: before the change.
        after: after the change.
    """

    name: str
    before: Estimated
    after: Estimated

    @property
    def factor(self) -> Estimated:
        """Value after the change divided by the value before it.

        It is unknown if one of them is unknown or the value before is 0. The interval is computed
        from the ends of both intervals, so it is wide.
        """
        before, after = self.before, self.after
        if before.value is None or after.value is None or before.value <= 0:
            return unknown("one of the two is not known, or was 0 before")
        high = after.high / before.low if before.low > 0 else float("inf")
        return Estimated(
            after.value / before.value, after.low / before.high, high, "after / before"
        )


@dataclass(frozen=True)
class BeforeAfter:
    """Two measurements of a network, before and after a change, and whether the goal is reached."""

    before: ObservedMeans
    """Means before the change."""
    after: ObservedMeans
    """Means after the change."""
    goal: float
    """Goodput of a Vegas flow over that of another flow that was to be reached."""

    @property
    def quantities(self) -> tuple[ObservedChange, ...]:
        """Means before and after the change, by their names in JSON.

        They are `ratio`, `throughput_packets_per_s`, `queueing_delay_s`, `retransmit_share` and
        `jain_index`.
        """
        names = {
            "ratio": "ratio",
            "throughput": "throughput_packets_per_s",
            "queueing_delay": "queueing_delay_s",
            "retransmit_share": "retransmit_share",
            "jain_index": "jain_index",
        }
        return tuple(
            ObservedChange(title, getattr(self.before, field), getattr(self.after, field))
            for field, title in names.items()
        )

    @property
    def goal_range(self) -> tuple[float, float]:
        """Smallest and largest ratio that count as the goal: 15 % below and above it."""
        return self.goal * (1 - WITHIN), self.goal * (1 + WITHIN)

    @property
    def verdict(self) -> GoalVerdict:
        """Whether the ratio after the change is the goal, by its 90 % interval.

        Reached if the interval is within `goal_range`, missed if it is outside, undecided if it
        contains an end of that range, and unknown without a ratio.
        """
        low, high = self.goal_range
        ratio = self.after.ratio
        if not ratio.is_known:
            return "unknown"
        if low <= ratio.low and ratio.high <= high:
            return "reached"
        return "missed" if ratio.high < low or ratio.low > high else "undecided"

    @property
    def differences(self) -> tuple[str, ...]:
        """What else differs between the measurements and may have caused a change, a sentence each.

        Numbers of flows, capacity and base RTTs are compared; empty if nothing differs.
        """
        return (
            *flow_differences(self.before.flows, self.after.flows),
            *network_differences(self.before.estimate, self.after.estimate),
        )

    def document(self) -> dict[str, Any]:
        """JSON entries, with the units in their names.

        Keys: `goal`, `goal_range`, `verdict`, `quantities` (each with `before`, `after` and
        `factor`), `flows` (numbers by congestion control) and `differences`.
        """
        return {
            "goal": self.goal,
            "goal_range": list(self.goal_range),
            "verdict": self.verdict,
            "quantities": {
                each.name: {
                    "before": each.before.document(),
                    "after": each.after.document(),
                    "factor": each.factor.document(),
                }
                for each in self.quantities
            },
            "flows": {"before": self.before.flows, "after": self.after.flows},
            "differences": list(self.differences),
        }


def compare(before: Measurement, after: Measurement, goal: float = 1.0) -> BeforeAfter:
    """Compare two measurements of a network, before and after a change of settings.

    Args:
        before: measurement before the change.
        after: measurement after it.
        goal: goodput of a Vegas flow over that of another flow that was to be reached.

    Raises:
        InvalidInput: if no flow of a measurement has enough packets and samples.
    """
    return BeforeAfter(observed(before), observed(after), goal)


def observed(measurement: Measurement) -> ObservedMeans:
    """Means of a measurement with their intervals.

    Raises:
        InvalidInput: if no flow has enough packets and samples.
    """
    grid = time_grid(measurement)
    rates = flow_rates(grid)
    vegas = np.array([control == VEGAS for control in grid.controls])
    link = link_counters(measurement.queues, grid.packet_bytes, grid.mean_rate)
    base = base_rtts(grid, link and link.waits)
    losses = np.diff(grid.loss_counts)
    names = dict.fromkeys(grid.controls)
    return ObservedMeans(
        flows={name: grid.controls.count(name) for name in names},
        ratio=ratio_of(rates, vegas, grid.controls),
        throughput=mean_of(lambda data: float(np.nansum(data, axis=0).mean()), rates),
        queueing_delay=mean_of(lambda data: float(data.mean()), base.delay),
        retransmit_share=mean_of(lambda data: float(data[0].sum() / max(data[1].sum(), 1)), losses)
        if grid.has_repeated.any()
        else unknown("retransmissions were not measured"),
        jain_index=mean_of(lambda data: float(jain_index(means(data))), rates),
        estimate=estimate_grid(grid, link, base),
    )


def flow_rates(grid: TimeGrid) -> np.ndarray:
    """Rate of each flow between samples, packets/s; (flow, interval).

    It is NaN where the flow has no RTT at one of the two samples, as it is then not there.
    """
    rates = np.diff(grid.delivered, axis=1) / grid.step
    there = np.isfinite(grid.rtt)
    return np.where(there[:, 1:] & there[:, :-1], rates, np.nan)


def means(rates: np.ndarray) -> np.ndarray:
    """Mean over time of the rates (flow, interval) that are finite; 0 if none is; (flow,)."""
    there = np.isfinite(rates)
    return np.nansum(rates, axis=1) / np.maximum(there.sum(axis=1), 1)


def ratio_of(rates: np.ndarray, vegas: np.ndarray, controls: tuple[str, ...]) -> Estimated:
    """Goodput of a Vegas flow over that of another flow, means over the flows; dimensionless.

    Unknown if no flow or every flow runs Vegas; infinite if the other flows have no goodput.

    Args:
        rates: rate of each flow over time, packets/s; (flow, interval).
        vegas: whether it runs Vegas; (flow,).
        controls: congestion control of each flow; empty: not known.
    """
    if not vegas.any():
        known = any(controls)
        return unknown("no flow runs Vegas" if known else "no congestion control is known")
    if vegas.all():
        return unknown("all flows run Vegas")

    def ratio(data: np.ndarray) -> float:
        mean = means(data)
        others = float(mean[~vegas].mean())
        return float(mean[vegas].mean()) / others if others > 0 else float("inf")

    return mean_of(ratio, rates)


def mean_of(statistic: Callable[[np.ndarray], float], data: np.ndarray) -> Estimated:
    """A statistic of a time series (..., time) with its 90 % interval."""
    low, high = block_bootstrap(statistic, data, BLOCKS)
    value = statistic(data)
    return Estimated(value, min(low, value), max(high, value), f"{BLOCKS} blocks of time")


def flow_differences(before: dict[str, int], after: dict[str, int]) -> Iterator[str]:
    """Yield a sentence for each congestion control whose number of flows differs.

    `before` and `after` have the number of flows by congestion control.
    """
    for name in dict.fromkeys([*before, *after]):
        counts = before.get(name, 0), after.get(name, 0)
        if counts[0] != counts[1]:
            title = f"flows of {name}" if name else "flows without a known congestion control"
            yield f"{title}: {counts[0]} before and {counts[1]} after."


def network_differences(before: NetworkEstimate, after: NetworkEstimate) -> Iterator[str]:
    """Yield a sentence if the capacities differ, and one for the first base RTT that differs.

    Capacities count as different above 10 % of the larger one, base RTTs above 10 % and 2 ms.
    """
    size = before.packet_bytes * 8e-6
    capacities = before.capacity.value, after.capacity.value
    if None not in capacities and not alike(*map(float, filter(None, capacities))):
        one, two = (f"{float(value or 0) * size:.4g}" for value in capacities)
        yield f"capacity: {one} Mbit/s before and {two} Mbit/s after."
    bases = [
        sorted(float(each.base_rtt.value or 0) for each in estimate.classes)
        for estimate in (before, after)
    ]
    for first, second in zip(*bases, strict=False):
        if abs(first - second) > ALIKE_SECONDS and not alike(first, second):
            yield f"base RTT: {first * 1e3:.3g} ms before and {second * 1e3:.3g} ms after."
            return


def alike(first: float, second: float) -> bool:
    """Whether two positive numbers differ by at most `ALIKE` of the larger."""
    return abs(first - second) <= ALIKE * max(first, second)
