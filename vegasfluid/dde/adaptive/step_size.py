"""How long the next step is: a diffrax step-size controller, one for each instance of a batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.history import EvaluationPoint
from vegasfluid.dde.adaptive.history_ring import Piece, Ring, Track
from vegasfluid.dde.adaptive.problem import InstanceContext, Problem, StepContext, evaluate_rhs_one
from vegasfluid.dde.adaptive.step import Trial
from vegasfluid.dde.outcome import Outcome

__all__ = ["StepDecision", "StepSizeControl"]


class StepDecision(NamedTuple):
    """What became of an attempted step.

    Args:
        keep: whether it is accepted, shape (batch,).
        step: length of the next, shape (batch,).
        controller_state: the controller's memory.
    """

    keep: Bool[Array, " batch"]
    step: Float[Array, " batch"]
    controller_state: Any


class StepSizeControl(NamedTuple):
    """A step-size controller at work.

    Args:
        controller: diffrax's, or None for steps of one length.
        first: length of the first step, shape (batch,), or None for the controller's choice.
        order: of the method.
    """

    controller: diffrax.AbstractStepSizeController | None
    first: Float[Array, " batch"] | None
    order: int

    def begin(
        self, problem: Problem, context: StepContext, piece: Piece
    ) -> tuple[Float[Array, " batch"], Any]:
        """The first step, and the controller's memory."""
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
            track = Track(ring, y.shape[0], last)
            start = instance.begin.plain()

            def field(t: Any, y: Any, args: Any) -> Any:
                point = EvaluationPoint(t - start, y, piece)
                return evaluate_rhs_one(
                    problem.equation, track, instance, point, with_guards=False
                ).slope

            term = diffrax.ODETerm(field)
            until, memory = controller.init(term, start, end, y, first, None, _value, order)
            return jnp.asarray(until) - start, memory

        axes = (0, 0, InstanceContext.axes(), -1, -1, -1, -1)
        step, memory = jax.vmap(one, in_axes=axes, out_axes=-1)(
            context.ring,
            context.last,
            InstanceContext.of(problem, context),
            piece,
            problem.y0,
            problem.end,
            self.first,
        )
        return jax.lax.stop_gradient((step, jax.tree.map(jnp.asarray, memory)))

    def decide(
        self, clock: CompensatedTime, y: Array, trial: Trial, step: Array, controller_state: Any
    ) -> StepDecision:
        """Whether an attempt is accepted, and the next step."""
        controller = self.controller
        if controller is None:
            assert self.first is not None
            return StepDecision(jnp.ones(step.shape, bool), self.first, None)
        start = clock.plain()
        # Without a derivative: where the steps end is no part of the solution.
        sound = trial.converged & jnp.all(jnp.isfinite(trial.y) & jnp.isfinite(trial.error), axis=0)
        # In a long step the first stages may guess a lag that is negative; in a short one not.
        sound &= trial.fault != jnp.int32(Outcome.LAG_NEGATIVE)
        error = jnp.where(sound, trial.error, jnp.inf)
        new = jnp.where(sound, trial.y, y)
        seen = jax.lax.stop_gradient((start, start + step, y, new, error, controller_state))

        def one(start: Array, end: Array, y: Array, new: Array, error: Array, old: Any) -> Any:
            keep, begin, until, _, memory, _ = controller.adapt_step_size(
                start, end, y, new, None, error, float(self.order), old
            )
            return keep, until - begin, memory

        return StepDecision(*jax.vmap(one, in_axes=-1, out_axes=-1)(*seen))


def _value(term: Any, t: Any, y: Any, args: Any) -> Any:
    """The right-hand side, as a diffrax solver would tell its controller."""
    return term.vf(t, y, args)
