"""Equations without delays, clamps and switches: diffrax solves them."""

from __future__ import annotations

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from vegasfluid.dde.adaptive.setup import Numbers, Setup
from vegasfluid.dde.outcome import Outcome
from vegasfluid.dde.solution import Solution

__all__ = ["Asking", "run_ordinary"]


class Asking:
    """A history that only notes whether it is asked.

    Args:
        y: any state.
    """

    def __init__(self, y: Array) -> None:
        self._y, self.asked = y, False

    def __call__(self, s: Any) -> Array:
        """Some state, of the shape that is due."""
        self.asked = True
        return jnp.broadcast_to(self._y, (*jnp.shape(s), *self._y.shape))

    ago = __call__


class Curves:
    """Dense output of a diffrax solve, or of a batch of them."""

    def __init__(self, curve: diffrax.DenseInterpolation) -> None:
        self._curve = curve

    def evaluate(self, times: Any) -> Array:
        """The states at some times; of a batch, with the batch in front."""
        times = jnp.asarray(times)

        def one(curve: diffrax.DenseInterpolation) -> Array:
            ys = jax.vmap(curve.evaluate)(times.ravel())
            return ys.reshape(*times.shape, -1)

        return jax.vmap(one)(self._curve) if self._curve.ts.ndim == 2 else one(self._curve)


jax.tree_util.register_pytree_node(
    Curves, lambda curves: ((curves._curve,), None), lambda _, parts: Curves(*parts)
)


def run_ordinary(setup: Setup, saveat: diffrax.SaveAt, numbers: Numbers, args: PyTree) -> Solution:
    """Solve a batch by diffrax."""

    def field(t: Any, y: Any, own: Any) -> Any:
        return setup.rhs(t, y, Asking(y), own)

    def one(numbers: Numbers, own: PyTree) -> Any:
        forwards = numbers._replace(t1=jnp.maximum(numbers.t0, numbers.t1))
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            setup.solver,
            *forwards,
            own,
            saveat=saveat,
            stepsize_controller=setup.controller,
            adjoint=setup.adjoint,
            max_steps=setup.max_steps,
            progress_meter=setup.meter,
            throw=False,
        )

    found = jax.vmap(one)(numbers, args)
    outcome = _outcome(found, numbers)
    stats = {
        "steps": found.stats["num_accepted_steps"],
        "rejected": found.stats["num_rejected_steps"],
    }
    stats = stats | {"events": jnp.zeros_like(stats["steps"])}
    fine = outcome == jnp.int32(Outcome.SUCCESS)
    time = jnp.where(fine, jnp.nan, numbers.t0)  # diffrax does not tell when
    curve = None if found.interpolation is None else Curves(found.interpolation)
    return Solution(found.ts, found.ys, outcome, time, stats, curve)


def _outcome(found: diffrax.Solution, numbers: Numbers) -> Array:
    """Diffrax's result as an `Outcome`."""
    results = (
        (diffrax.RESULTS.max_steps_reached, Outcome.MAX_STEPS_REACHED),
        (diffrax.RESULTS.dt_min_reached, Outcome.STEP_UNDERFLOW),
    )
    outcome = jnp.full(numbers.t0.shape, Outcome.NOT_FINITE, jnp.int32)
    for result, ours in results:
        outcome = jnp.where(found.result == result, jnp.int32(ours), outcome)
    fine = found.result == diffrax.RESULTS.successful
    outcome = jnp.where(fine, jnp.int32(Outcome.SUCCESS), outcome)
    started = jnp.all(jnp.isfinite(numbers.y0), axis=-1)
    outcome = jnp.where(started, outcome, jnp.int32(Outcome.START_NOT_FINITE))
    return jnp.where(numbers.t1 >= numbers.t0, outcome, jnp.int32(Outcome.TIMES_REVERSED))
