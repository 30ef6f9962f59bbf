"""Differentiable comparisons and functions for numbers, JAX arrays and SymPy expressions.

The equations of congestion controls use arithmetic and these functions only. With JAX arrays they
are traced, with NumPy numbers computed, and with SymPy expressions they stay expressions. So the
same code is integrated and analysed.

JAX's own minimum chooses its derivative by `value == result`. XLA may compute the value twice with
different rounding, and then neither is chosen. So these functions choose by comparison.

Equations are traced from Python again and again, so each comparison is traced once for all its uses
(`jax.jit` within a traced function is a call): equations are traced and lowered in half the time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

__all__ = ["clip", "cube_root", "exp", "log1p", "maximum", "minimum", "positive_part", "step"]

Real = Any
"""A float, a NumPy or JAX array of any shape, or a SymPy expression."""


def _is_symbolic(*values: Real) -> bool:
    """Whether any of the values is a SymPy expression."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and any(isinstance(value, sympy.Basic) for value in values)


def _arrays(*values: Real) -> Any:
    """The array module of these values: `jax.numpy` if any is a JAX array, else `numpy`."""
    jax = sys.modules.get("jax")
    if jax is not None and any(isinstance(value, jax.Array) for value in values):
        return sys.modules["jax.numpy"]
    import numpy

    return numpy


@cache
def _traced_once(function: Callable[..., Real]) -> Callable[..., Real]:
    """A function of JAX arrays that is traced once for each shape and type of its arguments."""
    return sys.modules["jax"].jit(function)


@lru_cache(1024, typed=True)
def _symbolic(name: str, a: Real, b: Real) -> Real:
    """SymPy's Min or Max of two values; kept, as SymPy compares their parts for milliseconds."""
    return getattr(sys.modules["sympy"], name)(a, b)


def _smaller(a: Real, b: Real) -> Real:
    """The smaller of two JAX arrays, elementwise; their mean where they are equal."""
    where = sys.modules["jax.numpy"].where
    return where(a < b, a, where(a > b, b, (a + b) / 2))


def _larger(a: Real, b: Real) -> Real:
    """The larger of two JAX arrays, elementwise; their mean where they are equal."""
    where = sys.modules["jax.numpy"].where
    return where(a > b, a, where(a < b, b, (a + b) / 2))


def minimum(a: Real, b: Real) -> Real:
    """The smaller of `a` and `b`: numbers, arrays (elementwise) or SymPy expressions."""
    if _is_symbolic(a, b):
        return _symbolic("Min", a, b)
    arrays = _arrays(a, b)
    if arrays.__name__ == "numpy":
        return arrays.minimum(a, b)
    return _traced_once(_smaller)(a, b)


def maximum(a: Real, b: Real) -> Real:
    """The larger of `a` and `b`: numbers, arrays (elementwise) or SymPy expressions."""
    if _is_symbolic(a, b):
        return _symbolic("Max", a, b)
    arrays = _arrays(a, b)
    if arrays.__name__ == "numpy":
        return arrays.maximum(a, b)
    return _traced_once(_larger)(a, b)


def clip(value: Real, low: Real, high: Real) -> Real:
    """`value` clipped to `low`..`high`: numbers, arrays (elementwise) or SymPy expressions."""
    return minimum(maximum(value, low), high)


def positive_part(value: Real) -> Real:
    """The larger of `value` and zero: a number, array (elementwise) or SymPy expression."""
    return maximum(value, 0.0)


def exp(value: Real) -> Real:
    """The exponential function of `value`, elementwise."""
    if _is_symbolic(value):
        return sys.modules["sympy"].exp(value)
    return _arrays(value).exp(value)


def log1p(value: Real) -> Real:
    """The natural logarithm of 1 + `value`, elementwise."""
    if _is_symbolic(value):
        return sys.modules["sympy"].log(1 + value)
    return _arrays(value).log1p(value)


def cube_root(value: Real) -> Real:
    """The cube root of `value`, which must not be negative, elementwise."""
    if _is_symbolic(value):
        return sys.modules["sympy"].cbrt(value)
    return _arrays(value).cbrt(value)


def step(excess: Real, width: Real) -> Real:
    """A smooth unit step: 0 up to excess 0, 1 from excess `width` on.

    Between them it is the cubic 3u^2 - 2u^3, so the first derivative is continuous. Outside it is
    exactly 0 or 1, so that a window in a dead band does not move. (A logistic step would not be
    exact: over the hundreds of round trips of a run it would move a window from the edge of
    Vegas's dead band to its middle.)

    Args:
        excess: a quantity minus its threshold, in any unit.
        width: width of the step, in the same unit; above 0.

    >>> [float(step(excess, 0.5)) for excess in (-1.0, 0.25, 2.0)]
    [0.0, 0.5, 1.0]
    """
    u = clip(excess / width, 0.0, 1.0)
    return u * u * (3 - 2 * u)
