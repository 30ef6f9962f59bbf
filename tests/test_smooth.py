"""Comparisons that arrays and symbols share."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from vegasfluid import smooth

widths = st.floats(1e-3, 1e3)


@given(beyond=st.floats(0, 1e6), width=widths)
def test_outside_its_rise_the_step_is_exactly_zero_or_one(beyond: float, width: float) -> None:
    assert smooth.step(-beyond, width) == 0.0
    assert smooth.step(width * 1.0000001 + beyond, width) == 1.0


@given(part=st.floats(0, 1), width=widths)
def test_the_step_rises_evenly_around_its_middle(part: float, width: float) -> None:
    up, down = smooth.step(part * width, width), smooth.step((1 - part) * width, width)
    assert 0 <= up <= 1
    assert up + down == pytest.approx(1.0)


def test_the_step_rises_all_the_way() -> None:
    values = smooth.step(np.linspace(-1, 3, 401), 2.0)
    assert (np.diff(values) >= 0).all()
    assert values[200] == 0.5


@pytest.mark.parametrize(
    ("excess", "slope"),
    # 6 u (1 - u) / width with u = excess / 0.5
    [(-1.0, 0.0), (0.0, 0.0), (0.125, 2.25), (0.25, 3.0), (0.375, 2.25), (0.5, 0.0), (2.0, 0.0)],
)
def test_the_steps_derivative_is_continuous(excess: float, slope: float) -> None:
    assert float(jax.grad(smooth.step)(excess, 0.5)) == pytest.approx(slope, abs=1e-12)


def test_symbols_arrays_and_traced_arrays_see_the_same_step() -> None:
    x, points = sp.Symbol("x", real=True), np.linspace(-0.2, 0.7, 19)
    symbolic = smooth.step(x, sp.Rational(1, 2))
    assert isinstance(symbolic, sp.Expr)
    by_symbols = np.array([float(symbolic.subs(x, sp.Float(point))) for point in points])
    plain = smooth.step(points, 0.5)
    traced = jax.jit(smooth.step)(jnp.asarray(points), 0.5)
    assert isinstance(plain, np.ndarray)
    assert isinstance(traced, jax.Array)
    np.testing.assert_allclose(plain, by_symbols, atol=1e-12)
    np.testing.assert_allclose(plain, traced, atol=1e-15)


def test_the_rise_of_the_symbolic_step_is_the_cubic() -> None:
    x = sp.Symbol("x", real=True)
    inside = smooth.step(x, sp.Integer(1)).subs(x, sp.Rational(1, 3))
    assert inside == 3 * sp.Rational(1, 9) - 2 * sp.Rational(1, 27)


@given(a=st.floats(-1e6, 1e6), b=st.floats(-1e6, 1e6))
def test_smaller_larger_and_clipped(a: float, b: float) -> None:
    assert smooth.minimum(a, b) == min(a, b)
    assert smooth.maximum(a, b) == max(a, b)
    assert smooth.positive_part(a) == max(a, 0.0)
    assert smooth.clip(a, -1.0, 1.0) == min(max(a, -1.0), 1.0)


def test_functions_of_arrays_and_symbols() -> None:
    x = sp.Symbol("x", positive=True)
    assert smooth.exp(x) == sp.exp(x)
    assert smooth.log1p(x) == sp.log(1 + x)
    assert smooth.minimum(x, 2) == sp.Min(x, 2)
    assert smooth.positive_part(x - 1).subs(x, 3) == 2
    np.testing.assert_allclose(smooth.exp(np.array([0.0, 1.0])), [1.0, np.e])
    assert smooth.log1p(1e-20) == 1e-20  # log(1 + 1e-20) would be 0
    assert isinstance(smooth.exp(jnp.asarray(0.0)), jax.Array)
