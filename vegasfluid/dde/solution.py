"""The result of a solve, and the check that it succeeded."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from jaxtyping import Array, Float, Int32

from vegasfluid.dde.outcome import Outcome
from vegasfluid.errors import InvalidInput, SolveFailed

__all__ = ["Curve", "Solution", "check"]


class Curve(Protocol):
    """Dense output: the solution at any time."""

    def evaluate(self, times: Any) -> Array:
        """The states y at any times between t0 and t1.

        Args:
            times: one time, or an array of times, in the unit of t0; the same for all instances.

        Returns:
            States, shape `(*times, n)`; for a batch, `(batch, *times, n)`.
        """
        ...


class Solution(NamedTuple):
    """The result of a solve; for a batch, each array has the batch axis first."""

    ts: Float[Array, " m"]
    """Save times, shape (m,)."""
    ys: Float[Array, "m n"]
    """States at the save times, shape (m, n); nan at times that a failed solve did not reach."""
    outcome: Int32[Array, ""]
    """An `Outcome`; unless it is SUCCESS, the states from one step before `time` on are invalid."""
    time: Float[Array, ""]
    """End of the step in which the first fault occurred; nan after SUCCESS."""
    stats: dict[str, Any] | None = None
    """Numbers of accepted `steps`, `rejected` attempts and `events`; None for constant steps."""
    interpolation: Curve | None = None
    """Dense output; None unless requested by `SaveAt(dense=True)`."""

    event_mask: Any = None
    """Which conditions of `event` ended the solve: a pytree of bools like its `cond_fn`."""

    def evaluate(self, times: float | Float[Array, "*times"]) -> Array:
        """The states y at any times between t0 and t1, from the dense output.

        Args:
            times: one time, or an array of times, in the unit of t0; the same for every instance of
                a batch.

        Returns:
            States, shape `(*times, n)`; for a batch, `(batch, *times, n)`.

        Raises:
            InvalidInput: if the solve had no dense output.
        """
        if self.interpolation is None:
            allowed = "requested with saveat=SaveAt(dense=True)"
            raise InvalidInput("dde.Solution", "dense output", allowed, "missing")
        return self.interpolation.evaluate(times)


def check(solution: Solution) -> Solution:
    """Return the solution if it succeeded, else raise; call it outside `jax.jit`.

    Args:
        solution: result of `solve`, `solve_batch` or `solve_fixed`: one solution, or a batch of
            them.

    Returns:
        `solution`, unchanged, if its outcomes are all SUCCESS.

    Raises:
        SolveFailed: if a solve failed; with the outcome of the first one that failed, the end of
            the step in which it failed (in the unit of t0) and, for a batch, its number and how
            many failed.

    >>> import jax.numpy as jnp
    >>> from vegasfluid import dde
    >>> check(dde.solve_fixed(
    ...     lambda t, y, history, args: -history(t - 2.0), jnp.ones(1),
    ...     ts=np.linspace(0.0, 4.0, 5), dt0=0.25, longest_lag=1.0,
    ... ))
    Traceback (most recent call last):
    vegasfluid.errors.SolveFailed: dde.solve failed at t = 0: a lag was longer than longest_lag.
    """
    outcome = np.asarray(solution.outcome)
    failed = np.flatnonzero(outcome)
    if failed.size == 0:
        return solution
    first = failed[0]
    time = np.asarray(solution.time).flat[first]
    which = f" (number {first} of {outcome.size}; {failed.size} failed)" if outcome.ndim else ""
    meaning = Outcome(int(outcome.flat[first])).meaning
    raise SolveFailed(f"dde.solve failed at t = {time:.6g}{which}: {meaning}.")
