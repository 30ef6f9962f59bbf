"""Where an attempted step leads: to its end, to its first event, or nowhere."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.attempt import Trial
from vegasfluid.dde.adaptive.breaks import Breaks, Fence, gates_of
from vegasfluid.dde.adaptive.clamps import Modes, free_of, hold
from vegasfluid.dde.adaptive.clock import Clock
from vegasfluid.dde.adaptive.events import (
    NOTICED,
    Asked,
    Begun,
    Crossing,
    Landing,
    locate,
    mode_indicators,
)
from vegasfluid.dde.adaptive.problem import Problem, View, look
from vegasfluid.dde.adaptive.recall import Where

__all__ = ["NEAR", "Landed", "Move", "Node", "Passage", "holding", "move", "on_bounds", "pick"]

NEAR = 1e-6
"""An end of the solve this near the end of a step, as a share of it, is its end."""
ASTRAY = 0.02
"""A step that asked for the past beyond a break by more than this share of it passed that break,
also where its end is back again."""
NOTICEABLE = 1e-6
"""An indicator that dips by less than this share of its size has not changed its sign."""


class Node(NamedTuple):
    """Where each instance stands between two steps.

    Args:
        clock: the time.
        y: state, shape (n, batch).
        slope: dy/dt from here on, shape (n, batch).
        free: that of the clamped components, were they free, shape (clamps, batch).
        begun: what a step from here on needs to know of its start.
        modes: of clamps and switches from here on.
    """

    clock: Clock
    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]
    free: Float[Array, "clamps batch"]
    begun: Begun
    modes: Modes


class Landed(NamedTuple):
    """What a reverse solve needs to know of an event; without meaning where there was none.

    Args:
        first: the indicator that was zero, shape (batch,).
        reached: bounds that were met or left, lower ones first, shape (2 clamps, batch).
        break_at: the break that a lag passed, after the step's start, shape (batch,).
    """

    first: Int32[Array, " batch"]
    reached: Bool[Array, "bounds batch"]
    break_at: Float[Array, " batch"]

    @classmethod
    def nothing(cls, problem: Problem) -> Landed:
        """No event."""
        batch, clamps = problem.y0.shape[1], len(problem.equation.clamped)
        reached = jnp.zeros((2 * clamps, batch), bool)
        return cls(jnp.zeros(batch, jnp.int32), reached, jnp.zeros(batch, problem.y0.dtype))


class Move(NamedTuple):
    """What becomes of an attempt.

    Args:
        keep: whether the instance moves on, shape (batch,).
        node: where it then stands; without meaning unless kept.
        passed: time from the step's start to there, shape (batch,).
        again: length of the next attempt where this one is made anew for an event, else 0.
        event: whether it lands on an event, shape (batch,).
        landed: on which.
        breaks: so far.
    """

    keep: Bool[Array, " batch"]
    node: Node
    passed: Float[Array, " batch"]
    again: Float[Array, " batch"]
    event: Bool[Array, " batch"]
    landed: Landed
    breaks: Breaks


def pick(which: Bool[Array, " batch"], these: Any, those: Any) -> Any:
    """One tree's leaves for the instances in `which`, another's for the others."""
    return jax.tree.map(lambda this, that: jnp.where(which, this, that), these, those)


def holding(problem: Problem, y: Array, free: Array) -> Int32[Array, "clamps batch"]:
    """Which bounds hold a state with these free slopes."""
    values, (lower, upper) = free_of(y, problem.equation.clamped), problem.bounds
    low = ((values <= lower) & (free <= 0)).astype(jnp.int32)
    high = ((values >= upper) & (free >= 0)).astype(jnp.int32)
    return high * (1 - low) - low


class Passage(NamedTuple):
    """An attempt that is judged, and what it started from.

    Args:
        trial: how it came out.
        step: its length, shape (batch,).
        keep: whether its error is small enough, shape (batch,).
        node: where it started.
    """

    trial: Trial
    step: Float[Array, " batch"]
    keep: Bool[Array, " batch"]
    node: Node


def move(problem: Problem, view: View, passage: Passage, met: Crossing, breaks: Breaks) -> Move:
    """Where an attempt leads.

    Args:
        problem: the batch.
        view: what the step saw.
        passage: how it came out.
        met: what it passed.
        breaks: so far.
    """
    trial, step, keep, node = passage.trial, passage.step, passage.keep, passage.node
    end = trial.end
    indicators = mode_indicators(problem, view.modes, trial.y, end)
    changes = jnp.abs(indicators - node.begun.indicators)
    begun = Begun(Asked(end.asked - step, end.rows), indicators, changes, node.begun.gates)
    plain = Node(view.now.after(step), trial.y, end.slope, end.free, begun, view.modes)
    none, nobody = jnp.zeros_like(step), jnp.zeros(step.shape, bool)
    nothing = Landed.nothing(problem)
    through = Move(keep, plain, step, none, nobody, nothing, breaks)
    if not met.wanted.shape[0]:
        return through
    far = jnp.maximum(ASTRAY * step, 4 * problem.slack)
    strayed = keep & (trial.astray > far) & ~jnp.any(met.wanted[met.kinds() :], axis=0)
    through = through._replace(keep=keep & ~strayed, again=jnp.where(strayed, step / 2, 0.0))
    if met.kinds():
        dip = _dip(problem, view, node.slope, trial, met, step)
        missed = through.keep & (dip < step)
        again = jnp.where(missed, dip, through.again)
        through = through._replace(keep=through.keep & ~missed, again=again)
    met = met.among(through.keep)

    # Not `lax.cond`: XLA would hand its branches a copy of the ring, and a loop it does not.
    def land(state: tuple[Move, Array]) -> tuple[Move, Array]:
        landed = _to_event(problem, view, passage, met, state[0])
        return landed, jnp.zeros((), bool)

    begin = (through, jnp.any(met.wanted))
    return jax.lax.while_loop(lambda state: state[1], land, begin)[0]


def _dip(
    problem: Problem, view: View, slope: Array, trial: Trial, met: Crossing, step: Array
) -> Float[Array, " batch"]:
    """When an indicator that is not negative at the end of a step is negative within; else inf.

    Looked at are all indicators half way, and a clamped component where it turns round.
    """
    kinds, half = met.kinds(), step / 2
    assert met.at_half is not None
    middle = met.at_half[:kinds]
    size = NOTICEABLE * jnp.maximum(jnp.abs(met.at_start[:kinds]), jnp.abs(met.at_end[:kinds]))
    dip = jnp.where(jnp.any(middle < -size, axis=0), half, jnp.inf)
    for number, component in enumerate(problem.equation.clamped):
        before, after = slope[component], trial.end.slope[component]
        turns = (before * after < 0) & (view.modes.held[number] == 0)
        turn = step * before / jnp.where(turns, before - after, 1.0)
        value = trial.piece.at(turn)[component]
        lower, upper = problem.bounds.lower[number], problem.bounds.upper[number]
        beyond = jnp.maximum(lower - value, value - upper)
        sides = jnp.array([number, number + len(problem.equation.clamped)])
        rounding = jnp.max(size[sides] * met.scale[sides], axis=0)
        dip = jnp.where(turns & (beyond > rounding), jnp.minimum(dip, turn), dip)
    plain = jnp.any(met.wanted[:kinds], axis=0) | (step <= 64 * problem.slack)
    return jnp.where(plain, jnp.inf, dip)


def _to_event(problem: Problem, view: View, passage: Passage, met: Crossing, through: Move) -> Move:
    """The moves of instances that met an event; those of the others are as they were."""
    step, clamps = passage.step, len(problem.equation.clamped)
    landing = locate(problem, view, passage.trial, met, step)
    # An event at the very start, where the step began on one: look nearer before it is believed.
    doubtful = met.found & (landing.ahead <= 0) & (step > 64 * problem.slack)
    event = met.found & ~doubtful
    passed = jnp.where(event, landing.ahead, step)
    at = (passed, event, through.breaks)
    node, breaks = _event_node(problem, view, passage, met, landing, *at)
    return Move(
        keep=through.keep & ~doubtful,
        node=pick(event, node, through.node),
        passed=passed,
        again=jnp.where(doubtful, step / 4, through.again),
        event=event,
        landed=Landed(landing.first, landing.which[: 2 * clamps], landing.break_at),
        breaks=breaks,
    )


def _event_node(
    problem: Problem,
    view: View,
    passage: Passage,
    met: Crossing,
    landing: Landing,
    passed: Float[Array, " batch"],
    event: Bool[Array, " batch"],
    breaks: Breaks,
) -> tuple[Node, Breaks]:
    """Where an instance stands that landed on an event: modes changed, slope evaluated anew."""
    equation, clamps = problem.equation, len(problem.equation.clamped)
    trial = passage.trial
    lower, upper, flips = jnp.split(landing.which[: met.kinds()], [clamps, 2 * clamps])
    crossed = landing.which[met.kinds() :].astype(jnp.int32)
    gates = passage.node.begun.gates
    gates = breaks.gates(gates.passed + jnp.where(met.rising, crossed, -crossed))
    y = on_bounds(problem, trial.piece.at(passed), lower, upper)
    above = view.modes.above ^ flips
    free_modes = Modes(jnp.zeros_like(view.modes.held), above)
    where = Where(passed, y, trial.piece, trial.end.rows, arriving=False)
    # With a switch the lags themselves may leap.
    fence = gates.fence(view.now)
    leaps = jnp.any(flips, axis=0)
    fence = Fence(jnp.where(leaps, -jnp.inf, fence.lower), jnp.where(leaps, jnp.inf, fence.upper))
    seen = look(problem, view._replace(modes=free_modes, fence=fence), where, switching=True)
    met_now = (lower | upper) & (view.modes.held == 0)
    left_now = (lower | upper) & (view.modes.held != 0)
    held = jnp.where(left_now, 0, view.modes.held)
    held = jnp.where(met_now, holding(problem, y, seen.free), held)
    modes = Modes(held, above)
    clock = view.now.after(passed)
    level = jnp.where(landing.breaks, _level(met, landing), 0.0)
    # Where y has more continuous derivatives a lag may pass: the order does not suffer.
    matters = level < max(equation.method.order - 2, 1)
    breaks = breaks.added(event & matters, clock, level)
    asked = Asked(seen.asked - passed, seen.rows)
    near = 2 * problem.slack + NOTICED * passed
    gates = gates_of(breaks, gates.passed, clock, asked.times, near)
    indicators = mode_indicators(problem, modes, y, seen)
    begun = Begun(asked, indicators, jnp.full_like(indicators, jnp.inf), gates)
    slope = hold(seen.slope, modes, equation.clamped)
    return Node(clock, y, slope, seen.free, begun, modes), breaks


def on_bounds(problem: Problem, y: Array, lower: Array, upper: Array) -> Float[Array, "n batch"]:
    """A state with the clamped components that reached a bound put there."""
    for number, component in enumerate(problem.equation.clamped):
        value = jnp.where(lower[number], problem.bounds.lower[number], y[component])
        value = jnp.where(upper[number], problem.bounds.upper[number], value)
        y = y.at[component].set(value)
    return y


def _level(met: Crossing, landing: Landing) -> Float[Array, " batch"]:
    """How smooth the solution is where a lag passes a break: by one more derivative than there."""
    passed = landing.which[met.kinds() :]
    return 1 + jnp.min(jnp.where(passed, met.levels, jnp.inf), axis=0, initial=jnp.inf)
