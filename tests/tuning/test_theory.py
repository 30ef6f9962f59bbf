"""Explanation of an alpha by theory, against numbers worked out apart from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from scipy.optimize import brentq

from tests.networks import CAPACITY, office
from tests.tuning.recommended import recommended
from vegasfluid import (
    Cbr,
    InvalidInput,
    Network,
    Pie,
    Red,
    Sessions,
    SolveFailed,
    Unresponsive,
    Vegas,
)
from vegasfluid.analysis import equilibrium, fair_alpha
from vegasfluid.analysis.equilibria.fair_alpha import network_with_alpha
from vegasfluid.tuning import theory
from vegasfluid.tuning.theory import EquilibriumTheory, explain_by_equilibrium

CUT = 1 / 4
"""Of a loss, in the dialect of ns-2; MGT's Reno has a window of sqrt(2 / p)."""
START = {
    "flows": 4,
    "capacity": CAPACITY,
    "base_rtt": 0.02,
    "min_thresh": 40.0,
    "max_thresh": 120.0,
    "max_drop": 0.1,
}
"""The office's numbers; of each class that many flows."""
GOALS = {0.3: "below saturation", 1.0: "below saturation", 1.3: "loss-dominated", 1.41: "plateau"}
"""Ratios, with the regime: losses take over where a flow climbs in 0.735 of its round trips."""


def network(**changes: float) -> Network:
    """The office, with other numbers where they are asked for."""
    values = {**START, **changes}
    red = Red(
        values["min_thresh"],
        values["max_thresh"],
        max_drop=values["max_drop"],
        implementation="ns2",
    )
    rtts = values["base_rtt"], values["base_rtt"]
    given = office(aqm=red, count=int(values["flows"]), base_rtts=rtts)
    return replace(given, links={"bottleneck": replace(given.link, capacity=values["capacity"])})


@cache
def office_theory(goal: float, alpha: int = 9) -> EquilibriumTheory:
    law = Vegas(alpha, alpha + 2, dialect="ns2")
    return explain_by_equilibrium(recommended(network(), law, goal))


def by_hand(goal: float, **changes: float) -> dict[str, float]:
    """Equilibrium with a ratio of goodputs, by a root of one equation: sum N x (1 - p) = C."""
    values = {**START, **changes}
    base = values["base_rtt"] + (1 + 40 / 1500) / values["capacity"]  # and the time to send

    def loss(queue: float) -> float:
        part = (queue - values["min_thresh"]) / (values["max_thresh"] - values["min_thresh"])
        curve = values["max_drop"] * part
        return 2 * curve / (3 - curve)  # of RED whose drops keep a distance (`wait`)

    def reno(queue: float) -> tuple[float, float]:
        return math.sqrt(2 / loss(queue)), base + queue / values["capacity"]

    def excess(queue: float) -> float:
        window, rtt = reno(queue)
        sent = values["flows"] * (1 + goal) * window / rtt
        return sent * (1 - loss(queue)) - values["capacity"]

    queue = brentq(
        excess, values["min_thresh"] + 1e-9, values["max_thresh"], xtol=1e-12, rtol=1e-14
    )
    window, rtt = reno(queue)
    queued, share = (rtt - base) / rtt, goal**2 * CUT * 2  # of round trips it climbs b p W^2
    backlog = goal * window * queued
    return {
        "backlog": backlog,
        "alpha": backlog * (1 - CUT / 2 * math.log(1 - share)),
        "saturation": queued / math.sqrt(CUT * loss(queue)),
        "recovering": share,
        "rtt_over_base": rtt / base,
    }


@pytest.mark.parametrize(
    "goal",
    [pytest.param(0.3, marks=pytest.mark.slow), 1.0, pytest.param(1.3, marks=pytest.mark.slow)],
)
def test_terms_are_those_of_an_account_by_hand(goal):
    result, hand = office_theory(goal), by_hand(goal)
    part = START["min_thresh"] / START["flows"] * goal / (1 + goal)
    assert result.terms["red_min"] == pytest.approx(part, rel=1e-9)
    both = result.terms["red_min"] + result.terms["queue_above_red_min"]
    assert both == pytest.approx(hand["backlog"], rel=1e-6)
    assert result.terms["estimate"] == pytest.approx(
        0.0, abs=1e-6
    )  # with ns-2's the backlog is alpha
    assert result.terms["own_losses"] == pytest.approx(hand["alpha"] - hand["backlog"], rel=1e-5)
    assert result.alpha == pytest.approx(hand["alpha"], rel=1e-6)


def over_pie(target: float) -> Network:
    """The office over a PIE that marks all that it would drop, so that nothing is lost."""
    aqm = Pie(target=target, ecn=True, mark_threshold=1.0)
    given = office(aqm=aqm, count=4, base_rtts=(0.02, 0.02))
    return given.with_law("vegas", Vegas(2, 4, dialect="ns2"))


@pytest.mark.slow
@pytest.mark.unoptimised
def test_over_pie_a_term_is_the_part_of_the_queue_at_its_target():
    """20 ms are CAPACITY / 50 packets, of which a flow has its share of the goodput."""
    state = equilibrium(over_pie(0.02))
    terms = theory.terms_of_alpha(state, "vegas")
    rates = [state.mean(name, "goodput") for name in ("vegas", "reno")]
    assert terms["target"] == pytest.approx(CAPACITY / 50 * rates[0] / (4 * sum(rates)), rel=1e-6)
    assert terms["queue_above_target"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_the_sensitivity_to_pies_target_is_a_difference():
    state, step = equilibrium(over_pie(0.02)), 1e-3
    low, high = (equilibrium(over_pie(0.02 * math.exp(x))).ratio("vegas") for x in (-step, step))
    slope = (math.log(high) - math.log(low)) / (2 * step)
    assert theory.log_ratio_slopes(state, "vegas")["target"] == pytest.approx(slope, rel=1e-3)


@pytest.mark.slow
def test_linux_counts_more_than_what_is_in_the_queue():
    """It divides by the base RTT, has its equilibrium half a packet above alpha, and halves."""
    law, goal, cut, rise = Vegas(9, 11, dialect="linux"), 0.5, 1 / 2, 1 / 2
    linux = replace(network(), ack_bytes=40).with_law("vegas", law)
    result = fair_alpha(linux, "vegas", goal)
    assert result is not None
    terms, hand = theory.terms_of_alpha(result.equilibrium, "vegas"), by_hand(goal)
    estimate = hand["backlog"] * hand["rtt_over_base"]
    assert terms["estimate"] == pytest.approx(estimate - hand["backlog"] - rise, rel=1e-5)
    share = goal**2 * cut * 2
    lost = -cut * estimate / 2 * math.log(1 - share)
    assert terms["own_losses"] == pytest.approx(lost, rel=1e-4)
    saturation = theory.saturation_alpha(result.equilibrium, "vegas", share)
    assert saturation == pytest.approx(estimate / math.sqrt(share) - rise, rel=1e-4)


@pytest.mark.parametrize("goal", GOALS)
def test_terms_sum_to_the_recommended_alpha(goal):
    assert math.fsum(office_theory(goal).terms.values()) == pytest.approx(9.0, rel=1e-12)
    assert office_theory(goal).terms["packets"] == pytest.approx(9.0 - office_theory(goal).alpha)
    assert office_theory(goal).ratio == pytest.approx(goal, rel=1e-9)


@pytest.mark.parametrize(("goal", "regime"), GOALS.items())
def test_regimes_up_to_the_ceiling(goal, regime):
    """The ceiling of the ratio is sqrt(2), where a flow climbs all the time."""
    result, hand = office_theory(goal), by_hand(goal)
    share = hand["recovering"]
    assert result.regime == regime
    assert result.recovering_fraction == pytest.approx(share, rel=1e-6)
    assert result.saturation_alpha == pytest.approx(hand["saturation"], rel=1e-5)
    assert (result.alpha < hand["saturation"]) == (regime == "below saturation")
    steeper = CUT * share / (1 - share) / (1 - CUT / 2 * math.log(1 - share))
    assert result.window_elasticity == pytest.approx(1 / (1 + steeper), rel=1e-3)
    assert result.largest_ratio == pytest.approx(math.sqrt(2), rel=1e-6)


def test_with_few_losses_a_window_follows_alpha():
    assert office_theory(0.3).window_elasticity > 0.95
    assert office_theory(1.41).window_elasticity < 0.1


def slope_of(log_alpha: Callable[[float], float], step: float = 1e-4) -> float:
    return (log_alpha(step) - log_alpha(-step)) / (2 * step)


@pytest.mark.parametrize("goal", [0.3, 1.0])
@pytest.mark.parametrize("name", START)
def test_sensitivities_are_differences_of_the_account_by_hand(name, goal):
    def log_alpha(step: float) -> float:
        return math.log(by_hand(goal, **{name: START[name] * math.exp(step)})["alpha"])

    slope = slope_of(log_alpha)
    assert abs(slope) > 1e-3  # so small that none might pass for it
    assert office_theory(goal).elasticities[name] == pytest.approx(slope, abs=1e-5)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_sensitivities_are_differences_of_the_fair_alpha():
    """All numbers move at once, each by its own part of a step."""
    parts = {"capacity": 0.3, "base_rtt": -1.0, "min_thresh": 0.5, "max_thresh": 0.8}
    parts |= {"max_drop": -0.6}

    def log_alpha(step: float) -> float:
        numbers = {name: START[name] * math.exp(part * step) for name, part in parts.items()}
        result = fair_alpha(network(**numbers), "vegas")
        assert result is not None
        return math.log(result.alpha)

    expected = sum(office_theory(1.0).elasticities[name] * part for name, part in parts.items())
    assert abs(expected) > 0.1
    assert slope_of(log_alpha, 1e-3) == pytest.approx(expected, abs=1e-5)


def test_slope_is_a_difference_of_the_ratio():
    alpha = office_theory(1.0).alpha

    def log_ratio(alpha: float) -> float:
        return math.log(equilibrium(network_with_alpha(network(), "vegas", alpha)).ratio("vegas"))

    slope = slope_of(lambda step: log_ratio(alpha * math.exp(step)))
    assert office_theory(1.0).ratio_elasticity == pytest.approx(slope, rel=1e-5)


def test_beyond_the_largest_ratio_the_recommended_alpha_is_explained():
    result = office_theory(2.0, alpha=400)
    assert result.target_missed == "no alpha gives a ratio of 2, it is at most 1.41"
    assert result.regime == "plateau"
    assert result.alpha == 400
    assert result.ratio == pytest.approx(math.sqrt(2), rel=1e-6)
    assert "packets" not in result.terms
    assert math.fsum(result.terms.values()) == pytest.approx(400)
    assert result.elasticities == {}


def test_a_goal_below_every_alpha():
    result = office_theory(1e-4)
    assert result.target_missed == "even the smallest alpha gives more than a ratio of 0.0001"
    assert result.elasticities == {}


def test_an_alpha_that_is_not_found_is_reported(monkeypatch):
    def fail(*_):
        raise SolveFailed("no equilibrium")

    monkeypatch.setattr(theory, "fair_alpha", fail)
    result = explain_by_equilibrium(recommended(network(), Vegas(9, 11, dialect="ns2")))
    assert result.target_missed == "the alpha with a ratio of 1 was not found (no equilibrium)"
    assert result.alpha == 9


def test_a_network_without_losses():
    """Others that send little leave capacity free: Vegas sets the queue, with many equilibria."""
    start = network(capacity=1600.0)
    rate = Cbr(rate=100.0)
    modest = replace(start.flows["reno"], law=Unresponsive(), traffic=rate)
    little = replace(start, flows={**start.flows, "reno": modest})
    result = explain_by_equilibrium(recommended(little, Vegas(6, 8, dialect="ns2"), 0.1))
    assert result.target_missed == "even the smallest alpha gives more than a ratio of 0.1"
    assert result.ratio == pytest.approx(3.0, rel=1e-6)  # 300 packets/s a flow are left
    assert (result.regime, result.recovering_fraction, result.window_elasticity) == (
        "below saturation",
        0.0,
        1.0,
    )
    assert result.terms["red_min"] == pytest.approx(6.0, rel=1e-3)
    assert result.terms["queue_above_red_min"] == 0.0
    assert (result.saturation_alpha, result.ratio_elasticity, result.elasticities) == (
        None,
        None,
        {},
    )
    assert "every window between alpha and beta" in result.stability_missing


def test_verdict_is_that_of_the_margin():
    """More delay makes queues oscillate: the margin falls below 1."""
    far = network(base_rtt=1.0, min_thresh=4.0, max_thresh=80.0)
    near, swung = (
        office_theory(1.0),
        explain_by_equilibrium(recommended(far, Vegas(9, 11, dialect="ns2"))),
    )
    for result in (near, swung):
        verdict = result.stability
        assert verdict is not None
        assert verdict.gain_margin is not None
        assert verdict.stable == (verdict.gain_margin > 1)
    assert near.stability.stable != swung.stability.stable


def test_flows_without_equilibrium_are_rejected():
    traffic = Sessions(mean_gap=0.5, mean_size=1e6, shape=1.5)
    start = network()
    short = replace(start.flows["reno"], traffic=traffic)
    finite_transfers = replace(start, flows={**start.flows, "reno": short})
    with pytest.raises(InvalidInput, match="finite transfers have no equilibrium"):
        explain_by_equilibrium(recommended(finite_transfers, Vegas(9, 11, dialect="ns2")))
