"""The lane kernel as a JAX primitive, which works under `jit`, `vmap`, `jvp` and `grad`.

`vmap` adds lanes and `jvp` makes a kernel of the derivative, which serves reverse mode, too
(`vegasfluid.lanes.linearised`). XLA compiles every function that cannot be translated.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend import core
from jax.interpreters import ad, batching, mlir

from vegasfluid.lanes import cpu, gpu
from vegasfluid.lanes.builder import NoLaneKernel
from vegasfluid.lanes.derivatives import derivative, with_tangents
from vegasfluid.lanes.program import Program, cpu_program, gpu_program, has_wide_arrays, is_long
from vegasfluid.lanes.tracing import of_one_instance, traced, without_constants
from vegasfluid.lanes.varying import differing
from vegasfluid.parallel import processors

__all__ = ["Call", "LaneKernelWarning", "batched_call", "by_lanes", "lane_kernel", "lanes_p"]
__all__ += ["require_program"]


MOST_TANGENTS = 8
"""Largest number of tangents that one lane computes together; more make its program long."""
RECENT = 32
"""Number of CPU programs and of GPU programs kept for reuse (chosen)."""


class Call(NamedTuple):
    """The static parameters of a call.

    Args:
        jaxpr: traced function, without constants.
        batched: which of its arguments have an axis of lanes first.
        size: number of lanes; None: there is no axis of lanes.
        warn: whether to warn if XLA compiles it.
        tangents: number of its last arguments that are tangents, of a derivative; 0 otherwise.
    """

    jaxpr: Any
    batched: tuple[bool, ...]
    size: int | None
    warn: bool
    tangents: int = 0


lanes_p = core.Primitive("lanes")
"""JAX's operation that calls a lane kernel; its parameter `call` is a `Call`."""
lanes_p.multiple_results = True


def lane_kernel(function: Callable[..., Any], *, warn: bool = True) -> Callable[..., Any]:
    """Compile a function to machine code that runs each instance of a batch from start to end.

    Under `jax.vmap`, instances (lanes) run independently of each other in vectors and on all cores,
    while XLA runs all of them in step. Loops with large carried arrays gain most. The result works
    under `jax.jit`, `jax.vmap`, `jax.jvp` and `jax.grad` (which takes the columns of the Jacobian
    if these are few, and is compiled by XLA otherwise).

    Args:
        function: maps pytrees of arrays to a pytree of arrays; JAX must be able to trace it.
        warn: whether to warn (`LaneKernelWarning`, once for each reason in a process) if XLA has to
            compile it instead.

    Returns:
        A function with the arguments and results of `function`; it is compiled at its first call.

    >>> import jax, jax.numpy as jnp
    >>> halves = lane_kernel(lambda x: jax.lax.fori_loop(0, 3, lambda _, y: y / 2, x))
    >>> jax.vmap(halves)(jnp.array([8.0, 16.0])).tolist()
    [1.0, 2.0]
    """

    def call(*arguments: Any) -> Any:
        """The results of `function` for these arguments, computed by the lane kernel."""
        closed, results = traced(function, *arguments)
        given = [*closed.consts, *jax.tree.leaves(arguments)]
        jaxpr = without_constants(closed)
        outputs = lanes_p.bind(*given, call=Call(jaxpr, (False,) * len(given), None, warn))
        return jax.tree.unflatten(results, outputs)

    return call


def by_lanes(function: Callable[..., Any], *arguments: Any) -> Any:
    """The results of a function for each instance of a batch, computed by a lane kernel.

    Unlike `lane_kernel` it never leaves a function to XLA, so a caller can do something else.

    Args:
        function: maps pytrees of arrays to a pytree of arrays, for one instance.
        arguments: its arguments; every leaf has the batch axis first.

    Returns:
        Its results; every leaf has the batch axis first.

    Raises:
        NoLaneKernel: if the function cannot be translated, or JAX's default device is no CPU.
    """
    leaves = jax.tree.leaves(arguments)
    closed, results = traced(function, *of_one_instance(arguments))
    call = batched_call(closed, leaves)
    require_program(call)
    return jax.tree.unflatten(results, lanes_p.bind(*closed.consts, *leaves, call=call))


def batched_call(closed: Any, leaves: Sequence[Any]) -> Call:
    """The call of a traced function for a batch; its constants do not differ between lanes.

    Args:
        closed: the closed jaxpr of the function of one instance.
        leaves: its arguments, the batch axis first.
    """
    differs = (False,) * len(closed.consts) + (True,) * len(leaves)
    return Call(without_constants(closed), differs, leaves[0].shape[0], warn=True)


def require_program(call: Call) -> None:
    """Raise `NoLaneKernel` unless there is a program of a call for the CPU, JAX's default device.

    Args:
        call: the call, of a batch.
    """
    if jax.default_backend() != "cpu" or sys.platform == "win32":
        raise NoLaneKernel("JAX's default device is no CPU with threads")
    program = compiled(call.jaxpr, call.batched, (call.size or 1) > 1)
    if isinstance(program, NoLaneKernel):
        raise program


def shapes(*given: Any, call: Call) -> list[Any]:
    """The shapes and dtypes of a call's results, the axis of lanes first if there is one."""
    lead = () if call.size is None else (call.size,)
    return [
        ShapedArray((*lead, *variable.aval.shape), variable.aval.dtype)
        for variable in call.jaxpr.outvars
    ]


def by_xla(*given: Any, call: Call) -> list[Any]:
    """The results of a call for the arguments `given`, as JAX and XLA compute them."""
    function = core.jaxpr_as_fun(core.ClosedJaxpr(call.jaxpr, ()))
    if call.size is None:
        return function(*given)
    axes = tuple(0 if differs else None for differs in call.batched)
    return jax.vmap(function, axes, axis_size=call.size)(*given)


def vectorised(
    axis: Any, given: Sequence[Any], axes: Sequence[Any], *, call: Call
) -> tuple[list[Any], list[int | None]]:
    """JAX's batching rule: a call with one more batch axis, which joins the axis of lanes.

    If the axis has several tangents of a derivative, one lane computes all of them.

    Args:
        axis: the new axis, with its size.
        given: arguments of the call.
        axes: position of the new axis in each argument; None: it has none.
        call: the call without the new axis.

    Returns:
        The results, and the position of the new axis in each of them: 0, or None where it has none.
    """
    count, size = axis.size, call.size
    values_mapped = any(at is not None for at in axes[: len(axes) - call.tangents])
    if call.tangents and count <= MOST_TANGENTS and not values_mapped:
        shared = several_tangents(count, given, axes, call)
        if shared is not None:
            return shared
    values, differs = [], []
    for value, at, old in zip(given, axes, call.batched, strict=True):
        new = at is not None
        moved = jnp.moveaxis(value, at, 0) if new else value
        if size is not None and (new or old):
            outer = moved if new else jnp.broadcast_to(moved, (count, *moved.shape))
            full = outer if old else jnp.repeat(outer[:, None], size, axis=1)
            moved = full.reshape(count * size, *full.shape[2:])
        values.append(moved)
        differs.append(new or old)
    more = call._replace(batched=tuple(differs), size=count * (size or 1))
    outputs = lanes_p.bind(*values, call=more)
    if size is not None:
        outputs = [value.reshape(count, size, *value.shape[1:]) for value in outputs]
    mapped = differing(call.jaxpr, [at is not None for at in axes])
    results = [value if varies else value[0] for value, varies in zip(outputs, mapped, strict=True)]
    return results, [0 if varies else None for varies in mapped]


def several_tangents(
    count: int, given: Sequence[Any], axes: Sequence[Any], call: Call
) -> tuple[list[Any], list[int | None]] | None:
    """A derivative's call for several tangents, which shares what does not depend on them.

    Args:
        count: number of tangents.
        given: arguments of the call.
        axes: position of the axis of tangents in each argument; None: it has none.
        call: the call for one tangent.

    Returns:
        The results, and the position of the axis of tangents in each; None where it has none. Or
        None, if arrays get too large for a lane kernel.
    """
    moving = tuple(at is not None for at in axes)
    function, constants = with_tangents(call.jaxpr, moving, count)
    values = [
        value if at is None else jnp.moveaxis(value, at, 1 if old else 0)
        for value, at, old in zip(given, axes, call.batched, strict=True)
    ]
    batched = (*(False,) * len(constants), *call.batched)
    if isinstance(compiled(function, batched, (call.size or 1) > 1), NoLaneKernel):
        return None
    outputs = lanes_p.bind(*constants, *values, call=call._replace(jaxpr=function, batched=batched))
    place = 0 if call.size is None else 1
    return outputs, [place if each else None for each in differing(call.jaxpr, moving)]


def differentiated(
    given: Sequence[Any], tangents: Sequence[Any], *, call: Call
) -> tuple[list[Any], list[Any]]:
    """JAX's forward-mode rule: one kernel computes a call's results and their derivatives.

    Args:
        given: arguments of the call.
        tangents: their derivatives.
        call: the call.

    Returns:
        The results, and their derivatives; of results that are not floats, a symbolic zero.
    """
    moving = tuple(not isinstance(tangent, ad.Zero) for tangent in tangents)
    function, constants = derivative(call.jaxpr, moving)
    pushed = [tangent for tangent, moves in zip(tangents, moving, strict=True) if moves]
    differs = [batched for batched, moves in zip(call.batched, moving, strict=True) if moves]
    flags = (*(False,) * len(constants), *call.batched, *differs)
    both = call._replace(jaxpr=function, batched=flags, tangents=len(pushed))
    outputs = lanes_p.bind(*constants, *given, *pushed, call=both)
    values = outputs[: len(call.jaxpr.outvars)]
    slopes = iter(outputs[len(values) :])
    return values, [
        next(slopes) if jnp.issubdtype(value.dtype, jnp.inexact) else ad.Zero(no_derivative(value))
        for value in values
    ]


def no_derivative(value: Any) -> Any:
    """The type of the derivative of a whole number or a truth value, which has none."""
    return ShapedArray(value.shape, jax.dtypes.float0)


class LaneKernelWarning(UserWarning):
    """Warning that XLA compiles a function, because it cannot be compiled as a lane kernel."""


WARNED: set[str] = set()
"""Reasons that have been warned about."""


def left_to_xla(context: Any, given: Sequence[Any], call: Call, reason: NoLaneKernel) -> Any:
    """A call's lowering by XLA, with one warning for each reason.

    Args:
        context: JAX's context of the lowering.
        given: arguments, as values of XLA's program.
        call: the call.
        reason: why there is no lane kernel.

    Returns:
        The results, as values of XLA's program.
    """
    if call.warn and str(reason) not in WARNED:
        WARNED.add(str(reason))
        text = f"lane kernel: compiled by XLA instead: {reason}"
        warnings.warn(text, LaneKernelWarning, stacklevel=3)
    return lowered_by_xla(context, *given, call=call)


@lru_cache(RECENT)
def compiled(jaxpr: Any, batched: tuple[bool, ...], several: bool) -> Program | NoLaneKernel:
    """The CPU's program of a traced function, or the reason why there is none.

    Lanes run side by side in vectors unless they may diverge in loops, the program is long, or its
    arrays fill the vectors.

    Args:
        jaxpr: the traced function, without constants.
        batched: which of its arguments differ between lanes.
        several: whether there is more than one lane.
    """
    failure = NoLaneKernel("")
    # The loops of a long program, over elements of arrays, are vectors with a single lane, too.
    beside = several and not is_long(jaxpr) and not has_wide_arrays(jaxpr)
    for width in (cpu.native_width(), 1) if beside else (1,):
        try:
            return cpu_program(jaxpr, batched, width)
        except NoLaneKernel as reason:
            failure = reason
    return failure


def lowered_on_cpu(context: Any, *given: Any, call: Call) -> Any:
    """JAX's lowering rule on CPUs: the results of a call, as values of XLA's program.

    They come from a call of the lane kernel, or from XLA's own program if there is no kernel.
    """
    if sys.platform == "win32":
        return left_to_xla(context, given, call, NoLaneKernel("no threads on Windows"))
    lanes = call.size or 1
    program = compiled(call.jaxpr, call.batched, lanes > 1)
    if isinstance(program, NoLaneKernel):
        return left_to_xla(context, given, call, program)
    threads = max(1, min(processors(), math.ceil(lanes / program.width)))
    name, shape = cpu.register(program), (threads, program.scratch * program.width)
    return foreign_call(context, given, name, shape, lanes=lanes, threads=threads)


def foreign_call(
    context: Any, given: Sequence[Any], name: str, shape: tuple[int, int], **numbers: int
) -> list[Any]:
    """Results of XLA's call of a registered program, as values of XLA's program.

    Args:
        context: JAX's context of the lowering.
        given: arguments, as values of XLA's program.
        name: name under which the program is registered.
        shape: shape of the memory that the program needs, bytes.
        numbers: attributes of the call, such as the number of lanes.
    """
    memory = ShapedArray(shape, np.uint8)
    extended = context.replace(avals_out=[*context.avals_out, memory])
    attributes = {key: np.int64(value) for key, value in numbers.items()}
    return list(jax.ffi.ffi_lowering(name)(extended, *given, **attributes))[:-1]


@lru_cache(RECENT)
def compiled_for_gpu(jaxpr: Any, batched: tuple[bool, ...]) -> Program | NoLaneKernel:
    """The GPU's program of a traced function, or the reason why there is none.

    `batched` states which of its arguments differ between lanes.
    """
    try:
        return gpu_program(jaxpr, batched)
    except NoLaneKernel as reason:
        return reason


def lowered_on_gpu(context: Any, *given: Any, call: Call) -> Any:
    """JAX's lowering rule on GPUs: the results of a call, as values of XLA's program.

    They come from a call of the lane kernel, or from XLA's own program if there is no kernel.
    """
    lanes, program = call.size or 1, compiled_for_gpu(call.jaxpr, call.batched)
    try:
        if isinstance(program, NoLaneKernel):
            raise program
        name = gpu.register(program)
    except NoLaneKernel as reason:
        return left_to_xla(context, given, call, reason)
    return foreign_call(context, given, name, (lanes, program.scratch), lanes=lanes)


lowered_by_xla = mlir.lower_fun(by_xla, multiple_results=True)
"""JAX's lowering of a call to XLA's own program."""

lanes_p.def_abstract_eval(shapes)
lanes_p.def_impl(lambda *given, **params: jax.jit(partial(lanes_p.bind, **params))(*given))
batching.fancy_primitive_batchers[lanes_p] = vectorised
ad.primitive_jvps[lanes_p] = differentiated
mlir.register_lowering(lanes_p, lowered_by_xla)
mlir.register_lowering(lanes_p, lowered_on_cpu, platform="cpu")
mlir.register_lowering(lanes_p, lowered_on_gpu, platform="cuda")
