"""The error of the dense output between steps, which lags read, is part of the error test."""

from __future__ import annotations

import functools
import itertools
import math

import diffrax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.dde.adaptive.solving import tolerance
from vegasfluid import dde
from vegasfluid.dde.adaptive.method import method_of

DOPRI8 = method_of(diffrax.Dopri8())


@functools.cache
def trees(order):
    """All rooted trees of an order: sorted tuples of their subtrees."""
    if order == 1:
        return {()}
    found = set()
    for first in range(1, order):
        for one, rest in itertools.product(trees(first), trees(order - first)):
            found.add(tuple(sorted((*rest, one))))
    return found


def size(tree):
    return 1 + sum(map(size, tree))


def density(tree):
    return size(tree) * math.prod(map(density, tree))


def weights(tree, matrix):
    """The elementary weight of a tree at each stage (Hairer, Norsett and Wanner, II.2)."""
    product = np.ones(len(matrix))
    for branch in tree:
        product = product * (matrix @ weights(branch, matrix))
    return product


def test_dopri8_estimates_the_error_of_its_dense_output():
    """Zero for trees up to order 5, and diffrax's own error at the middle for those of order 6."""
    count = len(DOPRI8.stages) + 1
    matrix = np.zeros((count, count))
    for stage, row in enumerate(DOPRI8.stages, 1):
        matrix[stage, : len(row)] = row
    middle = sum(np.array(row) / 2**power for power, row in enumerate(DOPRI8.dense, 1))
    for order, number in ((1, 1), (2, 1), (3, 2), (4, 4), (5, 9), (6, 20)):
        assert len(trees(order)) == number
        rows = np.array([weights(tree, matrix) for tree in trees(order)])
        wanted = [0.5**order / density(tree) for tree in trees(order)]
        estimate, error = rows @ np.array(DOPRI8.dense_error), wanted - rows @ middle
        if order < 6:
            assert np.abs(error).max() < 1e-12
            assert np.abs(estimate).max() < 1e-11
        else:
            assert np.abs(error).max() > 1e-5
            assert np.abs(estimate - error).max() < 3e-6


@pytest.mark.slow
@pytest.mark.unoptimised
def test_smooth_solution_with_two_lags():
    """Sin t from its own values 1 and 0.3 ago; breaks at t0 and later matter to no digit.

    Steps up to four lags long, cut at the breaks, had an error of 1e-5.
    """
    far, near = math.sin(1.0), math.sin(0.3)
    matrix = np.array([[math.cos(1.0), math.cos(0.3)], [far, near]])
    first, second = np.linalg.solve(matrix, [0.0, -1.0])  # a sin(t-1) + b sin(t-0.3) = cos t

    def rhs(t, y, history, args):
        return jnp.array([first, second]) @ history(t - jnp.array([1.0, 0.3]))

    ts = jnp.linspace(0.0, 6.0, 61)
    found = dde.solve(
        rhs, diffrax.Dopri8(), 0.0, 6.0, None, jnp.zeros(1), saveat=diffrax.SaveAt(ts=ts),
        initial_history=lambda s, args: jnp.sin(s)[None],
        stepsize_controller=tolerance(1e-9),
    )  # fmt: skip
    np.testing.assert_allclose(found.ys[:, 0], np.sin(ts), rtol=0, atol=5e-9)
