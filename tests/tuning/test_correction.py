"""The correction on packets, with measured functions that are made up and so are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vegasfluid.tuning.correction import CLOSE, MOST_STEPS, Correction, correct
from vegasfluid.tuning.measurement import Measurement

LIMITS = (1.0, 1000.0)


def measurement(ratio: float, spread: float = 0.02) -> Measurement:
    """Ten runs whose geometric mean is `ratio`, with this spread of their logarithms."""
    noise = spread * np.linspace(-1, 1, 10)
    return Measurement(tuple({"ratio": float(ratio * math.exp(part))} for part in noise))


def searched(
    ratio_of, *, start, goal=1.0, slope=1.0, settle=lambda a: a, limits=LIMITS, spread=0.02
):
    """A correction, and the alphas that were asked for in turn."""
    asked: list[float] = []

    def measure_at(alpha: float) -> Measurement:
        asked.append(alpha)
        return measurement(ratio_of(alpha), spread)

    found: Correction = correct(
        measure_at, settle, goal=goal, start=start, slope=slope, limits=limits
    )
    assert len(asked) == len(set(asked)) == len(found.measurements) <= 2 * MOST_STEPS
    assert all(limits[0] * 0.999 <= alpha <= limits[1] * 1.001 for alpha in asked)
    return found, asked


def test_the_fluids_alpha_is_kept_where_it_will_do():
    found, asked = searched(lambda alpha: alpha / 40, start=40.2)
    assert found.reached
    assert asked == pytest.approx([40.2])
    assert found.best == asked[0]
    assert found.reason == ""


@pytest.mark.parametrize("start", [2.0, 20.0, 39.0, 60.0, 900.0])
@pytest.mark.parametrize("power", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("goal", [0.5, 1.0])
def test_a_rising_ratio(start, power, goal):
    """Found from either side, however steep, though the first guess of the slope is 1."""
    found, asked = searched(lambda alpha: (alpha / 40) ** power, start=start, goal=goal)
    assert found.reached
    assert abs(math.log(found.measurements[found.best].ratio / goal)) < CLOSE
    assert found.measurements[found.best].holds(goal)
    assert found.best == pytest.approx(40 * goal ** (1 / power), rel=CLOSE / power * 1.01)
    assert len(asked) <= 12


def test_a_noisy_ratio():
    """A ratio that goes up and down by 2 % from one alpha to the next."""
    for phase in range(10):
        found, asked = searched(
            lambda alpha, phase=phase: alpha / 40 * math.exp(0.02 * math.sin(50 * alpha + phase)),
            start=15,
        )
        assert found.reached
        assert found.best == pytest.approx(40, rel=0.05)
        assert len(asked) <= 8


def test_whole_alphas_only():
    found, asked = searched(lambda alpha: alpha / 40, start=17.3, settle=lambda a: float(round(a)))
    assert found.reached
    assert all(alpha == int(alpha) for alpha in asked)
    assert found.best in (39, 40, 41)


@pytest.mark.parametrize(("at_3", "reached"), [(0.9, False), (0.96, True)])
@pytest.mark.parametrize(("start", "nearer"), [(2.4, 3.0), (7.0, 3.0), (1.0, 3.0)])
def test_goal_between_two_whole_alphas(start, nearer, at_3, reached):
    """At 3 the ratio is too small, at 4 it is 1.3: no alpha holds the goal, 3 is nearest."""
    ratios = {1: 0.3, 2: 0.6, 3: at_3, 4: 1.3, 5: 1.7, 6: 2.0, 7: 2.4, 8: 2.8}
    found, _ = searched(
        lambda alpha: ratios[int(alpha)],
        start=start,
        settle=lambda a: float(min(max(round(a), 1), 8)),
        limits=(1.0, 8.0),
    )
    assert found.best == nearer
    assert {3.0, 4.0} <= set(found.measurements)
    assert found.reached == reached
    assert found.reason.startswith("the goal lies between alpha 3 (ratio 0.9")
    assert "4 (ratio 1.3" in found.reason


def test_a_jump_that_no_alpha_fills():
    """A step from 0.5 to 2 at 50: the two sides are found, and one of them is taken."""
    found, _ = searched(lambda alpha: 0.5 if alpha < 50 else 2.0, start=10)
    assert found.reason
    below = max(alpha for alpha in found.measurements if alpha < 50)
    above = min(alpha for alpha in found.measurements if alpha >= 50)
    assert above / below < 1.02


@pytest.mark.parametrize("start", [1.0, 30.0, 1000.0])
def test_out_of_reach_above(start):
    """A plateau at 0.8: even the largest alpha does not do."""
    found, asked = searched(lambda alpha: 0.8 * min(alpha / 10, 1), start=start)
    assert not found.reached
    assert max(asked) == pytest.approx(1000.0)
    assert found.measurements[found.best].ratio == pytest.approx(0.8)
    assert found.reason == ("even with the largest alpha (1000 packets) the ratio is 0.8, below 1")


@pytest.mark.parametrize("start", [1.0, 30.0])
def test_out_of_reach_below(start):
    found, asked = searched(lambda alpha: 0.5 + alpha / 40, start=start, goal=0.1)
    assert not found.reached
    assert min(asked) == pytest.approx(1.0)
    assert found.best == pytest.approx(1.0)
    assert found.reason == "even with the smallest alpha (1 packets) the ratio is 0.525, above 0.1"


def test_a_wide_interval_is_not_enough():
    """Runs that scatter by a factor of e: the interval holds the goal, the middle does not."""
    found, asked = searched(lambda alpha: alpha / 40, start=30.0, spread=1.0)
    assert measurement(30 / 40, 1.0).holds(1.0)
    assert len(asked) > 1
    assert abs(math.log(found.measurements[found.best].ratio)) < CLOSE


def test_a_start_beyond_the_limits():
    found, asked = searched(lambda alpha: alpha / 40, start=1e6)
    assert asked[0] == pytest.approx(1000.0)
    assert found.reached
