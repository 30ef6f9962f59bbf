"""Events: where within a step a clamp is met or left, a switch changes, a lag passes a break.

An indicator is not negative while a step may go on as it began; a step at whose end one is
negative passed an event. Clamps, switches and the gates of the lags are frozen during a step, so
its dense output is smooth beyond the event, and cutting it there costs no accuracy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.attempt import Trial
from vegasfluid.dde.adaptive.breaks import Gates
from vegasfluid.dde.adaptive.clamps import Modes, free_of
from vegasfluid.dde.adaptive.problem import Look, Problem, View, look
from vegasfluid.dde.adaptive.recall import Where

__all__ = ["Asked", "Begun", "Crossing", "Landing", "crossing", "locate", "mode_indicators"]

MOST_ITERATIONS = 40
CLOSE = 1e-11
"""Indicators this near zero, as a share of their change, are zero."""
NOTICED = 1e-9
"""A break that is no further ahead than this share of the way that a lag went has been passed."""
STEADY = 1e-6
"""A root that will move by less than this share of the step has been found: its last move leaves
an error that is smaller by orders of magnitude."""
SWINGS = 2.0
"""An indicator that is as far from zero as this many times its change, in this step and in the one
before, is not looked at within the step."""
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
        changes: by how much they changed in the step before; infinite after an event.
        gates: where the asked times are among the breaks.
    """

    asked: Asked
    indicators: Float[Array, "indicators batch"]
    changes: Float[Array, "indicators batch"]
    gates: Gates


class Crossing(NamedTuple):
    """The indicators that turned negative within a step; modes first, then breaks.

    Args:
        wanted: which they are, shape (indicators, batch).
        scale: by how much they changed, shape (indicators, batch); 1 for the others.
        at_start: the indicators at the start of the step, as shares of the scale.
        at_half: the indicators half way; None where there are no clamps and switches.
        at_end: the indicators at its end.
        breaks: for each site the break ahead, after the step's start; (sites, batch).
        rising: for each site whether its time rises; (sites, batch).
        levels: smoothness of y at the break; (sites, batch).
    """

    wanted: Bool[Array, "indicators batch"]
    scale: Float[Array, "indicators batch"]
    at_start: Float[Array, "indicators batch"]
    at_half: Float[Array, "indicators batch"] | None
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

    def among(self, which: Bool[Array, " batch"]) -> Crossing:
        """What some of the instances met."""
        return self._replace(wanted=self.wanted & which)

    def lags(self, asked: Float[Array, "sites batch"]) -> Float[Array, "sites batch"]:
        """The indicators of breaks where the sites ask for these times."""
        return jnp.where(self.rising, self.breaks - asked, asked - self.breaks)

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


def crossing(
    problem: Problem, view: View, begun: Begun, trial: Trial, step: Float[Array, " batch"]
) -> Crossing:
    """What an attempted step passed.

    Args:
        problem: the batch.
        view: what the step saw.
        begun: how it began.
        trial: how it came out.
        step: its length.
    """
    assert view.fence is not None
    start, end, gates = begun.asked.times, trial.end.asked, begun.gates
    modes = mode_indicators(problem, view.modes, trial.y, trial.end)
    rising, gap = end >= start, jnp.abs(end - start)
    breaks = jnp.where(rising, view.fence.upper, view.fence.lower)
    levels = jnp.where(rising, gates.upper_level, gates.lower_level)
    blank = jnp.zeros((0, *step.shape), step.dtype)
    met = Crossing(blank, blank, blank, None, blank, breaks, rising, levels)
    near = jnp.maximum(2 * problem.slack, NOTICED * gap)
    wanted = jnp.concatenate([modes < 0, met.lags(end) <= near])
    scale = jnp.where(wanted, jnp.concatenate([jnp.abs(modes), gap]), 1.0)
    before = jnp.concatenate([begun.indicators, met.lags(start)]) / scale
    after = jnp.concatenate([modes, met.lags(end)]) / scale
    met = met._replace(wanted=wanted, scale=scale, at_start=before, at_end=after)
    return met._replace(at_half=_half_way(problem, view, begun, trial, met, step))


def _half_way(
    problem: Problem, view: View, begun: Begun, trial: Trial, met: Crossing, step: Array
) -> Float[Array, "indicators batch"] | None:
    """The indicators half way; where none can have turned by then, thought to run straight."""
    kinds = met.kinds()
    if not kinds:
        return None
    frozen = jax.lax.stop_gradient((problem, view, trial, met, step / 2))
    met = frozen[3]
    start, end = met.at_start[:kinds] * met.scale[:kinds], met.at_end[:kinds] * met.scale[:kinds]
    swing = jnp.maximum(jnp.abs(end - start), jax.lax.stop_gradient(begun.changes))
    near = jnp.any(jnp.minimum(start, end) < SWINGS * swing)

    # Not `lax.cond`: XLA would hand its branches a copy of the ring, and a loop it does not.
    def seen(_: Any) -> tuple[Array, Array]:
        return _indicators(*frozen), jnp.zeros((), bool)

    straight = (met.at_start + met.at_end) / 2
    return jax.lax.while_loop(lambda state: state[1], seen, (straight, near))[0]


def _indicators(
    problem: Problem, view: View, trial: Trial, met: Crossing, ahead: Array
) -> Float[Array, "indicators batch"]:
    """The indicators some time into the step, as shares of their scale."""
    y = trial.piece.at(ahead)
    seen = look(problem, view, Where(ahead, y, trial.piece, trial.end.rows), switching=True)
    modes = mode_indicators(problem, view.modes, y, seen)
    return jnp.concatenate([modes, met.lags(seen.asked)]) / met.scale


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
        values = _indicators(problem, view, trial, met, share * step)
        return jax.lax.stop_gradient(met.masked(values))

    known = [met.at_start, met.at_half, met.at_end]
    given = jax.lax.stop_gradient([None if at is None else met.masked(at) for at in known])
    share, values, off = first_root(indicators, met.found, *given)
    first = jnp.argmin(values, axis=0).astype(jnp.int32)
    zero = values <= jnp.min(values, axis=0) + SIMULTANEOUS + 4 * off
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
        return jnp.take_along_axis(_indicators(*tree), first[None], axis=0)[0]

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
    at_half: Float[Array, "indicators batch"] | None,
    at_end: Float[Array, "indicators batch"],
) -> tuple[Float[Array, " batch"], Float[Array, "indicators batch"], Float[Array, " batch"]]:
    """Where the lowest of some indicators is zero (Chandrupatla's method).

    Args:
        indicators: of shares of a step, shape (batch,); as shares of their change.
        wanted: whose root is wanted.
        at_start: the indicators at 0.
        at_half: the indicators at 1/2, if they are known.
        at_end: the indicators at 1.

    Returns:
        The roots; the indicators where they were last evaluated; and how far from the root that
        was. 0 where the lowest is not positive at 0, and 1 where it is not negative at 1.

    Source: T. Chandrupatla, Adv. Eng. Softw. 28(3), 1997.
    """

    def going(state: tuple[_Bracket, Array]) -> Array:
        return jnp.any(state[0].moving) & (state[1] < jnp.int32(MOST_ITERATIONS))

    def refine(state: tuple[_Bracket, Array]) -> tuple[_Bracket, Array]:
        bracket, count = state
        new = bracket.with_value(bracket.next, indicators(bracket.next), bracket.moving)
        return new, count + jnp.int32(1)

    bracket = _Bracket.of(wanted, at_start, at_half, at_end)
    bracket, _ = jax.lax.while_loop(going, refine, (bracket, jnp.zeros((), jnp.int32)))
    return bracket.next, bracket.values, jnp.abs(bracket.next - bracket.near)


class _Bracket(NamedTuple):
    """Two points with the root between them, one before these, and where to look next.

    Args:
        near: the latest point.
        at_near: the lowest indicator there.
        far: on the other side of the root.
        at_far: the lowest indicator there.
        next: where the root is thought to be.
        values: the indicators at `near`.
        moving: whose root has not been found.
    """

    near: Array
    at_near: Array
    far: Array
    at_far: Array
    next: Array
    values: Array
    moving: Array

    @classmethod
    def of(cls, wanted: Array, at_start: Array, at_half: Array | None, at_end: Array) -> _Bracket:
        """The whole step, or half of it; not moving where the root is at one of its ends."""
        low, high = jnp.min(at_start, axis=0), jnp.min(at_end, axis=0)
        half = low if at_half is None else jnp.min(at_half, axis=0)
        # A break may lie at the very end, where its indicator is zero but for rounding.
        over, unborn = high > -CLOSE, low <= CLOSE
        late = unborn & (half > CLOSE)
        low, far = jnp.where(late, half, low), jnp.where(late, 0.5, 0.0)
        begun = unborn & ~late & ~over
        near = jnp.where(begun, 0.0, 1.0).astype(low.dtype)
        moving = wanted & ~over & ~begun
        secant = near + (far - near) * high / jnp.where(moving, high - low, 1.0)
        values = jnp.where(begun, at_start, at_end)
        secant = jnp.where(moving, secant, near)
        whole = cls(near, high, far.astype(low.dtype), low, secant, values, moving)
        if at_half is None:
            return whole
        return whole.with_value(jnp.full_like(near, 0.5), at_half, moving & ~late)

    def with_value(self, share: Array, values: Array, which: Array) -> _Bracket:
        """The bracket with the indicators at one more point between the two."""
        value = jnp.min(values, axis=0)
        same = (value < 0) == (self.at_near < 0)
        here, there = (self.near, self.at_near), (self.far, self.at_far)
        third, at_third = (jnp.where(same, *pair) for pair in zip(here, there, strict=True))
        far, at_far = (jnp.where(same, *pair) for pair in zip(there, here, strict=True))
        part = _next_part(share, value, far, at_far, third, at_third)
        move = jnp.where(value == 0, 0.0, part * (far - share))
        moving = jnp.abs(move) >= STEADY
        moved = _Bracket(share, value, far, at_far, share + move, values, moving)
        return jax.tree.map(lambda new, old: jnp.where(which, new, old), moved, self)


def _next_part(a: Array, at_a: Array, b: Array, at_b: Array, c: Array, at_c: Array) -> Array:
    """What part of the way from a to b the root is: by the parabola x(f) through three points
    where that is sure to run between them, else the middle.
    """

    def over(value: Array, by: Array) -> Array:
        return value / jnp.where(by == 0, 1.0, by)

    xi, phi = over(a - b, c - b), over(at_a - at_b, at_c - at_b)
    sure = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi) & (at_c != at_a) & (at_c != at_b)
    first = over(at_a, at_b - at_a) * over(at_c, at_b - at_c)
    second = over(c - a, b - a) * over(at_a, at_c - at_a) * over(at_b, at_c - at_b)
    return jnp.where(sure, first + second, 0.5)
