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
    """Dense output: the solution at any time."""

    def evaluate(self, times: Any, left: bool) -> Any:
        """The states y at any times between t0 and t1; see `Solution.evaluate`."""
        ...

    def derivative(self, times: Any, left: bool) -> Any:
        """The derivatives dy/dt at any times between t0 and t1; see `Solution.derivative`."""
        ...


class Solution(NamedTuple):
    """The result of a solve; for a batch, each array has the batch axis first."""

    ts: Float[Array, " m"]
    """Save times, shape (m,)."""
    ys: Float[Array, "m n"]
    """States at the save times, shape (m, n); nan at times that a failed solve did not reach. At
    the time of a jump it is the state after it."""
    result: Int32[Array, ""]
    """An `Outcome`; unless it is SUCCESS, the states from one step before `time` on are invalid."""
    time: Float[Array, ""]
    """End of the step in which the first fault occurred; nan after SUCCESS."""
    stats: dict[str, Any] | None = None
    """Numbers of attempted (`num_steps`), accepted (`num_accepted_steps`) and rejected steps
    (`num_rejected_steps`), the limit `max_steps`, and events (`num_events`). None for constant
    steps."""
    interpolation: Curve | None = None
    """Dense output; None unless requested by `SaveAt(dense=True)`."""
    event_mask: Any = None
    """Which conditions of `event` ended the solve: a pytree of bools like its `cond_fn`."""
    t0: Any = None
    """Start of the solve, shape ()."""
    t1: Any = None
    """The requested end, shape (). An event or a failure may end a solve earlier."""

    def evaluate(self, t0: ArrayLike, t1: ArrayLike | None = None, left: bool = True) -> Any:
        """The states y at any times of the solve, from the dense output; nan outside.

        Args:
            t0: one time, or an array of times, in the unit of t0; the same for every instance of
                a batch.
            t1: if given, the increments from `t0` to `t1` are returned.
            left: where y jumps, whether the state before the jump is returned.

        Returns:
            States, shape `(*times, n)`; for a batch, `(batch, *times, n)`.

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

        Arguments, shapes and errors are those of `evaluate`.
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
        SolveFailed: if a solve failed; with the result of the first one that failed, the end of
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
    outcome = np.asarray(solution.result)
    failed = np.flatnonzero(outcome)
    if failed.size == 0:
        return solution
    first = failed[0]
    time = np.asarray(solution.time).flat[first]
    which = f" (number {first} of {outcome.size}; {failed.size} failed)" if outcome.ndim else ""
    meaning = Outcome(int(outcome.flat[first])).meaning
    raise SolveFailed(f"dde.solve failed at t = {time:.6g}{which}: {meaning}.")
