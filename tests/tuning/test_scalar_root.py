"""The search for alpha on the fluid model."""

from __future__ import annotations

import math

import jax.numpy as jnp
import pytest

from tests.networks import office
from tests.tuning.offices import TIMES
from vegasfluid import Network, Red, metrics, simulate_fluid
from vegasfluid.tuning.initial_guess import InitialGuess, guess_alpha
from vegasfluid.tuning.parameters import largest_alpha, with_alpha
from vegasfluid.tuning.scalar_root import (
    PLATEAU_TOLERANCE,
    PLATEAU_XTOL,
    TOLERANCE,
    bracket_root,
    find_root,
)


def ratio_at(network: Network, alpha: float) -> float:
    law = with_alpha(network.flows["vegas"].law, jnp.asarray(alpha))
    return metrics.goodput_ratio(simulate_fluid(network.with_law("vegas", law), **TIMES), "vegas")


def search(network: Network, goal: float):
    return find_root(
        lambda alpha: ratio_at(network, alpha),
        target=goal,
        guess=guess_alpha(network, "vegas", goal),
        bounds=(1.0, largest_alpha(network)),
    )


@pytest.mark.parametrize("goal", [0.5, 1.0])
def test_search_finds_the_crossing(goal):
    """Below the ratio is too small, above too large: bisected here on the simulator itself."""
    result = search(office("ns2"), goal)
    assert result.reached
    assert result.ratio == pytest.approx(goal, rel=2 * TOLERANCE)
    assert result.evaluations < 8
    low, high = result.alpha * 0.999, result.alpha * 1.001
    assert ratio_at(office("ns2"), low) < goal < ratio_at(office("ns2"), high)


def test_on_a_plateau_the_smallest_alpha_is_taken():
    """Textbook Vegas halves: it gets at most what Reno gets, and from saturation on just that."""
    saturated = office("brakmo", aqm=Red(min_thresh=20, max_thresh=80))
    plateau = ratio_at(saturated, 50.0)
    assert ratio_at(saturated, 100.0) == pytest.approx(plateau, abs=1e-3)
    result = search(saturated, 2.0)
    assert not result.reached
    assert result.ratio == pytest.approx(plateau, rel=0.03)
    assert result.alpha < 12
    assert ratio_at(saturated, result.alpha / 1.5) < 0.97 * plateau


def test_goal_below_the_smallest_alpha():
    """Nothing is below: the result is the smallest alpha, and the goal is not reached."""
    result = search(office("ns2"), 0.01)
    assert not result.reached
    assert result.alpha == pytest.approx(1.0)
    assert result.ratio > 0.1


LIMITS = (1.0, math.exp(6.0))


def made(log_ratio, start: float, slope: float = 1.0):
    """A search over a made-up function of log(alpha), and where it looked."""
    points: list[float] = []

    def at(alpha: float) -> float:
        points.append(math.log(alpha))
        return math.exp(log_ratio(math.log(alpha)))

    result = find_root(at, target=1.0, guess=InitialGuess(math.exp(start), slope), bounds=LIMITS)
    assert len(points) == result.evaluations == len(set(points))
    assert all(-1e-9 < x < 6.0 + 1e-9 for x in points)
    return result, points


@pytest.mark.parametrize("start", [0.0, 1.0, 1.9, 2.1, 5.0])
@pytest.mark.parametrize("slope", [0.5, 1.0, 2.0])
def test_a_rising_function(start, slope):
    result, points = made(lambda x: slope * math.sinh(x - 2.0), start)
    assert result.reached
    assert math.log(result.alpha) == pytest.approx(2.0, abs=2 * TOLERANCE / slope)
    assert slope / 1.5 < result.slope < 1.5 * slope  # by the next nearest point, which may be far
    assert len(points) <= 14


def test_a_good_beginning_takes_few_runs():
    """Right within 20 % in alpha and 10 % in the slope."""
    result, points = made(lambda x: 1.1 * (x - 2.0) + 0.1 * (x - 2.0) ** 2, 2.2)
    assert result.reached
    assert len(points) <= 4


@pytest.mark.parametrize("start", [0.5, 2.9, 4.0, 6.0])
def test_along_a_plateau_the_knee_is_found(start):
    """The distance rises to -1 at 3 and stays."""
    result, _ = made(lambda x: min(x - 4.0, -1.0), start)
    assert not result.reached
    assert -1.0 - PLATEAU_TOLERANCE <= math.log(result.ratio) <= -1.0
    assert math.log(result.alpha) <= 3.0 + PLATEAU_XTOL


def test_a_plateau_from_the_first_alpha_on():
    result, _ = made(lambda x: -0.5, 3.0)
    assert not result.reached
    assert result.alpha == pytest.approx(1.0)


@pytest.mark.parametrize("start", [0.0, 1.45, 3.0])
def test_a_jump_does_not_trap_the_search(start):
    """A dip inside the range."""
    result, _ = made(lambda x: x - 2.0 - (3.0 if 1.4 < x < 1.6 else 0.0), start)
    assert abs(math.log(result.ratio)) < 0.51


def bracketed(
    distance_at, slope: float, *, smooth: bool
) -> tuple[list[float], tuple[float, float]]:
    """Where `bracket_root` looked between 0 and 20, from 0 on, and the bracket that it returned."""
    points: list[float] = []

    def at(x: float) -> float:
        points.append(x)
        return distance_at(x)

    result = bracket_root(at, 0.0, slope, (0.0, 20.0), 1.2, smooth=smooth)
    return points, result


def test_steps_that_do_not_pass_the_root_double():
    """Where the slope asks for next to nothing: 0.03, 0.06, 0.12 and so on, by hand."""
    points, result = bracketed(lambda x: -1e-9 if x < 1 else 1.0, 1.0, smooth=False)
    assert points == pytest.approx([0.0, 0.03, 0.09, 0.21, 0.45, 0.93, 1.89])
    assert result == pytest.approx((0.93, 1.89))


def test_steps_by_a_slope_of_two_values_need_not_double():
    """Equal values have the least slope: steps are the smallest, the last is the remainder."""
    points, result = bracketed(lambda x: -1e-9 if x < 1 else 1.0, 1.0, smooth=True)
    assert points == pytest.approx([*(0.03 * step for step in range(12)), 20.0])
    assert result == pytest.approx((0.33, 20.0))


def test_steps_are_not_too_long():
    """The slope asks for more than 1.5 in log(alpha), which may be noise: 1.5 each."""
    points, result = bracketed(lambda x: x - 4.0, 0.1, smooth=False)
    assert points == pytest.approx([0.0, 1.5, 3.0, 4.5])
    assert result == pytest.approx((3.0, 4.5))
