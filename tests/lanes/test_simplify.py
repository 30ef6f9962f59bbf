"""Traced functions with each operation once."""

from __future__ import annotations

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend import core

from vegasfluid.lanes.simplify import simplified
from vegasfluid.lanes.tracing import without_constants

X = jnp.linspace(0.5, 2.0, 3)


def names(function, *arguments):
    """How often each operation is in a simplified function, without the bodies of loops."""
    simple, _ = simplified(jax.make_jaxpr(function)(*arguments).jaxpr)
    return Counter(equation.primitive.name for equation in simple.eqns)


@jax.custom_jvp
def doubled(x):
    return jnp.exp(x) * 2.0


doubled.defjvps(lambda rate, value, x: rate * value)


def test_repetitions_are_found_across_calls():
    inner = jax.jit(lambda x: jnp.exp(x) + 1.0)
    found = names(lambda x: inner(x) * doubled(x) - jnp.exp(x), X)
    assert found["exp"] == 1
    assert not {"jit", "pjit", "custom_jvp_call"} & set(found)


def test_what_nothing_reads_is_left_out():
    def wasteful(x):
        jnp.exp(x)
        lax.fori_loop(0, 3, lambda _, y: y * x, x)
        return x + 1.0

    assert names(wasteful, X) == {"add": 1}


def test_other_operands_parameters_and_constants_are_other_operations():
    def similar(x):
        reduced = [x[None].sum(axis) for axis in (0, 1)]
        whole = [x.astype(jnp.int32), x.astype(jnp.float32)]
        steps = [x + 1.0, x + 2.0, x - 1.0, 1.0 - x, x[:2] + 1.0]
        return reduced, whole, steps

    found = names(similar, X)
    assert found["reduce_sum"] == found["convert_element_type"] == 2
    assert (found["add"], found["sub"]) == (3, 2)


def test_bodies_of_loops_are_simplified_too():
    def turns(x):
        return lax.scan(lambda y, _: (jnp.exp(y) * jnp.exp(y), jnp.exp(y)), x, None, length=3)

    simple, _ = simplified(jax.make_jaxpr(turns)(X).jaxpr)
    (loop,) = (each for each in simple.eqns if each.primitive.name == "scan")
    body = loop.params["jaxpr"].jaxpr
    assert Counter(each.primitive.name for each in body.eqns) == {"exp": 1, "mul": 1}


@pytest.mark.parametrize("two", [1, 2])
def test_loops_are_the_same_only_with_the_same_body_and_operands(two):
    def loop(x, factor):
        return lax.fori_loop(0, 3, lambda _, y: y * factor, x)

    body = jax.jit(loop)
    assert names(lambda x: body(x, 2.0) + body(x, float(two)), X)["scan"] == 3 - two


def test_results_stay_the_same():
    table = np.arange(3.0) * 2

    def function(x):
        chosen = lax.cond(x[0] > 1, lambda y: doubled(y) * table, lambda y: y + table, x)
        ended = lax.while_loop(lambda y: y.sum() < 40, lambda y: y * 2.0 + table, x)
        return chosen, ended, x, 3.0

    closed = jax.make_jaxpr(function)(X)
    simple, constants = simplified(without_constants(closed))
    found = core.jaxpr_as_fun(core.ClosedJaxpr(simple, constants))(*closed.consts, X)
    for one, other in zip(found, jax.tree.leaves(function(X)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)
