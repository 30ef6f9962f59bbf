"""The merit of a measured setting, and bounds tightened by what is uncertain, by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vegasfluid import Flows, Link, Network, Reno, Vegas
from vegasfluid.tuning import Constraints, ShareRatio
from vegasfluid.tuning.constraints import FEASIBILITY_TOLERANCE, NO_CONSTRAINTS
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.space_mapping import LOSS_WEIGHT, _SpaceMapping, merit_of

X = np.zeros(1)


def mapping(constraints: Constraints, *, minimises_delay: bool = True) -> _SpaceMapping:
    """One flow of Vegas, which is tuned, beside one of Reno; the gain margin is always 3."""
    flows = {"reno": Flows(1, Reno(), base_rtt=0.1), "vegas": Flows(1, Vegas(), base_rtt=0.1)}
    program: Any = SimpleNamespace(
        constraints=constraints,
        gain_margin=lambda x: 3.0,
        tuned=np.array([0.0, 1.0]),
        fair=500.0,
        objective=ShareRatio(1.0),
        minimises_delay=minimises_delay,
        feasibility_tolerance=FEASIBILITY_TOLERANCE,
    )
    unused: Any = None
    return _SpaceMapping(program, Network(Link(1000.0, 50), flows), (), unused)


def merit(
    measurement: Measurement, constraints: Constraints = NO_CONSTRAINTS, **options: bool
) -> tuple[float, float]:
    """Merit of a measurement with the program and network of `mapping`."""
    one = mapping(constraints, **options)
    return merit_of(one.program, one.network, measurement, X)


def measured(delay: float, ratio: float = 1.0, utilisation: float = 0.95) -> Measurement:
    """Two runs whose mean delay (s) and utilisation are given, each 10 % off; equal ratios."""
    runs = tuple(
        {
            "ratio": ratio,
            "queueing_delay_s": delay * part,
            "drop_share": 0.01 * part,
            "utilisation": utilisation * part,
        }
        for part in (0.9, 1.1)
    )
    return Measurement(runs, tuple(np.array([100.0, 100.0 * ratio]) for _ in runs))


def test_merit_is_weighted_loss_and_the_logarithm_of_the_delay() -> None:
    result = merit(measured(0.02, ratio=1.1))
    assert result == pytest.approx((0.0, LOSS_WEIGHT * math.log(1.1) ** 2 + math.log(0.02)))
    without = merit(measured(0.02, ratio=1.1), minimises_delay=False)
    assert without == pytest.approx((0.0, LOSS_WEIGHT * math.log(1.1) ** 2))
    better, middle, worse = measured(0.01), measured(0.02), measured(0.02, ratio=1.1)
    assert merit(better) < merit(middle) < merit(worse)


@pytest.mark.parametrize(
    ("limits", "violation"),
    [
        ({"queueing_delay": 0.02}, 0.0),
        ({"queueing_delay": 0.0198}, 0.0),  # 1 % is within the tolerance
        ({"queueing_delay": 0.01}, math.log(2) - FEASIBILITY_TOLERANCE),
        ({"utilisation": 0.98}, math.log(0.98 / 0.95) - FEASIBILITY_TOLERANCE),
        ({"queueing_delay": 0.01, "drop_share": 0.001}, math.log(10) - FEASIBILITY_TOLERANCE),
        ({"gain_margin": 6.0}, math.log(2) - FEASIBILITY_TOLERANCE),
    ],
)
def test_the_worst_violation_beyond_the_tolerance_comes_first(limits, violation: float) -> None:
    assert merit(measured(0.02), Constraints(**limits))[0] == pytest.approx(violation)


def test_bounds_are_tightened_by_the_uncertainty_of_the_mean() -> None:
    """Two runs 10 % off the mean: the half width is 12.706 (Student's t of 1) times 0.1 of it."""
    given = Constraints(queueing_delay=0.03, drop_share=0.02, utilisation=0.2, gain_margin=2.0)
    factor = math.exp(12.7062 * 0.1)
    result = mapping(given).tightened(measured(0.02))
    assert result.queueing_delay == pytest.approx(0.03 / factor, rel=1e-5)
    assert result.drop_share == pytest.approx(0.02 / factor, rel=1e-5)
    assert result.utilisation == pytest.approx(0.2 * factor, rel=1e-5)
    assert result.gain_margin == 2.0
    assert mapping(Constraints(utilisation=0.9)).tightened(measured(0.02)).utilisation == 1.0
