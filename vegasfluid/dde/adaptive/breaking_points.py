"""Breaking points: times at which a derivative of the solution jumps, and who has passed which.

A jump at t0 or at an event is seen again whenever a lag passes it, one derivative higher. Each
place at which the history is asked for (a site) has a gate: the last break that its time has
passed and the first that it has not. During a step a site reads the past between its gate's two
posts only, continued smoothly beyond them; so a step is smooth also where a lag passes a break,
and can be cut there afterwards.

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
    "first_breaking_point",
    "updated_active_breaks",
]


class ActiveInterval(NamedTuple):
    """Between which times a step may read the past, after its start; one for each site.

    Args:
        lower: the last break that was passed, or minus infinity; shape (sites, *batch).
        upper: the first that was not, or infinity.
    """

    lower: Float[Array, "sites batch"]
    upper: Float[Array, "sites batch"]


class ActiveBreaks(NamedTuple):
    """Where the sites of each instance are among its breaks.

    Args:
        passed: how many breaks each site has passed, shape (sites, batch).
        lower: the last of them; minus infinity where there is none.
        upper: the first that was not passed; infinity where there is none.
        lower_level: how smooth y is at `lower`; without meaning where there is none.
        upper_level: likewise at `upper`.
    """

    passed: Int32[Array, "sites batch"]
    lower: CompensatedTime
    upper: CompensatedTime
    lower_level: Float[Array, "sites batch"]
    upper_level: Float[Array, "sites batch"]

    def interval(self, now: CompensatedTime) -> ActiveInterval:
        """The gates as seen from a time."""
        return ActiveInterval(self.lower.since(now), self.upper.since(now))


class BreakingPoints(NamedTuple):
    """The latest breaks of each instance; break k is in place k modulo places, a power of two.

    Beside these there is room for break 0, at t0: what is asked for before it stays known.

    Args:
        times: when they are, shape (places + 1, batch).
        levels: y is continuous there with its first `level` derivatives; likewise.
        count: how many there have been, shape (batch,).
    """

    times: CompensatedTime
    levels: Float[Array, "rows batch"]
    count: Int32[Array, " batch"]

    def added(
        self, which: Bool[Array, " batch"], time: CompensatedTime, level: Float[Array, " batch"]
    ) -> BreakingPoints:
        """With one more break for the instances in `which`."""
        traced = jnp.arange(self.levels.shape[0], dtype=jnp.int32)[:, None]
        here = which & (traced == self._place(self.count))

        def put(new: Array, old: Array) -> Array:
            return jnp.where(here, new, old)

        times = jax.tree.map(put, time, self.times)
        return BreakingPoints(times, put(level, self.levels), self.count + which.astype(jnp.int32))

    def overflow(self, passed: Int32[Array, "sites batch"]) -> Bool[Array, " batch"]:
        """Where a site is beside a break that is no longer kept."""
        one = jnp.int32(1)
        oldest = jnp.maximum(passed - one, one)
        return jnp.any((passed > 0) & (self.count - oldest > self._places), axis=0)

    def active_breaks(self, passed: Int32[Array, "sites batch"]) -> ActiveBreaks:
        """The gates of sites that have passed so many breaks."""
        last = passed - jnp.int32(1)
        lower = _or(passed > 0, self._clock(last), -jnp.inf)
        upper = _or(passed < self.count, self._clock(passed), jnp.inf)
        return ActiveBreaks(passed, lower, upper, self._level(last), self._level(passed))

    @property
    def _places(self) -> Int32[Array, ""]:
        return jnp.int32(self.levels.shape[0] - 1)

    def _place(self, number: Array) -> Array:
        return jnp.where(number == 0, self._places, number & (self._places - jnp.int32(1)))

    def _level(self, number: Int32[Array, "sites batch"]) -> Float[Array, "sites batch"]:
        return jnp.take_along_axis(self.levels, self._place(number), axis=0)

    def _clock(self, number: Int32[Array, "sites batch"]) -> CompensatedTime:
        place = self._place(number)
        return jax.tree.map(lambda part: jnp.take_along_axis(part, place, axis=0), self.times)


def first_breaking_point(
    places: int, begin: CompensatedTime, level: Float[Array, " batch"]
) -> BreakingPoints:
    """Only the break at t0."""
    room = jnp.zeros((places, level.shape[0]), level.dtype)

    def column(first: Array) -> Array:
        return jnp.concatenate([room, first[None]])

    times = jax.tree.map(column, begin)
    return BreakingPoints(times, column(level), jnp.ones(level.shape, jnp.int32))


def updated_active_breaks(
    breaks: BreakingPoints,
    passed: Int32[Array, "sites batch"],
    now: CompensatedTime,
    read_times: Float[Array, "sites batch"],
    near: Float[Array, " batch"],
) -> ActiveBreaks:
    """The gates of sites whose times may have leapt.

    Args:
        breaks: so far.
        passed: how many each site had passed.
        now: a time.
        read_times: the times that the sites ask for, after it.
        near: a break that is no more than this ahead has been passed.
    """

    def moves(active_breaks: ActiveBreaks) -> Array:
        interval = active_breaks.interval(now)
        on = (interval.upper - read_times <= near).astype(jnp.int32)
        return on - (interval.lower - read_times > near).astype(jnp.int32)

    def walk(state: tuple[ActiveBreaks, Array]) -> tuple[ActiveBreaks, Array]:
        active_breaks = breaks.active_breaks(state[0].passed + state[1])
        return active_breaks, moves(active_breaks)

    active_breaks = breaks.active_breaks(passed)
    begin = (active_breaks, moves(active_breaks))
    return jax.lax.while_loop(lambda state: jnp.any(state[1] != 0), walk, begin)[0]


def _or(which: Array, clock: CompensatedTime, none: float) -> CompensatedTime:
    """The clock where `which`, else one that shows `none`."""
    return CompensatedTime(jnp.where(which, clock.whole, none), jnp.where(which, clock.rest, 0.0))
