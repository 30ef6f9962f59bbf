"""Functions written with arithmetic, beside mpmath's with 50 digits, in units of the last place.

XLA counts numbers below 2.2e-308 as 0 on a CPU, so there are none here.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from vegasfluid.lanes import lane_kernel

pytestmark = pytest.mark.optimised
"""What users run: vectors and single numbers agree to the last digit in optimised code."""

ANY = np.concatenate([-np.geomspace(1e-300, 1e300, 211), np.geomspace(1e-300, 1e300, 211)])
NEAR = np.linspace(-3, 3, 1201)
FUNCTIONS = {
    "exp": (jnp.exp, mpmath.exp, [*np.linspace(-708, 709.5, 1500), *NEAR], 2),
    "expm1": (jnp.expm1, mpmath.expm1, [*np.linspace(-40, 700, 700), *NEAR, *ANY[105:317]], 4),
    "log": (jnp.log, mpmath.log, [*ANY[211:], *np.linspace(0.5, 2, 1001)], 2),
    "log1p": (jnp.log1p, mpmath.log1p, [*np.geomspace(1e-300, 1e300, 300), *NEAR[401:]], 4),
    "tanh": (jnp.tanh, mpmath.tanh, [*np.linspace(-30, 30, 601), *NEAR, 1e-200], 6),
    "logistic": (
        jax.nn.sigmoid,
        lambda x: 1 / (1 + mpmath.exp(-x)),
        [*np.linspace(-708, 40, 1500), *NEAR],
        2,
    ),
    "cbrt": (jnp.cbrt, mpmath.cbrt, [*ANY[211:], *np.linspace(0.1, 10, 500)], 2),
}
"""JAX's function, mpmath's, where they are compared, and how many units of the last place apart."""


def in_lanes(function, values):
    """Of each value, in a vector's lanes and by itself; they must be the same."""
    values = jnp.asarray(values, jnp.float64)
    kernel = lane_kernel(function)
    together = np.asarray(jax.vmap(kernel)(values))
    some = min(len(values), len(SPECIAL))
    each = jax.jit(lambda x: jnp.stack([kernel(x[k]) for k in range(some)]))
    np.testing.assert_array_equal(np.asarray(each(values[:some])), together[:some])
    return together


def units_off(found, exact):
    """By how many units in the last place of the exact value."""
    unit = np.spacing(np.abs(float(exact)))
    return abs(mpmath.mpf(float(found)) - exact) / mpmath.mpf(float(unit))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_in_units_of_the_last_place(name):
    function, exact, values, most = FUNCTIONS[name]
    with mpmath.workdps(50):
        found = in_lanes(function, values)
        for value, own in zip(values, found, strict=True):
            true = exact(mpmath.mpf(float(value)))
            assert units_off(own, true) <= most, (value, own, float(true))


def test_error_of_a_power_grows_with_its_logarithm():
    bases, exponents = np.geomspace(1e-3, 1e6, 40), np.linspace(-8, 8, 33)
    pairs = np.array([(x, y) for x in bases for y in exponents])
    found = np.asarray(jax.vmap(lane_kernel(jnp.power))(*jnp.asarray(pairs.T)))
    with mpmath.workdps(50):
        for (x, y), own in zip(pairs, found, strict=True):
            true = mpmath.mpf(float(x)) ** mpmath.mpf(float(y))
            assert units_off(own, true) <= 3 + 2 * abs(y * np.log(x)), (x, y)


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 710.0, -746.0, 0.5, 3.0]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_are_those_of_numpy(name):
    function = FUNCTIONS[name][0]
    found = in_lanes(function, SPECIAL)
    with np.errstate(all="ignore"):
        exact = getattr(np, name, lambda x: 1 / (1 + np.exp(-x)))
        expected = exact(np.array(SPECIAL))
    np.testing.assert_allclose(found, expected, rtol=1e-15, atol=0)


def test_special_powers_are_those_of_numpy():
    given = [0.0, 1.0, -1.0, 2.0, -2.0, np.inf, np.nan, 0.5]
    pairs = np.array([(x, y) for x in given for y in given if not np.isinf(y)])
    kernel = lane_kernel(jnp.power)
    found = jax.vmap(kernel)(*jnp.asarray(pairs.T))
    each = jax.jit(lambda x, y: jnp.stack([kernel(*pair) for pair in zip(x, y, strict=True)]))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, np.power(*pairs.T), rtol=1e-15)
        alone = np.concatenate([each(*part.T) for part in pairs.reshape(-1, 7, 2)])
    np.testing.assert_array_equal(alone, found)


def test_extremes_of_two_numbers_are_nan_if_one_is():
    given = jnp.array([0.0, 1.0, -2.0, jnp.inf, -jnp.inf, jnp.nan])
    pairs = jnp.stack([jnp.repeat(given, 6), jnp.tile(given, 6)])
    for function in (jnp.maximum, jnp.minimum):
        kernel, expected = lane_kernel(function), function(*pairs)
        np.testing.assert_array_equal(jax.vmap(kernel)(*pairs), expected)
        alone = jax.jit(lambda x, y, f=kernel: jnp.stack([f(x[k], y[k]) for k in range(36)]))
        np.testing.assert_array_equal(alone(*pairs), expected)
