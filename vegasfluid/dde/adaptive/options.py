"""The options that `solve` and `solve_batch` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import diffrax
from jaxtyping import Array

from vegasfluid.dde.adaptive.bounds import Bound
from vegasfluid.errors import InvalidInput

__all__ = ["Options", "with_defaults"]


class Options(TypedDict, total=False):
    """What a solve may be told beside the equation; each may be left out."""

    initial_history: Callable[..., Array] | None
    """y at a time s < t0, of (s, args), shape (n,); None: y0. A step that passes t0 asks for it
    a little beyond as well: let it go on smoothly there if it can."""

    bounds: Sequence[Bound]
    """Components that are held at a bound while their slope points outward. `rhs` gives the
    slope that they would have were they free."""

    guards: Callable[..., Array] | None
    """Indicators of (t, y, history, args), shape (m,). Each step is made with the side that each
    is on at its start (indicator >= 0), and ends where one changes: write
    `jnp.where(above[0], ...)` for a kink, so that each branch goes on smoothly beyond it."""

    project: Callable[..., Array] | None
    """The allowed state that stands for a state after a step, of (y, args): the cheap choice
    instead of `bounds`; between steps it is unknown, which costs the order."""

    saveat: diffrax.SaveAt | None
    """What to return: `diffrax.SaveAt(t0=, t1=, ts=, steps=, dense=, fn=)`; None: y(t1)."""

    stepsize_controller: diffrax.AbstractStepSizeController
    """`diffrax.PIDController(rtol, atol, ...)` (1e-6 and 1e-9 unless given), or
    `diffrax.ConstantStepSize()`; tolerances that are arrays are not compiled in."""

    adjoint: diffrax.AbstractAdjoint | None
    """None or `diffrax.ForwardMode()`: open to `jax.jvp` and `jax.jacfwd` by everything.
    `diffrax.RecursiveCheckpointAdjoint()`: open to `jax.grad` by times, `y0` and `args`; keeps
    `max_steps` steps, each one a checkpoint."""

    history_capacity: int
    """Steps that the history keeps, 1024 unless given, rounded up to a power of two, and a quarter
    as many breaking points; a lag that reaches back further is an outcome. With dense output,
    with all steps saved and in reverse mode `max_steps` steps are kept."""

    max_steps: int
    """Attempts, 16384 unless given."""

    throw: bool
    """Raise `SolveFailed` where a solve goes wrong (the default); otherwise the outcome tells."""

    progress_meter: diffrax.AbstractProgressMeter | None
    """Such as `diffrax.TqdmProgressMeter()`; None: no meter."""


DEFAULTS = Options(
    initial_history=None,
    bounds=(),
    guards=None,
    project=None,
    saveat=None,
    stepsize_controller=diffrax.PIDController(rtol=1e-6, atol=1e-9),
    adjoint=None,
    history_capacity=1024,
    max_steps=16384,
    throw=True,
    progress_meter=None,
)


def with_defaults(options: Any) -> dict[str, Any]:
    """The options, with the defaults for those that were left out.

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
    return given
