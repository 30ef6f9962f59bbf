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

from vegasfluid.dde.adaptive.clock import Clock

__all__ = ["Breaks", "Fence", "Gates", "empty_breaks", "gates_of"]


class Fence(NamedTuple):
    """Between which times a step may read the past, after its start; one for each site.

    Args:
        lower: the last break that was passed, or minus infinity; shape (sites, *batch).
        upper: the first that was not, or infinity.
    """

    lower: Float[Array, "sites batch"]
    upper: Float[Array, "sites batch"]


class Gates(NamedTuple):
    """Where the sites of each instance are among its breaks.

    Args:
        passed: how many breaks each site has passed, shape (sites, batch).
        lower: the last of them; minus infinity where there is none.
        upper: the first that was not passed; infinity where there is none.
        lower_level: how smooth y is at `lower`; without meaning where there is none.
        upper_level: likewise at `upper`.
    """

    passed: Int32[Array, "sites batch"]
    lower: Clock
    upper: Clock
    lower_level: Float[Array, "sites batch"]
    upper_level: Float[Array, "sites batch"]

    def fence(self, now: Clock) -> Fence:
        """The gates as seen from a time."""
        return Fence(self.lower.since(now), self.upper.since(now))


class Breaks(NamedTuple):
    """The latest breaks of each instance; break k is in place k modulo places, a power of two.

    Beside these there is room for break 0, at t0: what is asked for before it stays known.

    Args:
        times: when they are, shape (places + 1, batch).
        levels: y is continuous there with its first `level` derivatives; likewise.
        count: how many there have been, shape (batch,).
    """

    times: Clock
    levels: Float[Array, "rows batch"]
    count: Int32[Array, " batch"]

    def added(
        self, which: Bool[Array, " batch"], time: Clock, level: Float[Array, " batch"]
    ) -> Breaks:
        """With one more break for the instances in `which`."""
        numbers = jnp.arange(self.levels.shape[0], dtype=jnp.int32)[:, None]
        here = which & (numbers == self._place(self.count))

        def put(new: Array, old: Array) -> Array:
            return jnp.where(here, new, old)

        times = jax.tree.map(put, time, self.times)
        return Breaks(times, put(level, self.levels), self.count + which.astype(jnp.int32))

    def overflow(self, passed: Int32[Array, "sites batch"]) -> Bool[Array, " batch"]:
        """Where a site is beside a break that is no longer kept."""
        one = jnp.int32(1)
        oldest = jnp.maximum(passed - one, one)
        return jnp.any((passed > 0) & (self.count - oldest > self._places), axis=0)

    def gates(self, passed: Int32[Array, "sites batch"]) -> Gates:
        """The gates of sites that have passed so many breaks."""
        last = passed - jnp.int32(1)
        lower = _or(passed > 0, self._clock(last), -jnp.inf)
        upper = _or(passed < self.count, self._clock(passed), jnp.inf)
        return Gates(passed, lower, upper, self._level(last), self._level(passed))

    @property
    def _places(self) -> Int32[Array, ""]:
        return jnp.int32(self.levels.shape[0] - 1)

    def _place(self, number: Array) -> Array:
        return jnp.where(number == 0, self._places, number & (self._places - jnp.int32(1)))

    def _level(self, number: Int32[Array, "sites batch"]) -> Float[Array, "sites batch"]:
        return jnp.take_along_axis(self.levels, self._place(number), axis=0)

    def _clock(self, number: Int32[Array, "sites batch"]) -> Clock:
        place = self._place(number)
        return jax.tree.map(lambda part: jnp.take_along_axis(part, place, axis=0), self.times)


def empty_breaks(places: int, begin: Clock, level: Float[Array, " batch"]) -> Breaks:
    """Only the break at t0."""
    room = jnp.zeros((places, level.shape[0]), level.dtype)

    def column(first: Array) -> Array:
        return jnp.concatenate([room, first[None]])

    times = jax.tree.map(column, begin)
    return Breaks(times, column(level), jnp.ones(level.shape, jnp.int32))


def gates_of(
    breaks: Breaks,
    passed: Int32[Array, "sites batch"],
    now: Clock,
    asked: Float[Array, "sites batch"],
    near: Float[Array, " batch"],
) -> Gates:
    """The gates of sites whose times may have leapt.

    Args:
        breaks: so far.
        passed: how many each site had passed.
        now: a time.
        asked: the times that the sites ask for, after it.
        near: a break that is no more than this ahead has been passed.
    """

    def moves(gates: Gates) -> Array:
        fence = gates.fence(now)
        on = (fence.upper - asked <= near).astype(jnp.int32)
        return on - (fence.lower - asked > near).astype(jnp.int32)

    def walk(state: tuple[Gates, Array]) -> tuple[Gates, Array]:
        gates = breaks.gates(state[0].passed + state[1])
        return gates, moves(gates)

    gates = breaks.gates(passed)
    begin = (gates, moves(gates))
    return jax.lax.while_loop(lambda state: jnp.any(state[1] != 0), walk, begin)[0]


def _or(which: Array, clock: Clock, none: float) -> Clock:
    """The clock where `which`, else one that shows `none`."""
    return Clock(jnp.where(which, clock.whole, none), jnp.where(which, clock.rest, 0.0))
