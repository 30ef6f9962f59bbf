"""Equations without delays, bounds, guards and projections: diffrax solves them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from vegasfluid.dde.adaptive.arguments import Arguments, TracedArguments
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
        Save times, states and outcomes, the batch axis first. After a failure `time` is t0, and
        states at later `ts` are infinite; `SaveAt(t1=True)` returns the time and state reached.
    """

    def field(t: Any, y: Any, args: Any) -> Any:
        history = History(y.size, y.dtype)  # not read
        return arguments.rhs(t, y, history, arguments.all_args(args))

    def one(traced: TracedArguments, args: PyTree) -> Any:
        """The diffrax solution of one instance; t0 only if t1 is before it."""
        forwards = traced._replace(t1=jnp.maximum(traced.t0, traced.t1))
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            arguments.solver,
            *forwards,
            args,
            saveat=saveat,
            stepsize_controller=arguments.controller,
            adjoint=arguments.adjoint,
            max_steps=arguments.max_steps,
            progress_meter=arguments.meter,
            throw=False,
        )

    result = jax.vmap(one)(traced, args)
    outcome = _outcome(result, traced)
    names = ("num_steps", "num_accepted_steps", "num_rejected_steps", "max_steps")
    stats = {name: result.stats[name] for name in names}
    stats["num_events"] = jnp.zeros_like(stats["num_steps"])
    fine = outcome == jnp.int32(Outcome.SUCCESS)
    time = jnp.where(fine, jnp.nan, traced.t0)  # diffrax does not report the time
    curve = None if result.interpolation is None else DiffraxDenseOutput(result.interpolation)
    saved = (result.ts, result.ys, outcome, time)
    return Solution(*saved, stats, curve, t0=traced.t0, t1=traced.t1)


def _outcome(result: diffrax.Solution, traced: TracedArguments) -> Array:
    """The `Outcome` of each instance, shape (batch,), from diffrax's result codes.

    TIMES_REVERSED if t1 is before t0, START_NOT_FINITE for states at t0 that are not finite. Too
    many and too short steps have their own outcomes; other failures count as NOT_FINITE.
    """
    results = (
        (diffrax.RESULTS.max_steps_reached, Outcome.MAX_STEPS_REACHED),
        (diffrax.RESULTS.dt_min_reached, Outcome.STEP_UNDERFLOW),
    )
    outcome = jnp.full(traced.t0.shape, Outcome.NOT_FINITE, jnp.int32)
    for code, ours in results:
        outcome = jnp.where(result.result == code, jnp.int32(ours), outcome)
    fine = result.result == diffrax.RESULTS.successful
    outcome = jnp.where(fine, jnp.int32(Outcome.SUCCESS), outcome)
    finite_start = jnp.all(jnp.isfinite(traced.y0), axis=-1)
    outcome = jnp.where(finite_start, outcome, jnp.int32(Outcome.START_NOT_FINITE))
    return jnp.where(traced.t1 >= traced.t0, outcome, jnp.int32(Outcome.TIMES_REVERSED))
