"""The options that `solve` and `solve_batch` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import diffrax
from jaxtyping import Array
from numpy.typing import ArrayLike

from vegasfluid.dde.adaptive.bounds import Bound
from vegasfluid.dde.adaptive.resets import Reset
from vegasfluid.errors import InvalidInput

__all__ = ["Options", "with_defaults"]


class Options(TypedDict, total=False):
    """The keyword options of `solve` and `solve_batch`; all are optional."""

    initial_history: Callable[..., Array] | None
    """y(s) for s < t0, as a function of (s, args), shape (n,); None: y0. A step that passes t0
    reads it slightly after t0 too, so it should be smooth there if possible."""

    past_breaks: ArrayLike
    """Times before t0 at which the initial history or its derivative jumps, increasing: a step
    ends where a lag passes one. Reverse mode counts them as constants."""

    bounds: Sequence[Bound]
    """Components that stay at a bound while their slope points outward. `rhs` returns the slope
    that they would have without the bound. A y0 outside fails with START_OUT_OF_BOUNDS."""

    guards: Callable[..., Array] | None
    """Indicators as a function of (t, y, history, args), shape (m,). A step uses the sign that
    each indicator has at its start (`above`: indicator >= 0) and ends where a sign changes. Write
    `jnp.where(above[0], ...)` for a kink, so that each branch is smooth beyond it."""

    resets: Sequence[Reset]
    """Events at which the state jumps: see `Reset`."""

    event: diffrax.Event | None
    """Ends the solve where a `cond_fn` of this event is zero. It is called as `cond_fn(t, y, args,
    history=history)`, returns a number, and is located without a `root_finder`, too. The time of
    the event is the last of `ts` with `SaveAt(t1=True)`; `Solution.event_mask` states which
    `cond_fn` it was."""

    project: Callable[..., Array] | None
    """Maps (y, args) after each step to an allowed state: cheaper than `bounds`, but applied only
    at the ends of steps, which reduces the order, also of the times of events."""

    saveat: diffrax.SaveAt | None
    """What to return: `diffrax.SaveAt(t0=, t1=, ts=, steps=, dense=, fn=)`; None: y(t1)."""

    stepsize_controller: diffrax.AbstractStepSizeController
    """`diffrax.PIDController(rtol, atol, ...)` (1e-6 and 1e-9 unless given), or
    `diffrax.ConstantStepSize()`; tolerances that are arrays are not compiled in. Either may be in
    a `diffrax.ClipStepSizeController` with `jump_ts`, times at which the right-hand side jumps,
    and `step_ts`, times at which steps end."""

    adjoint: diffrax.AbstractAdjoint | None
    """None or `diffrax.ForwardMode()`: supports `jax.jvp` and `jax.jacfwd` in all arguments.
    `diffrax.RecursiveCheckpointAdjoint()`: supports `jax.grad` in times, `y0`, `args` and arrays
    that the functions close over; it stores `max_steps` steps, each one a checkpoint."""

    history_capacity: int | None
    """Steps that the history keeps, from 8 up, rounded up to a power of two, with a quarter as many
    breaking points. None: 1024; a solve outside `jax.jit` that needs more is repeated with more. A
    longer lag fails with HISTORY_OVERFLOW. With dense output, with all steps saved and in reverse
    mode, `max_steps` steps are kept."""

    max_steps: int
    """Largest number of attempted steps, rejected ones included (default 16384)."""

    throw: bool
    """Raise `SolveFailed` if a solve fails (the default); else `Solution.result` reports it."""

    progress_meter: diffrax.AbstractProgressMeter | None
    """Shows the fraction of t0 to t1 solved, as `diffrax.TqdmProgressMeter()`; None: no meter."""


CAPACITY = 1024
"""Steps that the history keeps unless more are needed: they fit in a CPU's cache."""

DEFAULTS = Options(
    initial_history=None,
    past_breaks=(),
    bounds=(),
    guards=None,
    resets=(),
    event=None,
    project=None,
    saveat=None,
    stepsize_controller=diffrax.PIDController(rtol=1e-6, atol=1e-9),
    adjoint=None,
    history_capacity=None,
    max_steps=16384,
    throw=True,
    progress_meter=None,
)


def with_defaults(options: Any) -> dict[str, Any]:
    """All options of `solve` by name, with defaults for those not given.

    Where `adjoint`, `progress_meter` or `saveat` is None, the result has diffrax's object for it.
    `history_capacity` is then a number, and the additional key `grow` states whether it was None,
    so that it may grow.

    Raises:
        InvalidInput: for an unknown option.

    >>> with_defaults({"history_capacity": 64})["max_steps"]
    16384
    """
    for name in options:
        if name not in DEFAULTS:
            raise InvalidInput("dde.solve", "each option", f"one of {', '.join(DEFAULTS)}", name)
    given: dict[str, Any] = {**DEFAULTS, **options}
    given["adjoint"] = given["adjoint"] or diffrax.ForwardMode()
    given["progress_meter"] = given["progress_meter"] or diffrax.NoProgressMeter()
    given["saveat"] = given["saveat"] or diffrax.SaveAt(t1=True)
    given["grow"] = given["history_capacity"] is None
    given["history_capacity"] = CAPACITY if given["grow"] else given["history_capacity"]
    return given
