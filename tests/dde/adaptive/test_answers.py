"""Every test system against its closed form or stored reference, to what the tolerance allows."""

from __future__ import annotations

import diffrax
import numpy as np
import pytest

from benchmarks.dde.switched_systems import DDETST_C1, RENO_RED, RENO_VEGAS, WALLS
from benchmarks.dde.systems import DDETST_B1, LINEAR, MACKEY_GLASS
from tests.dde.adaptive.solving import FEW, PAIRS, SYSTEMS, TRIPLES, answer, at_answers, errors
from vegasfluid import dde

BOSH3, TSIT5, DOPRI5 = diffrax.Bosh3(), diffrax.Tsit5(), diffrax.Dopri5()
ALLOWED = 100.0
"""Error, as a share of each component's size, that a tolerance of 1 allows."""
SHORT = {MACKEY_GLASS.name: 100.0, DDETST_C1.name: 12.0}
"""Systems that multiply errors (irregular, or resting near an unstable state) are cut short."""
NETWORKS = (RENO_RED, RENO_VEGAS)
SEVERAL = (*PAIRS.systems, *TRIPLES.systems)
"""Systems of two and three components, whose programs compile for long."""


def names(value):
    return getattr(value, "name", type(value).__name__)


def solved_at(system, solver, tolerances, family=None):
    end = SHORT.get(system.name)
    for rtol in tolerances:
        found = at_answers(system, solver, rtol, end, family)
        assert found.result == dde.Outcome.SUCCESS
        assert np.isnan(found.time)
        yield rtol, errors(system, found.ys, end).max()


@pytest.mark.parametrize(
    "system",
    [
        pytest.param(system, marks=[pytest.mark.slow] if system in SEVERAL else [])
        for system in SYSTEMS
        if system not in NETWORKS
    ],
    ids=names,
)
def test_the_solution_is_within_the_tolerance(system):
    """C1 amplifies errors 1900 times, C2 200 times."""
    allowed = {"DDETST C1": 2000, "DDETST C2": 200}.get(system.name, ALLOWED)
    for rtol, error in solved_at(system, TSIT5, (1e-5, 1e-7)):
        assert error < allowed * rtol


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("solver", [BOSH3, DOPRI5], ids=names)
@pytest.mark.parametrize("system", [LINEAR, DDETST_B1, WALLS], ids=names)
def test_other_methods(system, solver):
    family = FEW if system in FEW.systems else None
    for rtol, error in solved_at(system, solver, (1e-4, 1e-6), family):
        assert error < ALLOWED * rtol


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("system", [RENO_RED, RENO_VEGAS], ids=names)
def test_networks_to_six_digits(system):
    """Clamps, kinks and lags by the state, for as long as the reference goes."""
    ((_, error),) = solved_at(system, TSIT5, (1e-10,))
    assert error < 1e-6


def test_errors_are_seen():
    """A solution that is off by a millionth, or by a thousandth of a time unit, is detected."""
    ts, ys = answer(LINEAR)
    assert errors(LINEAR, ys + 1e-6).max() == pytest.approx(1e-6, rel=1e-6)
    assert errors(LINEAR, LINEAR.exact(ts - 1e-3)).max() > 1e-4
