"""Parameters that hold over ranges: which networks, the fluid, packets."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.tuning.ranges import COUNTS, GOAL, NETWORK, PLACE, RANGES, UNTIL, WARMUP
from vegasfluid import InvalidInput, Network, Vegas
from vegasfluid.fluid import record_fluid
from vegasfluid.run_options import DEFAULT_SAMPLES
from vegasfluid.tuning import recommend
from vegasfluid.tuning.evaluate import Evaluator
from vegasfluid.tuning.measurement import Measurement, measure
from vegasfluid.tuning.minimax import MinimaxSearch, ScenarioBound, assess
from vegasfluid.tuning.minimax_fluid import PLATEAU_TOLERANCE, PLATEAU_XTOL, search_minimax
from vegasfluid.tuning.parameters import with_alpha
from vegasfluid.tuning.robust_verdict import FAIR
from vegasfluid.tuning.scenario_fluids import MinimaxEvaluation, ScenarioFluids
from vegasfluid.tuning.scenarios import Scenario, corners, make_scenarios
from vegasfluid.tuning.settings import RunSettings, resolve_settings

# Which networks stand for the ranges


def test_scenarios_are_the_nominal_the_corners_and_points_inside():
    result = make_scenarios(NETWORK, RANGES, PLACE)
    assert [scenario.kind for scenario in result] == ["nominal"] + 4 * ["corner"] + 4 * ["inside"]
    assert result[0].network is NETWORK
    assert {tuple(scenario.numbers.values()) for scenario in result[1:5]} == {
        (5, 30),
        (5, 50),
        (7, 30),
        (7, 50),
    }
    for scenario in result[1:]:
        reno = scenario.network.flows["reno"]
        assert type(reno.count) is int
        assert (reno.count, reno.base_rtt) == pytest.approx(
            (scenario.numbers["reno.count"], scenario.numbers["reno.base_rtt_ms"] / 1000)
        )
        assert scenario.network.flows["vegas"] == NETWORK.flows["vegas"]
    for scenario in result[5:]:
        assert scenario.numbers["reno.count"] in (5, 6, 7)
        assert 30 < scenario.numbers["reno.base_rtt_ms"] < 50
    shares = np.array([list(scenario.quantiles.values()) for scenario in result[5:]])
    assert (np.sort(shares, axis=0) // 0.25 == np.arange(4)[:, None]).all()  # one in each quarter


@pytest.mark.parametrize("ranges", [6, 9, 15, 16, 31])
def test_part_of_the_corners_is_orthogonal(ranges):
    """Any two ranges occur in all four combinations equally often, with each corner's opposite."""
    result = corners(ranges)
    assert len(result) == (32 if ranges < 16 else 64)
    assert len({tuple(row) for row in result}) == len(result)
    assert {tuple(row) for row in 1 - result} == {tuple(row) for row in result}
    for one, other in combinations(result.T, 2):
        assert np.bincount((2 * one + other).astype(int)).tolist() == 4 * [len(result) // 4]


def test_number_of_ranges_is_checked():
    with pytest.raises(InvalidInput, match="number of ranges must be from 1 to 31, but is 0"):
        make_scenarios(NETWORK, {}, PLACE)


# The fluid's alpha


class Made(ScenarioFluids):
    """Fluid models with made-up distances over log(alpha)."""

    def __init__(self, *distances) -> None:
        self._made, self._known = distances, {}

    def _evaluate(self, log_alpha: float) -> MinimaxEvaluation:
        def at(x: float) -> np.ndarray:
            return np.array([function(x) for function in self._made])

        width = 1e-6
        slopes = (at(log_alpha + width) - at(log_alpha - width)) / (2 * width)
        return MinimaxEvaluation(at(log_alpha), slopes)


@pytest.mark.parametrize("useless", [math.nan, -1e7, math.inf])
def test_slopes_of_long_oscillations_are_replaced_by_differences(useless):
    """The model's grow without bound there; the optimum is still where two lines intersect."""

    class Oscillating(Made):
        def _evaluate(self, log_alpha: float) -> MinimaxEvaluation:
            distances, slopes = super()._evaluate(log_alpha)
            return MinimaxEvaluation(distances, np.where([True, False], useless, slopes))

    fluids = Oscillating(lambda x: 2 * x - 2, lambda x: 3 * x - 8)
    fluids.explore([0.0, 1.0, 3.0])
    np.testing.assert_allclose(fluids.slopes_at(1.0), [2.0, 3.0])
    result = search_minimax(fluids, 2.0, 1.0, 100.0)
    assert math.log(result.alpha) == pytest.approx(2.0, abs=0.01)
    assert result.slope == pytest.approx(2.5)


def test_a_single_evaluation_has_no_difference():
    assert not Made(lambda _: 1e9 * np.sign(_)).slopes_at(0.0).any()


def test_two_lines_intersect_where_algebra_says():
    """|x - 1| and |2 x - 4|, of which neither has a floor: x - 1 = 4 - 2 x at 5/3, both 2/3."""
    result = search_minimax(Made(lambda x: x - 1, lambda x: 2 * x - 4), 2.0, 1.0, 100.0)
    assert math.log(result.alpha) == pytest.approx(5 / 3, abs=1e-3)
    assert result.regret == pytest.approx(2 / 3, abs=2e-3)
    assert result.slope == pytest.approx(1.5)
    assert np.log(result.best_alphas) == pytest.approx([1.0, 2.0], abs=1e-6)
    assert result.least.tolist() == [0.0, 0.0]


def test_a_network_in_which_nothing_is_fair_does_not_dictate():
    """At best -1 from x = 1 on; without its floor the minimax of it and x - 2 would be at 2.5 (both
    sides as far as the plateau is), while its regret is zero from 1 on and x = 2 is best.
    """
    plateau = Made(lambda x: min(x - 2, -1.0), lambda x: x - 2)
    result = search_minimax(plateau, 3.0, 0.5, 100.0)
    assert result.least == pytest.approx([1.0, 0.0])
    assert math.log(result.alpha) == pytest.approx(2.0, abs=2e-3)
    assert result.regret < 2e-3


def test_of_a_plateau_the_smaller_alpha_is_taken():
    """All networks are below the goal, and as near as they come from x = 1.6 on."""
    result = search_minimax(
        Made(lambda x: min(x - 3, -1.5), lambda x: min(x - 3, -1.4)), 2.0, 0.5, 1e3
    )
    assert 1.59 - PLATEAU_XTOL / 2 < math.log(result.alpha) < 1.6 + PLATEAU_XTOL
    assert result.regret < PLATEAU_TOLERANCE


@pytest.fixture
@cache
def scenarios() -> tuple[Scenario, ...]:
    return make_scenarios(NETWORK, COUNTS, PLACE)


@pytest.fixture
@cache
def fluids() -> ScenarioFluids:
    law = with_alpha(Vegas(), 1.0)
    given = [
        Scenario(
            scenario.kind,
            scenario.quantiles,
            scenario.numbers,
            scenario.network.with_law("vegas", law),
        )
        for scenario in make_scenarios(NETWORK, COUNTS, PLACE)
    ]
    return ScenarioFluids(given, "vegas", target_ratio=GOAL, until=UNTIL, warmup=WARMUP)


def distance(network: Network, alpha: float) -> float:
    """log(ratio / goal) by a separate run, with its structure, with a recording's ratio."""
    law = with_alpha(network.flows["vegas"].law, alpha)
    run = record_fluid(network.with_law("vegas", law), UNTIL, DEFAULT_SAMPLES)
    return math.log(run.totals_after(WARMUP).goodput_ratio(1) / GOAL)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_batched_distances_are_those_of_single_runs(scenarios, fluids):
    evaluation = fluids.at(math.log(4.0))
    assert len(set(evaluation.distances)) > 3
    for number in range(len(scenarios)):
        alone = distance(scenarios[number].network, 4.0)
        assert evaluation.distances[number] == pytest.approx(alone, abs=1e-6)


def test_steps_and_lags_serve_all_networks():
    """The shortest step of all and the longest lag: a shorter lag needs a shorter step."""
    places = [PLACE({"reno.base_rtt_ms": value}) for value in (5, 200)]
    given = [Scenario("corner", {}, {}, network) for network in places]
    apart = [
        ScenarioFluids([scenario], "vegas", target_ratio=GOAL, until=UNTIL, warmup=WARMUP)
        for scenario in given
    ]
    tasks = [fluids._batches[0].spec for fluids in apart]
    grids = [spec.grid for spec in tasks]
    [together] = ScenarioFluids(
        given, "vegas", target_ratio=GOAL, until=UNTIL, warmup=WARMUP
    )._batches
    assert grids[0].step < grids[1].step
    assert together.spec.grid.step == grids[0].step
    assert together.spec.grid.longest_lag == grids[1].longest_lag > grids[0].longest_lag
    longest = together.models.parameters.delay_bounds.longest
    np.testing.assert_array_equal(longest, [grid.longest_lag for grid in grids])


@pytest.mark.slow
@pytest.mark.unoptimised
def test_slopes_are_those_of_central_differences(fluids):
    x, width = math.log(4.0), 1e-4
    above, below = fluids.at(x + width).distances, fluids.at(x - width).distances
    np.testing.assert_allclose(fluids.at(x).slopes, (above - below) / (2 * width), rtol=1e-3)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_alpha_is_that_of_a_grid_searched_by_brute_force(scenarios, fluids):
    """Every network at every alpha of a grid by a separate run; the least worst case of them."""
    result = search_minimax(fluids, 3.0, 0.5, 300.0)
    assert result.least == pytest.approx(np.zeros(len(scenarios)))
    step = 0.04
    grid = np.log(result.alpha) + step * np.array([-5.5, -1.5, -0.5, 0.5, 1.5, 5.5])
    worst = [
        max(abs(distance(scenario.network, math.exp(x))) for scenario in scenarios)
        for x in grid.tolist()
    ]
    assert abs(grid[np.argmin(worst)] - math.log(result.alpha)) < step
    assert result.regret <= min(worst) + 5e-3
    assert result.regret > 0.1  # there is something to balance
    evaluation = result.evaluation.distances
    assert evaluation.max() == pytest.approx(-evaluation.min(), abs=5e-3)


# The packets


def made_job(ratios: list[float]) -> Evaluator:
    settings = RunSettings(until=UNTIL, warmup=WARMUP, runs=2)
    job = Evaluator(NETWORK, "vegas", 1.0, resolve_settings(settings))
    runs = Measurement(tuple({"ratio": ratio} for ratio in ratios))
    job.evaluate_law = lambda law: runs  # type: ignore[method-assign]
    return job


def search_on(*active: ScenarioBound) -> MinimaxSearch:
    """A search of which only the active scenarios are used."""
    unused: Any = None
    return MinimaxSearch(made_job([1.0]), (), unused, unused, active=list(active))


def test_balance_is_the_middle_of_the_worst_run_by_run():
    """By hand: of 2 and 8 against 1/4 and 1/4 the geometric means are 1/sqrt 2 and sqrt 2."""
    sides = [
        ScenarioBound(n, made_job(ratios))
        for n, ratios in enumerate(([1.0, 1.1], [2.0, 8.0], [0.25, 0.25]))
    ]
    result = search_on(*sides).middle(Vegas())
    assert result.ratios.tolist() == pytest.approx([0.5**0.5, 2**0.5])
    assert result.ratio == pytest.approx(1.0)


def test_a_floor_keeps_a_network_from_dictating():
    """At a quarter, where a quarter is the best there is, is no regret: the other decides."""
    hopeless = ScenarioBound(0, made_job([0.25, 0.25]), least=math.log(4))
    other = ScenarioBound(1, made_job([1.5, 1.5]))
    assert search_on(hopeless, other).middle(Vegas()).ratio == pytest.approx(1.5**0.5)


def test_a_ceiling_keeps_a_network_from_dictating():
    """The same from above: at 4, where 4 is the best there is, and 1/2, the middle is sqrt 1/2."""
    hopeless = ScenarioBound(0, made_job([4.0, 4.0]), least=math.log(4))
    other = ScenarioBound(1, made_job([0.5, 0.5]))
    assert search_on(hopeless, other).middle(Vegas()).ratio == pytest.approx(0.5**0.5)


@pytest.mark.parametrize(
    ("fluid", "ratio", "least"),
    [(0.7, 3.0, math.log(3)), (-0.7, 3.0, 0.0), (-0.7, 0.25, math.log(4)), (0.7, 0.25, 0.0)],
)
def test_the_least_regret_on_packets_counts_on_the_side_of_the_fluid(fluid, ratio, least):
    """If packets lie on the other side of the target, some alpha between reaches it there."""
    optimum: Any = SimpleNamespace(
        least=[0.7], best_alphas=[3.0], evaluation=SimpleNamespace(distances=[fluid])
    )
    search = search_on()
    search.optimum, search.evaluators = optimum, {0: made_job([ratio, ratio])}
    search.activate([0])
    assert search.active[0].least == pytest.approx(least)


def test_regret_counts_on_both_sides_of_the_target():
    """Of 3/2, 1/2 and a quarter, where a quarter is the best there is: log 3/2, log 2 and 0."""
    above, below = (ScenarioBound(n, made_job([ratio] * 2)) for n, ratio in enumerate((1.5, 0.5)))
    hopeless = ScenarioBound(2, made_job([0.25, 0.25]), least=math.log(4))
    for active, regret in (
        ([above, below, hopeless], math.log(2)),
        ([above, hopeless], math.log(1.5)),
        ([hopeless], 0.0),
    ):
        assert search_on(*active).regret(Vegas()) == pytest.approx(regret)


def test_extreme_scenarios_of_the_nominal_law_become_active_once():
    """With the nominal law scenario 1 is lowest and 3 highest; 1 is active before.

    The least distance of scenario 1, log 4, is on packets, and is not replaced by the fluid's.
    """
    evaluators = {index: made_job([ratio] * 2) for index, ratio in enumerate((1, 0.25, 1.1, 1.5))}
    hopeless = ScenarioBound(1, evaluators[1], least=math.log(4))
    search = search_on(hopeless)
    search.scenarios, search.evaluators = make_scenarios(NETWORK, COUNTS, PLACE)[:4], evaluators
    search.fluids = Made(lambda x: 0.0 * x, lambda x: -x, lambda x: 0.5 * x, lambda x: x)
    optimum: Any = SimpleNamespace(least=np.zeros(4))
    search.optimum = optimum
    nominal: Any = SimpleNamespace(after=SimpleNamespace(law=Vegas(2, 4), fluid={}))
    robust = assess(search, COUNTS, nominal, Vegas(3, 5), {})
    assert sorted(search.active_indices) == [1, 3]
    assert search.active[0] is hopeless
    assert robust.regret == robust.nominal_regret == pytest.approx(math.log(1.5))
    assert robust.lowest.packets.ratio == pytest.approx(0.25)
    assert robust.highest.packets.ratio == pytest.approx(1.5)


@pytest.fixture
@cache
def result():
    return recommend(
        NETWORK, ranges=COUNTS, substitute=PLACE, ratio=GOAL, until=UNTIL, warmup=WARMUP, runs=6
    )


@pytest.mark.slow
@pytest.mark.unoptimised
def test_the_worst_cases_balance_on_packets(result):
    """Measured again here, network by network: the law is best among its neighbours."""
    law, robust = result.after.law, result.robust
    assert result.reached
    assert robust.worst <= FAIR
    most, least = robust.highest.packets, robust.lowest.packets
    assert least.ratio < GOAL < most.ratio
    logs = math.log(most.ratio / GOAL), -math.log(least.ratio / GOAL)
    assert robust.worst == pytest.approx(max(logs))

    def far(network: Network, alpha: float) -> float:
        """How far from the goal it is at an alpha, in log(ratio)."""
        changed = network.with_law("vegas", with_alpha(law, alpha))
        seeds = range(1, 1 + len(most.runs))
        ratio = measure(changed, "vegas", seeds, until=UNTIL, warmup=WARMUP).ratio
        return abs(math.log(ratio / GOAL))

    corners_first = [scenario.network for scenario in make_scenarios(NETWORK, COUNTS, PLACE)][1:]
    for factor in (0.5, 2.0):
        alpha = factor * law.alpha
        assert any(far(network, alpha) > robust.worst for network in corners_first)


@pytest.mark.slow
def test_every_network_is_evaluated(result):
    seen = result.robust.scenarios
    assert [outcome.scenario.numbers for outcome in seen] == [
        scenario.numbers for scenario in make_scenarios(NETWORK, COUNTS, PLACE)
    ]
    assert min(len(outcome.packets.runs) for outcome in seen) >= 2
    assert result.after.packets == result.robust.nominal.packets == seen[0].packets
    assert result.before.law == Vegas()
    ratios = [outcome.packets.ratio for outcome in seen if len(outcome.packets.runs) >= 6]
    assert len(ratios) >= 3
    assert result.robust.highest.packets.ratio == max(ratios)
    assert result.robust.lowest.packets.ratio == min(ratios)
