"""Comparisons that can be differentiated, for arrays and for symbols alike.

A law's drift is written with arithmetic and these functions only. Handed JAX arrays they are
traced, handed NumPy numbers they compute, handed SymPy expressions they stay expressions, so the
lines that are integrated are the lines that are analysed.

JAX's own minimum knows by `value == result` whose derivative to take. XLA may compute the value
twice, rounded in two ways, and then there is none: so it is chosen by which is smaller.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["clip", "cube_root", "exp", "log1p", "maximum", "minimum", "positive_part", "step"]

Real = Any
"""A float, a NumPy or JAX array of any shape, or a SymPy expression."""


def _is_symbolic(*values: Real) -> bool:
    sympy = sys.modules.get("sympy")
    return sympy is not None and any(isinstance(value, sympy.Basic) for value in values)


def _arrays(*values: Real) -> Any:
    """The array module that these values belong to: jax.numpy or numpy."""
    jax = sys.modules.get("jax")
    if jax is not None and any(isinstance(value, jax.Array) for value in values):
        return sys.modules["jax.numpy"]
    import numpy

    return numpy


def minimum(a: Real, b: Real) -> Real:
    """The smaller of two values."""
    if _is_symbolic(a, b):
        return sys.modules["sympy"].Min(a, b)
    arrays = _arrays(a, b)
    if arrays.__name__ == "numpy":
        return arrays.minimum(a, b)
    return arrays.where(a < b, a, arrays.where(a > b, b, (a + b) / 2))


def maximum(a: Real, b: Real) -> Real:
    """The larger of two values."""
    if _is_symbolic(a, b):
        return sys.modules["sympy"].Max(a, b)
    arrays = _arrays(a, b)
    if arrays.__name__ == "numpy":
        return arrays.maximum(a, b)
    return arrays.where(a > b, a, arrays.where(a < b, b, (a + b) / 2))


def clip(value: Real, low: Real, high: Real) -> Real:
    """`value` held between `low` and `high`."""
    return minimum(maximum(value, low), high)


def positive_part(value: Real) -> Real:
    """`value` where it is above zero, zero elsewhere."""
    return maximum(value, 0.0)


def exp(value: Real) -> Real:
    """The exponential function."""
    if _is_symbolic(value):
        return sys.modules["sympy"].exp(value)
    return _arrays(value).exp(value)


def log1p(value: Real) -> Real:
    """The natural logarithm of 1 + value."""
    if _is_symbolic(value):
        return sys.modules["sympy"].log(1 + value)
    return _arrays(value).log1p(value)


def cube_root(value: Real) -> Real:
    """The cube root of a value above zero."""
    if _is_symbolic(value):
        return sys.modules["sympy"].cbrt(value)
    return _arrays(value).cbrt(value)


def step(excess: Real, width: Real) -> Real:
    """A unit step that takes `width` to rise: 0 up to excess 0, 1 from `width` on.

    The rise is the cubic 3u^2 - 2u^3, so the first derivative is continuous, and outside the
    rise the step is exactly 0 or 1: a dead zone between two steps stays dead, however long the
    run. (A logistic step leaks: over the hundreds of round trips of a run it drags a window from
    the edge of Vegas's dead zone to its middle.)

    Args:
        excess: how far a quantity is above its threshold, in any unit.
        width: over how much of that unit the step rises, above 0.

    >>> [float(step(excess, 0.5)) for excess in (-1.0, 0.25, 2.0)]
    [0.0, 0.5, 1.0]
    """
    rise = clip(excess / width, 0.0, 1.0)
    return rise * rise * (3 - 2 * rise)
