"""Fair alphas and RED's queue in closed form, against numbers.

The oracle solves the laws' drifts and the queue law's drop probability together; the figures are
those of the theory sheet.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, root

from tests.analysis import drifts
from tests.paths import MODELS
from vegasfluid.analysis import closed_forms as forms
from vegasfluid.aqm.base import Average, QueueState
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.base import LOSS_PROCESSES, Window
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas, VegasWindow
from vegasfluid.modelfile import load

POINTS = 20
SQRT2 = 2**0.5


def red_prob(red: Red, queue: float) -> float:
    return float(red.drop_prob(QueueState(queue, Average(queue), 1.0, 1.0, 1e9)))


def reno_drift(cwnd: float, rtt: float, prob: float, process: str) -> float:
    return float(Reno().drift(Window(cwnd, 0.0), drifts.seen(cwnd, rtt, prob, process)).cwnd)


def red_paths(seed: int) -> Any:
    """Networks whose windows are large and whose queue stays below the upper threshold."""
    spans = {"capacity": (500, 5e4), "base_rtt": (0.01, 0.2), "low": (20, 500), "window": (8, 60)}
    for at in drifts.draws(POINTS, seed, **spans, top=(0.2, 1.0)):
        count = (at["capacity"] * at["base_rtt"] + at["low"]) / at["window"]
        yield at, Red(at["low"], 4 * at["low"] + 50, max_drop=at["top"], wait=False), count


def solved_queue(red: Red, count: float, at: dict[str, float], process: str) -> float:
    """The queue at which N Reno flows fill the link, by the drift of one."""

    def too_much(queue: float) -> float:
        rtt = at["base_rtt"] + queue / at["capacity"]
        cwnd = at["capacity"] * rtt / count
        return reno_drift(cwnd, rtt, red_prob(red, queue), process)

    return float(brentq(too_much, red.min_thresh, red.max_thresh, xtol=1e-12, rtol=1e-14))


@pytest.mark.parametrize("process", LOSS_PROCESSES)
@pytest.mark.parametrize("spacing", [{"wait": False}, {"wait": True}, {"implementation": "linux"}])
def test_the_queue_over_red(spacing, process):
    constant = float(forms.loss_constant(Reno(), process))
    for at, red, count in red_paths(1):
        red = Red(red.min_thresh, red.max_thresh, max_drop=red.max_drop, **spacing)
        found = solved_queue(red, count, at, process)
        path = {name: at[name] for name in ("capacity", "base_rtt")}
        path |= {"count": count, "loss_constant": constant, "min_thresh": red.min_thresh}
        curve = {"max_thresh": red.max_thresh, "max_drop": red.max_drop}
        if red.is_linux:
            queue = forms.red_queue_linux()(**path, **curve)
        elif red.waits:
            queue = forms.red_queue_spaced()(**path, **curve)
        else:
            slope = forms.red_slope(wait=False)(**curve, min_thresh=red.min_thresh)
            queue = forms.red_queue()(**path, slope=slope)
        assert queue == pytest.approx(found, rel=1e-10)


def test_the_expansions_of_the_queue_near_it_by_their_order():
    path = {"capacity": 1000.0, "base_rtt": 0.1, "loss_constant": SQRT2, "min_thresh": 50.0}
    for order in (1, 2, 3):
        errors = []
        for slope in (0.01, 0.02):
            there = {**path, "count": 10.0, "slope": slope}
            near = forms.red_queue_expanded(order)(**there)
            errors.append(abs(near - forms.red_queue()(**there)))
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order + 1, abs=0.2)


def test_the_queues_rise_with_the_lower_threshold():
    for at, red, count in red_paths(2):
        path = {name: at[name] for name in ("capacity", "base_rtt")}
        path |= {"count": count, "loss_constant": SQRT2, "slope": 1 / red.max_thresh}
        step = 1e-4 * red.min_thresh
        above, below = (
            forms.red_queue()(**path, min_thresh=red.min_thresh + way * step) for way in (1, -1)
        )
        there = {"queue": forms.red_queue()(**path, min_thresh=red.min_thresh)}
        there |= {name: at[name] for name in ("capacity", "base_rtt")}
        slope = forms.red_queue_per_min_thresh()(**there, min_thresh=red.min_thresh)
        assert slope == pytest.approx((above - below) / (2 * step), rel=1e-6)


def mixed_rest(vegas: Vegas, red: Red, at: dict[str, float], counts: Any, process: str, guess: Any):
    """Reno's window, Vegas's and the queue, where all three drifts are zero."""

    def drift(logs: Any) -> Any:
        reno, own, queue = np.exp(logs)
        rtt, prob = at["base_rtt"] + queue / at["capacity"], red_prob(red, queue)
        state = VegasWindow(own, np.float64(0), np.float64(at["base_rtt"]), np.float64(0))
        rate = vegas.drift(state, drifts.seen(own, rtt, prob, process)).cwnd
        sent = (counts[0] * reno + counts[1] * own) / rtt
        return [reno_drift(reno, rtt, prob, process) * rtt, rate * rtt, sent / at["capacity"] - 1]

    found = root(drift, np.log(guess), tol=1e-13)
    assert np.max(np.abs(drift(found.x))) < 1e-10, found.message
    return np.exp(found.x)


@pytest.mark.parametrize("process", LOSS_PROCESSES)
@pytest.mark.parametrize("dialect", ["brakmo", "ns2", "linux"])
def test_the_alpha_with_losses_gives_vegas_its_share(dialect, process):
    """The ratio goes into the formula, alpha into the drifts, and the ratio comes out."""
    constant, random = float(forms.loss_constant(Reno(), process)), np.random.default_rng(3)
    for at, red, count in red_paths(3):
        vegas = Vegas(dialect=dialect)
        cut, phi = vegas.implementation.loss_cut, float(vegas.loss_factor(process, None))
        most = forms.largest_ratio()(cut=cut, loss_constant=constant, loss_factor=phi)
        ratio, part = random.uniform(0.3, 0.95) * most, random.uniform(0.2, 0.8)
        counts = (1 - part) * count, part * count
        flows = {"competitors": counts[0], "tuned": counts[1], "ratio": ratio}
        effective = counts[0] + ratio * counts[1]
        queue = solved_queue(red, effective, at, process)
        path = {name: at[name] for name in ("capacity", "base_rtt")} if dialect == "linux" else {}
        formula = forms.fair_alpha_with_losses(vegas, process)
        alpha = formula(**flows, **path, queue=queue, loss_constant=constant)
        if vegas.implementation.whole_packets:  # let its drift have parts of them
            vegas = Vegas(alpha=1, beta=1e6, dialect=dialect, softness=1e-9)
            object.__setattr__(vegas, "alpha", alpha)
        else:
            vegas = Vegas(alpha=alpha, beta=1e6, softness=1e-9)
        cwnd = (at["capacity"] * at["base_rtt"] + queue) / effective
        guess = [0.97 * cwnd, 0.97 * ratio * cwnd, 0.97 * queue + 0.03 * red.min_thresh]
        reno, own, found = mixed_rest(vegas, red, at, counts, process, guess)
        assert own / reno == pytest.approx(ratio, rel=1e-8)
        assert found == pytest.approx(queue, rel=1e-8)


@pytest.mark.parametrize("dialect", ["brakmo", "ns2", "linux", "ns3"])
def test_the_alpha_without_losses_is_the_backlog_of_the_share(dialect):
    """Against the law's own estimate of its backlog."""
    for at, red, count in red_paths(4):
        law, queue = Vegas(dialect=dialect), red.min_thresh
        ratio, rtt = at["top"] * 1.5, at["base_rtt"] + queue / at["capacity"]
        flows = {"competitors": 0.3 * count, "tuned": 0.7 * count, "ratio": ratio}
        own = ratio * at["capacity"] * rtt / (0.3 * count + ratio * 0.7 * count)
        state = VegasWindow(own, 0.0, at["base_rtt"], 0.0)
        backlog = float(law.backlog(state, drifts.seen(own, rtt, 0.0)))
        formula = forms.fair_alpha_lossless(law)
        path = {"queue": queue, "capacity": at["capacity"], "base_rtt": at["base_rtt"]}
        alpha = formula.evaluate(flows | path)
        assert alpha + law.implementation.alpha_offset == pytest.approx(backlog, rel=1e-11)


def test_alphas_of_rates_are_fair_where_round_trip_times_differ():
    """Each Vegas flow has the window of a Reno flow with the same round-trip time."""
    for at in drifts.draws(POINTS, 5, base_rtt=(0.01, 0.3), queue=(20, 500), prob=(1e-5, 1e-2)):
        capacity, rtt = 1000.0, at["base_rtt"] + at["queue"] / 1000.0
        point = {"capacity": capacity, "queue": at["queue"], "drop_prob": at["prob"]}
        alpha = forms.fair_alpha_of_loss()(**point, rtt=rtt, loss_constant=SQRT2)
        window = drifts.window(Reno(), rtt, at["prob"], "meanfield")
        own = forms.vegas_lossless_window()(alpha=alpha, rtt=rtt, base_rtt=at["base_rtt"])
        assert own == pytest.approx(window, rel=1e-10)
        rate = {"rate": window / rtt, "capacity": capacity, "queue": at["queue"]}
        assert forms.fair_alpha_of_rate()(**rate) == pytest.approx(alpha, rel=1e-10)


def network(number: int) -> dict[str, float]:
    """What the theory sheet takes of a network of Weigle and Feng: propagation only, no spacing."""
    weigle_feng = load(MODELS / f"weigle_feng_network{number}.toml").network
    (base_rtt,) = {
        rtt
        for name, group in weigle_feng.flows.items()
        for rtt in group.propagation(weigle_feng.links_of(name))
    }
    red: Any = weigle_feng.link.aqm
    reno, vegas = weigle_feng.counts
    slope = red.max_drop / (red.max_thresh - red.min_thresh)
    path = {
        "capacity": weigle_feng.link.capacity,
        "base_rtt": base_rtt,
        "min_thresh": red.min_thresh,
    }
    return {**path, "slope": slope, "competitors": reno, "tuned": vegas, "ratio": 1.0}


ALPHAS = [(2, 0.007, 134.263, 134.22), (3, 0.007, 89.542, 89.48), (4, 0.1, 89.507, 89.48)]


@pytest.mark.parametrize(("number", "base_rtt", "alpha", "heuristic"), ALPHAS)
def test_fair_alphas_of_the_seed_networks(number, base_rtt, alpha, heuristic):
    """Theory sheet, section 5e: k_R = 1, c = sqrt(2), no losses of Vegas's own."""
    there = network(number)
    assert there["base_rtt"] == pytest.approx(base_rtt, rel=1e-12)
    exact = forms.over_red(forms.fair_alpha_lossless())
    assert round(exact(**there, loss_constant=SQRT2), 3) == alpha
    count = there["competitors"] + there["tuned"]
    rule = forms.fair_alpha_heuristic()(min_thresh=there["min_thresh"], count=count)
    assert round(rule, 2) == heuristic
    path = {name: there[name] for name in ("capacity", "base_rtt", "min_thresh", "slope")}
    first = forms.fair_alpha_expanded(1)(**path, count=count, loss_constant=SQRT2)
    assert first == pytest.approx(alpha, abs=1e-3)


@pytest.mark.parametrize(("low", "high", "alpha"), [(3, 6, 1.772), (10, 20, 5.218)])
def test_fair_alphas_of_the_first_seed_network(low, high, alpha):
    there = network(1) | {"min_thresh": low, "slope": 1 / (high - low)}
    assert there["base_rtt"] == pytest.approx(0.024, rel=1e-12)
    exact = forms.over_red(forms.fair_alpha_lossless())
    assert round(exact(**there, loss_constant=SQRT2), 3) == alpha


def test_the_fair_alpha_against_cubic():
    """Theory sheet, section 5e: network 4 with CUBIC for Reno has 89.589."""
    there, count = network(4), 100
    cubic = forms.equilibrium_window(Cubic(fast_convergence=False, friendly=False))

    def too_much(queue: float) -> float:
        rtt = there["base_rtt"] + queue / there["capacity"]
        prob = there["slope"] * (queue - there["min_thresh"])
        window = max(cubic(rtt=rtt, drop_prob=prob), (2 / prob) ** 0.5)
        return count * window / rtt - there["capacity"]

    queue = brentq(too_much, there["min_thresh"] + 1e-6, 3e4, xtol=1e-12)
    assert round(queue / count, 3) == 89.589


SIMULATED = [(2, 0.350), (4, 0.686), (6, 1.113), (7.8, 1.569), (12, 2.81), (30, 9.85)]


@pytest.mark.parametrize(("alpha", "ratio"), SIMULATED)
def test_ratios_that_the_theory_sheet_simulated_without_losses_of_vegas(alpha, ratio):
    """Section 5d: 5 + 5 flows, C = 1000, T = 50 ms, RED from 50 to 150 with 0.1.

    The sheet's smooth law has beta = alpha + 2 and converges to the middle, alpha + 1 (its section
    5b states this); at alpha = 30 its queue is 171, on RED's line drawn on. Figures of simulations.
    """
    path = {"capacity": 1000.0, "base_rtt": 0.05, "min_thresh": 50.0, "slope": 1e-3}
    flows = {"competitors": 5, "tuned": 5, "loss_constant": SQRT2}
    exact = forms.over_red(forms.fair_alpha_lossless())
    found = brentq(lambda x: exact(**path, **flows, ratio=x) - (alpha + 1), 0.01, 50.0)
    assert found == pytest.approx(ratio, rel=2e-3)


def test_a_weighted_target_counts_each_vegas_flow_by_its_weight():
    """Theory sheet, section 5e: a target of one half."""
    path = {"capacity": 1000.0, "base_rtt": 0.05, "min_thresh": 50.0, "slope": 1e-3}
    weighted = forms.over_red(forms.fair_alpha_lossless())
    flows = {"competitors": 5, "tuned": 5, "ratio": 0.5, "loss_constant": SQRT2}
    alpha = weighted(**path, **flows)
    queue = forms.red_queue()(**path, count=7.5, loss_constant=SQRT2)
    assert alpha == pytest.approx(0.5 * queue / 7.5, rel=1e-12)


@pytest.mark.parametrize(("cut", "ceiling"), [(0.5, 1.0), (0.25, SQRT2)])
def test_ceilings_of_the_plateau(cut, ceiling):
    """Theory sheet, section 5d; and alpha goes to infinity there."""
    flat = forms.largest_ratio()(cut=cut, loss_constant=SQRT2, loss_factor=1.0)
    assert flat == pytest.approx(ceiling, rel=1e-15)
    flows = {"competitors": 5, "tuned": 5, "queue": 100.0, "cut": cut, "loss_factor": 1.0}
    alphas = [
        forms.fair_alpha_with_losses()(**flows, loss_constant=SQRT2, ratio=ceiling * (1 - gap))
        for gap in (1e-2, 1e-6, 1e-10)
    ]
    assert np.diff(alphas) == pytest.approx(np.diff(alphas)[0], rel=0.2)  # by its logarithm
    assert np.all(np.diff(alphas) > 0)


def test_parity_of_a_halving_vegas_is_where_the_law_of_the_minimum_saturates():
    """Theory sheet, section 5e: with b phi = 1/2 the lossless alpha of r = 1 is alpha_sat."""
    path = {"capacity": 1000.0, "base_rtt": 0.05, "min_thresh": 50.0, "slope": 1e-3}
    queue = forms.red_queue()(**path, count=10, loss_constant=SQRT2)
    lossless = forms.fair_alpha_lossless()(queue=queue, competitors=5, tuned=5, ratio=1.0)
    point = {"rtt": 0.05 + queue / 1000, "base_rtt": 0.05, "drop_prob": 1e-3 * (queue - 50)}
    saturation = forms.vegas_alpha_at_saturation()(**point, cut=0.5, loss_factor=1.0)
    assert saturation == pytest.approx(lossless, rel=1e-11)
