"""Build a batch of problems from the arguments of `solve`, and a solution from the loop's end."""

from __future__ import annotations

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from vegasfluid.dde.adaptive.adjoint import taped
from vegasfluid.dde.adaptive.arguments import (
    Arguments,
    TracedArguments,
    is_part,
    save_times,
    sub_saveats,
)
from vegasfluid.dde.adaptive.bounds import bounds_of
from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.dense_output import DensePieces
from vegasfluid.dde.adaptive.equation import AllArgs
from vegasfluid.dde.adaptive.indicators import event_mask
from vegasfluid.dde.adaptive.loop import integrate
from vegasfluid.dde.adaptive.loop_state import Limits, State
from vegasfluid.dde.adaptive.method import Method
from vegasfluid.dde.adaptive.problem import Equation, Problem, Times
from vegasfluid.dde.adaptive.save_times import Saved
from vegasfluid.dde.adaptive.step_size import StepSizeControl
from vegasfluid.dde.outcome import Outcome
from vegasfluid.dde.solution import Solution
from vegasfluid.errors import InvalidInput, Unsupported, Words

__all__ = ["ROWS_PER_BREAK", "solve_dde"]

ROWS_PER_BREAK = 4
"""Rows of the history for each breaking point that is kept (chosen)."""


def solve_dde(
    arguments: Arguments,
    saveat: diffrax.SaveAt,
    traced: TracedArguments,
    args: PyTree,
    equation: Equation,
    closed_over: tuple[Array, ...],
    save_block: int,
    tape: bool,
) -> Solution:
    """Solve a batch of equations with delays, bounds, guards or a projection.

    Args:
        arguments: static arguments of `solve`.
        saveat: times at which the solution is returned.
        traced: t0, t1 and first step, shape (batch,), and states at t0, shape (batch, n).
        args: the user's arguments, each leaf with the batch axis first.
        equation: the user's functions.
        closed_over: traced arrays that they close over, without a batch axis.
        save_block: number of save times that are evaluated together.
        tape: whether to record the steps, so that JAX can differentiate the solve in reverse mode.

    Returns:
        Save times (batch, m), states there (batch, m, n), outcomes and numbers of steps (batch,).
    """
    problem = build_problem(arguments, traced, args, equation, closed_over)
    if arguments.reverse and problem.equation.method.newton:
        reason = "use jax.jacfwd, or an explicit method such as Tsit5()"
        name = type(arguments.solver).__name__
        raise Unsupported("dde.solve", f"reverse mode with {name}", reason)
    control = step_size_control(arguments, equation.method, traced)
    subs = sub_saveats(saveat)
    steps = any(sub.steps for sub in subs)
    whole = saveat.dense or steps or arguments.reverse
    rows = _power_of_two(arguments.history_capacity)
    breaks = max(rows // ROWS_PER_BREAK, 1)
    rows = arguments.max_steps + 2 if whole else rows
    limits = Limits(rows, breaks, arguments.max_steps, arguments.meter, save_block)
    times = save_times(saveat, traced)
    # Those of several parts are merged; a single part's are increasing.
    order = jnp.argsort(times) if len(subs) > 1 else jnp.arange(times.shape[0])
    times = times[order] if len(subs) > 1 else times
    if tape:
        end = read_off(problem, taped(problem, control, limits._replace(taped=True)), times)
    else:
        end = integrate(problem, control, limits, times)
    curve = dense_pieces(problem, end) if saveat.dense else None
    states = end.saved.ys[:, : times.shape[0]]
    states = states[:, jnp.argsort(order)] if len(subs) > 1 else states
    saved = _saved(arguments, saveat, traced, args, end, states)
    fine = end.outcome == jnp.int32(Outcome.SUCCESS)
    time = jnp.where(fine, jnp.nan, end.node.clock.plain())
    mask = event_mask(arguments.event, end.ended.T)
    stats = _statistics(end, arguments.max_steps)
    return Solution(*saved, end.outcome, time, stats, curve, mask, traced.t0, traced.t1)


def step_size_control(
    arguments: Arguments, method: Method, traced: TracedArguments
) -> StepSizeControl:
    """The choice of step lengths that the arguments ask for.

    Args:
        arguments: static arguments of `solve`, with the controller.
        method: the Runge-Kutta method.
        traced: times and states, of which the first step is used.

    Raises:
        InvalidInput: for a controller that needs an estimate of errors, which the method lacks.
    """
    constant = isinstance(arguments.inner_controller, diffrax.ConstantStepSize)
    if not constant and not any(method.error):
        given = f"PIDController with {type(arguments.solver).__name__}(), which estimates no error"
        raise InvalidInput("dde.solve", "stepsize_controller", "ConstantStepSize()", given)
    controller = None if constant else arguments.inner_controller
    # The error of implicit Euler's estimate, the difference to a method of order 2, is of order 2.
    return StepSizeControl(controller, traced.dt0, max(method.order, 2))


def _statistics(end: State, max_steps: int) -> dict[str, Array]:
    """The numbers of steps and events, by diffrax's names; shape (batch,) each."""
    return {
        "num_steps": end.steps + end.rejected,
        "num_accepted_steps": end.steps,
        "num_rejected_steps": end.rejected,
        "max_steps": jnp.full_like(end.steps, max_steps),
        "num_events": end.landed,
    }


def read_off(problem: Problem, end: State, times: Float[Array, " m"]) -> State:
    """The loop's state after a solve, with the states y at the save times in `saved`.

    They are evaluated from the dense output of all steps, and are nan after the end of the solve.

    Args:
        problem: the batch.
        end: the loop's state after the solve; its history must have the pieces of all steps.
        times: save times, shape (m,).
    """
    if not times.shape[0]:
        return end
    ys = dense_pieces(problem, end).evaluate(times, left=False)
    return end._replace(saved=Saved(ys, end.saved.next))


def dense_pieces(problem: Problem, end: State) -> DensePieces:
    """Dense output of a batch, whose states can be evaluated at any times between t0 and t1.

    `end` is the loop's state after the solve; its history must have the pieces of all steps.
    """
    node = end.node
    return DensePieces(
        end.ring, end.row, problem.begin, node.clock, node.y.T, problem.time_tolerance
    )


def build_problem(
    arguments: Arguments,
    traced: TracedArguments,
    args: PyTree,
    equation: Equation,
    closed_over: tuple[Array, ...],
) -> Problem:
    """The batch of delay equations as the solver's loop takes it, the batch axis last.

    Args:
        arguments: static arguments of `solve`.
        traced: t0 and t1, shape (batch,), and states at t0, shape (batch, n).
        args: the user's arguments, each leaf with the batch axis first.
        equation: the user's functions.
        closed_over: traced arrays that they close over, without a batch axis.
    """
    batch, dtype = traced.y0.shape[0], traced.y0.dtype
    bounds = jax.vmap(
        lambda instance: bounds_of(arguments.bounds, arguments.all_args(instance), dtype),
        out_axes=-1,
        axis_size=batch,
    )(args)
    latest = jnp.maximum(jnp.abs(traced.t0), jnp.abs(traced.t1))
    time_tolerance = 16 * float(jnp.finfo(dtype).eps) * jax.lax.stop_gradient(latest)
    shared = tuple(jnp.broadcast_to(array, (batch, *array.shape)) for array in closed_over)
    begin, all_args = CompensatedTime.at(traced.t0), AllArgs(args, traced.y0, shared)
    inputs = (all_args, traced.y0.T, begin, traced.t1, bounds, time_tolerance)
    scale = _newton_scale(arguments, equation, traced)
    return Problem(equation, *inputs, _times(arguments, traced), scale)


def _newton_scale(
    arguments: Arguments, equation: Equation, traced: TracedArguments
) -> Float[Array, "two components batch"]:
    """The tolerances rtol and atol of an implicit method's Newton iteration, the batch axis last.

    They are those of its `root_finder`, or else of the step-size controller; zeros for an explicit
    method. Shape (2, 1, batch), or (2, n, batch) if the tolerances differ between components.

    Raises:
        InvalidInput: for constant steps with a `root_finder` without tolerances.
    """
    newton, controller = equation.method.newton, arguments.inner_controller
    tolerances: Any = (0.0, 0.0) if newton is None else newton.tolerances
    if tolerances is None:
        if not isinstance(controller, diffrax.PIDController):
            allowed = "one with tolerances, such as Kvaerno5(root_finder=VeryChord(1e-9, 1e-9)), "
            name = type(arguments.solver).__name__
            raise InvalidInput(
                "dde.solve", "solver", f"{allowed}with ConstantStepSize()", Words(f"{name}()")
            )
        tolerances = (controller.rtol, controller.atol)
    dtype, batch = traced.y0.dtype, traced.y0.shape[0]
    parts = jnp.broadcast_arrays(*(jnp.asarray(part, dtype).reshape(-1, 1) for part in tolerances))
    return jax.lax.stop_gradient(jnp.broadcast_to(jnp.stack(parts), (2, parts[0].shape[0], batch)))


def _times(arguments: Arguments, traced: TracedArguments) -> Times:
    """The times that steps do not step over, the batch axis last."""
    batch, dtype = traced.y0.shape[0], traced.y0.dtype
    jumps = arguments.times("jump_ts", dtype)
    stops = jax.lax.stop_gradient(jnp.concatenate([jumps, arguments.times("step_ts", dtype)]))
    parts = (jumps, stops, arguments.past_breaks.astype(dtype))
    return Times(*(jnp.broadcast_to(part[:, None], (*part.shape, batch)) for part in parts))


def _power_of_two(least: int) -> int:
    """The smallest power of two that is at least `least`."""
    return 1 << (least - 1).bit_length()


def _saved(
    arguments: Arguments,
    saveat: diffrax.SaveAt,
    traced: TracedArguments,
    args: PyTree,
    end: State,
    ys: Array,
) -> tuple[Any, Any]:
    """The saved times, shape (batch, m), and `fn` of the states there, the batch axis first.

    With `SaveAt(subs=...)` both are pytrees like `subs`; if nothing is saved, they are an array of
    shape (batch, 0) and None.

    Args:
        arguments: static arguments of `solve`.
        saveat: what to save.
        traced: t0, t1 and the states at t0.
        args: the user's arguments, passed to `fn`; the batch axis first.
        end: the loop's state after the solve.
        ys: the states at the save times of all parts, shape (batch, m, n), part after part.
    """
    if saveat.subs is None:
        return jnp.zeros((traced.y0.shape[0], 0), traced.y0.dtype), None
    parts, first = [], 0
    for sub in sub_saveats(saveat):
        size = 0 if sub.ts is None else sub.ts.shape[0]
        states = ys[:, first : first + size]
        parts.append(_saved_part(arguments, sub, traced, args, end, states))
        first += size
    structure = jax.tree.structure(saveat.subs, is_leaf=is_part)
    return tuple(jax.tree.unflatten(structure, list(each)) for each in zip(*parts, strict=True))


def _saved_part(
    arguments: Arguments,
    sub: diffrax.SubSaveAt,
    traced: TracedArguments,
    args: PyTree,
    end: State,
    ys: Array,
) -> tuple[Array, Any]:
    """The saved times of one part, shape (batch, m), and its `fn` of the states there.

    `ys` are the states at the `ts` of the part, shape (batch, m, n). `args`, with the batch axis
    first, are passed to `fn`; `end` is the loop's state after the solve.
    """
    batch, parts = traced.y0.shape[0], []
    if sub.t0:
        parts.append((traced.t0[:, None], traced.y0[:, None]))
    if sub.steps:
        parts.append(_steps(end, sub.steps, arguments.max_steps, to_end=sub.t1))
    elif sub.ts is not None:
        times = sub.ts.astype(traced.y0.dtype)
        parts.append((jnp.broadcast_to(times, (batch, times.size)), ys))
    if sub.t1 and not sub.steps:
        success = (end.outcome == jnp.int32(Outcome.SUCCESS))[:, None]
        ended = jnp.any(end.ended, axis=0)
        t1 = jnp.where(ended, end.node.clock.plain(), traced.t1)
        parts.append((t1[:, None], jnp.where(success, end.node.y.T, jnp.nan)[:, None]))
    ts = jnp.concatenate([part[0] for part in parts], axis=1)
    states = jnp.concatenate([part[1] for part in parts], axis=1)

    def value(t: Array, y: Array, args: PyTree) -> Any:
        return sub.fn(t, y, arguments.all_args(args))

    over_time = jax.vmap(value, in_axes=(0, 0, None))
    return ts, jax.vmap(over_time)(ts, states, args)


def _steps(end: State, every: int, limit: int, *, to_end: bool) -> tuple[Array, Array]:
    """Times and states y at the end of every `every`-th accepted step, filled up with nan.

    Their shapes are (batch, m) and (batch, m, n), with m = limit // every for at most `limit`
    steps. With `to_end` the end of the last step is always included, and m is larger by one unless
    `every` is 1.
    """
    pieces, size = end.ring.pieces, end.node.y.shape[0]
    # Row 1 is the first step. A step's end is the start of the next row, the last one's `node`.
    rows = jnp.arange(2, pieces.shape[1] + 2, dtype=jnp.int32)[:limit]
    known, last = rows <= end.row[:, None], rows == end.row[:, None] + 1
    rows = jnp.minimum(rows, jnp.int32(pieces.shape[1] - 1))
    times = pieces[:, rows, 0] + pieces[:, rows, 1]
    states = pieces[:, rows, 3 : 3 + size]
    final = last & (end.row[:, None] > 0)
    end_time = jnp.where(final, end.node.clock.plain()[:, None], jnp.nan)
    end_state = jnp.where(final[..., None], end.node.y.T[:, None], jnp.nan)
    times = jnp.where(known, times, end_time)
    states = jnp.where(known[..., None], states, end_state)
    selection = slice(every - 1, None, every)
    times, states = times[:, selection], states[:, selection]
    if not to_end or every == 1:
        return times, states
    count, left = end.row // jnp.int32(every), end.row % jnp.int32(every)
    slots = jnp.arange(times.shape[1] + 1, dtype=jnp.int32)
    here = (slots == count[:, None]) & (left > 0)[:, None]
    times = jnp.pad(times, ((0, 0), (0, 1)), constant_values=jnp.nan)
    states = jnp.pad(states, ((0, 0), (0, 1), (0, 0)), constant_values=jnp.nan)
    times = jnp.where(here, end.node.clock.plain()[:, None], times)
    return times, jnp.where(here[..., None], end.node.y.T[:, None], states)
