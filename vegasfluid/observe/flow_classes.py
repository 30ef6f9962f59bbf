"""Classes of measured flows: the same congestion control and nearly the same base RTT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vegasfluid.observe.estimated import Estimated
from vegasfluid.observe.time_grid import STEADY, TimeGrid
from vegasfluid.observe.vegas_backlog import DeadBandEstimate, vegas_parameters

__all__ = ["MeasuredClass", "measured_classes"]

SAME = 0.1
"""Relative difference between base RTTs of one class."""
SAME_SECONDS = 2e-3
"""Difference between base RTTs of one class, s."""
UNNAMED = "flows"
"""Name of a class whose congestion control is not known."""


class MeasuredClass(NamedTuple):
    """A class of measured flows.

    Args:
        name: its name, such as `cubic`, or `cubic_40ms` if flows of CUBIC have several base RTTs.
        control: congestion control; empty: not known.
        flows: indices of its flows in the time grid.
        path: both addresses of all its flows; empty: not known, or several.
        base_rtt: mean base RTT, s; its interval contains those of all flows.
        base_rtts: base RTT of each flow, s, in the order of `flows`.
        goodput: mean rate of a flow, packets/s.
        window: mean window, packets; NaN: not measured.
        rtt: mean RTT, s.
        vegas: its parameters, if it runs Vegas.
    """

    name: str
    control: str
    flows: tuple[int, ...]
    path: str
    base_rtt: Estimated
    base_rtts: tuple[float, ...]
    goodput: float
    window: float
    rtt: float
    vegas: DeadBandEstimate | None

    @property
    def has_one_rtt(self) -> bool:
        """Whether the base RTTs of its flows differ by at most 10 % or 2 ms."""
        return max(self.base_rtts) - min(self.base_rtts) <= _same(min(self.base_rtts))


def measured_classes(grid: TimeGrid, base: Sequence[Estimated]) -> tuple[MeasuredClass, ...]:
    """The classes of the measured flows, by congestion control and base RTT.

    The base RTTs of a class exceed the smallest one by at most 10 % or 2 ms, whichever is more. But
    all flows of Vegas are one class, because a host has one alpha and one beta.

    Args:
        grid: samples of all flows at common times.
        base: base RTT of each flow, s.
    """
    classes = []
    for control in dict.fromkeys(grid.controls):
        members = [flow for flow, name in enumerate(grid.controls) if name == control]
        groups = [members] if control in STEADY else _groups(members, base)
        for group in groups:
            name = control or UNNAMED
            if len(groups) > 1:
                name += f"_{_mean(group, base) * 1e3:.0f}ms"
            classes.append(_class(grid, base, name, group))
    return tuple(classes)


def _same(base_rtt: float) -> float:
    """Largest difference from the smallest base RTT of a class, s."""
    return max(SAME_SECONDS, SAME * base_rtt)


def _mean(group: Sequence[int], base: Sequence[Estimated]) -> float:
    """Mean base RTT of a group of flows, s."""
    return float(np.mean([float(base[flow].value or 0) for flow in group]))


def _groups(members: Sequence[int], base: Sequence[Estimated]) -> list[list[int]]:
    """Groups of flows (indices) with nearly the same base RTT, in increasing order of it."""
    groups: list[list[int]] = []
    for flow in sorted(members, key=lambda each: float(base[each].value or 0)):
        value = float(base[flow].value or 0)
        first = float(base[groups[-1][0]].value or 0) if groups else 0.0
        if groups and value - first <= _same(first):
            groups[-1].append(flow)
        else:
            groups.append([flow])
    return groups


def _class(
    grid: TimeGrid, base: Sequence[Estimated], name: str, flows: Sequence[int]
) -> MeasuredClass:
    """A class with its means over the measurement."""
    places = list(flows)
    control = grid.controls[places[0]]
    value = _mean(places, base)
    how = base[places[0]].how + ("" if len(places) == 1 else f", mean of {len(places)} flows")
    low = min(base[flow].low for flow in places)
    high = max(base[flow].high for flow in places)
    there = np.isfinite(grid.rtt[places])
    seconds = (there.sum() - len(places)) * grid.step
    window = grid.window[places]
    return MeasuredClass(
        name=name,
        control=control,
        flows=tuple(places),
        path=grid.paths[places[0]] if len({grid.paths[k] for k in places}) == 1 else "",
        base_rtt=Estimated(value, low, high, how),
        base_rtts=tuple(float(base[flow].value or 0) for flow in places),
        goodput=float(grid.packets[places].sum() / seconds),
        window=float(np.nanmean(window)) if np.isfinite(window).any() else float("nan"),
        rtt=float(np.nanmean(grid.rtt[places])),
        vegas=vegas_parameters(grid, places) if control == "vegas" else None,
    )
