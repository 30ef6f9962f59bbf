"""The correction on packets, with measured functions that are made up and so are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.scalar_root import MAX_STEPS, PLATEAU_TOLERANCE
from vegasfluid.tuning.stochastic_root import (
    CENTRED,
    RESOLUTION,
    AlphaSetting,
    StochasticRoot,
    _StochasticRootFinder,
    find_stochastic_root,
    retrospective_approximation,
)

LIMITS = (1.0, 1000.0)


def measurement(ratio: float, spread: float = 0.02) -> Measurement:
    """Ten runs whose geometric mean is `ratio`, with this spread of their logarithms."""
    noise = spread * np.linspace(-1, 1, 10)
    return Measurement(tuple({"ratio": float(ratio * math.exp(part))} for part in noise))


def run_search(
    ratio_of,
    *,
    start,
    goal=1.0,
    slope=1.0,
    settle=lambda a: a,
    limits=LIMITS,
    spread=0.02,
    dead_band=2.0,
    whole=False,
):
    """A correction, and the settings that were asked for in turn."""
    settings: list[AlphaSetting] = []

    def measure_at(setting: AlphaSetting) -> Measurement:
        settings.append(setting)
        return measurement(ratio_of(*setting) if whole else ratio_of(setting.alpha), spread)

    result: StochasticRoot = find_stochastic_root(
        measure_at,
        settle,
        target=goal,
        start=start,
        slope=slope,
        bounds=limits,
        dead_band=dead_band,
        whole=whole,
    )
    assert len(settings) == len(set(settings)) == len(result.samples) <= 2 * MAX_STEPS
    assert all(limits[0] * 0.999 <= setting.alpha <= limits[1] * 1.001 for setting in settings)
    assert whole or {setting.dead_band for setting in settings} == {dead_band}
    return result, settings if whole else [setting.alpha for setting in settings]


def test_the_fluids_alpha_is_kept_where_it_will_do():
    result, settings = run_search(lambda alpha: alpha / 40, start=40.2)
    assert result.reached
    assert settings == pytest.approx([40.2])
    assert result.best.alpha == settings[0]
    assert result.reason == ""


@pytest.mark.parametrize("start", [2.0, 20.0, 39.0, 60.0, 900.0])
@pytest.mark.parametrize("power", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("goal", [0.5, 1.0])
def test_a_rising_ratio(start, power, goal):
    """Found from either side, however steep, though the first guess of the slope is 1."""
    result, settings = run_search(lambda alpha: (alpha / 40) ** power, start=start, goal=goal)
    assert result.reached
    assert abs(math.log(result.samples[result.best].ratio / goal)) < CENTRED
    assert result.samples[result.best].contains(goal)
    assert result.best.alpha == pytest.approx(40 * goal ** (1 / power), rel=CENTRED / power * 1.01)
    assert len(settings) <= 12


def test_a_noisy_ratio():
    """A ratio that goes up and down by 2 % from one alpha to the next."""
    for phase in range(10):
        result, settings = run_search(
            lambda alpha, phase=phase: alpha / 40 * math.exp(0.02 * math.sin(50 * alpha + phase)),
            start=15,
        )
        assert result.reached
        assert result.best.alpha == pytest.approx(40, rel=0.05)
        assert len(settings) <= 8


def test_whole_alphas_only():
    result, settings = run_search(
        lambda alpha: alpha / 40, start=17.3, settle=lambda a: float(round(a))
    )
    assert result.reached
    assert all(alpha == int(alpha) for alpha in settings)
    assert result.best.alpha in (39, 40, 41)


RISING = {1: 0.3, 2: 0.6, 3: 0.9, 4: 1.3, 5: 1.7, 6: 2.0, 7: 2.4, 8: 2.8}
"""Ratios at whole alphas, with the usual dead band."""


def whole_alphas(ratio_of, start, dead_band=2.0):
    """A search among whole alphas from 1 to 8."""
    return run_search(
        ratio_of,
        start=start,
        settle=lambda a: float(min(max(round(a), 1), 8)),
        limits=(1.0, 8.0),
        dead_band=dead_band,
        whole=True,
    )


STARTS = pytest.mark.parametrize("start", [1.0, 2.4, 7.0])


@STARTS
@pytest.mark.parametrize(
    ("narrower", "best"),
    [({3: 1.2, 2: 1.0}, (4, 2)), ({3: 1.01}, (4, 3)), ({0: 1.0, 1: 1.05, 2: 1.1, 3: 1.2}, (4, 0))],
)
def test_between_two_whole_alphas_a_narrower_dead_band_helps(start, narrower, best):
    def ratio_of(alpha, dead_band):
        return (
            narrower.get(dead_band, 0.5) if (alpha, dead_band < 4) == (4, True) else RISING[alpha]
        )

    result, _ = whole_alphas(ratio_of, start, dead_band=4.0)
    assert result.reached
    assert result.best == best


@STARTS
def test_a_wider_one_where_the_narrowest_is_not_enough(start):
    def ratio_of(alpha, dead_band):
        return {3: 0.84 + 0.04 * dead_band, 4: 1.3 - 0.02 * (2 - dead_band)}.get(
            alpha, RISING[alpha]
        )

    result, settings = whole_alphas(ratio_of, start)
    assert result.reached
    assert result.best == (3, 4)
    assert (4, 0) in settings


@STARTS
@pytest.mark.parametrize(("at_3", "reached"), [(0.9, False), (0.92, True)])
def test_a_ratio_that_even_beta_does_not_reach(start, at_3, reached):
    """Beta does nothing: at alpha 3 the ratio is too small, at 4 it is 1.3."""
    ratios = RISING | {3: at_3}
    result, _ = whole_alphas(lambda alpha, _: ratios[alpha], start)
    assert result.best.alpha == 3
    assert result.reached == reached
    assert result.certainly_missed
    assert result.reason.startswith("the goal lies between alpha 3, beta ")
    assert "and alpha 4, beta " in result.reason
    assert "(ratio 1.3)" in result.reason


@STARTS
def test_below_the_smallest_alpha_beta_still_helps(start):
    """At alpha 1 with the usual dead band the ratio is 1.2, with the narrowest 0.8."""
    result, _ = whole_alphas(lambda alpha, dead_band: 1.2 * alpha - 0.2 * (2 - dead_band), start)
    assert result.reached
    assert result.best == (1, 1)


def test_a_jump_that_no_alpha_fills():
    """A step from 0.5 to 2 at 50: the two sides are found, and one of them is taken."""
    result, _ = run_search(lambda alpha: 0.5 if alpha < 50 else 2.0, start=10)
    assert result.reason
    alphas = [setting.alpha for setting in result.samples]
    below = max(alpha for alpha in alphas if alpha < 50)
    above = min(alpha for alpha in alphas if alpha >= 50)
    assert above / below < 1 + RESOLUTION


@pytest.mark.parametrize("start", [1.0, 30.0, 1000.0])
def test_out_of_reach_above(start):
    """A plateau at 0.8: even the largest alpha does not do."""
    result, settings = run_search(lambda alpha: 0.8 * min(alpha / 10, 1), start=start)
    assert not result.reached
    assert max(settings) == pytest.approx(1000.0)
    assert result.samples[result.best].ratio == pytest.approx(0.8)
    message = "even with the largest setting (alpha 1000, beta 1002) the ratio is 0.8, below 1"
    assert result.reason == message


def test_on_a_plateau_below_the_target_the_smallest_alpha_is_best():
    """Alphas 20 and 80 give ratios within 1 % of each other; 20 keeps the shorter queue."""
    ratios = {5.0: 0.7, 20.0: 0.795, 80.0: 0.8}
    result, settings = run_search(
        ratios.__getitem__,
        start=5.0,
        settle=lambda alpha: min(ratios, key=lambda one: abs(one - alpha)),
        limits=(5.0, 80.0),
    )
    assert settings == [5.0, 20.0, 80.0]
    assert not result.reached
    assert result.best == AlphaSetting(20.0, 2.0)
    message = "even with the largest setting (alpha 80, beta 82) the ratio is 0.795, below 1"
    assert result.reason == message


@pytest.mark.parametrize(("plateau", "reached"), [(0.9, False), (0.93, True)])
def test_the_end_of_what_can_be_set_counts_within_ten_percent(plateau, reached):
    result, _ = run_search(lambda alpha: plateau * min(alpha / 10, 1), start=20.0)
    assert result.reached == reached
    assert result.reason.endswith(f"the ratio is {plateau:g}, below 1")


@pytest.mark.parametrize("start", [1.0, 30.0])
def test_out_of_reach_below(start):
    result, settings = run_search(lambda alpha: 0.5 + alpha / 40, start=start, goal=0.1)
    assert not result.reached
    assert min(settings) == pytest.approx(1.0)
    assert result.best == pytest.approx((1.0, 2.0))
    message = "even with the smallest setting (alpha 1, beta 3) the ratio is 0.525, above 0.1"
    assert result.reason == message


def test_a_wide_interval_is_not_enough():
    """Runs that scatter by a factor of e: the interval holds the goal, the middle does not."""
    result, settings = run_search(lambda alpha: alpha / 40, start=30.0, spread=1.0)
    assert measurement(30 / 40, 1.0).contains(1.0)
    assert len(settings) > 1
    assert abs(math.log(result.samples[result.best].ratio)) < CENTRED


def test_a_start_beyond_the_limits():
    result, settings = run_search(lambda alpha: alpha / 40, start=1e6)
    assert settings[0] == pytest.approx(1000.0)
    assert result.reached


def test_of_settings_as_near_the_usual_dead_band_is_best():
    """Each packet that the dead band differs from the usual one costs 1 % of the ratio."""
    measured = Measurement(({"ratio": 1.2}, {"ratio": 1.21}))
    search = _StochasticRootFinder(
        lambda setting: measured, lambda alpha: alpha, dead_band=2.0, target=1.0
    )
    costs = []
    for dead_band in (5.0, 2.0, 1.0):
        search.measure(AlphaSetting(10.0, dead_band))
        costs.append(search._cost(AlphaSetting(10.0, dead_band)))
    assert search.root.best == AlphaSetting(10.0, 2.0)
    assert costs[0] - costs[1] == pytest.approx(0.03)
    assert costs[2] - costs[1] == pytest.approx(0.01)


def screened_search(ratio_of, few_of=None, *, spread=0.02, **options):
    """A search in which 4 of 10 runs come first, its settings with all runs, and all settings.

    Ratios of the first 4 runs are those of `few_of`, if it is given.
    """
    whole, screened = list[AlphaSetting](), list[AlphaSetting]()

    def sample(setting: AlphaSetting) -> Measurement:
        whole.append(setting)
        return measurement(ratio_of(setting.alpha), spread)

    def screen(setting: AlphaSetting) -> Measurement:
        screened.append(setting)
        ratio = (few_of or ratio_of)(setting.alpha)
        return Measurement(measurement(ratio, spread).runs[3:7])

    options = {"start": 15.0, "slope": 1.0, "bounds": LIMITS, "dead_band": 2.0} | options
    root = find_stochastic_root(
        sample, lambda alpha: alpha, target=1.0, whole=False, screen=screen, **options
    )
    return root, whole, screened


@pytest.mark.parametrize("start", [2.0, 15.0, 300.0])
@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_settings_far_from_the_goal_get_a_few_runs_only(start, power):
    """The goal, at 40, is found at the same settings as with all runs everywhere."""

    def ratio_of(alpha):
        return (alpha / 40) ** power

    root, whole, screened = screened_search(ratio_of, start=start)
    plain, settings = run_search(ratio_of, start=start)
    assert root.reached
    assert root.best.alpha == pytest.approx(plain.best.alpha)
    assert [setting.alpha for setting in screened] == pytest.approx(settings)
    assert whole == [one for one in screened if abs(math.log(ratio_of(one.alpha))) < 0.12]
    assert root.best in whole
    assert len(root.samples[root.best].runs) == 10


def test_a_few_scattered_runs_exclude_nothing():
    """At 30 of 40 packets, runs that scatter by a factor of e have an interval with the goal."""
    _, whole, screened = screened_search(lambda alpha: alpha / 40, start=30.0, spread=1.0)
    assert whole == screened


def test_out_of_reach_the_best_setting_gets_all_runs_in_the_end():
    """A ratio that hardly grows above 20: the smallest alpha there is given, with ten runs."""

    def ratio_of(alpha):
        return min(alpha / 40, 0.5 + 1e-6 * alpha)

    root, whole, screened = screened_search(ratio_of)
    assert not root.reached
    best = max(ratio_of(one.alpha) for one in screened)
    flat = [one for one in screened if ratio_of(one.alpha) >= best * math.exp(-PLATEAU_TOLERANCE)]
    assert root.best == min(flat) != max(flat)
    assert len(root.samples[root.best].runs) == 10
    assert root.best in whole
    assert len(whole) < len(screened)


def test_a_setting_that_seemed_best_by_a_few_runs_gives_way():
    """The first runs of alphas above 500 are better than all runs; another setting wins then."""
    root, whole, _ = screened_search(
        lambda alpha: 0.1 if alpha > 500 else 0.2, lambda alpha: 0.3 if alpha > 500 else 0.2
    )
    assert root.samples[root.best].ratio == pytest.approx(0.2)
    assert root.best.alpha < 500
    assert len(root.samples[root.best].runs) == 10
    assert any(setting.alpha > 500 for setting in whole)


def approximated(spreads: list[float], ratio: float = 1.0, most: int = 9):
    """Alphas where each search began, and how often runs were added; each search doubles alpha.

    The runs of search k scatter by `spreads[k]`; at most `most` times there may be more of them.
    """
    starts: list[float] = []
    added: list[int] = []

    def find(start: float) -> StochasticRoot:
        best = AlphaSetting(2 * start, 2.0)
        samples = {best: measurement(ratio, spreads[len(starts)])}
        starts.append(start)
        return StochasticRoot(1.0, samples, best, reached=True)

    def add_runs() -> bool:
        added.append(len(starts))
        return len(added) <= most

    root = retrospective_approximation(find, 10.0, add_runs)
    assert root.best.alpha == 2 * starts[-1]
    return starts, added


def test_with_more_runs_the_search_goes_on_where_the_last_one_ended():
    """Chen and Schmeiser, 2001: each problem begins with the solution of the one before."""
    assert approximated([0.5, 0.2, 0.02]) == ([10.0, 20.0, 40.0], [1, 2])


def test_runs_are_added_only_where_they_can_help():
    """Not to a narrow interval, not to a missed goal, and not beyond what is allowed.

    Of runs evenly spread over +-s, ten of them, the half width is 0.481 s (Student's t of 9).
    """
    assert approximated([0.05 / 0.481 * 0.99]) == ([10.0], [])
    assert approximated([0.05 / 0.481 * 1.01, 0.0]) == ([10.0, 20.0], [1])
    assert approximated([0.5], ratio=1.5) == ([10.0], [])
    assert approximated([0.5, 0.5], most=1) == ([10.0, 20.0], [1, 2])
