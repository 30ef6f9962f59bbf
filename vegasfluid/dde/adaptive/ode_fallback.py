"""Equations without delays, bounds, guards and projections: diffrax solves them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from vegasfluid.dde.adaptive.arguments import (
    Arguments,
    TracedArguments,
    is_part,
    sub_saveats,
)
from vegasfluid.dde.adaptive.history import History
from vegasfluid.dde.outcome import Outcome
from vegasfluid.dde.solution import Solution

__all__ = ["solve_ode"]


class DiffraxDenseOutput:
    """Dense output of a diffrax solve, or of a batch of them."""

    def __init__(self, curve: diffrax.DenseInterpolation) -> None:
        self._curve = curve

    def evaluate(self, times: Array, left: bool) -> Array:
        """The states y at any times between t0 and t1; nan outside.

        Args:
            times: any shape, in the unit of t0; the same for all instances.
            left: where y jumps, whether the state before the jump is returned.

        Returns:
            States, shape (*times, n); for a batch, (batch, *times, n).
        """
        return self._at(times, lambda curve, time: curve.evaluate(time, left=left))

    def derivative(self, times: Array, left: bool) -> Array:
        """The derivatives dy/dt at any times between t0 and t1; nan outside.

        Args:
            times: any shape, in the unit of t0; the same for all instances.
            left: where dy/dt jumps, whether the derivative before the jump is returned.

        Returns:
            Derivatives, shape (*times, n); for a batch, (batch, *times, n).
        """
        return self._at(times, lambda curve, time: curve.derivative(time, left=left))

    def _at(self, times: Array, value: Callable[[diffrax.DenseInterpolation, Array], Any]) -> Array:
        """`value(dense output, time)` for each time and instance.

        Args:
            times: any shape, in the unit of t0.
            value: returns a state, or its derivative, at one time; shape (n,).

        Returns:
            Shape (*times, n); for a batch, (batch, *times, n).
        """
        times = jnp.asarray(times)

        def one(curve: diffrax.DenseInterpolation) -> Array:
            values = jax.vmap(lambda time: value(curve, time))(times.ravel())
            return values.reshape(*times.shape, -1)

        return jax.vmap(one)(self._curve) if self._curve.ts.ndim == 2 else one(self._curve)


jax.tree_util.register_pytree_node(
    DiffraxDenseOutput,
    lambda curves: ((curves._curve,), None),
    lambda _, parts: DiffraxDenseOutput(*parts),
)


class FiniteSteps(diffrax.ConstantStepSize):
    """Constant steps, of which the first one to a state that is not finite ends the solve."""

    def adapt_step_size(
        self, t0: Any, t1: Any, y0: Any, y1_candidate: Any, *others: Any
    ) -> tuple[Any, ...]:
        """Whether the step to `y1_candidate` is accepted, the next step's ends, and a result code.

        Args:
            t0: time at the step's start.
            t1: time at its end.
            y0: state at its start.
            y1_candidate: state at its end, accepted if it is finite.
            others: the other arguments of diffrax's `adapt_step_size`.
        """
        adapted = super().adapt_step_size(t0, t1, y0, y1_candidate, *others)
        finite = jnp.all(jnp.isfinite(y1_candidate))
        results = diffrax.RESULTS
        result = results.where(finite, results.successful, results.internal_error)
        return finite, jnp.where(finite, adapted[1], t0), *adapted[2:-1], result


def solve_ode(
    arguments: Arguments, saveat: diffrax.SaveAt, traced: TracedArguments, args: PyTree
) -> Solution:
    """Solve a batch of ordinary differential equations by diffrax.

    Args:
        arguments: static arguments of `dde.solve`; its `rhs` must not read the history.
        saveat: times at which the solution is returned.
        traced: t0, t1 and first step, shape (batch,), and states at t0, shape (batch, n).
        args: the user's arguments, each leaf with the batch axis first.

    Returns:
        Save times, states and outcomes, the batch axis first. After a failure `time` is that at
        which the last accepted step ended, and states at later times are nan.
    """

    def field(t: Any, y: Any, args: Any) -> Any:
        history = History(y.size, y.dtype)  # not read
        return arguments.rhs(t, y, history, arguments.all_args(args))

    end = diffrax.SubSaveAt(t1=True)  # the time and the state that were reached
    with_end = diffrax.SaveAt(subs=(saveat.subs, end), dense=saveat.dense)
    constant = isinstance(arguments.controller, diffrax.ConstantStepSize)
    controller = FiniteSteps() if constant else arguments.controller

    def one(traced: TracedArguments, args: PyTree) -> Any:
        """The diffrax solution of one instance; t0 only if t1 is before it."""
        forwards = traced._replace(t1=jnp.maximum(traced.t0, traced.t1))
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            arguments.solver,
            *forwards,
            args,
            saveat=with_end,
            stepsize_controller=controller,
            adjoint=arguments.adjoint,
            max_steps=arguments.max_steps,
            progress_meter=arguments.meter,
            throw=False,
        )

    result = jax.vmap(one)(traced, args)
    (ts, reached), (ys, last) = result.ts, result.ys
    beyond = jax.vmap(field)(_just_after(reached[:, 0]), last[:, 0], args)
    outcome = _outcome(result, traced, jnp.all(jnp.isfinite(beyond), axis=-1))
    names = ("num_steps", "num_accepted_steps", "num_rejected_steps", "max_steps")
    stats = {name: result.stats[name] for name in names}
    stats["num_events"] = jnp.zeros_like(stats["num_steps"])
    fine = outcome == jnp.int32(Outcome.SUCCESS)
    curve = None if result.interpolation is None else DiffraxDenseOutput(result.interpolation)
    time = jnp.where(fine, jnp.nan, reached[:, 0])
    saved = _saved(saveat, traced, ts, ys)
    return Solution(saved[0], saved[1], outcome, time, stats, curve, t0=traced.t0, t1=traced.t1)


def _saved(
    saveat: diffrax.SaveAt, traced: TracedArguments, ts: PyTree, ys: PyTree
) -> tuple[PyTree, PyTree]:
    """The saved times and values of all parts, as if there were delays; pytrees like its `subs`.

    `ts` and `ys` are those from diffrax.
    """
    structure = jax.tree.structure(saveat.subs, is_leaf=is_part)
    parts = [
        _saved_part(sub, traced, *part)
        for sub, *part in zip(
            sub_saveats(saveat), structure.flatten_up_to(ts), structure.flatten_up_to(ys),
            strict=True,
        )
    ]  # fmt: skip
    times, values = ([part[number] for part in parts] for number in (0, 1))
    return structure.unflatten(times), structure.unflatten(values)


def _saved_part(
    sub: diffrax.SubSaveAt, traced: TracedArguments, ts: Array, ys: PyTree
) -> tuple[Array, PyTree]:
    """The saved times of one part, shape (batch, m), and its values, as if there were delays.

    Times that were not reached have the value nan. They are nan themselves where steps are saved.

    Args:
        sub: which times are saved.
        traced: t0 and t1.
        ts: times from diffrax, which leaves out those that were not reached, and fills up with inf.
        ys: values at these times; every leaf has the shape (batch, m, ...).
    """
    if sub.steps:
        times = jnp.where(jnp.isfinite(ts), ts, jnp.nan)
    else:
        given = jnp.zeros(0, ts.dtype) if sub.ts is None else sub.ts.astype(ts.dtype)
        between = jnp.broadcast_to(given, (ts.shape[0], given.size))
        ends = [traced.t0[:, None]] * sub.t0, [traced.t1[:, None]] * sub.t1
        times = jnp.concatenate([*ends[0], between, *ends[1]], axis=1)

    def value(ys: Array) -> Array:
        """The values at the times that were reached."""
        if not jnp.issubdtype(ys.dtype, jnp.inexact):
            return ys
        return jnp.where(reached.reshape(reached.shape + (1,) * (ys.ndim - 2)), ys, jnp.nan)

    reached = ts == times
    return times, jax.tree.map(value, ys)


def _just_after(time: Array) -> Array:
    """The times a few units of rounding later, of the same shape and unit."""
    return time + 8 * jnp.finfo(time.dtype).eps * jnp.abs(time)


def _outcome(result: diffrax.Solution, traced: TracedArguments, goes_on: Array) -> Array:
    """The `Outcome` of each instance, shape (batch,), from diffrax's result codes.

    TIMES_REVERSED if t1 is before t0, START_NOT_FINITE for states at t0 that are not finite. Too
    many and too short steps have their own outcomes; other failures count as NOT_FINITE, and so do
    too many steps up to a time after which the slope is not finite.

    Args:
        result: what diffrax returns.
        traced: t0, t1 and the states at t0.
        goes_on: whether the slope is finite just after the last accepted step; shape (batch,).
    """
    results = (
        (diffrax.RESULTS.max_steps_reached, Outcome.MAX_STEPS_REACHED),
        (diffrax.RESULTS.dt_min_reached, Outcome.STEP_UNDERFLOW),
    )
    outcome = jnp.full(traced.t0.shape, Outcome.NOT_FINITE, jnp.int32)
    for code, ours in results:
        outcome = jnp.where((result.result == code) & goes_on, jnp.int32(ours), outcome)
    fine = result.result == diffrax.RESULTS.successful
    outcome = jnp.where(fine, jnp.int32(Outcome.SUCCESS), outcome)
    finite_start = jnp.all(jnp.isfinite(traced.y0), axis=-1)
    outcome = jnp.where(finite_start, outcome, jnp.int32(Outcome.START_NOT_FINITE))
    return jnp.where(traced.t1 >= traced.t0, outcome, jnp.int32(Outcome.TIMES_REVERSED))
