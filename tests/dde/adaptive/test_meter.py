"""A progress meter shows how far a solve has come."""

from __future__ import annotations

import re

import diffrax
import jax
import jax.numpy as jnp
import pytest

from vegasfluid import dde


def shares(text):
    """The percentages that were printed."""
    return [float(value) for value in re.findall(r"([\d.]+)%", text)]


@pytest.mark.slow
@pytest.mark.unoptimised
def test_meter_of_a_batch_rises_to_the_end(capfd):
    solution = dde.solve_batch(
        lambda t, y, history, rate: -rate * history(t - 1.0), diffrax.Bosh3(),
        0.0, 20.0, None, jnp.ones((2, 1)), jnp.array([0.5, 1.0]),
        progress_meter=diffrax.TextProgressMeter(minimum_increase=0.05),
    )  # fmt: skip
    jax.block_until_ready(solution)
    jax.effects_barrier()
    shown = shares(capfd.readouterr().out)
    assert len(shown) > 8
    assert shown == sorted(shown)
    assert shown[0] == 0
    assert shown[-1] == 100
