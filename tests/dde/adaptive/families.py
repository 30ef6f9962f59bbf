"""Test systems of one dimension as one system, whose argument states which: one compiled program.

Every right-hand side is written out in the program and the argument selects among their values.
A system that reads its past at fewer times than another of its family reads one of them again, or
one long before the start; one with fewer switches has a switch that never changes.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from benchmarks.dde.systems import System
from vegasfluid import dde

LONG_AGO = 1e7
"""A lag that reaches back before the start of every test system."""


class Reads:
    """A history that notes at which times it is read, or answers with states read before."""

    def __init__(self, y: Any, states: Any = None) -> None:
        self.times: list[Any] = []
        self._y, self._states = y, states

    def __call__(self, s: Any) -> Any:
        self.times.append(s)
        return self._y if self._states is None else self._states[len(self.times) - 1]


class Family:
    """Several test systems of one dimension, as one.

    Args:
        systems: with clamps of the same component, if any.
    """

    def __init__(self, *systems: System) -> None:
        self.systems = systems
        self.names = [system.name for system in systems]

    @cached_property
    def _most_reads(self) -> tuple[int, int]:
        """Most times at which the right-hand side of one reads its past, and its switches."""
        y = jnp.asarray(self.systems[0].y0)
        times = [self._times(system, 1.0, y) for system in self.systems]
        return max(len(own[0]) for own in times), max(len(own[1]) for own in times)

    @cached_property
    def _switches(self) -> int:
        """Most switches of one system."""
        y = jnp.asarray(self.systems[0].y0)
        return max(len(_indicators(system, 1.0, y, Reads(y))) for system in self.systems)

    def number(self, system: System) -> int:
        """The argument that selects a system."""
        return self.names.index(system.name)

    def options(self) -> dict[str, Any]:
        """The keywords of `dde.solve` that all of them need together."""
        bounds = {clamp[0] for system in self.systems for clamp in system.bounds}
        return {
            "initial_history": self.initial_history,
            "bounds": [self._clamp(component) for component in sorted(bounds)],
            "guards": self.guards if self._switches else None,
        }

    def rhs(self, t: Any, y: Any, history: Any, which: Any, *above: Any) -> Any:
        """The slope of the selected system."""
        states = self._read(t, y, history, which, 0)
        slopes = [_slope(system, t, y, Reads(y, states), *above) for system in self.systems]
        return _selected(which, slopes)

    def guards(self, t: Any, y: Any, history: Any, which: Any) -> Any:
        """The indicators of the selected system, 1 for those that it has not."""
        states = self._read(t, y, history, which, 1)
        indicators = [
            _padded(_indicators(system, t, y, Reads(y, states)), self._switches, 1.0)
            for system in self.systems
        ]
        return _selected(which, indicators)

    def initial_history(self, s: Any, which: Any) -> Any:
        """The past of the selected system."""
        return _selected(which, [system.initial_history(s, system.args) for system in self.systems])

    def _clamp(self, component: int) -> dde.Bound:
        bounds = np.full((2, len(self.systems)), [[-np.inf], [np.inf]])
        for number, system in enumerate(self.systems):
            for held, *limits in system.bounds:
                for side, limit in enumerate(limits):
                    if held == component and limit is not None:
                        bounds[side, number] = limit
        lower, upper = bounds
        return dde.Bound(
            component,
            lower=lambda which: jnp.asarray(lower)[which],
            upper=lambda which: jnp.asarray(upper)[which],
        )

    def _read(self, t: Any, y: Any, history: Any, which: Any, part: int) -> Any:
        """The states at the times at which the selected system reads its past, all at once."""
        most = self._most_reads[part]
        if not most:
            return []
        times = []
        for system in self.systems:
            own = self._times(system, t, y)
            other = [*own[part], *own[1 - part], t - LONG_AGO][0]
            times.append(_padded(own[part], most, other))
        return history(_selected(which, times))

    def _times(self, system: System, t: Any, y: Any) -> tuple[list[Any], list[Any]]:
        """When the right-hand side and the switches of a system read the past."""
        by_rhs, by_switches = Reads(y), Reads(y)
        indicators = _indicators(system, t, y, by_switches)
        _slope(system, t, y, by_rhs, jnp.asarray(indicators) >= 0)
        return by_rhs.times, by_switches.times


def _indicators(system: System, t: Any, y: Any, history: Any) -> list[Any]:
    if system.guards is None:
        return []
    return list(system.guards(t, y, history, system.args))


def _slope(system: System, t: Any, y: Any, history: Any, *above: Any) -> Any:
    given = (above[0],) if system.guards is not None else ()
    return system.rhs(t, y, history, system.args, *given)


def _padded(values: list[Any], count: int, value: Any) -> Any:
    return jnp.stack([jnp.asarray(own) for own in [*values, *[value] * (count - len(values))]])


def _selected(which: Any, values: list[Any]) -> Any:
    return jnp.stack(values)[which]
