"""Lane kernels in reverse mode: their Jacobian's columns by forward mode, if there are few.

JAX's reverse mode first computes a function's results and what is needed to go back. For a lane
kernel that is its Jacobian with respect to the numbers that are differentiated: several tangents
share a run, and nothing of its loops is kept. XLA computes what has more columns, or no kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core
from jax.interpreters import partial_eval

from vegasfluid.lanes.primitive import MOST_TANGENTS, Call, by_xla, lanes_p
from vegasfluid.lanes.varying import differing

__all__ = ["MOST_COLUMNS"]

MOST_COLUMNS = 64
"""Largest number of columns of a Jacobian, the numbers of a lane that are differentiated (chosen: a
run of network 2 with two tangents takes 2.9 times as long as one without, with seven 15 times, and
XLA's reverse mode 240 times)."""


def in_parts(trace: Any, *given: Any, call: Call) -> Any:
    """JAX's rule for partial evaluation: what of a call's results can be computed now.

    Args:
        trace: JAX's trace of what is not known yet.
        given: arguments of the call, as the trace's tracers.
        call: the call.

    Returns:
        Results that do not depend on unknown tangents, as values; others as tracers.
    """
    if all(each.is_known() for each in given):
        return trace.default_process_primitive(lanes_p, given, {"call": call})
    count = len(given) - call.tangents
    values = [each.pval.get_known() for each in given[:count]]
    tangents, flags = given[count:], call.batched[count:]
    lengths = [
        math.prod(each.aval.shape[1:] if batched else each.aval.shape)
        for each, batched in zip(tangents, flags, strict=True)
    ]
    if any(value is None for value in values) or not 0 < sum(lengths) <= MOST_COLUMNS:
        with core.set_current_trace(trace):
            return by_xla(*given, call=call)
    results = columns(values, tangents, lengths, call)
    linear = differing(call.jaxpr, [False] * count + [True] * call.tangents)
    with core.set_current_trace(trace):
        vector = joined(tangents, flags, call.size)
        return [
            times(vector, value, call.size) if depends else value
            for value, depends in zip(results, linear, strict=True)
        ]


def columns(
    values: Sequence[Any], tangents: Sequence[Any], lengths: Sequence[int], call: Call
) -> list[Any]:
    """The results of a derivative's call; in place of each slope, its Jacobian.

    Args:
        values: arguments of the call that are no tangents.
        tangents: arrays with the shapes and dtypes of the others.
        lengths: the number of numbers of each tangent in a lane.
        call: the call.

    Returns:
        Results of the call; what depends on tangents has one axis more, first, of the columns.
    """
    total = sum(lengths)
    runs = math.ceil(total / MOST_TANGENTS)
    together = math.ceil(total / runs)
    ends = [sum(lengths[: number + 1]) for number in range(len(lengths))]
    units = jnp.eye(runs * together, total)

    def along(directions: Any) -> list[Any]:
        """The results for the tangents in a direction, a vector of all their numbers."""
        pushed = []
        batched = call.batched[len(values) :]
        for tangent, flag, end, length in zip(tangents, batched, ends, lengths, strict=True):
            shape = tangent.aval.shape
            part = directions[end - length : end].astype(tangent.aval.dtype)
            pushed.append(jnp.broadcast_to(part.reshape(shape[1:] if flag else shape), shape))
        return lanes_p.bind(*values, *pushed, call=call)

    linear = differing(call.jaxpr, [False] * len(values) + [True] * len(tangents))
    axes = [0 if depends else None for depends in linear]
    found = [
        jax.vmap(along, out_axes=axes)(units[run * together : (run + 1) * together])
        for run in range(runs)
    ]
    return [
        jnp.concatenate(parts)[:total] if depends else parts[0]
        for depends, parts in zip(linear, zip(*found, strict=True), strict=True)
    ]


def joined(tangents: Sequence[Any], flags: Sequence[bool], size: int | None) -> Any:
    """All numbers of the tangents as one array, (columns,); with lanes (lanes, columns).

    Args:
        tangents: the tangents.
        flags: which of them differ between lanes.
        size: number of lanes; None: there is no axis of lanes.
    """
    if size is None:
        return jnp.concatenate([jnp.ravel(each) for each in tangents])
    parts = [
        each.reshape(size, -1) if flag else jnp.broadcast_to(jnp.ravel(each), (size, each.size))
        for each, flag in zip(tangents, flags, strict=True)
    ]
    return jnp.concatenate(parts, axis=1)


def times(vector: Any, jacobian: Any, size: int | None) -> Any:
    """The slopes of a result, from the tangents as one array and its Jacobian's columns."""
    vector = vector.astype(jacobian.dtype)
    if size is None:
        return jnp.tensordot(vector, jacobian, axes=1)
    return jnp.einsum("ls,sl...->l...", vector, jacobian)


partial_eval.custom_partial_eval_rules[lanes_p] = in_parts
