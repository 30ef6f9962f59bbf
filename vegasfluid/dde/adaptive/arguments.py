"""The checked arguments of `solve`, static and traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, PyTree
from numpy.typing import ArrayLike

from vegasfluid.dde.adaptive.bounds import Bound
from vegasfluid.dde.adaptive.resets import Reset
from vegasfluid.errors import InvalidInput, Unsupported, Words

__all__ = [
    "Arguments",
    "TracedArguments",
    "check_times",
    "checked_arguments",
    "checked_traced",
    "is_part",
    "require_first_step",
    "save_times",
    "sub_saveats",
]

OWNER = "dde.solve"
"""The function that error messages name."""


class Arguments(eqx.Module):
    """The arguments and options of `dde.solve` that are static, except for arrays in them.

    `rhs`, `solver`, and the options `initial_history`, `past_breaks`, `bounds`, `guards`, `resets`,
    `event`, `project`, `adjoint`, `history_capacity` and `max_steps` have the caller's names;
    `controller` is the option `stepsize_controller`, `meter` the option `progress_meter`.
    """

    rhs: Callable[..., Array]
    solver: diffrax.AbstractSolver
    initial_history: Callable[..., Array] | None
    past_breaks: Float[Array, " breaks"]
    bounds: tuple[Bound, ...]
    guards: Callable[..., Array] | None
    resets: tuple[Reset, ...]
    event: diffrax.Event | None
    project: Callable[..., Array] | None
    controller: diffrax.AbstractStepSizeController
    adjoint: diffrax.AbstractAdjoint
    history_capacity: int
    max_steps: int
    meter: diffrax.AbstractProgressMeter
    other_args: PyTree
    """The leaves of the user's `args` that are no arrays, such as activation functions."""

    def all_args(self, args: PyTree) -> PyTree:
        """The user's `args`: the array leaves `args` together with `other_args`."""
        return eqx.combine(args, self.other_args)

    @property
    def inner_controller(self) -> diffrax.AbstractStepSizeController:
        """The controller of the error test: the one in a `ClipStepSizeController`, if it is one."""
        return getattr(self.controller, "controller", self.controller)

    def times(self, name: str, dtype: Any) -> Float[Array, " times"]:
        """The controller's `step_ts` or `jump_ts` (the `name`), shape (times,); may be empty."""
        times = getattr(self.controller, name, None)
        return jnp.zeros(0, dtype) if times is None else jnp.asarray(times, dtype)

    @property
    def events(self) -> bool:
        """Whether there are bounds, guards, resets or an `event`."""
        acting = self.guards is not None or self.event is not None
        return acting or bool(self.bounds) or bool(self.resets)

    @property
    def reverse(self) -> bool:
        """Whether the solve can be differentiated in reverse mode, as `adjoint` requests."""
        return isinstance(self.adjoint, diffrax.RecursiveCheckpointAdjoint)


class TracedArguments(NamedTuple):
    """The arguments of `solve` that are traced; for a batch, with the batch axis first.

    Args:
        t0: start time, in the unit of t.
        t1: end time, in the unit of t.
        dt0: length of the first step, in the unit of t; None: the controller chooses it.
        y0: state at t0, shape (*batch, n).
    """

    t0: Float[Array, "*batch"]
    t1: Float[Array, "*batch"]
    dt0: Float[Array, "*batch"] | None
    y0: Float[Array, "*batch n"]


def checked_arguments(
    rhs: Callable[..., Array], solver: Any, options: dict[str, Any], other_args: PyTree
) -> Arguments:
    """The static arguments of `dde.solve`, checked: functions, method, controller and limits.

    Args:
        rhs: the right-hand side dy/dt.
        solver: a diffrax solver.
        options: all options of `dde.solve`, by name.
        other_args: the leaves of `args` that are no arrays; None in the place of arrays.

    Raises:
        InvalidInput: for a value of a wrong type or out of range.
    """
    arguments = Arguments(
        rhs,
        solver,
        options["initial_history"],
        jnp.asarray(options["past_breaks"], float).ravel(),
        tuple(options["bounds"]),
        options["guards"],
        tuple(options["resets"]),
        options["event"],
        options["project"],
        options["stepsize_controller"],
        options["adjoint"],
        options["history_capacity"],
        options["max_steps"],
        options["progress_meter"],
        other_args,
    )
    _check_controller(arguments)
    adjoints = (diffrax.ForwardMode, diffrax.RecursiveCheckpointAdjoint)
    _require_type("adjoint", arguments.adjoint, adjoints)
    _require_type("progress_meter", arguments.meter, (diffrax.AbstractProgressMeter,))
    _require_type("solver", arguments.solver, (diffrax.AbstractSolver,))
    for name, least in (("history_capacity", 8), ("max_steps", 1)):
        value = getattr(arguments, name)
        if not isinstance(value, int) or not least <= value < 2**30:
            raise InvalidInput(OWNER, name, f"a whole number from {least} to 2**30 - 1", value)
    for name, kind in (("bounds", Bound), ("resets", Reset)):
        for each in getattr(arguments, name):
            _require_type(name, each, (kind,))
    if arguments.event is not None:
        _require_type("event", arguments.event, (diffrax.Event,))
    return arguments


def _check_controller(arguments: Arguments) -> None:
    """Raise `InvalidInput` for a step-size controller that delay equations cannot use.

    It must be a `PIDController` or `ConstantStepSize`, or a `ClipStepSizeController` around one of
    them that stores no rejected steps.
    """
    name, controller = "stepsize_controller", arguments.controller
    types = (diffrax.PIDController, diffrax.ConstantStepSize)
    _require_type(name, controller, (*types, diffrax.ClipStepSizeController))
    _require_type(name, arguments.inner_controller, types)
    if getattr(controller, "store_rejected_steps", None) is not None:
        given = "ClipStepSizeController(store_rejected_steps=...)"
        raise InvalidInput(OWNER, name, "without store_rejected_steps, which is for noise", given)


def _require_type(name: str, value: Any, types: tuple[type, ...]) -> None:
    """Raise `InvalidInput` unless the argument `name` of `dde.solve` has one of these types."""
    if not isinstance(value, types):
        allowed = " or ".join(each.__name__ for each in types)
        raise InvalidInput(OWNER, name, allowed, type(value).__name__)


def checked_traced(
    t0: ArrayLike, t1: ArrayLike, dt0: ArrayLike | None, y0: ArrayLike, *, dims: int
) -> TracedArguments:
    """The times and the state at t0 as arrays of the state's dtype.

    Args:
        t0: start time, shape () or (batch,).
        t1: end time, likewise.
        dt0: first step, likewise; None: the controller chooses it.
        y0: state at t0.
        dims: number of axes of `y0`: 1, or 2 with a batch axis.

    Returns:
        Times of shape () or (batch,), and y0 of shape (n,) or (batch, n).

    Raises:
        InvalidInput: for a wrong shape or dtype, or a first step that is not positive.
    """
    state = jnp.asarray(y0)
    if state.ndim != dims or not state.size or not jnp.issubdtype(state.dtype, jnp.floating):
        shape = "(n,)" if dims == 1 else "(batch, n)"
        given = f"shape {state.shape} of {state.dtype}"
        raise InvalidInput(OWNER, "y0", f"floating, of shape {shape} and not empty", given)

    def time(name: str, value: ArrayLike) -> Array:
        """The time argument `name` as an array, one number for each instance."""
        array = jnp.asarray(value, state.dtype)
        if array.shape not in ((), state.shape[:-1]):
            raise InvalidInput(OWNER, name, f"of shape () or {state.shape[:-1]}", array.shape)
        return jnp.broadcast_to(array, state.shape[:-1])

    first = None if dt0 is None else time("dt0", dt0)
    if first is not None and not isinstance(first, Tracer) and not np.all(first > 0):
        raise InvalidInput(OWNER, "dt0", "above 0", np.asarray(first).min())
    return TracedArguments(time("t0", t0), time("t1", t1), first, state)


def check_times(arguments: Arguments, saveat: diffrax.SaveAt, traced: TracedArguments) -> None:
    """Raise `InvalidInput` for wrong save times or wrong `past_breaks`; outside `jax.jit`."""
    _check_saveat(saveat, traced)
    _check_past_breaks(arguments, traced)


def _check_past_breaks(arguments: Arguments, traced: TracedArguments) -> None:
    """Raise `InvalidInput` unless the times `past_breaks` are increasing and before t0.

    Traced times are not checked.
    """
    breaks = arguments.past_breaks
    if isinstance(breaks, Tracer) or isinstance(traced.t0, Tracer) or not breaks.size:
        return
    values = np.asarray(breaks)
    if np.any(np.diff(values) <= 0) or not np.all(values[-1] < np.asarray(traced.t0)):
        raise InvalidInput(OWNER, "past_breaks", "increasing, before t0", values.tolist())


def require_first_step(arguments: Arguments, traced: TracedArguments) -> None:
    """Raise `InvalidInput` for constant steps without `dt0`, which is their length."""
    if isinstance(arguments.inner_controller, diffrax.ConstantStepSize) and traced.dt0 is None:
        raise InvalidInput(OWNER, "dt0", "given with ConstantStepSize()", None)


def _check_saveat(saveat: diffrax.SaveAt, traced: TracedArguments) -> None:
    """Raise `InvalidInput` for invalid save times, `Unsupported` for parts of a `SaveAt`.

    Save times must be finite, from t0 to t1 and not decrease. Traced ones are not checked, so call
    it outside `jax.jit`. `solver_state`, `controller_state` and `made_jump` are not supported.
    """
    for name in ("solver_state", "controller_state", "made_jump"):
        if getattr(saveat, name):
            reason = "a solve always starts anew"
            raise Unsupported(OWNER, f"SaveAt({name}=True)", reason)
    for sub in sub_saveats(saveat):
        _check_sub(sub, traced)


def sub_saveats(saveat: diffrax.SaveAt) -> list[diffrax.SubSaveAt]:
    """The parts of a `SaveAt(subs=...)` in order; one for a `SaveAt` without `subs`."""
    return jax.tree.leaves(saveat.subs, is_leaf=is_part)


def is_part(node: Any) -> bool:
    """Whether a node of `SaveAt.subs` is one of its parts."""
    return isinstance(node, diffrax.SubSaveAt)


def _check_sub(subs: diffrax.SubSaveAt, traced: TracedArguments) -> None:
    """Raise `InvalidInput` unless the save times of a part are finite, in order and in range.

    Equal times are allowed; traced times are not checked. `steps` together with `ts` is an error.
    """
    if subs.ts is None:
        return
    if subs.steps:
        raise InvalidInput(
            OWNER, "saveat", "with steps or with ts, not both", Words("SaveAt with both")
        )
    if not isinstance(subs.ts, Tracer):
        values = np.asarray(subs.ts)
        if not np.all(np.isfinite(values)) or np.any(np.diff(values) < 0):
            wrong = ~np.isfinite(values) | (np.diff(values, prepend=values[0]) < 0)
            given = Words(f"ts with {values[wrong][0]:g}")
            raise InvalidInput(OWNER, "saveat", "with finite ts that do not decrease", given)
        _require_within(values, traced)


def save_times(saveat: diffrax.SaveAt, traced: TracedArguments) -> Array:
    """The times of all `ts` in the dtype of the state, shape (m,), part after part."""
    dtype = traced.y0.dtype
    times = [sub.ts.astype(dtype) for sub in sub_saveats(saveat) if sub.ts is not None]
    return jnp.concatenate(times) if times else jnp.zeros(0, dtype)


def _require_within(times: np.ndarray, traced: TracedArguments) -> None:
    """Raise `InvalidInput` unless all save times are from t0 to t1 of every instance.

    Rounding (a millionth of the largest time) is allowed. If t0 or t1 is traced, nothing is
    checked; where t1 is before t0, only t0 is a limit.
    """
    if any(isinstance(bound, Tracer) for bound in (traced.t0, traced.t1)):
        return
    first, last = float(np.max(traced.t0)), float(np.min(traced.t1))
    rounding = 1e-6 * max(abs(first), abs(last))
    if times[0] < first - rounding or (first <= last and times[-1] > last + rounding):
        given = Words(f"{times[0]:g} to {times[-1]:g}")
        raise InvalidInput(OWNER, "saveat", f"with ts from {first:g} to {last:g}", given)
