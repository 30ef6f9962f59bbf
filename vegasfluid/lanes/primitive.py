"""The lane kernel as a JAX primitive: inside `jit`, `vmap` and `jvp` like any other function.

`vmap` adds lanes, `jvp` makes the kernel of the derivative, and reverse mode, like everything that
cannot be translated, is left to XLA.
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
from jax.interpreters import ad, batching, mlir, partial_eval

from vegasfluid.lanes import cpu, gpu
from vegasfluid.lanes.builder import Unsupported
from vegasfluid.lanes.program import Program, cpu_program, gpu_program
from vegasfluid.lanes.varying import differing
from vegasfluid.parallel import processors

__all__ = ["LaneKernelWarning", "lane_kernel"]


RECENT = 32
"""Programs and traced derivatives that are kept in memory for the next compilation."""


class Call(NamedTuple):
    """What of a call is no array.

    Args:
        jaxpr: traced function, without constants.
        batched: which of its arguments have an axis of lanes in front.
        size: number of lanes; None: there is no axis of lanes.
        warn: whether to warn where XLA compiles it.
    """

    jaxpr: Any
    batched: tuple[bool, ...]
    size: int | None
    warn: bool


lanes_p = core.Primitive("lanes")
lanes_p.multiple_results = True


def lane_kernel(function: Callable[..., Any], *, warn: bool = True) -> Callable[..., Any]:
    """The same function, run as one loop of machine code for each instance of a batch.

    Called with arrays it gives what `function` gives; under `jax.vmap` every instance (lane) runs
    from its start to its end on its own, on a vector's lane and on all cores, where XLA would run
    all of them in step. Loops with large carried arrays gain most. May be used in `jax.jit`,
    `jax.vmap`, `jax.jvp` and `jax.grad` (reverse mode runs on XLA).

    Args:
        function: of pytrees of arrays, which JAX can trace.
        warn: whether to warn, once for each reason, where XLA compiles it all the same.

    >>> import jax, jax.numpy as jnp
    >>> halves = lane_kernel(lambda x: jax.lax.fori_loop(0, 3, lambda _, y: y / 2, x))
    >>> jax.vmap(halves)(jnp.array([8.0, 16.0])).tolist()
    [1.0, 2.0]
    """

    def call(*arguments: Any) -> Any:
        leaves, structure = jax.tree.flatten(arguments)
        results: Any = None

        def flat(*values: Any) -> list[Any]:
            nonlocal results
            found, results = jax.tree.flatten(function(*jax.tree.unflatten(structure, values)))
            return found

        closed = jax.make_jaxpr(flat)(*leaves)
        given = [*closed.consts, *leaves]
        jaxpr = without_constants(closed)
        found = lanes_p.bind(*given, call=Call(jaxpr, (False,) * len(given), None, warn))
        return jax.tree.unflatten(results, found)

    return call


def shapes(*given: Any, call: Call) -> list[Any]:
    """What the results look like."""
    lead = () if call.size is None else (call.size,)
    return [
        ShapedArray((*lead, *variable.aval.shape), variable.aval.dtype)
        for variable in call.jaxpr.outvars
    ]


def by_xla(*given: Any, call: Call) -> list[Any]:
    """The results, as JAX and XLA compute them."""
    function = core.jaxpr_as_fun(core.ClosedJaxpr(call.jaxpr, ()))
    if call.size is None:
        return function(*given)
    axes = tuple(0 if differs else None for differs in call.batched)
    return jax.vmap(function, axes, axis_size=call.size)(*given)


def vectorised(
    axis: Any, given: Sequence[Any], axes: Sequence[Any], *, call: Call
) -> tuple[list[Any], list[int | None]]:
    """More lanes: the new axis before the one that is there, and both as one."""
    count, size = axis.size, call.size
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
    found = lanes_p.bind(*values, call=more)
    if size is not None:
        found = [value.reshape(count, size, *value.shape[1:]) for value in found]
    mapped = differing(call.jaxpr, [at is not None for at in axes])
    results = [value if own else value[0] for value, own in zip(found, mapped, strict=True)]
    return results, [0 if own else None for own in mapped]


def without_constants(closed: Any) -> Any:
    """The traced function with its constants as its first arguments."""
    jaxpr = closed.jaxpr
    return jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])


@lru_cache(RECENT)
def derivative(jaxpr: Any, moving: tuple[bool, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The function that gives values and then derivatives, and its constants.

    Args:
        jaxpr: of the values.
        moving: which of its arguments come with a derivative.
    """
    function = core.jaxpr_as_fun(core.ClosedJaxpr(jaxpr, ()))

    def both(values: list[Any], pushed: list[Any]) -> list[Any]:
        moved = [value for value, moves in zip(values, moving, strict=True) if moves]

        def of_moving(*given: Any) -> list[Any]:
            each = iter(given)
            pairs = zip(values, moving, strict=True)
            return function(*(next(each) if moves else value for value, moves in pairs))

        found, slopes = jax.jvp(of_moving, moved, pushed)
        return [*found, *(slope for slope in slopes if slope.dtype != jax.dtypes.float0)]

    arguments = [jax.ShapeDtypeStruct(of.aval.shape, of.aval.dtype) for of in jaxpr.invars]
    moved = [of for of, moves in zip(arguments, moving, strict=True) if moves]
    closed = jax.make_jaxpr(both)(arguments, moved)
    return without_constants(closed), tuple(closed.consts)


def differentiated(
    given: Sequence[Any], tangents: Sequence[Any], *, call: Call
) -> tuple[list[Any], list[Any]]:
    """Values and derivatives in one loop."""
    moving = tuple(not isinstance(tangent, ad.Zero) for tangent in tangents)
    function, constants = derivative(call.jaxpr, moving)
    pushed = [tangent for tangent, moves in zip(tangents, moving, strict=True) if moves]
    differs = [own for own, moves in zip(call.batched, moving, strict=True) if moves]
    flags = (*(False,) * len(constants), *call.batched, *differs)
    both = call._replace(jaxpr=function, batched=flags)
    found = lanes_p.bind(*constants, *given, *pushed, call=both)
    values = found[: len(call.jaxpr.outvars)]
    slopes = iter(found[len(values) :])
    return values, [
        next(slopes) if jnp.issubdtype(value.dtype, jnp.inexact) else ad.Zero(no_derivative(value))
        for value in values
    ]


def no_derivative(value: Any) -> Any:
    """The type of the derivative of a whole number or a truth value."""
    return ShapedArray(value.shape, jax.dtypes.float0)


def in_parts(trace: Any, *given: Any, **params: Any) -> Any:
    """Where a part of the arguments is not known yet (reverse mode): all of it as JAX's own."""
    with core.set_current_trace(trace):
        return by_xla(*given, **params)


class LaneKernelWarning(UserWarning):
    """A function runs on XLA, since it cannot be compiled as a lane kernel."""


WARNED: set[str] = set()
"""Reasons of which was warned."""


def left_to_xla(context: Any, given: Sequence[Any], call: Call, reason: Unsupported) -> Any:
    """XLA's own program; of the reason is warned once."""
    if call.warn and str(reason) not in WARNED:
        WARNED.add(str(reason))
        text = f"lane kernel: compiled by XLA instead, as there is no translation of {reason}"
        warnings.warn(text, LaneKernelWarning, stacklevel=3)
    return lowered_by_xla(context, *given, call=call)


@lru_cache(RECENT)
def compiled(jaxpr: Any, batched: tuple[bool, ...], several: bool) -> Program | Unsupported:
    """The CPU's program; vectors, where there are lanes enough and all go the same way."""
    failed = Unsupported("")
    for width in (cpu.native_width(), 1) if several else (1,):
        try:
            return cpu_program(jaxpr, batched, width)
        except Unsupported as reason:
            failed = reason
    return failed


def lowered_on_cpu(context: Any, *given: Any, call: Call) -> Any:
    """XLA's call of the kernel; or XLA's own program, where there is none."""
    if sys.platform == "win32":
        return left_to_xla(context, given, call, Unsupported("threads on Windows"))
    lanes = call.size or 1
    program = compiled(call.jaxpr, call.batched, lanes > 1)
    if isinstance(program, Unsupported):
        return left_to_xla(context, given, call, program)
    threads = max(1, min(processors(), math.ceil(lanes / program.width)))
    name, shape = cpu.register(program), (threads, program.scratch * program.width)
    return foreign_call(context, given, name, shape, lanes=lanes, threads=threads)


def foreign_call(
    context: Any, given: Sequence[Any], name: str, shape: tuple[int, int], **numbers: int
) -> list[Any]:
    """XLA's call of a registered program, with memory of this shape in bytes, and these numbers."""
    memory = ShapedArray(shape, np.uint8)
    extended = context.replace(avals_out=[*context.avals_out, memory])
    attributes = {key: np.int64(value) for key, value in numbers.items()}
    return list(jax.ffi.ffi_lowering(name)(extended, *given, **attributes))[:-1]


@lru_cache(RECENT)
def compiled_for_gpu(jaxpr: Any, batched: tuple[bool, ...]) -> Program | Unsupported:
    """The GPU's program."""
    try:
        return gpu_program(jaxpr, batched)
    except Unsupported as reason:
        return reason


def lowered_on_gpu(context: Any, *given: Any, call: Call) -> Any:
    """The same on a GPU."""
    lanes, program = call.size or 1, compiled_for_gpu(call.jaxpr, call.batched)
    try:
        if isinstance(program, Unsupported):
            raise program
        name = gpu.register(program)
    except Unsupported as reason:
        return left_to_xla(context, given, call, reason)
    return foreign_call(context, given, name, (lanes, program.scratch), lanes=lanes)


lowered_by_xla = mlir.lower_fun(by_xla, multiple_results=True)

lanes_p.def_abstract_eval(shapes)
lanes_p.def_impl(lambda *given, **params: jax.jit(partial(lanes_p.bind, **params))(*given))
batching.fancy_primitive_batchers[lanes_p] = vectorised
ad.primitive_jvps[lanes_p] = differentiated
partial_eval.custom_partial_eval_rules[lanes_p] = in_parts
mlir.register_lowering(lanes_p, lowered_by_xla)
mlir.register_lowering(lanes_p, lowered_on_cpu, platform="cpu")
mlir.register_lowering(lanes_p, lowered_on_gpu, platform="cuda")
