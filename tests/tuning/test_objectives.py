"""Goals and limits, by hand and against `metrics`."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import InvalidInput
from vegasfluid.metric_formulas import IntervalTotals
from vegasfluid.tuning import (
    AlphaFair,
    Constraints,
    JainIndex,
    ShareRatio,
    WorstFlow,
    objective_named,
)
from vegasfluid.tuning.objectives import WORST_FLOW_AVERSIONS, Rates

GOODPUT = np.array([5.0, 9.0, 12.0])
COUNT, TUNED = np.array([3.0, 2.0, 4.0]), np.array([0.0, 1.0, 0.0])
FAIR = 10.0
EACH = np.repeat(GOODPUT, COUNT.astype(int))
GOALS = [ShareRatio(1.5), JainIndex(), AlphaFair(0.0), AlphaFair(0.5), AlphaFair(1), AlphaFair(2)]


def rates(goodput=GOODPUT) -> Rates:
    return Rates(goodput, COUNT, TUNED, FAIR)


def test_the_ratio_is_that_of_a_run():
    gained = IntervalTotals(1.0, count=np.array([7, 2]), delivered=np.array([(15 + 48) / 7, 9.0]))
    assert ShareRatio().value(rates()) == pytest.approx(gained.goodput_ratio(1))
    assert ShareRatio(1.0).distances(rates()).tolist() == pytest.approx(
        [math.log(gained.goodput_ratio(1))]
    )
    assert float(ShareRatio(1.5).loss(rates())) == pytest.approx(
        math.log(gained.goodput_ratio(1) / 1.5) ** 2
    )


def test_each_of_several_classes_has_a_ratio_to_the_flows_that_none_tunes():
    """Of 3 flows at 5, 2 at 9 and 4 at 12 packets/s the last are not tuned."""
    both = Rates(GOODPUT, COUNT, np.array([2.0, 1.0, 0.0]), FAIR)
    logs = [math.log(9 / 12 / 0.5), math.log(5 / 12 / 0.5)]
    assert ShareRatio(0.5).distances(both).tolist() == pytest.approx(logs)
    assert float(ShareRatio(0.5).loss(both)) == pytest.approx(logs[0] ** 2 + logs[1] ** 2)
    assert ShareRatio().value(both) == pytest.approx(math.sqrt(9 / 12 * 5 / 12))


def test_jains_index_is_that_of_a_run():
    assert JainIndex().value(rates()) == pytest.approx(
        IntervalTotals(1.0, flow_delivered=EACH).jain_index
    )


@pytest.mark.parametrize(
    ("aversion", "equivalent"),
    [
        (0.0, EACH.mean()),
        (1.0, np.exp(np.log(EACH).mean())),
        (2.0, len(EACH) / (1 / EACH).sum()),
        (0.5, np.sqrt(EACH).mean() ** 2),
        (3.0, 1 / math.sqrt((EACH**-2.0).mean())),
    ],
)
def test_alpha_fairness_is_a_power_mean(aversion, equivalent):
    """Of power 1 - aversion: the mean, the geometric and the harmonic one among them."""
    assert AlphaFair(aversion).value(rates()) == pytest.approx(equivalent / FAIR)


def test_the_worst_flow_is_approached():
    assert WorstFlow().value(rates()) == 0.5
    values = [goal.value(rates()) for goal in WorstFlow().continuation]
    assert values == sorted(values, reverse=True)
    assert 0.5 <= values[-1] <= 0.5 * math.exp(math.log(9) / (WORST_FLOW_AVERSIONS[-1] - 1))


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: goal.key)
def test_losses_can_be_differentiated(goal):
    slope = jax.grad(lambda goodput: goal.loss(rates(goodput)))(jnp.asarray(GOODPUT))
    for number, width in enumerate(1e-5 * np.eye(3)):
        ends = [float(goal.loss(rates(GOODPUT + sign * width))) for sign in (1, -1)]
        assert float(slope[number]) == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-8)


@pytest.mark.parametrize("starved", [0, 1])
def test_ratios_of_classes_that_get_nothing_are_finite(starved):
    """Reno that starts after the end of a run, say, gave a ratio with no derivative."""
    count, tuned = np.ones(2), np.array([0.0, 1.0])
    goodput = jnp.array([5.0, 5.0]).at[starved].set(0.0)

    def distance(goodput):
        return ShareRatio(1.0).distances(Rates(goodput, count, tuned, FAIR))[0]

    assert float(distance(goodput)) == pytest.approx(math.log(1e12) * (1 - 2 * starved))
    assert jax.grad(distance)(goodput).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("goal", [*GOALS[1:], WorstFlow()], ids=lambda goal: goal.key)
def test_of_as_much_the_same_for_all_is_never_worse(goal):
    """And where a goal knows inequality at all, it is better."""
    mean = (GOODPUT * COUNT).sum() / COUNT.sum()
    equal, other = (float(goal.loss(rates(goodputs))) for goodputs in (np.full(3, mean), GOODPUT))
    assert equal < other or (goal == AlphaFair(0.0) and equal == pytest.approx(other))


@pytest.mark.parametrize(
    ("name", "goal"),
    [
        ("ratio", ShareRatio(0.5)),
        ("jain", JainIndex()),
        ("proportional", AlphaFair(1.0)),
        ("alpha-fair=2.5", AlphaFair(2.5)),
        ("worst-flow", WorstFlow()),
    ],
)
def test_names(name, goal):
    assert objective_named(name, 0.5) == goal


@pytest.mark.parametrize("name", ["fair", "alpha-fair", "alpha-fair=x", ""])
def test_other_names_are_rejected(name):
    with pytest.raises(InvalidInput, match="must be ratio, jain, proportional, worst-flow, delay"):
        objective_named(name)


@pytest.mark.parametrize("aversion", [-1.0, math.inf, math.nan])
def test_other_aversions_are_rejected(aversion):
    with pytest.raises(InvalidInput, match="0 or above, and finite"):
        AlphaFair(aversion)


def test_limits_from_above_and_below():
    limits = Constraints(queueing_delay=0.02, utilisation=0.9)
    kept = {"queueing_delay_s": 0.019, "utilisation": 0.95}
    assert limits.violated(kept) == []
    assert [
        constraint.quantity for constraint in limits.violated({**kept, "queueing_delay_s": 0.0201})
    ] == ["queueing_delay_s"]
    assert limits.violated({**kept, "queueing_delay_s": 0.0201}, tolerance=0.01) == []
    assert [
        constraint.quantity for constraint in limits.violated({**kept, "utilisation": 0.8})
    ] == ["utilisation"]
    assert [
        constraint.quantity for constraint in limits.violated({**kept, "utilisation": 0.0})
    ] == ["utilisation"]


@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("value", [0.5, 0.02])
def test_margin_and_its_slope(number, value):
    limit = Constraints(drop_share=0.1, utilisation=0.1).each[number]
    assert (limit.margin(value) > 0) == ((value < 0.1) == limit.is_upper)
    difference = (limit.margin(value * 1.0001) - limit.margin(value / 1.0001)) / (
        value * (1.0001 - 1 / 1.0001)
    )
    assert limit.margin_slope(value, 1.0) == pytest.approx(difference, rel=1e-4)


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        ({"queueing_delay": 0.0}, "queueing_delay must be above 0"),
        ({"drop_share": 1.5}, "drop_share must be above 0, and at most 1"),
        ({"utilisation": -0.1}, "utilisation must be above 0, and at most 1"),
        ({"gain_margin": math.inf}, "gain_margin must be above 0"),
        ({"queueing_delay": math.nan}, "queueing_delay must be above 0"),
    ],
)
def test_limits_that_make_no_sense(given, allowed):
    with pytest.raises(InvalidInput, match=allowed):
        Constraints(**given)


def test_a_bound_that_is_given_on_the_utilisation_stays():
    """Otherwise 99 % of what it was: 0.99 * 0.8 = 0.792."""
    assert Constraints().with_utilisation_kept(0.8).utilisation == pytest.approx(0.792)
    given = Constraints(utilisation=0.5, drop_share=0.1)
    assert given.with_utilisation_kept(0.8) is given
