"""The hypotheses of the theorem, against congestion controls, the theory sheet and numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from flint import arb, fmpq

from tests.analysis.proofs.oracle import (
    BASE,
    PAPER,
    VEGAS,
    drop_prob,
    mixed,
    of_the_paper,
    window,
)
from vegasfluid import Cubic, Flows, InvalidInput, Link, Network, NewReno, Red, Reno, Vegas
from vegasfluid.analysis.proofs import certify_alpha, verify
from vegasfluid.analysis.proofs.problem import (
    FairAlphaProblem,
    LossBasedFlows,
    RedProfile,
    VegasFlows,
)
from vegasfluid.analysis.proofs.proof import (
    NotProven,
    loss_elasticities,
    prove,
    require_falling_rates,
)
from vegasfluid.analysis.proofs.response_functions import (
    PowerLaw,
    ResponseFunction,
    response_function,
)
from vegasfluid.analysis.proofs.single_link import SingleLinkEquations
from vegasfluid.analysis.proofs.supported_networks import fair_alpha_problem

LOSS_BASED = [
    Reno(),
    NewReno(),
    Cubic(),
    Cubic(C=0.1, beta=0.8, fast_convergence=False),
    Cubic(beta=0.5, friendly=False),
    Cubic(implementation="ns2"),
    Cubic(beta=0.8, implementation="linux"),
]


@pytest.mark.parametrize("process", ["meanfield", "periodic", "iid"])
@pytest.mark.parametrize("law", LOSS_BASED, ids=repr)
def test_explicit_windows_are_those_of_the_drifts(law, process):
    """In every region: the cubic, the Reno-friendly one, and that of steepest growth."""
    flows = {"vegas": VEGAS, "other": Flows(1, law, base_rtt=0.1, host="textbook")}
    problem = fair_alpha_problem(Network(BASE.link, flows), loss_process=process)
    explicit = response_function(problem.competitors["other"], process)
    for prob in (1e-6, 1e-4, 1e-2, 0.3, 0.9):
        for rtt in (0.005, 0.1, 2.0):
            found = float(explicit(arb(prob), arb(rtt)))
            assert found == pytest.approx(window(law, 0.1, rtt, prob, process), rel=1e-11)


def test_a_given_increase_of_cubic_is_not_supported():
    flows = {"vegas": VEGAS, "other": Flows(1, Cubic(friendly_increase=0.5), base_rtt=0.1)}
    with pytest.raises(InvalidInput, match="increase that follows from beta"):
        fair_alpha_problem(Network(BASE.link, flows))


@pytest.mark.parametrize("gentle", [False, True])
@pytest.mark.parametrize("wait", [False, True])
def test_elasticities_are_those_of_red(gentle, wait):
    """Against differences of the queue law's own curve."""
    network = mixed(gentle=gentle, wait=wait)
    equations = SingleLinkEquations(fair_alpha_problem(network))
    for queue in (101.0, 150.0, 299.0, *((310.0, 400.0) if gentle else ())):
        step = 1e-4
        prob, more, less = (drop_prob(network, at) for at in (queue, queue + step, queue - step))
        (found,) = loss_elasticities(equations, arb(queue - 100))
        expected = (more - less) / (2 * step) / prob * (queue - 100)
        assert float(found) == pytest.approx(expected, rel=1e-6)
        assert float(equations.link.early(arb(queue))) == pytest.approx(prob, rel=1e-12)


@pytest.mark.parametrize(
    ("red", "top"),
    [
        ({}, 300),
        ({"gentle": True}, 600),
        ({"gentle": True, "max_drop": 1.0}, 300),
        ({"wait": False}, 300),
        ({"wait": False, "max_drop": 0.8}, 225),
        ({"wait": False, "gentle": True}, 300 * (1 + 0.3 / 0.8)),
        ({"gentle": True, "max_thresh": 800}, 899),
    ],
)
def test_box_ends_where_red_s_curve_or_the_buffer_does(red, top):
    """With `wait` the share of drops is 1 where the curve is, without where the curve is 1/2."""
    network = mixed(**red)
    end = float(SingleLinkEquations(fair_alpha_problem(network)).largest_queue)
    assert end == pytest.approx(top, rel=1e-12)
    before, beyond = drop_prob(network, end * 0.999), drop_prob(network, end * 1.02)
    assert before < 1
    assert beyond == 1 or end == 899  # where only the buffer is full


THEORY_SHEET = {2: 134.263, 3: 89.542, 4: 89.507}
"""Section 5e: q*/N with p the curve itself (no spacing, max_drop 1) and nothing taken off by p."""


@pytest.mark.parametrize("number", PAPER)
def test_fair_backlog_of_the_theory_sheet(number):
    """Unspaced drops are RED's without `wait` at half the curve; marks take nothing off.

    alpha itself is larger, because Vegas loses packets too: f = 1/2, and by d/8 ln 2.
    """
    network = of_the_paper(number)
    unspaced = replace(network.link.aqm, max_drop=0.5, wait=False, ecn=True)
    link = replace(network.link, aqm=unspaced)
    found = certify_alpha(Network(link, {**network.flows}, network.packet_bytes))
    queue = float(found.claims["queue_packets",])
    backlog = queue / sum(network.counts)
    assert round(backlog, 3) == THEORY_SHEET[number]
    assert float(found.claims["recovering_fraction",]) == pytest.approx(0.5, rel=1e-15)
    assert float(found.alpha) == pytest.approx(backlog * (1 + math.log(2) / 8), rel=1e-14)


def test_a_small_share_of_vegas_loses_little_and_alpha_is_its_backlog():
    """The lossless limit: with f towards 0, alpha is the backlog."""
    network = of_the_paper(2)
    excess_of = []
    for ratio in (0.1, 0.05, 0.025):
        claims = certify_alpha(network, ratio=ratio).claims
        rate = float(claims["classes", "vegas", "rate_packets_per_s"])
        backlog = rate * float(claims["queue_packets",]) / network.link.capacity
        excess_of.append(float(claims["alpha_packets",]) / backlog - 1)
    assert 0 < excess_of[2] < 1e-4
    assert np.allclose(np.array(excess_of[:2]) / excess_of[1:], 4, rtol=0.01)


@pytest.mark.parametrize(
    ("dialect", "ceiling"), [("brakmo", "1,"), ("linux", "1,"), ("ns2", "1.41421,")]
)
def test_plateau_of_the_theory_sheet(dialect, ceiling):
    """Section 5d: at equal round trips the ratio stays below 1, and below sqrt 2 with 1/4."""
    flows = {
        "vegas": Flows(5, Vegas(dialect=dialect), base_rtt=0.05),
        "reno": Flows(5, Reno(), base_rtt=0.05),
    }
    network = Network(Link(1000.0, 400, Red(50, 150, 0.1)), flows)
    with pytest.raises(InvalidInput, match=f"ratio must be below {ceiling} the largest that any"):
        certify_alpha(network, ratio=1.5)
    near = float(ceiling[:-1]) * 0.995
    with pytest.raises(InvalidInput, match=r"epsilon must be below 0.005"):
        certify_alpha(network, ratio=near)
    assert verify(certify_alpha(network, ratio=near, epsilon=0.004)).valid


def test_ratio_that_would_need_no_alpha():
    with pytest.raises(InvalidInput, match=r"ratio must be above .* alpha is 0"):
        certify_alpha(mixed("linux"), ratio=0.01)


@pytest.mark.parametrize(
    ("branch", "reason"),
    [
        (PowerLaw(arb(1), fmpq(1, 2), fmpq(3)), "not proven to fall"),
        (PowerLaw(arb(1), fmpq(0), fmpq(0)), "not proven to grow without bound"),
        (PowerLaw(arb(-1), fmpq(1, 2), fmpq(0)), "not proven to grow without bound"),
    ],
)
def test_laws_whose_rates_may_rise_with_the_queue_are_not_covered(branch, reason):
    """A window in proportion to the third power of the round-trip time, say."""
    equations = SingleLinkEquations(fair_alpha_problem(BASE))
    require_falling_rates(equations)
    equations.responses["reno"] = ResponseFunction((branch,))
    with pytest.raises(NotProven, match=reason):
        require_falling_rates(equations)


def test_equilibrium_in_the_middle_of_the_box():
    """All numbers are exact: windows of 16, 1 packet in 128 marked, 64 packets in the queue."""
    red = RedProfile(0.0, 128.0, 1 / 128, gentle=False, wait=False, marks=True)
    numbers = {"count": 5, "base_rtt": 96 / 1024, "max_window": 1e5, "access": None}
    tuned = VegasFlows(**numbers, dialect="ns2", softness=0.25)
    others = {"reno": LossBasedFlows(**numbers, law="reno")}
    proof = prove(
        FairAlphaProblem(1024.0, 500.0, red, "vegas", tuned, others, "meanfield", 1.0, 0.01)
    )
    assert proof.equilibrium.queue.contains(64)
    assert proof.equilibrium.queue.rad() < 1e-60
    assert proof.equilibrium.windows["vegas"].contains(16)
    assert proof.equilibrium.recovering.contains(0.5)
