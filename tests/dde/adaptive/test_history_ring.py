"""Which piece of the dense output covers a time."""

from __future__ import annotations

import jax.numpy as jnp

from vegasfluid.dde.adaptive.compensated_time import CompensatedTime
from vegasfluid.dde.adaptive.history_ring import Ring, Track


def test_the_last_piece_that_has_begun_is_found():
    """Also at the very time at which it begins; before all, the oldest one."""
    rows = [[start, 0.0, 1.0, 0.0] for start in (0.0, 1.0, 2.0, 3.0)]
    track = Track(Ring(jnp.array(rows)), 1, jnp.int32(3))
    offsets = jnp.array([-3.0, 0.0, 0.5, 1.0, 2.999, 3.0, 9.0])
    found = track.bisect(CompensatedTime.at(jnp.float64(0.0)), offsets)
    assert found.tolist() == [0, 0, 0, 1, 2, 3, 3]
