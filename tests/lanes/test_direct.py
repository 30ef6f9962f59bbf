"""Lane kernels that are called with NumPy arrays, without JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid.lanes.builder import NoLaneKernel
from vegasfluid.lanes.direct import Code, DirectKernel, compile_directly

LARGE = np.random.default_rng(0).normal(size=(40, 10))


def everything(x, whole, flag):
    """Floats, integers and truth values, a loop, and a constant too large for a literal."""
    loop = jax.lax.fori_loop(0, whole, lambda _, y: y * 0.5 + x, x)
    row = jnp.asarray(LARGE)[whole]
    return {"loop": loop, "row": row, "not": ~flag, "sum": whole + jnp.int32(2)}


def called(code):
    """The results of `everything`'s code."""
    x = np.linspace(-1.0, 1.0, 5)
    return DirectKernel(code)([x, np.asarray(7, np.int32), np.asarray(True)])


def test_results_are_those_of_jax():
    x = np.linspace(-1.0, 1.0, 5)
    code = compile_directly(everything, x, np.int32(0), True)
    expected = jax.tree.leaves(jax.jit(everything)(x, jnp.int32(7), True))
    for result, value in zip(called(code), expected, strict=True):
        assert (result.dtype, result.shape) == (value.dtype, value.shape)
        np.testing.assert_allclose(result, value, rtol=1e-14)


def test_code_as_bytes_gives_the_same_results():
    code = compile_directly(everything, np.zeros(5), np.int32(0), True)
    assert code.constants, "the large table"
    again = Code.from_bytes(code.to_bytes())
    assert again[:4] == code[:4]
    for one, other in zip(called(code), called(again), strict=True):
        np.testing.assert_array_equal(one, other)


def test_arguments_of_other_shapes_are_an_error():
    kernel = DirectKernel(compile_directly(lambda x: x + 1, np.zeros(3)))
    with pytest.raises(AssertionError):
        kernel([np.zeros(4)])
    with pytest.raises(AssertionError):
        kernel([np.zeros(3, np.float32)])


def test_a_view_with_gaps_is_read_rightly():
    kernel = DirectKernel(compile_directly(lambda x: x * 2, np.zeros(3)))
    np.testing.assert_array_equal(kernel([np.arange(6.0)[::2]])[0], [0.0, 4.0, 8.0])


def test_subnormal_numbers_are_zero_as_in_xla_and_only_in_the_call():
    tiny = np.full(3, 1e-310)
    result = DirectKernel(compile_directly(lambda x: x * 0.5, tiny))([tiny])[0]
    np.testing.assert_array_equal(result, jax.jit(lambda x: x * 0.5)(tiny))
    assert tiny[0] * 0.5 > 0, "outside numbers are as before"


def test_what_has_no_translation_says_so():
    with pytest.raises(NoLaneKernel, match="sort"):
        compile_directly(jnp.sort, np.zeros(3))
