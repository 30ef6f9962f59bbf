"""Certified equilibria and alphas against the zeros of the laws' own drifts."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

from tests.analysis.proofs.oracle import (
    PAPER,
    WIDE,
    drift,
    drop_prob,
    marks,
    mixed,
    of_the_paper,
    ratio_at,
    state,
    with_alpha,
)
from vegasfluid import Cubic, Flows, InvalidInput, Link, Network, NewReno, Red, Reno, Vegas
from vegasfluid.analysis.proofs import Certificate, certify_alpha, verify
from vegasfluid.congestion.base import Signals
from vegasfluid.fluid import MISRA_GONG_TOWSLEY, simulate_fluid

DRAWN = range(20)
"""Numbers of drawn networks."""


def drawn(rng: np.random.Generator) -> tuple[Network, dict[str, Any]]:
    """A network with a mix of laws, and what to certify of it."""
    laws = (Reno(), NewReno(), Cubic(), Cubic(beta=0.8, fast_convergence=False))
    low = float(10 ** rng.uniform(1, 3))
    high = low * float(rng.uniform(1.5, 4))
    switches = {name: bool(rng.integers(2)) for name in ("gentle", "wait", "ecn")}
    red = Red(low, high, float(rng.choice([1.0, 0.5, 0.1])), **switches)
    vegas = Vegas(dialect=str(rng.choice(["brakmo", "ns2", "linux"])))
    flows = {
        "vegas": Flows(int(rng.integers(1, 40)), vegas, base_rtt=float(rng.uniform(0.01, 0.2)))
    }
    for number in range(int(rng.integers(1, 4))):
        law = laws[rng.integers(len(laws))]
        count, base = int(rng.integers(1, 40)), float(rng.uniform(0.01, 0.2))
        flows[f"other{number}"] = Flows(count, law, base_rtt=base)
    network = Network(Link(float(10 ** rng.uniform(3, 4.5)), 2 * high, red), flows)
    process = str(rng.choice(["meanfield", "periodic", "iid"]))
    return network, {"ratio": float(rng.uniform(0.2, 1.1)), "loss_process": process}


@cache
def drawn_and_certified() -> list[tuple[Network, Certificate]]:
    """Networks with an alpha to certify, of those that are drawn."""
    rng, found = np.random.default_rng(20), []
    while len(found) < len(DRAWN):
        network, wanted = drawn(rng)
        try:
            found.append((network, certify_alpha(network, **wanted)))
        except InvalidInput:
            continue
    return found


def test_drawn_networks_are_a_mix():
    dialects = {network.flows["vegas"].law.dialect for network, _ in drawn_and_certified()}
    laws = {
        type(group.law) for network, _ in drawn_and_certified() for group in network.flows.values()
    }
    assert dialects == {"brakmo", "ns2", "linux"}
    assert laws == {Vegas, Reno, NewReno, Cubic}
    for switch in ("gentle", "wait", "ecn"):
        assert {getattr(network.link.aqm, switch) for network, _ in drawn_and_certified()} == {
            True,
            False,
        }
    assert {found.problem.loss_process for _, found in drawn_and_certified()} == {
        "meanfield",
        "periodic",
        "iid",
    }


def high_precision_alpha(network: Network) -> mpmath.mpf:
    """Equal flows of Reno and ns-2 Vegas at equal round trips, in 60 digits.

    The windows of all are sqrt(2/p), and they fill the link; half of f is the ratio squared.
    """
    link, red = network.link, network.link.aqm
    with mpmath.workdps(60):
        base, capacity = mpmath.mpf(network.base_rtts("vegas")[0]), mpmath.mpf(link.capacity)
        count = sum(network.counts)

        def prob(queue: mpmath.mpf) -> mpmath.mpf:
            gap = 3 * (mpmath.mpf(red.max_thresh) - red.min_thresh) / (queue - red.min_thresh) - 1
            return 2 / gap  # the gaps between drops are uniform from 1/p_b to 2/p_b - 1

        def missing(queue: mpmath.mpf) -> mpmath.mpf:
            in_flight = capacity * base + queue
            return count**2 * (1 - prob(queue)) ** 2 * 2 - in_flight**2 * prob(queue)

        low = red.min_thresh + mpmath.mpf(10) ** -6
        queue = mpmath.findroot(missing, (low, red.min_thresh + 100), solver="anderson")
        own = mpmath.sqrt(2 / prob(queue)) * queue / (capacity * base + queue)
        return own * (1 + mpmath.log(2) / 8)


@pytest.mark.parametrize("number", PAPER)
def test_networks_of_the_paper(number):
    network = of_the_paper(number)
    found = certify_alpha(network)
    verification = verify(json.loads(json.dumps(found.document())))
    assert verification.valid, verification.reasons
    assert verification.digits > 15
    low, high = found.alpha.bounds
    truth = Fraction(mpmath.nstr(high_precision_alpha(network), 45))
    assert low < truth < high
    assert high - low < Fraction(1, 10**10)


def moves(network: Network, found: Certificate) -> dict[str, float]:
    """How fast each field of each state moves at the certified point, in units of its losses."""
    tuned = with_alpha(network, float(found.alpha))
    queue = float(found.claims["queue_packets",])
    prob, process, worst = drop_prob(network, queue), found.problem.loss_process, {}
    for name, group in tuned.resolved().flows.items():
        base = network.base_rtts(name)[0]
        rtt = base + queue / network.link.capacity
        cwnd = float(found.claims["classes", name, "cwnd_packets"])
        moved = drift(group.law, cwnd, base, rtt, prob, process)
        lost = prob * cwnd / rtt
        worst[name] = abs(float(moved.cwnd)) / (lost * cwnd)
        if isinstance(group.law, Cubic):
            seen = Signals(rtt, cwnd / rtt, lost, WIDE)
            at = state(group.law, cwnd, base, seen)
            for field in ("k", "elapsed", "squared"):
                moving = abs(float(getattr(moved, field)))
                worst[f"{name}.{field}"] = moving / (lost * getattr(at, field))
    return worst


@pytest.mark.parametrize("number", PAPER)
def test_drifts_are_zero_at_the_certified_equilibria_of_the_paper(number):
    network = of_the_paper(number)
    found = certify_alpha(network)
    assert max(moves(network, found).values()) < 1e-9


@pytest.mark.parametrize("number", DRAWN)
def test_drifts_are_zero_at_the_certified_equilibrium(number):
    check_drifts(*drawn_and_certified()[number])


def check_drifts(network: Network, found: Certificate) -> None:
    assert verify(found.document()).valid
    assert max(moves(network, found).values()) < 1e-9
    prob = drop_prob(network, float(found.claims["queue_packets",]))
    assert float(found.claims["drop_prob",]) == pytest.approx(prob, rel=1e-9)
    kept = 1.0 if marks(network) else 1 - prob
    sent = sum(
        group.count * float(found.claims["classes", name, "rate_packets_per_s"])
        for name, group in network.flows.items()
    )
    assert kept * sent == pytest.approx(network.link.capacity, rel=1e-9)


@pytest.mark.parametrize(
    "number",
    [*DRAWN[:4], *(pytest.param(number, marks=pytest.mark.slow) for number in DRAWN[4:])],
)
def test_unfairness_is_as_bounded(number):
    check_unfairness(*drawn_and_certified()[number])


def check_unfairness(network: Network, found: Certificate) -> None:
    problem = found.problem
    alpha, below, above = (
        float(found.claims[f"alpha{item}_packets",]) for item in ("", "_below", "_above")
    )

    def log_ratio(at: float) -> float:
        return math.log(ratio_at(network, at, problem.loss_process) / problem.ratio)

    assert log_ratio(alpha) == pytest.approx(0, abs=1e-8)
    assert log_ratio(below) == pytest.approx(-problem.epsilon, abs=1e-8)
    assert log_ratio(above) == pytest.approx(problem.epsilon, abs=1e-8)
    inside = [log_ratio(at) for at in np.linspace(below, above, 5)[1:-1]]
    outside = [log_ratio(at) for at in (below / 4, below * 0.9, above * 1.1, above * 1.5)]
    assert max(np.abs(inside)) < problem.epsilon < min(np.abs(outside))
    assert np.all(np.diff([*outside[:2], *inside, *outside[2:]]) > 0)


@pytest.mark.parametrize("number", DRAWN)
def test_difference_quotients_lie_in_the_enclosed_slope(number):
    check_slope(drawn_and_certified()[number][1])


def check_slope(found: Certificate) -> None:
    """By the mean value theorem, between the three certified alphas."""
    alpha, below, above = (
        found.claims[f"alpha{item}_packets",].bounds for item in ("", "_below", "_above")
    )
    low, high = found.claims["alpha_packets_per_log_ratio",].bounds
    epsilon = Fraction(found.problem.epsilon)
    for first, last in ((below, alpha), (alpha, above)):
        assert low < (last[0] - first[1]) / epsilon
        assert (last[1] - first[0]) / epsilon < high


@pytest.mark.parametrize(("max_drop", "queue"), [(0.01, 60), (0.005, None), (0.03, None)])
def test_equilibrium_on_the_kink_of_a_gentle_curve(max_drop, queue):
    """Windows of 10 packets, 1 in 50 marked: just where the first curve has its kink."""
    red = Red(20, 60, max_drop, gentle=True, wait=False, ecn=True)
    propagation = 0.04 - (1 + 40 / 1500) / 1000  # the rest of 0.04 s is for sending
    flows = {
        "vegas": Flows(5, Vegas(dialect="ns2"), base_rtt=propagation),
        "reno": Flows(5, Reno(), base_rtt=propagation),
    }
    network = Network(Link(1000.0, 400, red), flows)
    found = certify_alpha(network)
    assert verify(found).valid
    queue_packets = float(found.claims["queue_packets",])
    assert (queue_packets < 60 - 1, queue_packets > 60) == (
        max_drop > 0.01,
        max_drop < 0.01,
    ) or queue == 60
    if queue is not None:
        assert queue_packets == pytest.approx(queue, rel=1e-12)
    check_drifts(network, found)
    check_slope(found)
    check_unfairness(network, found)


def test_fluid_converges_to_the_certified_equilibrium():
    """A run of the fluid model from its start, where this equilibrium is stable."""
    network = mixed(min_thresh=50, max_thresh=450, max_drop=0.02)
    found = certify_alpha(network, ratio=0.8)
    tuned = with_alpha(network, float(found.alpha))
    last = simulate_fluid(tuned, until=300.0, options=MISRA_GONG_TOWSLEY).isel(time=-1)
    assert float(last["queue"][0]) == pytest.approx(float(found.claims["queue_packets",]), rel=1e-9)
    for name in network.flows:
        cwnd = float(found.claims["classes", name, "cwnd_packets"])
        assert float(last["cwnd"].sel(flow_class=name)) == pytest.approx(cwnd, rel=1e-9)
