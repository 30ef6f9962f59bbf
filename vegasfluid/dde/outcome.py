"""The outcome of a solve, and its first fault."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int32

__all__ = ["Fault", "Outcome"]


class Outcome(IntEnum):
    """The outcome of a solve: SUCCESS (0), or the first fault; `meaning` puts it into words.

    >>> Outcome(1).name, Outcome.LAG_TOO_SHORT.meaning
    ('LAG_TOO_LONG', 'a lag reached past the last known time: it is shorter than the step')
    """

    SUCCESS = 0
    LAG_TOO_LONG = 1
    LAG_TOO_SHORT = 2
    NOT_FINITE = 3
    HISTORY_OVERFLOW = 4
    LAG_NEGATIVE = 5
    PAST_NOT_FINITE = 6
    STEP_UNDERFLOW = 7
    MAX_STEPS_REACHED = 8
    TIMES_REVERSED = 9
    START_NOT_FINITE = 10
    CHATTERING = 11
    START_OUT_OF_BOUNDS = 12
    NEWTON_FAILED = 13

    @property
    def meaning(self) -> str:
        """What the outcome means, in words that complete "dde.solve failed at t = ...: "."""
        return _MEANINGS[self]


_MEANINGS = {
    Outcome.SUCCESS: "nothing went wrong",
    Outcome.LAG_TOO_LONG: "a lag was longer than longest_lag",
    Outcome.LAG_TOO_SHORT: "a lag reached past the last known time: it is shorter than the step",
    Outcome.NOT_FINITE: "the state was not finite",
    Outcome.HISTORY_OVERFLOW: "a lag reached past the history; increase history_capacity",
    Outcome.LAG_NEGATIVE: "a lag was negative: the history was read in the future",
    Outcome.PAST_NOT_FINITE: "the initial history was not finite",
    Outcome.STEP_UNDERFLOW: "the step became too short to advance the time",
    Outcome.MAX_STEPS_REACHED: "the largest number of steps was reached; allow more max_steps, "
    "or declare jumps (guards, jump_ts, past_breaks)",
    Outcome.TIMES_REVERSED: "t1 is before t0, and a delay equation cannot be solved backwards; "
    "one without delays can, with s = -t in the place of t",
    Outcome.START_NOT_FINITE: "the state or its slope was not finite at t0",
    Outcome.CHATTERING: "bounds or guards changed again and again at one time: no solution goes "
    "on, or an effect that stays needs a dde.Reset (option resets)",
    Outcome.START_OUT_OF_BOUNDS: "the state at t0 was outside its bounds",
    Outcome.NEWTON_FAILED: "the Newton iteration of the implicit method did not converge, even in "
    "the shortest step: the right-hand side is not finite, a jump is not declared (guards, "
    "jump_ts), or constant steps are too long",
}
"""Meaning of each outcome, in words that complete an error message."""


class Fault(NamedTuple):
    """The first fault of a solve with constant steps, if any."""

    code: Int32[Array, ""]
    """An `Outcome`."""
    step: Int32[Array, ""]
    """Number of the grid point (step end) at which it was detected; undefined for SUCCESS."""

    @classmethod
    def none(cls) -> Fault:
        """The fault of a solve without faults so far: code SUCCESS at grid point 0.

        >>> int(Fault.none().code)
        0
        """
        return cls(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))

    def note(self, outcome: Outcome, occurred: Bool[Array, ""], step: Int32[Array, ""]) -> Fault:
        """The first fault after one more check of a solve.

        Args:
            outcome: the fault that was checked for.
            occurred: whether it occurred.
            step: number of the grid point at which it was checked.

        Returns:
            A fault with code `outcome` at grid point `step` if it occurred and this fault's code is
            SUCCESS; else this fault.

        >>> fault = Fault.none().note(Outcome.NOT_FINITE, jnp.array(True), jnp.int32(7))
        >>> fault = fault.note(Outcome.LAG_TOO_LONG, jnp.array(True), jnp.int32(8))
        >>> int(fault.code), int(fault.step)
        (3, 7)
        """
        new = (self.code == jnp.int32(Outcome.SUCCESS)) & occurred
        return Fault(jnp.where(new, jnp.int32(outcome), self.code), jnp.where(new, step, self.step))
