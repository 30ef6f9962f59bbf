"""Events: where within a step a clamp is met or left, a switch changes, a lag passes a break.

An indicator is not negative while a step may go on as it began; a step at whose end one is
negative passed an event. Clamps and switches are frozen during a step, so its dense output is
smooth beyond the event, and cutting it there costs no accuracy. A breaking point (a time whose
derivatives jump, seen again through a lag) is not frozen: the step is made anew, up to it.

Source for the breaking points: C. Baker, C. Paul and D. Wille, Adv. Comput. Math. 3, 1995 (not
checked against the paper).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.attempt import Trial
from vegasfluid.dde.adaptive.clamps import Modes, free_of
from vegasfluid.dde.adaptive.clock import Clock
from vegasfluid.dde.adaptive.problem import Look, Problem, View, look
from vegasfluid.dde.adaptive.recall import Where
from vegasfluid.dde.adaptive.ring import Mark, Track

__all__ = ["Asked", "Begun", "Crossing", "Landing", "crossing", "locate", "mode_indicators"]

MOST_ITERATIONS = 40
CLOSE = 1e-11
"""Indicators this near zero, as a share of their change, are zero."""
NOTICED = 1e-9
"""A break is ahead of a lag that is nearer to it than this share of the step: else at it."""
STEADY = 1e-8
"""A root that moves by less than this share of the step has been found: the next moves would be
smaller than rounding."""
SIMULTANEOUS = 1e-7
"""Indicators this near zero at an event, as a share of their change, have changed with it."""


class Asked(NamedTuple):
    """Past times that the right-hand side asked for at a step's start, and where they were.

    Args:
        times: after the step's start, shape (sites, batch).
        rows: of the ring, shape (sites, batch).
    """

    times: Float[Array, "sites batch"]
    rows: Int32[Array, "sites batch"]


class Begun(NamedTuple):
    """What is known of a step's start.

    Args:
        asked: past times that the right-hand side asked for.
        indicators: of clamps and switches, shape (indicators, batch).
    """

    asked: Asked
    indicators: Float[Array, "indicators batch"]


class Crossing(NamedTuple):
    """The indicators that turned negative within a step; modes first, then breaks.

    Args:
        wanted: which they are, shape (indicators, batch).
        scale: by how much they changed, shape (indicators, batch).
        at_start: the indicators at the start of the step, as shares of the scale.
        at_end: the indicators at its end.
        breaks: for each site the first break, after the step's start; (sites, batch).
        rising: for each site whether its time rises; (sites, batch).
        levels: smoothness of what the break makes; (sites, batch).
    """

    wanted: Bool[Array, "indicators batch"]
    scale: Float[Array, "indicators batch"]
    at_start: Float[Array, "indicators batch"]
    at_end: Float[Array, "indicators batch"]
    breaks: Float[Array, "sites batch"]
    rising: Bool[Array, "sites batch"]
    levels: Float[Array, "sites batch"]

    def masked(self, values: Float[Array, "indicators batch"]) -> Array:
        """Values of the indicators that turned negative; 1 for the others."""
        return jnp.where(self.wanted, values, 1.0)

    def kinds(self) -> int:
        """How many of the indicators are clamps and switches."""
        return self.wanted.shape[0] - self.breaks.shape[0]

    def nearest_break(self) -> tuple[Float[Array, " batch"], Float[Array, " batch"]]:
        """When a break is first passed, as a share of the step, if lags change evenly; its level.

        2 where none is passed.
        """
        kinds, none = self.kinds(), jnp.full(self.wanted.shape[1], 2.0, self.scale.dtype)
        if not self.breaks.shape[0]:
            return none, none
        fall = self.at_start[kinds:] - self.at_end[kinds:]
        share = self.at_start[kinds:] / jnp.where(fall == 0, 1.0, fall)
        share = jnp.where(self.wanted[kinds:], share, 2.0)
        first = jnp.argmin(share, axis=0)[None]
        level = jnp.take_along_axis(self.levels, first, axis=0)[0]
        return jnp.take_along_axis(share, first, axis=0)[0], level

    def limited(self, modes: Bool[Array, " batch"], breaks: Bool[Array, " batch"]) -> Crossing:
        """The clamps and switches of some instances, and the breaks of some."""
        wanted = (self.wanted[: self.kinds()] & modes, self.wanted[self.kinds() :] & breaks)
        return self._replace(wanted=jnp.concatenate(wanted))

    @property
    def found(self) -> Bool[Array, " batch"]:
        """Which instances met any."""
        return jnp.any(self.wanted, axis=0)


def mode_indicators(
    problem: Problem, modes: Modes, y: Array, seen: Look
) -> Float[Array, "indicators batch"]:
    """The indicators of clamps (lower bounds, upper bounds) and switches."""
    values, (lower, upper) = free_of(y, problem.equation.clamped), problem.bounds
    below = jnp.where(modes.held == -1, -seen.free, values - lower)
    beyond = jnp.where(modes.held == 1, seen.free, upper - values)
    unbounded = jnp.ones_like(values)
    below = jnp.where(jnp.isfinite(lower) & (modes.held != 1), below, unbounded)
    beyond = jnp.where(jnp.isfinite(upper) & (modes.held != -1), beyond, unbounded)
    sides = jnp.where(modes.above, seen.indicators, -seen.indicators)
    return jnp.concatenate([below, beyond, sides])


def crossing(problem: Problem, view: View, begun: Begun, trial: Trial) -> Crossing:
    """What an attempted step passed.

    Args:
        problem: the batch.
        view: what the step saw.
        begun: how it began.
        trial: how it came out.
    """
    modes = mode_indicators(problem, view.modes, trial.y, trial.end)
    breaks, rising, levels, passed = _breaks(problem, view, begun.asked, trial)
    toward = jnp.where(rising, 1.0, -1.0).astype(breaks.dtype)
    before = jnp.concatenate([begun.indicators, toward * (breaks - begun.asked.times)])
    after = jnp.concatenate([modes, toward * (breaks - trial.end.asked)])
    wanted = jnp.concatenate([modes < 0, passed])
    gap = jnp.abs(trial.end.asked - begun.asked.times)
    scale = jnp.where(wanted, jnp.concatenate([jnp.abs(modes), gap]), 1.0)
    return Crossing(wanted, scale, before / scale, after / scale, breaks, rising, levels)


def _breaks(problem: Problem, view: View, asked: Asked, trial: Trial) -> tuple[Array, ...]:
    """For each site the first break between the times asked for at start and end of the step."""
    rising = trial.end.asked >= asked.times
    later = jnp.where(rising, trial.end.asked, asked.times)
    earlier = jnp.where(rising, asked.times, trial.end.asked)
    rows = jnp.where(rising, asked.rows, trial.end.rows)
    known = earlier + jnp.maximum(2 * problem.slack, NOTICED * (later - earlier))
    size, batch = trial.y.shape

    def one(instance: Array, now: Clock, own: Mark, rows: Array, *times: Array) -> tuple[Any, Any]:
        known, later, slack = times
        track = Track(view.ring, batch, size, instance, view.last)
        mark = track.mark(track.first_mark(now, known, later + slack, rows))
        none_yet = (mark.clock.since(now) <= known) & (later > -slack)
        since = jnp.where(none_yet, own.clock.since(now), mark.clock.since(now))
        return since, jnp.where(none_yet, own.level, mark.level)

    instances = jnp.arange(batch, dtype=jnp.int32)
    lanes = (instances, view.now, view.mark, rows, known, later, problem.slack)
    breaks, levels = jax.vmap(one, in_axes=-1, out_axes=-1)(*lanes)
    levels = levels + 1
    most = max(problem.equation.method.order - 2, 1)
    passed = (breaks > known) & (breaks <= later + problem.slack) & (levels <= most)
    return breaks, rising, levels, passed


def _normalised(
    problem: Problem, view: View, trial: Trial, met: Crossing, ahead: Array
) -> Float[Array, "indicators batch"]:
    """The wanted indicators some time into the step, as shares of their change; others 1."""
    y = trial.piece.at(ahead)
    seen = look(problem, view, Where(ahead, y, trial.piece, trial.end.rows), switching=True)
    modes = mode_indicators(problem, view.modes, y, seen)
    toward = jnp.where(met.rising, 1.0, -1.0).astype(y.dtype)
    breaks = toward * (met.breaks - seen.asked)
    values = jnp.concatenate([modes, breaks]) / met.scale
    return met.masked(values)


class Landing(NamedTuple):
    """The first event of a step.

    Args:
        ahead: time from the step's start to the event, shape (batch,).
        which: the indicators that are zero there, shape (indicators, batch).
        breaks: whether a break is the first of them, shape (batch,).
        first: the lowest of the indicators there, shape (batch,).
        break_at: the break, if it is one, after the step's start, shape (batch,).
    """

    ahead: Float[Array, " batch"]
    which: Bool[Array, "indicators batch"]
    breaks: Bool[Array, " batch"]
    first: Int32[Array, " batch"]
    break_at: Float[Array, " batch"]


def locate(
    problem: Problem, view: View, trial: Trial, met: Crossing, step: Float[Array, " batch"]
) -> Landing:
    """Find the first event of a step; meaningless where none was met."""
    frozen = jax.lax.stop_gradient((problem, view, trial, met, step))

    def indicators(share: Array) -> Array:
        problem, view, trial, met, step = frozen
        return jax.lax.stop_gradient(_normalised(problem, view, trial, met, share * step))

    ends = jax.lax.stop_gradient((met.masked(met.at_start), met.masked(met.at_end)))
    share, values = first_root(indicators, met.found, *ends)
    first = jnp.argmin(values, axis=0).astype(jnp.int32)
    zero = values <= jnp.min(values, axis=0) + SIMULTANEOUS
    ahead = event_time(problem, view, trial, met, first, jax.lax.stop_gradient(share * step))
    site = jnp.maximum(first - jnp.int32(met.kinds()), jnp.int32(0))
    break_at = jnp.zeros_like(ahead)
    if met.breaks.shape[0]:
        break_at = jnp.take_along_axis(met.breaks, site[None], axis=0)[0]
    breaks = met.found & (first >= met.kinds())
    return Landing(ahead, met.wanted & zero, breaks, first, break_at)


@jax.custom_jvp
def event_time(
    problem: Problem, view: View, trial: Trial, met: Crossing, first: Array, ahead: Array
) -> Float[Array, " batch"]:
    """The time of the event `first`, found to be `ahead`: with its derivative.

    By the implicit function theorem: the indicator stays zero.
    """
    return ahead


@event_time.defjvp
def _event_time_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Array, Array]:
    *_, first, ahead = primals

    def chosen(*tree: Any) -> Array:
        return jnp.take_along_axis(_normalised(*tree), first[None], axis=0)[0]

    def of_time(ahead: Array) -> Array:
        return chosen(*primals[:4], ahead)

    def of_all(*tree: Any) -> Array:
        return chosen(*tree, ahead)

    _, speed = jax.jvp(of_time, (ahead,), (jnp.ones_like(ahead),))
    _, change = jax.jvp(of_all, primals[:4], tangents[:4])
    crosses = jnp.abs(speed) > 0
    return ahead, jnp.where(crosses, -change / jnp.where(crosses, speed, 1.0), 0.0)


def first_root(
    indicators: Callable[[Array], Array],
    wanted: Bool[Array, " batch"],
    at_start: Float[Array, "indicators batch"],
    at_end: Float[Array, "indicators batch"],
) -> tuple[Float[Array, " batch"], Float[Array, "indicators batch"]]:
    """Where the lowest of some indicators is zero (Anderson and Bjorck's method).

    Args:
        indicators: of shares of a step, shape (batch,); as shares of their change.
        wanted: whose root is wanted.
        at_start: the indicators at 0.
        at_end: the indicators at 1.

    Returns:
        The roots, and the indicators there; 0 where the lowest is not positive at 0, and 1 where
        it is not negative at 1.

    Source: N. Anderson and A. Bjorck, BIT 13, 1973.
    """

    def going(state: _Bracket) -> Array:
        return jnp.any(state.moving) & (state.count < jnp.int32(MOST_ITERATIONS))

    def refine(state: _Bracket) -> _Bracket:
        new = jnp.where(state.moving, state.secant(), state.latest)
        values = jnp.where(state.moving, indicators(new), state.values)
        value = jnp.min(values, axis=0)
        same = (value < 0) == (state.at_latest < 0)
        trust = 1 - value / jnp.where(state.at_latest == 0, 1.0, state.at_latest)
        at_older = jnp.where(trust > 0, trust, 0.5) * state.at_older
        older = jnp.where(same, state.older, state.latest)
        at_older = jnp.where(same, at_older, state.at_latest)
        far = jnp.abs(new - state.latest) > STEADY
        moving = state.moving & (jnp.abs(value) > CLOSE) & far
        return _Bracket(older, at_older, new, value, values, moving, state.count + jnp.int32(1))

    begin = _Bracket.of(wanted, at_start, at_end)
    end = jax.lax.while_loop(going, refine, begin)
    return end.latest, end.values


class _Bracket(NamedTuple):
    """Two points with the root between them, the values there, and which are still moving."""

    older: Array
    at_older: Array
    latest: Array
    at_latest: Array
    values: Array
    moving: Array
    count: Array

    @classmethod
    def of(cls, wanted: Array, at_start: Array, at_end: Array) -> _Bracket:
        """The whole step; not moving where the root is at one of its ends."""
        low, high = jnp.min(at_start, axis=0), jnp.min(at_end, axis=0)
        # A break may lie at the very end, where its indicator is zero but for rounding.
        over, unborn = high > -CLOSE, low <= CLOSE
        zero = jnp.zeros_like(low)
        latest = jnp.where(unborn & ~over, 0.0, 1.0).astype(low.dtype)
        values = jnp.where(unborn & ~over, at_start, at_end)
        moving = wanted & ~over & ~unborn
        return cls(zero, low, latest, high, values, moving, jnp.zeros((), jnp.int32))

    def secant(self) -> Array:
        """Where the straight line through both is zero; their middle if that is not between."""
        rise = self.at_latest - self.at_older
        run = self.latest - self.older
        new = self.latest - self.at_latest * run / jnp.where(rise == 0, 1.0, rise)
        low, high = jnp.minimum(self.older, self.latest), jnp.maximum(self.older, self.latest)
        return jnp.where((new > low) & (new < high), new, (low + high) / 2)
