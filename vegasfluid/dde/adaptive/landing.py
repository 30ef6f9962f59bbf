"""Where an attempted step leads: to its end, to its first event, or nowhere."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.attempt import Trial
from vegasfluid.dde.adaptive.clamps import Modes, free_of, hold
from vegasfluid.dde.adaptive.clock import Clock
from vegasfluid.dde.adaptive.events import Asked, Begun, Crossing, Landing, locate, mode_indicators
from vegasfluid.dde.adaptive.problem import Problem, View, look
from vegasfluid.dde.adaptive.recall import Where
from vegasfluid.dde.adaptive.ring import Mark

__all__ = ["NEAR", "Landed", "Move", "Node", "Verdict", "holding", "move", "on_bounds", "pick"]

NEAR = 1e-6
"""A break this near the end of a step, as a share of it, is landed on."""


class Node(NamedTuple):
    """Where each instance stands between two steps.

    Args:
        clock: the time.
        y: state, shape (n, batch).
        slope: dy/dt from here on, shape (n, batch).
        begun: what a step from here on needs to know of its start.
        modes: of clamps and switches from here on.
        mark: the latest breaking point.
    """

    clock: Clock
    y: Float[Array, "n batch"]
    slope: Float[Array, "n batch"]
    begun: Begun
    modes: Modes
    mark: Mark


class Verdict(NamedTuple):
    """What is known of an attempt's error.

    Args:
        keep: whether it is small enough, shape (batch,).
        wrong: whether it is too large, shape (batch,); neither where an instance has ended.
        blind: whether there is no estimate: every step then ends at the next break.
    """

    keep: Bool[Array, " batch"]
    wrong: Bool[Array, " batch"]
    blind: bool


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
    """

    keep: Bool[Array, " batch"]
    node: Node
    passed: Float[Array, " batch"]
    again: Float[Array, " batch"]
    event: Bool[Array, " batch"]
    landed: Landed


def pick(which: Bool[Array, " batch"], these: Any, those: Any) -> Any:
    """One tree's leaves for the instances in `which`, another's for the others."""
    return jax.tree.map(lambda this, that: jnp.where(which, this, that), these, those)


def holding(problem: Problem, y: Array, free: Array) -> Int32[Array, "clamps batch"]:
    """Which bounds hold a state with these free slopes."""
    values, (lower, upper) = free_of(y, problem.equation.clamped), problem.bounds
    low = ((values <= lower) & (free < 0)).astype(jnp.int32)
    high = ((values >= upper) & (free > 0)).astype(jnp.int32)
    return high - low


def move(
    problem: Problem,
    view: View,
    trial: Trial,
    met: Crossing,
    step: Float[Array, " batch"],
    judged: Verdict,
) -> Move:
    """Where an attempt leads.

    Args:
        problem: the batch.
        view: what the step saw.
        trial: how it came out.
        met: what it passed.
        step: its length.
        judged: whether its error is small enough.
    """
    keep, wrong, blind = judged
    end = trial.end
    asked = Asked(end.asked - step, end.rows)
    begun = Begun(asked, mode_indicators(problem, view.modes, trial.y, end))
    plain = Node(view.now.after(step), trial.y, end.slope, begun, view.modes, view.mark)
    none, nothing = jnp.zeros_like(step), Landed.nothing(problem)
    through = Move(keep, plain, step, none, jnp.zeros(step.shape, bool), nothing)
    if not met.wanted.shape[0]:
        return through
    share = met.nearest_break()
    short = (share < 1 - NEAR) & (keep if blind else wrong)
    through = through._replace(keep=keep & ~short, again=jnp.where(short, share * step, 0.0))
    met = met.limited(through.keep, through.keep & (share >= 1 - NEAR))

    # Not `lax.cond`: XLA would hand its branches a copy of the ring, and a loop it does not.
    def land(state: tuple[Move, Array]) -> tuple[Move, Array]:
        landed = _to_event(problem, view, trial, met, step, state[0])
        return landed, jnp.zeros((), bool)

    begin = (through, jnp.any(met.wanted))
    return jax.lax.while_loop(lambda state: state[1], land, begin)[0]


def _to_event(
    problem: Problem, view: View, trial: Trial, met: Crossing, step: Array, through: Move
) -> Move:
    """The moves of instances that met an event; those of the others are as they were."""
    landing, clamps = locate(problem, view, trial, met, step), len(problem.equation.clamped)
    # An event at the very start, where the step began on one: look nearer before it is believed.
    doubtful = met.found & (landing.ahead <= 0) & (step > 64 * problem.slack)
    event = met.found & ~doubtful
    passed = jnp.where(event, landing.ahead, step)
    node = _event_node(problem, view, trial, met, landing, passed)
    return Move(
        keep=through.keep & ~doubtful,
        node=pick(event, node, through.node),
        passed=passed,
        again=jnp.where(doubtful, step / 4, through.again),
        event=event,
        landed=Landed(landing.first, landing.which[: 2 * clamps], landing.break_at),
    )


def _event_node(
    problem: Problem,
    view: View,
    trial: Trial,
    met: Crossing,
    landing: Landing,
    passed: Float[Array, " batch"],
) -> Node:
    """Where an instance stands that landed on an event: modes changed, slope evaluated anew."""
    equation, clamps = problem.equation, len(problem.equation.clamped)
    lower, upper, flips = jnp.split(landing.which[: met.kinds()], [clamps, 2 * clamps])
    y = on_bounds(problem, trial.piece.at(passed), lower, upper)
    above = view.modes.above ^ flips
    free_modes = Modes(jnp.zeros_like(view.modes.held), above)
    where = Where(passed, y, trial.piece, trial.end.rows, arriving=False)
    seen = look(problem, view._replace(modes=free_modes), where, switching=True)
    met_now = (lower | upper) & (view.modes.held == 0)
    left_now = (lower | upper) & (view.modes.held != 0)
    held = jnp.where(left_now, 0, view.modes.held)
    held = jnp.where(met_now, holding(problem, y, seen.free), held)
    modes = Modes(held, above)
    clock = view.now.after(passed)
    level = jnp.where(landing.breaks, _level(met, landing), 0.0)
    asked = Asked(seen.asked - passed, seen.rows)
    begun = Begun(asked, mode_indicators(problem, modes, y, seen))
    slope = hold(seen.slope, modes, equation.clamped)
    return Node(clock, y, slope, begun, modes, Mark(clock, level))


def on_bounds(problem: Problem, y: Array, lower: Array, upper: Array) -> Float[Array, "n batch"]:
    """A state with the clamped components that reached a bound put there."""
    for number, component in enumerate(problem.equation.clamped):
        value = jnp.where(lower[number], problem.bounds.lower[number], y[component])
        value = jnp.where(upper[number], problem.bounds.upper[number], value)
        y = y.at[component].set(value)
    return y


def _level(met: Crossing, landing: Landing) -> Float[Array, " batch"]:
    """How smooth the solution is at a break that is seen again through lags."""
    passed = landing.which[met.kinds() :]
    return jnp.min(jnp.where(passed, met.levels, jnp.inf), axis=0, initial=jnp.inf)
