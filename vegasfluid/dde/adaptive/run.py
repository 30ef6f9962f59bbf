"""From what was asked for to a batch of problems, and from the loop's end to a solution."""

from __future__ import annotations

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from vegasfluid.dde.adaptive.adjoint import taped
from vegasfluid.dde.adaptive.clamps import bounds_of
from vegasfluid.dde.adaptive.clock import Clock
from vegasfluid.dde.adaptive.control import Control
from vegasfluid.dde.adaptive.curve import Pieces
from vegasfluid.dde.adaptive.loop import Limits, State, integrate
from vegasfluid.dde.adaptive.method import method_of
from vegasfluid.dde.adaptive.problem import Equation, Problem
from vegasfluid.dde.adaptive.saving import Saved
from vegasfluid.dde.adaptive.setup import Numbers, Setup, save_times
from vegasfluid.dde.outcome import Outcome
from vegasfluid.dde.solution import Solution
from vegasfluid.errors import InvalidInput

__all__ = ["run"]

ROWS_A_BREAK = 4
"""For so many rows of the history one breaking point is kept."""


def run(
    setup: Setup, saveat: diffrax.SaveAt, numbers: Numbers, args: PyTree, switches: int
) -> Solution:
    """Solve a batch with delays, clamps or switches.

    Args:
        setup: what is compiled in.
        saveat: what is wanted.
        numbers: times and states.
        args: arguments, each leaf with the batch in front.
        switches: how many there are.
    """
    problem = pose(setup, numbers, args, switches)
    constant = isinstance(setup.controller, diffrax.ConstantStepSize)
    controller = None if constant else setup.controller
    control = Control(controller, numbers.dt0, problem.equation.method.order)
    steps = saveat.subs is not None and saveat.subs.steps
    whole = saveat.dense or steps or setup.reverse
    rows = _power_of_two(setup.rows)
    breaks = max(rows // ROWS_A_BREAK, 1)
    rows = setup.max_steps + 2 if whole else rows
    limits = Limits(rows, breaks, setup.max_steps, setup.meter)
    times = save_times(saveat, numbers)
    if setup.reverse:
        end = read_off(problem, taped(problem, control, limits._replace(taped=True)), times)
    else:
        end = integrate(problem, control, limits, times)
    curve = pieces_of(problem, end) if saveat.dense else None
    ts, ys = _saved(saveat, numbers, args, end, times, setup.max_steps)
    fine = end.outcome == jnp.int32(Outcome.SUCCESS)
    stats = {"steps": end.steps, "rejected": end.rejected, "events": end.landed}
    time = jnp.where(fine, jnp.nan, end.node.clock.plain())
    return Solution(ts, ys, end.outcome, time, stats, curve)


def read_off(problem: Problem, end: State, times: Float[Array, " m"]) -> State:
    """The end of a solve with the states at the save times, read off all its pieces at once."""
    if not times.shape[0]:
        return end
    ys = pieces_of(problem, end).evaluate(times)
    return end._replace(saved=Saved(ys, end.saved.next))


def pieces_of(problem: Problem, end: State) -> Pieces:
    """All pieces of a solve whose ring holds them."""
    node = end.node
    return Pieces(end.ring, end.row, problem.begin, node.clock, node.y.T, problem.slack)


def pose(setup: Setup, numbers: Numbers, args: PyTree, switches: int) -> Problem:
    """The batch of problems; its `args` are the user's and y0, the constant past."""
    size, dtype = numbers.y0.shape[1], numbers.y0.dtype
    clamped = tuple(clamp.component for clamp in setup.clamps)
    if any(not 0 <= component < size for component in clamped):
        raise InvalidInput("dde.solve", "clamps", f"of components 0 to {size - 1}", clamped)
    if len(set(clamped)) < len(clamped):
        raise InvalidInput("dde.solve", "clamps", "of different components", clamped)
    bounds = jax.vmap(
        lambda own: bounds_of(setup.clamps, own, dtype), out_axes=-1, axis_size=numbers.y0.shape[0]
    )(args)
    latest = jnp.maximum(jnp.abs(numbers.t0), jnp.abs(numbers.t1))
    slack = 16 * float(jnp.finfo(dtype).eps) * jax.lax.stop_gradient(latest)
    given = (args, numbers.y0)
    begin, equation = Clock.at(numbers.t0), equation_of(setup, clamped, switches)
    return Problem(equation, given, numbers.y0.T, begin, numbers.t1, bounds, slack)


def equation_of(setup: Setup, clamped: tuple[int, ...], switches: int) -> Equation:
    """The user's functions, called with the user's arguments."""

    def rhs(t: Array, y: Array, history: Any, given: tuple[PyTree, Array], *sides: Array) -> Array:
        return setup.rhs(t, y, history, given[0], *sides)

    def past(s: Array, given: tuple[PyTree, Array]) -> Array:
        return given[1] if setup.past is None else setup.past(s, given[0])

    def switch(t: Array, y: Array, history: Any, given: tuple[PyTree, Array]) -> Array:
        assert setup.switches is not None
        return setup.switches(t, y, history, given[0])

    def project(y: Array, given: tuple[PyTree, Array]) -> Array:
        assert setup.project is not None
        return setup.project(y, given[0])

    return Equation(
        rhs=rhs,
        past=past,
        switches=None if setup.switches is None else switch,
        project=None if setup.project is None else project,
        switch_count=switches,
        clamped=clamped,
        method=method_of(setup.solver),
    )


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


def _saved(
    saveat: diffrax.SaveAt, numbers: Numbers, args: PyTree, end: State, times: Array, limit: int
) -> tuple[Array, Any]:
    """The saved times and states, each with the batch in front."""
    subs, batch = saveat.subs, numbers.y0.shape[0]
    if subs is None:
        return jnp.zeros((batch, 0), numbers.y0.dtype), None
    parts = []
    if subs.t0:
        parts.append((numbers.t0[:, None], numbers.y0[:, None]))
    if subs.steps:
        parts.append(_steps(end, subs.steps, limit))
    elif times.size:
        known = jnp.broadcast_to(times, (batch, times.size))
        parts.append((known, end.saved.ys[:, : times.size]))
    if subs.t1 and not subs.steps:
        arrived = (end.outcome == jnp.int32(Outcome.SUCCESS))[:, None]
        parts.append((numbers.t1[:, None], jnp.where(arrived, end.node.y.T, jnp.nan)[:, None]))
    ts = jnp.concatenate([part[0] for part in parts], axis=1)
    ys = jnp.concatenate([part[1] for part in parts], axis=1)
    over_time = jax.vmap(subs.fn, in_axes=(0, 0, None))
    return ts, jax.vmap(over_time)(ts, ys, args)


def _steps(end: State, every: int, limit: int) -> tuple[Array, Array]:
    """The ends of every so many accepted steps; then nan, up to the largest number of steps."""
    pieces, size = end.ring.pieces, end.node.y.shape[0]
    # Row 1 is the first step's; where it starts is not one of the ends, where the last ends is.
    rows = jnp.arange(2, pieces.shape[1] + 2, dtype=jnp.int32)[:limit]
    known, last = rows <= end.row[:, None], rows == end.row[:, None] + 1
    rows = jnp.minimum(rows, jnp.int32(pieces.shape[1] - 1))
    times = pieces[:, rows, 0] + pieces[:, rows, 1]
    states = pieces[:, rows, 3 : 3 + size]
    arrived, moved = end.node.clock.plain()[:, None], end.row[:, None] > 0
    times = jnp.where(known, times, jnp.where(last & moved, arrived, jnp.nan))
    final = jnp.where((last & moved)[..., None], end.node.y.T[:, None], jnp.nan)
    states = jnp.where(known[..., None], states, final)
    chosen = slice(every - 1, None, every)
    return times[:, chosen], states[:, chosen]
