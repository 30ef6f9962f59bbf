"""Solve delay differential equations with steps of controlled length, one or a batch of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, PyTree
from numpy.typing import ArrayLike

from vegasfluid.dde.adaptive.arguments import (
    Arguments,
    check_times,
    checked_arguments,
    checked_traced,
)
from vegasfluid.dde.adaptive.build import ROWS_PER_BREAK
from vegasfluid.dde.adaptive.options import Options, with_defaults
from vegasfluid.dde.adaptive.solve_arrays import solve_arrays
from vegasfluid.dde.adaptive.state_options import options_of_vector, selected_bounds
from vegasfluid.dde.adaptive.states import (
    StateForm,
    StructuredDenseOutput,
    VectorRightHandSide,
    vector_and_form,
)
from vegasfluid.dde.outcome import Outcome
from vegasfluid.dde.solution import Solution, check
from vegasfluid.errors import InvalidInput, Words

__all__ = ["solve", "solve_batch"]

CAPACITY_GROWTH = 8
"""Factor by which the history capacity grows when a solve needs more (chosen)."""


def solve(
    rhs: Callable[..., Array],
    solver: diffrax.AbstractSolver,
    t0: ArrayLike,
    t1: ArrayLike,
    dt0: ArrayLike | None,
    y0: PyTree,
    args: PyTree = None,
    **options: Unpack[Options],
) -> Solution:
    """Solve y'(t) = rhs(t, y(t), history, args) from t0 to t1; called as `diffrax.diffeqsolve`.

    Args:
        rhs: dy/dt, of the form of y0, as a function of (t, y, history, args). `history(s)` is y at
            time s <= t, for one time or an array of times (each leaf then has its axes in front);
            `history.ago(lag)` is y at t - lag. `History` states where it may be called. With
            `guards`, a fifth argument states whether each guard is not negative.
        solver: `diffrax.Bosh3()`, `Tsit5()`, `Dopri5()` or `Dopri8()`; for stiff equations
            `Kvaerno3()`, `Kvaerno4()` or `Kvaerno5()`. An equation whose `rhs` never calls
            `history`, without events and projection, may use any solver of diffrax.
        t0: start; all times have one unit, of the caller's choice.
        t1: end.
        dt0: first step; None: chosen by the controller. With constant steps, their length.
        y0: state at t0: any pytree of floating or complex arrays, such as one of shape (n,). Their
            common dtype is used throughout; complex numbers are integrated as their real and
            imaginary parts, each to the tolerance. All functions get and return this form.
        args: passed to all functions; any pytree.
        options: `saveat`, `stepsize_controller`, `bounds`, `guards`, `event`, ...: see `Options`.

    Returns:
        `ts` (m,), the times requested by `saveat` (unless given: t1); `ys`, the states there, each
        leaf with the axis (m,) in front; `result`, `time` of a failure, `stats` and, with dense
        output, `interpolation`.

    Raises:
        InvalidInput: for an argument out of range.
        SolveFailed: if the solve failed and `throw` is set; under `jax.jit`, JAX's runtime error.

    >>> import diffrax
    >>> solution = solve(
    ...     lambda t, y, history, rate: -rate * history(t - 1.0), diffrax.Bosh3(),
    ...     0.0, 3.0, None, jnp.ones(1), 1.0, saveat=diffrax.SaveAt(ts=jnp.array([1.5, 3.0])),
    ... )
    >>> [round(float(value), 3) for value in solution.ys[:, 0]]
    [-0.375, -0.167]
    """
    y0, form = vector_and_form("dde.solve", y0, batch=False)
    rhs, chosen = _of_vector(rhs, with_defaults(options), form, y0.shape[-1])
    args, other_args = eqx.partition(args, eqx.is_array_like)
    arguments = checked_arguments(rhs, solver, chosen, other_args)
    traced = checked_traced(t0, t1, dt0, y0, dims=1)
    check_times(arguments, chosen["saveat"], traced)
    traced, args = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], (traced, args))
    solution = _with_enough_history(
        lambda arguments: solve_arrays(arguments, chosen["saveat"], traced, args, None),
        arguments,
        grow=chosen["grow"],
    )
    solution = jax.tree.map(lambda leaf: leaf[0], solution)
    return _raise_failures(_in_form(solution, form), chosen["throw"])


def solve_batch(
    rhs: Callable[..., Array],
    solver: diffrax.AbstractSolver,
    t0: ArrayLike,
    t1: ArrayLike,
    dt0: ArrayLike | None,
    y0: PyTree,
    args: PyTree = None,
    *,
    chunk: int | None = None,
    **options: Unpack[Options],
) -> Solution:
    """Solve a batch of delay equations, each instance with its own steps; otherwise as `solve`.

    The history of an instance has capacity x (4 + n x powers) numbers; powers is 4 to 7.

    Args:
        rhs: dy/dt of one instance, of the form of its y0, as a function of (t, y, history, args).
        solver: a diffrax solver, such as `Bosh3()` or, for stiff equations, `Kvaerno5()`.
        t0: start: one time for all instances, or shape (batch,).
        t1: end, likewise.
        dt0: first step, or length of constant steps, likewise; None: chosen by the controller.
        y0: states at t0, shape (batch, n), or any pytree; every leaf has the batch axis first.
        args: a pytree; every leaf has the batch axis first.
        chunk: None: on a CPU each instance is solved from start to end by a lane kernel, on all
            cores, where that is possible (see the guide). A number: XLA solves so many instances
            side by side, and the chunks one after the other; None, where there is no lane kernel:
            all, on a CPU 64, or 1 with events (`bounds`, `guards`, `resets` or `event`).
        options: see `Options`; save times are shared, `max_steps` is for each instance.

    Returns:
        `ts` (batch, m), leaves of `ys` (batch, m, ...), `result`, `time` and `stats` (batch,).

    Raises:
        InvalidInput: for an argument out of range.
        SolveFailed: if any instance failed and `throw` is set; under `jax.jit`, JAX's error.

    >>> import diffrax
    >>> solution = solve_batch(
    ...     lambda t, y, history, rate: -rate * history(t - 1.0), diffrax.Bosh3(),
    ...     0.0, 0.5, None, jnp.ones((2, 1)), jnp.array([0.5, 1.0]),
    ... )
    >>> [round(float(value), 3) for value in solution.ys[:, 0, 0]]
    [0.75, 0.5]
    """
    y0, form = vector_and_form("dde.solve_batch", y0, batch=True)
    rhs, chosen = _of_vector(rhs, with_defaults(options), form, y0.shape[-1])
    args, other_args = eqx.partition(args, eqx.is_array_like)
    arguments, saveat = checked_arguments(rhs, solver, chosen, other_args), chosen["saveat"]
    traced = checked_traced(t0, t1, dt0, y0, dims=2)
    check_times(arguments, saveat, traced)
    args = jax.tree.map(jnp.asarray, args)
    _check_batch_axis(args, traced.y0.shape[0])
    _check_chunk(chunk)
    solution = _with_enough_history(
        lambda arguments: solve_arrays(arguments, saveat, traced, args, chunk),
        arguments,
        grow=chosen["grow"],
    )
    return _raise_failures(_in_form(solution, form), chosen["throw"])


def _of_vector(
    rhs: Callable[..., Any], options: dict[str, Any], form: StateForm | None, size: int
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The right-hand side and the options as functions of the vector of the state.

    Args:
        rhs: the user's right-hand side.
        options: all options by name.
        form: the form of the state; None: it is a vector, and only `bounds` may change.
        size: number of components of the vector.
    """
    options = options | {"bounds": selected_bounds(options["bounds"], form, size)}
    if form is None:
        return rhs, options
    return VectorRightHandSide(rhs, form), options_of_vector(options, form)


def _in_form(solution: Solution, form: StateForm | None) -> Solution:
    """The solution with dense output of the user's form; `ys` have it already."""
    if form is None or solution.interpolation is None:
        return solution
    return solution._replace(interpolation=StructuredDenseOutput(solution.interpolation, form))


def _check_batch_axis(args: PyTree, batch: int) -> None:
    """Raise `InvalidInput` unless each leaf of `args` has `batch` instances in front."""
    for leaf in jax.tree.leaves(args):
        if leaf.shape[:1] != (batch,):
            allowed = f"a pytree whose leaves have a leading batch axis of length {batch}"
            raise InvalidInput("dde.solve_batch", "args", allowed, Words(f"shape {leaf.shape}"))


def _check_chunk(chunk: int | None) -> None:
    """Raise `InvalidInput` unless `chunk` is None or a whole number from 1 up."""
    if chunk is not None and (not isinstance(chunk, int) or chunk < 1):
        raise InvalidInput("dde.solve_batch", "chunk", "a whole number from 1 up, or None", chunk)


def _with_enough_history(
    solve: Callable[[Arguments], Solution], arguments: Arguments, *, grow: bool
) -> Solution:
    """The solution, repeated with a longer history while one is needed.

    Args:
        solve: solves with given static arguments.
        arguments: the static arguments, with the history capacity of the first attempt.
        grow: whether the capacity may grow, by a factor of 8; under `jax.jit` it never does.
    """
    solution = solve(arguments)
    while grow and not isinstance(solution.result, Tracer):
        overflow = np.any(np.asarray(solution.result) == Outcome.HISTORY_OVERFLOW)
        if not overflow or arguments.history_capacity >= arguments.max_steps * ROWS_PER_BREAK:
            break
        capacity = arguments.history_capacity * CAPACITY_GROWTH
        arguments = eqx.tree_at(lambda tree: tree.history_capacity, arguments, capacity)
        solution = solve(arguments)
    return solution


def _raise_failures(solution: Solution, throw: bool) -> Solution:
    """The solution, unchanged; if `throw` is set and any instance failed, an error is raised.

    Raises:
        SolveFailed: for the first instance that failed. Under `jax.jit`, JAX's runtime error for
            the `Outcome` with the largest number.
    """
    if not throw:
        return solution
    if not isinstance(solution.result, Tracer) and not isinstance(solution.time, Tracer):
        return check(solution)
    worst = jnp.max(solution.result)
    messages = [f"dde.solve failed: {outcome.meaning}." for outcome in Outcome]
    return eqx.branched_error_if(solution, worst > 0, worst, messages)
