"""The first root of several functions, on functions whose roots are known."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid.dde.adaptive.roots import first_root


def located(functions, *, half=True, tally=None):
    """The first root and all roots of one instance."""

    def values(share):
        if tally is not None:
            tally.append(share)
        return jnp.stack([function(share) for function in functions])

    ends = [values(jnp.array([share])) for share in (0.0, 0.5, 1.0)]
    known = (ends[0], ends[1] if half else None, ends[2])
    share, roots = first_root(values, jnp.ones(1, bool), *known)
    return float(share[0]), np.asarray(roots[:, 0])


def bent(root, bend):
    """A decreasing function, the more bent the larger `bend`; a rising one if that is negative."""
    return lambda share: jnp.expm1(bend * (root - share))


@functools.cache
def compiled(half):
    """The first root of one bent function, compiled for all roots and bends."""

    def values(root, bend, share):
        return jnp.stack([jnp.sign(bend) * bent(root, bend)(share)])

    @jax.jit
    def run(root, bend):
        ends = [values(root, bend, jnp.array([share])) for share in (0.0, 0.5, 1.0)]
        known = (ends[0], ends[1] if half else None, ends[2])
        return first_root(lambda share: values(root, bend, share), jnp.ones(1, bool), *known)[0][0]

    return run


@pytest.mark.parametrize("half", [True, False])
@pytest.mark.parametrize("root", [0.003, 0.3, 0.5, 0.7, 0.998])
@pytest.mark.parametrize("bend", [0.1, 1.0, 6.0, -4.0])
def test_one_function(root, bend, half):
    assert float(compiled(half)(root, bend)) == pytest.approx(root, abs=1e-9)


@pytest.mark.parametrize("root", [0.2, 0.5263, 0.95])
def test_two_that_are_zero_together(root):
    """The lower of the two bends at the root; neither of them does."""
    share, roots = located([lambda share: 20 * (root - share), bent(root, 2.0)])
    assert share == pytest.approx(root, abs=1e-10)
    np.testing.assert_allclose(roots, root, rtol=0, atol=1e-8)


def test_the_first_of_two():
    """Also where the other one is far lower at the end."""
    share, roots = located([bent(0.61, 1.0), bent(0.62, 6.0), lambda share: 9 * (0.8 - share)])
    assert share == pytest.approx(0.61, abs=1e-9)
    assert np.isfinite(roots[0])
    share, _ = located([lambda share: 0.01 * (0.6 - share), lambda share: 9 * (0.61 - share)])
    assert share == pytest.approx(0.6, abs=1e-9)


def test_at_the_ends():
    assert located([lambda share: -share])[0] == 0.0
    assert located([lambda share: (1 - share) * 1.0])[0] == 1.0
    # Zero at the start, but positive after it.
    share, _ = located([lambda share: share * (0.9 - share)])
    assert share == pytest.approx(0.9, abs=1e-9)
