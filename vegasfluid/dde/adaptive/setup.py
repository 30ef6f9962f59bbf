"""What a solve was asked to do, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from vegasfluid.dde.adaptive.clamps import Clamp
from vegasfluid.errors import InvalidInput

__all__ = [
    "Numbers",
    "Setup",
    "check_saveat",
    "checked_numbers",
    "require_first_step",
    "save_times",
    "setup_of",
]

WHOSE = "dde.solve"


class Setup(eqx.Module):
    """The arguments of `solve` that are compiled in (but for arrays in them); see there."""

    rhs: Callable[..., Array]
    solver: diffrax.AbstractSolver
    past: Callable[..., Array] | None
    clamps: tuple[Clamp, ...]
    switches: Callable[..., Array] | None
    project: Callable[..., Array] | None
    controller: diffrax.AbstractStepSizeController
    adjoint: diffrax.AbstractAdjoint
    rows: int
    max_steps: int
    meter: diffrax.AbstractProgressMeter

    @property
    def reverse(self) -> bool:
        """Whether the solve is to be differentiated in reverse."""
        return isinstance(self.adjoint, diffrax.RecursiveCheckpointAdjoint)


class Numbers(NamedTuple):
    """The arguments of `solve` that are traced; of a batch, with the batch in front.

    Args:
        t0: start.
        t1: end.
        dt0: first step, or None.
        y0: state at t0, shape (*batch, n).
    """

    t0: Float[Array, "*batch"]
    t1: Float[Array, "*batch"]
    dt0: Float[Array, "*batch"] | None
    y0: Float[Array, "*batch n"]


def setup_of(rhs: Callable[..., Array], solver: Any, options: dict[str, Any]) -> Setup:
    """The setup that was asked for, if it makes sense."""
    setup = Setup(
        rhs,
        solver,
        options["past"],
        tuple(options["clamps"]),
        options["switches"],
        options["project"],
        options["stepsize_controller"],
        options["adjoint"],
        options["rows"],
        options["max_steps"],
        options["progress_meter"],
    )
    controllers = (diffrax.PIDController, diffrax.ConstantStepSize)
    _require_type("stepsize_controller", setup.controller, controllers)
    adjoints = (diffrax.ForwardMode, diffrax.RecursiveCheckpointAdjoint)
    _require_type("adjoint", setup.adjoint, adjoints)
    _require_type("progress_meter", setup.meter, (diffrax.AbstractProgressMeter,))
    _require_type("solver", setup.solver, (diffrax.AbstractSolver,))
    for name, least in (("rows", 8), ("max_steps", 1)):
        value = getattr(setup, name)
        if not isinstance(value, int) or not least <= value < 2**30:
            raise InvalidInput(WHOSE, name, f"a whole number from {least} up", value)
    for clamp in setup.clamps:
        _require_type("clamps", clamp, (Clamp,))
    return setup


def _require_type(name: str, value: Any, types: tuple[type, ...]) -> None:
    if not isinstance(value, types):
        allowed = " or ".join(kind.__name__ for kind in types)
        raise InvalidInput(WHOSE, name, allowed, type(value).__name__)


def checked_numbers(
    t0: ArrayLike, t1: ArrayLike, dt0: ArrayLike | None, y0: ArrayLike, *, dims: int
) -> Numbers:
    """The numbers as arrays of the state's dtype.

    Args:
        t0: start.
        t1: end.
        dt0: first step, or None.
        y0: state at t0.
        dims: of `y0`; with one more than 1 the first is the batch, and the times have it too.
    """
    state = jnp.asarray(y0)
    if state.ndim != dims or not state.size or not jnp.issubdtype(state.dtype, jnp.floating):
        shape = "(n,)" if dims == 1 else "(batch, n)"
        given = f"shape {state.shape} of {state.dtype}"
        raise InvalidInput(WHOSE, "y0", f"floating, of shape {shape} and not empty", given)

    def time(name: str, value: ArrayLike) -> Array:
        array = jnp.asarray(value, state.dtype)
        if array.shape not in ((), state.shape[:-1]):
            raise InvalidInput(WHOSE, name, f"of shape () or {state.shape[:-1]}", array.shape)
        return jnp.broadcast_to(array, state.shape[:-1])

    first = None if dt0 is None else time("dt0", dt0)
    if first is not None and not isinstance(first, Tracer) and not np.all(first > 0):
        raise InvalidInput(WHOSE, "dt0", "above 0", np.asarray(first).min())
    return Numbers(time("t0", t0), time("t1", t1), first, state)


def require_first_step(setup: Setup, numbers: Numbers) -> None:
    """Refuse steps of one length of which it is not said how long they are."""
    if isinstance(setup.controller, diffrax.ConstantStepSize) and numbers.dt0 is None:
        raise InvalidInput(WHOSE, "dt0", "given with ConstantStepSize()", None)


def check_saveat(saveat: diffrax.SaveAt, numbers: Numbers) -> None:
    """Refuse what is not served, and times that make no sense; to be called outside `jax.jit`."""
    subs = saveat.subs
    if subs is not None and not isinstance(subs, diffrax.SubSaveAt):
        raise InvalidInput(WHOSE, "saveat", "without subs", "SaveAt(subs=...)")
    if saveat.solver_state or saveat.controller_state or saveat.made_jump:
        allowed = "without solver_state, controller_state and made_jump"
        raise InvalidInput(WHOSE, "saveat", allowed, "with them")
    if subs is None or subs.ts is None:
        return
    if subs.steps:
        raise InvalidInput(WHOSE, "saveat", "with steps or with ts, not both", "both")
    if not isinstance(subs.ts, Tracer):
        values = np.asarray(subs.ts)
        if not np.all(np.isfinite(values)) or np.any(np.diff(values) < 0):
            raise InvalidInput(WHOSE, "saveat", "with finite ts that rise", values.tolist())
        _require_within(values, numbers)


def save_times(saveat: diffrax.SaveAt, numbers: Numbers) -> Array:
    """The times of `SaveAt(ts=...)`, or none."""
    dtype = numbers.y0.dtype
    if saveat.subs is None or saveat.subs.ts is None:
        return jnp.zeros(0, dtype)
    return saveat.subs.ts.astype(dtype)


def _require_within(times: np.ndarray, numbers: Numbers) -> None:
    if any(isinstance(bound, Tracer) for bound in (numbers.t0, numbers.t1)):
        return
    first, last = float(np.max(numbers.t0)), float(np.min(numbers.t1))
    rounding = 1e-6 * max(abs(first), abs(last))
    if times[0] < first - rounding or (first <= last and times[-1] > last + rounding):
        given = f"{times[0]:g} to {times[-1]:g}"
        raise InvalidInput(WHOSE, "saveat", f"with ts from {first:g} to {last:g}", given)
