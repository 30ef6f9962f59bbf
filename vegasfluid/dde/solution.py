"""The result of a solve, and the check that it succeeded."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32
from numpy.typing import ArrayLike

from vegasfluid.dde.outcome import Outcome
from vegasfluid.errors import InvalidInput, SolveFailed, Words

__all__ = ["Curve", "Solution", "check"]


class Curve(Protocol):
    """Dense output: the solution at any time from t0 to the end of the solve; nan outside."""

    def evaluate(self, times: Any, left: bool) -> Any:
        """The states y, shape (*times, n), at times of any shape; with a batch axis first.

        Where y jumps, `left` chooses the state before the jump.
        """
        ...

    def derivative(self, times: Any, left: bool) -> Any:
        """The derivatives dy/dt, shape (*times, n), at times of any shape; with a batch axis first.

        Where dy/dt jumps, `left` chooses the derivative before the jump.
        """
        ...


class Solution(NamedTuple):
    """The result of a solve; for a batch, each array has the batch axis first.

    n is the number of components of y. A state that is a pytree has its own shapes instead.
    """

    ts: Float[Array, " m"]
    """Save times, shape (m,), in the unit of t0; nan where `SaveAt(steps=...)` has none."""
    ys: Float[Array, "m n"]
    """States (or saved values) at the save times, shape (m, n); after the jump where y jumps. Times
    that a failed solve did not reach have nan."""
    result: Int32[Array, ""]
    """An `Outcome`, shape (). After a fault, states from one step before `time` on are invalid."""
    time: Float[Array, ""]
    """Time of the first fault, shape (), in the unit of t0; nan after SUCCESS. With `solve_fixed`
    the step with the fault ends there, with `solve` it starts there."""
    stats: dict[str, Any] | None = None
    """Numbers of attempted (`num_steps`), accepted (`num_accepted_steps`) and rejected steps
    (`num_rejected_steps`), the limit `max_steps`, and steps that ended at an event or a breaking
    point (`num_events`). None after `solve_fixed`."""
    interpolation: Curve | None = None
    """Dense output; None unless requested by `SaveAt(dense=True)`."""
    event_mask: Any = None
    """Which conditions of the option `event` ended the solve: bools in a pytree like its `cond_fn`.
    None without this option."""
    t0: Any = None
    """Start of the solve, shape ()."""
    t1: Any = None
    """The requested end, shape (). An event or a failure may end a solve earlier."""

    def evaluate(self, t0: ArrayLike, t1: ArrayLike | None = None, left: bool = True) -> Any:
        """The states y at any times of the solve, from the dense output; nan outside.

        Args:
            t0: one time, or an array of times, in the unit of the solve's t0; the same for every
                instance of a batch.
            t1: times of the same shape; if given, the increments y(t1) - y(t0) are returned.
            left: where y jumps, whether the state before the jump is returned.

        Returns:
            States, shape `(*times, n)`; for a batch, `(batch, *times, n)`. If the state is a
            pytree, each leaf has these axes in front.

        Raises:
            InvalidInput: if the solve had no dense output.
        """
        at_t0 = self._curve.evaluate(jnp.asarray(t0), left)
        if t1 is None:
            return at_t0
        at_t1 = self._curve.evaluate(jnp.asarray(t1), left)
        return jax.tree.map(lambda last, first: last - first, at_t1, at_t0)

    def derivative(self, t: ArrayLike, left: bool = True) -> Any:
        """The derivative dy/dt of the dense output; less accurate than the right-hand side there.

        Args:
            t: one time, or an array of times, in the unit of t0; nan is returned outside the solve.
            left: where dy/dt jumps, whether the derivative before the jump is returned.

        Returns:
            Derivatives, shape `(*times, n)`; for a batch, `(batch, *times, n)`.

        Raises:
            InvalidInput: if the solve had no dense output.
        """
        return self._curve.derivative(jnp.asarray(t), left)

    @property
    def _curve(self) -> Curve:
        """The dense output.

        Raises:
            InvalidInput: if there is none.
        """
        if self.interpolation is None:
            allowed = "requested with saveat=SaveAt(dense=True)"
            raise InvalidInput("dde.Solution", "dense output", allowed, Words("missing"))
        return self.interpolation


def check(solution: Solution) -> Solution:
    """Return the solution if it succeeded, else raise; call it outside `jax.jit`.

    Args:
        solution: result of `solve`, `solve_batch` or `solve_fixed`: one solution, or a batch of
            them.

    Returns:
        `solution`, unchanged, if its results are all SUCCESS.

    Raises:
        SolveFailed: if a solve failed. The message has the time (`Solution.time`) and the reason
            of the first instance that failed; for a batch also its number, from 0, and how many
            failed.

    >>> import jax.numpy as jnp
    >>> from vegasfluid import dde
    >>> check(dde.solve_fixed(
    ...     lambda t, y, history, args: -history(t - 2.0), jnp.ones(1),
    ...     ts=np.linspace(0.0, 4.0, 5), dt0=0.25, longest_lag=1.0,
    ... ))
    Traceback (most recent call last):
    vegasfluid.errors.SolveFailed: dde.solve failed at t = 0: a lag was longer than longest_lag.
    """
    outcome = np.asarray(solution.result)
    failed = np.flatnonzero(outcome)
    if failed.size == 0:
        return solution
    first = failed[0]
    time = np.asarray(solution.time).flat[first]
    which = f" (number {first} of {outcome.size}; {failed.size} failed)" if outcome.ndim else ""
    meaning = Outcome(int(outcome.flat[first])).meaning
    raise SolveFailed(f"dde.solve failed at t = {time:.6g}{which}: {meaning}.")
