"""Step-size control: a diffrax step-size controller for each instance of a batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.history_reader import EvaluationPoint
from vegasfluid.dde.adaptive.history_ring import Piece, Ring, Track
from vegasfluid.dde.adaptive.problem import InstanceContext, Problem, StepContext, evaluate_rhs_one
from vegasfluid.dde.adaptive.step import Trial
from vegasfluid.dde.outcome import Outcome

__all__ = ["StepDecision", "StepSizeControl"]


class StepDecision(NamedTuple):
    """The error test of an attempted step.

    Args:
        keep: whether it is accepted, shape (batch,).
        step: length of the next attempt, shape (batch,).
        controller_state: the controller's state.
    """

    keep: Bool[Array, " batch"]
    step: Float[Array, " batch"]
    controller_state: Any


class StepSizeControl(NamedTuple):
    """A step-size controller with the first step.

    Args:
        controller: diffrax's controller; None: constant steps.
        first: length of the first step, shape (batch,); None: the controller chooses it.
        order: order of the method.
    """

    controller: diffrax.AbstractStepSizeController | None
    first: Float[Array, " batch"] | None
    order: int

    def begin(
        self, problem: Problem, context: StepContext, piece: Piece
    ) -> tuple[Float[Array, " batch"], Any]:
        """The length of the first step, shape (batch,), and the controller's initial state.

        Args:
            problem: the batch: states at t0, t1 and right-hand side, which the controller
                evaluates.
            context: history and modes at t0.
            piece: straight line from the state at t0, for history reads after t0.
        """
        if self.controller is None:
            assert self.first is not None
            return self.first, None
        controller, order = self.controller, float(self.order)

        def one(
            ring: Ring,
            last: Array,
            instance: InstanceContext,
            piece: Piece,
            y: Array,
            end: Array,
            first: Any,
        ) -> tuple[Array, Any]:
            """The first step and the controller's initial state of one instance."""
            track = Track(ring, y.shape[0], last)
            start = instance.begin.plain()

            def field(t: Any, y: Any, args: Any) -> Any:
                point = EvaluationPoint(t - start, y, piece)
                return evaluate_rhs_one(
                    problem.equation, track, instance, point, with_guards=False
                ).slope

            term = diffrax.ODETerm(field)
            until, controller_state = controller.init(
                term, start, end, y, first, None, _value, order
            )
            return jnp.asarray(until) - start, controller_state

        axes = (0, 0, InstanceContext.axes(), -1, -1, -1, -1)
        step, controller_state = jax.vmap(one, in_axes=axes, out_axes=-1)(
            context.ring,
            context.last,
            InstanceContext.of(problem, context),
            piece,
            problem.y0,
            problem.end,
            self.first,
        )
        return jax.lax.stop_gradient((step, jax.tree.map(jnp.asarray, controller_state)))

    def decide(
        self, clock: CompensatedTime, y: Array, trial: Trial, step: Array, controller_state: Any
    ) -> StepDecision:
        """Whether each attempted step is accepted, and the length of the next attempt.

        Constant steps are accepted if the state at their end is finite; else no shorter step is
        tried. Other steps that are not finite, did not converge or read in the future
        (LAG_NEGATIVE) count as having an infinite error.

        Args:
            clock: time at the step's start.
            y: state there, shape (n, batch).
            trial: the attempted step: its end and its error estimate.
            step: its length, shape (batch,).
            controller_state: the controller's state before the step.
        """
        controller = self.controller
        if controller is None:
            assert self.first is not None
            finite = jnp.all(jnp.isfinite(trial.y), axis=0)
            return StepDecision(finite, jnp.where(finite, self.first, 0.0), None)
        start = clock.plain()
        valid = trial.converged & jnp.all(jnp.isfinite(trial.y) & jnp.isfinite(trial.error), axis=0)
        # The first stages of a long step may compute a negative lag, and its Newton iteration may
        # fail; a shorter step does not.
        valid &= trial.fault != jnp.int32(Outcome.LAG_NEGATIVE)
        valid &= trial.fault != jnp.int32(Outcome.NEWTON_FAILED)
        error = jnp.where(valid, trial.error, jnp.inf)
        new = jnp.where(valid, trial.y, y)
        # Step lengths are not part of the solution, so they have no derivative.
        inputs = jax.lax.stop_gradient((start, start + step, y, new, error, controller_state))

        def one(start: Array, end: Array, y: Array, new: Array, error: Array, old: Any) -> Any:
            """Acceptance, next step length and controller state of one instance, from diffrax."""
            keep, begin, until, _, state, _ = controller.adapt_step_size(
                start, end, y, new, None, error, float(self.order), old
            )
            return keep, until - begin, state

        return StepDecision(*jax.vmap(one, in_axes=-1, out_axes=-1)(*inputs))


def _value(term: Any, t: Any, y: Any, args: Any) -> Any:
    """The slope dy/dt at (t, y), in the form that diffrax's controllers expect of a solver."""
    return term.vf(t, y, args)
