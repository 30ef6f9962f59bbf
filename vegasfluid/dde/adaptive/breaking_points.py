"""Breaking points: the times at which a derivative of the solution jumps.

A jump at t0 or at an event returns whenever a lagged time passes it, one derivative higher. A
"site" is one lookup of the history in the right-hand side. Its active interval lies between the
last break that its time has passed and the next one. During a step a site reads only the pieces
in its active interval, extrapolated smoothly beyond it. So a step is smooth even where a lagged
time passes a break, and can be shortened to end there.

Source for the breaking points: C. Baker, C. Paul and D. Wille, Adv. Comput. Math. 3, 1995 (not
checked against the paper).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.compensated_time import CompensatedTime

__all__ = [
    "ActiveBreaks",
    "ActiveInterval",
    "BreakingPoints",
    "first_breaking_points",
    "updated_active_breaks",
]


class ActiveInterval(NamedTuple):
    """The interval of times that each site may read in a step, relative to the step's start.

    Args:
        lower: time of the last break that the site has passed; minus infinity if there is none;
            shape (sites, *batch).
        upper: time of the next break; infinity if there is none; shape (sites, *batch).
    """

    lower: Float[Array, "sites batch"]
    upper: Float[Array, "sites batch"]


class ActiveBreaks(NamedTuple):
    """The breaks before and after the time that each site reads.

    Args:
        passed: number of breaks that each site has passed, shape (sites, batch).
        lower: time of the last break passed; minus infinity where there is none; (sites, batch).
        upper: time of the next break; infinity where there is none; shape (sites, batch).
        lower_level: number of continuous derivatives of y at `lower`; undefined without a break.
        upper_level: number of continuous derivatives of y at `upper`; undefined without a break.
    """

    passed: Int32[Array, "sites batch"]
    lower: CompensatedTime
    upper: CompensatedTime
    lower_level: Float[Array, "sites batch"]
    upper_level: Float[Array, "sites batch"]

    def interval(self, now: CompensatedTime) -> ActiveInterval:
        """The times of the breaks before and after each read time, minus the time `now`."""
        return ActiveInterval(self.lower.since(now), self.upper.since(now))


class BreakingPoints(NamedTuple):
    """The latest breaks of each instance; break k is in slot k modulo slots, a power of two.

    The breaks before t0 and the one at t0 come first. They have separate slots after the others
    and are never overwritten.

    Args:
        times: times of the breaks, shape (slots + permanent, batch).
        levels: number of continuous derivatives of y at each break, likewise.
        count: number of breaks so far, shape (batch,).
        early: number (from 0) of the break at t0, which is how many are before t0; shape ().
    """

    times: CompensatedTime
    levels: Float[Array, "rows batch"]
    count: Int32[Array, " batch"]
    early: Int32[Array, ""]

    def added(
        self, which: Bool[Array, " batch"], time: CompensatedTime, level: Float[Array, " batch"]
    ) -> BreakingPoints:
        """The breaking points with one more for the instances in `which`.

        Args:
            which: the instances, shape (batch,).
            time: time of the new break in each instance, shape (batch,).
            level: number of continuous derivatives of y there, shape (batch,).
        """
        numbers = jnp.arange(self.levels.shape[0], dtype=jnp.int32)[:, None]
        here = which & (numbers == self._slot(self.count))

        def put(new: Array, old: Array) -> Array:
            return jnp.where(here, new, old)

        times = jax.tree.map(put, time, self.times)
        count = self.count + which.astype(jnp.int32)
        return BreakingPoints(times, put(level, self.levels), count, self.early)

    def overflow(self, passed: Int32[Array, "sites batch"]) -> Bool[Array, " batch"]:
        """Which instances have a site next to a break that has been overwritten; shape (batch,).

        Args:
            passed: number of breaks that each site (lookup of the history) has passed.
        """
        one = jnp.int32(1)
        oldest = jnp.maximum(passed - one, self.early + one)
        return jnp.any((passed > 0) & (self.count - oldest > self._slots), axis=0)

    def active_breaks(self, passed: Int32[Array, "sites batch"]) -> ActiveBreaks:
        """The breaks before and after the time that each site reads: their times and levels.

        Args:
            passed: number of breaks that each site (lookup of the history) has passed.
        """
        last = passed - jnp.int32(1)
        lower = _or(passed > 0, self._clock(last), -jnp.inf)
        upper = _or(passed < self.count, self._clock(passed), jnp.inf)
        return ActiveBreaks(passed, lower, upper, self._level(last), self._level(passed))

    @property
    def _slots(self) -> Int32[Array, ""]:
        """Number of slots for breaks after t0; a power of two."""
        return jnp.int32(self.levels.shape[0] - 1) - self.early

    def _slot(self, number: Array) -> Array:
        """The slot of the break with this number; the breaks up to t0 are in the last slots."""
        slots = self._slots
        return jnp.where(number <= self.early, slots + number, number & (slots - jnp.int32(1)))

    def _level(self, number: Int32[Array, "sites batch"]) -> Float[Array, "sites batch"]:
        """Number of continuous derivatives of y at the breaks of these numbers."""
        return jnp.take_along_axis(self.levels, self._slot(number), axis=0)

    def _clock(self, number: Int32[Array, "sites batch"]) -> CompensatedTime:
        """Times of the breaks of these numbers, shape (sites, batch)."""
        slot = self._slot(number)
        return jax.tree.map(lambda part: jnp.take_along_axis(part, slot, axis=0), self.times)


def first_breaking_points(
    slots: int,
    begin: CompensatedTime,
    level: Float[Array, " batch"],
    before: Float[Array, "breaks batch"],
) -> BreakingPoints:
    """The breaking points of a batch when a solve starts: those before t0 and the one at t0.

    Breaking points, or breaks, are the times at which y or a derivative of it jumps.

    Args:
        slots: number of breaks after t0 that can be kept, a power of two.
        begin: t0 of each instance.
        level: number of continuous derivatives of y at t0, -1 where y itself jumps; (batch,).
        before: times before t0 at which y may jump (their level is -1), increasing;
            (breaks, batch).
    """
    empty = jnp.zeros((slots, level.shape[0]), level.dtype)

    def column(early: Array, first: Array) -> Array:
        return jnp.concatenate([empty, early, first[None]])

    early = before.shape[0]
    times = jax.tree.map(column, CompensatedTime.at(before), begin)
    levels = column(jnp.full_like(before, -1.0), level)
    count = jnp.full(level.shape, early + 1, jnp.int32)
    return BreakingPoints(times, levels, count, jnp.int32(early))


def updated_active_breaks(
    breaks: BreakingPoints,
    passed: Int32[Array, "sites batch"],
    now: CompensatedTime,
    read_times: Float[Array, "sites batch"],
    near: Float[Array, "#sites batch"],
) -> ActiveBreaks:
    """The breaks before and after the time that each site reads, for times that may have jumped.

    A site is one lookup of the history; a break is a time at which a derivative of y jumps.

    Args:
        breaks: all breaks so far.
        passed: number of breaks that each site had passed before, shape (sites, batch).
        now: the time to which `read_times` refer.
        read_times: the times that the sites read, minus `now`; shape (sites, batch).
        near: a break no further ahead than this time counts as passed; negative for a read time
            that decreases, where a break no further behind does not count any more.
    """

    def shift(active_breaks: ActiveBreaks) -> Array:
        interval = active_breaks.interval(now)
        forward = (interval.upper - read_times <= near).astype(jnp.int32)
        return forward - (interval.lower - read_times > near).astype(jnp.int32)

    def search(state: tuple[ActiveBreaks, Array]) -> tuple[ActiveBreaks, Array]:
        active_breaks = breaks.active_breaks(state[0].passed + state[1])
        return active_breaks, shift(active_breaks)

    active_breaks = breaks.active_breaks(passed)
    initial = (active_breaks, shift(active_breaks))
    return jax.lax.while_loop(lambda state: jnp.any(state[1] != 0), search, initial)[0]


def _or(which: Array, time: CompensatedTime, default: float) -> CompensatedTime:
    """The time where `which` is true, else `default`; all of the same shape and unit."""
    compensation = jnp.where(which, time.compensation, 0.0)
    return CompensatedTime(jnp.where(which, time.whole, default), compensation)
