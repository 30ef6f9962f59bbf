"""A batch of problems, and a look at its right-hand side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PyTree

from vegasfluid.dde.adaptive.breaks import Fence
from vegasfluid.dde.adaptive.clamps import Bounds, Modes, free_of, hold
from vegasfluid.dde.adaptive.clock import Clock
from vegasfluid.dde.adaptive.method import Method
from vegasfluid.dde.adaptive.recall import Recall, Where
from vegasfluid.dde.adaptive.ring import Ring, Track

__all__ = ["Equation", "Lane", "Look", "Problem", "View", "look", "look_one"]


@jax.tree_util.register_static
@dataclass(frozen=True)
class Equation:
    """What is the same for every instance, and is compiled in; hashable.

    Args:
        rhs: dy/dt of (t, y, history, args), and of the sides of the switches if there are any.
        past: y before t0, of (t, args).
        switches: None, or indicators of (t, y, history, args), shape (m,).
        project: y after a step, of (y, args); or None.
        switch_count: how many indicators there are.
        clamped: components that bounds hold.
        method: how a step is made.
    """

    rhs: Callable[..., Array]
    past: Callable[[Array, PyTree], Array]
    switches: Callable[..., Array] | None
    project: Callable[[Array, PyTree], Array] | None
    switch_count: int
    clamped: tuple[int, ...]
    method: Method


class Problem(NamedTuple):
    """A batch of problems; arrays have the batch last, only those of `args` first.

    Args:
        equation: what they share.
        args: arguments; each leaf with the batch in front.
        y0: state at t0, shape (n, batch).
        begin: t0.
        end: t1, shape (batch,).
        bounds: of the clamped components.
        slack: rounding of a time, shape (batch,).
    """

    equation: Equation
    args: PyTree
    y0: Float[Array, "n batch"]
    begin: Clock
    end: Float[Array, " batch"]
    bounds: Bounds
    slack: Float[Array, " batch"]


class View(NamedTuple):
    """What a step can see.

    Args:
        ring: the pieces up to row `last`.
        last: the latest row, shape (batch,).
        now: when the step starts.
        modes: in which it is made.
        stride: length of the last step, shape (batch,).
        fence: between which breaks each site reads; None: it is not known.
    """

    ring: Ring
    last: Int32[Array, " batch"]
    now: Clock
    modes: Modes
    stride: Float[Array, " batch"]
    fence: Fence | None = None


class Look(NamedTuple):
    """The right-hand side at one time of each instance.

    Args:
        slope: dy/dt, clamped components held; shape (n, batch).
        free: dy/dt of the clamped components, were they free; shape (clamps, batch).
        indicators: of the switches; shape (m, batch).
        asked: times that the history was asked for, after the step's start, last by the
            switches if they were wanted; (sites, batch).
        rows: where they were found; (sites, batch).
        fault: the first `Outcome` met.
        overlaps: whether a time within the step was asked for.
        astray: how far beyond its fence the past was asked for, at most; negative: nowhere.
    """

    slope: Float[Array, "n batch"]
    free: Float[Array, "clamps batch"]
    indicators: Float[Array, "m batch"]
    asked: Float[Array, "sites batch"]
    rows: Int32[Array, "sites batch"]
    fault: Int32[Array, " batch"]
    overlaps: Bool[Array, " batch"]
    astray: Float[Array, " batch"]


class Lane(NamedTuple):
    """What `look_one` needs of one instance; with the batch beside it, of all."""

    args: PyTree
    begin: Clock
    slack: Float[Array, "*batch"]
    now: Clock
    modes: Modes
    stride: Float[Array, "*batch"]
    fence: Fence | None

    @classmethod
    def of(cls, problem: Problem, view: View) -> Lane:
        """All instances of a batch at the start of a step."""
        given = (problem.args, problem.begin, problem.slack)
        return cls(*given, view.now, view.modes, view.stride, view.fence)

    @classmethod
    def axes(cls) -> Lane:
        """Where the batch is, for `jax.vmap`."""
        return cls(0, *[-1] * 6)  # type: ignore[arg-type]


def look(problem: Problem, view: View, where: Where, *, switching: bool = False) -> Look:
    """Evaluate the right-hand side of all instances.

    Args:
        problem: the batch.
        view: what the step can see.
        where: in the step.
        switching: whether the indicators of the switches are wanted too.
    """
    size, batch = where.y.shape
    where = where._replace(arriving=jnp.broadcast_to(jnp.asarray(where.arriving), (batch,)))

    def one(ring: Ring, last: Array, lane: Lane, where: Where) -> Look:
        return look_one(problem.equation, Track(ring, size, last), lane, where, switching)

    axes = (0, 0, Lane.axes(), -1)
    lanes = Lane.of(problem, view)
    return jax.vmap(one, in_axes=axes, out_axes=-1)(view.ring, view.last, lanes, where)


def look_one(equation: Equation, track: Track, lane: Lane, where: Where, switching: bool) -> Look:
    """Evaluate the right-hand side of one instance."""

    def past(s: Array) -> Array:
        return equation.past(s, lane.args)

    seen = (lane.slack, lane.fence, lane.stride)
    history = Recall(track, lane.now, where, past, lane.begin, *seen)
    time, y = lane.now.whole + (where.ahead + lane.now.rest), where.y
    sides = () if equation.switches is None else (lane.modes.above,)
    slope = equation.rhs(time, y, history, lane.args, *sides).astype(y.dtype)
    indicators = jnp.zeros(equation.switch_count, y.dtype)
    if switching and equation.switches is not None:
        indicators = equation.switches(time, y, history, lane.args).astype(y.dtype)
    free = free_of(slope, equation.clamped)
    held = hold(slope, lane.modes, equation.clamped)
    asked, rows = _joined(history.asked, y.dtype), _joined(history.rows, jnp.int32)
    notes = (history.fault, history.overlaps, history.astray)
    return Look(held, free, indicators, asked, rows, *notes)


def _joined(parts: list[Array], dtype: Any) -> Array:
    return jnp.concatenate(parts) if parts else jnp.zeros(0, dtype)
