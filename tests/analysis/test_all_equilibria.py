"""All equilibria of a network, and the proof that there are no others."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb

from tests.paths import MODELS
from vegasfluid import (
    Cubic,
    DropTail,
    Flows,
    InvalidInput,
    Link,
    Network,
    Red,
    Reno,
    Vegas,
    modelfile,
)
from vegasfluid.analysis.equilibria.all_equilibria import Equilibria, all_equilibria, with_proof
from vegasfluid.analysis.equilibria.equilibrium import THEORY, Equilibrium, equilibrium
from vegasfluid.analysis.equilibria.multistart import same_equilibrium
from vegasfluid.analysis.linear_stability.disturbances import disturbed, growth_rate
from vegasfluid.analysis.linear_stability.linearisation import linearise
from vegasfluid.analysis.linear_stability.spectrum import rightmost_roots
from vegasfluid.analysis.proofs.branch_and_prune import isolate_zeros
from vegasfluid.analysis.proofs.krawczyk import Box
from vegasfluid.analysis.proofs.monotone_network import MonotoneNetwork
from vegasfluid.analysis.proofs.supported_networks import monotone_network
from vegasfluid.fluid.options import DEFAULT_OPTIONS, FluidOptions

RED = Red(min_thresh=50, max_thresh=150)
LINK = Link(1000.0, 200, RED)
NS2 = Vegas(alpha=6, beta=8, dialect="ns2")
LINUX = Vegas(alpha=4, beta=6, dialect="linux")
MODEL = MODELS / "three_equilibria.toml"

RENO = Network(LINK, {"reno": Flows(10, Reno(), base_rtt=0.05)})
TWO_LAWS = Network(
    LINK, {"reno": Flows(5, Reno(), base_rtt=0.05), "vegas": Flows(5, NS2, base_rtt=0.05)}
)
THREE_LAWS = Network(
    LINK,
    {
        "reno": Flows(5, Reno(), base_rtt=0.05),
        "cubic": Flows(5, Cubic(), base_rtt=0.1),
        "vegas": Flows(5, LINUX, base_rtt=0.05),
    },
)


def parking_lot() -> Network:
    """A long path over two links, and a short one over each."""
    link = Link(1000.0, 300, Red(min_thresh=30, max_thresh=120), delay=0.005)
    flows = {
        "long": Flows(5, Reno(), base_rtt=0.1, path=("one", "two")),
        "left": Flows(5, Reno(), base_rtt=0.05, path=("one",)),
        "right": Flows(10, Reno(), base_rtt=0.05, path=("two",)),
    }
    return Network({"one": link, "two": link}, flows)


def box_of(system: MonotoneNetwork) -> Box:
    return tuple(system.bounds)


def excess_at(point: Equilibrium) -> list[float]:
    """Residuals of the reduced equations at an equilibrium of the full ones, packets/s."""
    system = monotone_network(point.network, point.options)
    places = system.occupancies(point.values.queue, point.values.drop_prob)
    return [float(item) for item in system.at([arb(place) for place in places])]


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize(
    ("network", "starts"),
    [(RENO, 2), (TWO_LAWS, [[60.0]]), (THREE_LAWS, [[60.0]]), (parking_lot(), [[40.0, 40.0]])],
    ids=["reno", "reno and vegas", "reno, cubic and vegas", "parking lot"],
)
def test_there_is_one_equilibrium_and_it_is_proven_to_be_the_only_one(
    network: Network, starts: int | list[list[float]]
) -> None:
    found = all_equilibria(network, starts=starts)
    assert found.summary == "1 found, proven to be all"
    assert (found.count, found.count_is_odd, found.complete, found.indices) == (1, True, True, (1,))
    assert np.allclose(excess_at(found.isolated[0]), 0, atol=1e-8)


@pytest.fixture(scope="module")
def three() -> Equilibria:
    """Of the model, begun with links one and three full, and with link two full."""
    network = modelfile.load(MODEL).network
    return all_equilibria(network, starts=[[150.0, 0.0, 150.0], [0.0, 60.0, 0.0]])


@pytest.mark.slow
def test_the_example_has_exactly_three_equilibria(three: Equilibria) -> None:
    assert three.summary == "3 found, proven to be all"
    assert three.count_is_odd
    assert sorted(three.indices) == [-1, 1, 1]
    by_link = [np.round(point.values.queue, 2).tolist() for point in three.isolated]
    assert by_link[:2] == [[154.49, 0.0, 153.82], [0.0, 58.38, 0.0]]
    assert by_link[2] == [48.88, 28.47, 47.67]
    assert three.indices[2] == -1


@pytest.mark.slow
@pytest.mark.unoptimised
def test_in_two_of_them_reno_or_vegas_has_the_better_part(three: Equilibria) -> None:
    rates = [[point.mean(name, "goodput") for name in ("reno", "left")] for point in three.isolated]
    assert rates[0][0] > 1.5 * rates[0][1]
    assert rates[1][1] > 4 * rates[1][0]
    for point in three.isolated:
        assert np.allclose(excess_at(point), 0, atol=1e-8)


def growth(point: Equilibrium) -> float:
    """The real part of the rightmost root, 1/s."""
    return float(rightmost_roots(linearise(point).closed_loop)[0].real)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_the_one_of_negative_index_is_not_stable(three: Equilibria) -> None:
    """By the linear delay system, to which the sign of det(-F') is unknown."""
    first, second, third = (growth(point) for point in three.isolated)
    assert first < 0
    assert second < 0
    assert third > 0.5


@pytest.mark.slow
def test_a_search_does_not_end_at_the_one_that_sweeps_over_the_queues_leave(
    three: Equilibria,
) -> None:
    """They pass by the one of negative index, and Newton's method would lead there."""
    found = equilibrium(three.isolated[0].network)
    assert same_equilibrium(found, three.isolated[1])


@pytest.mark.slow
@pytest.mark.unoptimised
def test_the_delay_equations_leave_it_at_the_rate_of_its_rightmost_root(three: Equilibria) -> None:
    """Packets go over two full links to a third: the arrivals there have two delays."""
    point = three.isolated[2]
    (rate,) = growth_rate(*disturbed([point], 8.0, 1e-7))
    assert rate == pytest.approx(growth(point), rel=0.02)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_list_that_is_not_complete_is_shown_not_to_be(three: Equilibria) -> None:
    found = all_equilibria(three.isolated[0].network, starts=[[0.0, 60.0, 0.0]])
    assert found.summary == "1 found, 2 more are proven"
    assert not found.complete
    for box in found.proven_only:
        near = [
            point
            for point in three.isolated
            if np.allclose(point.values.queue, [sum(side) / 2 for side in box], atol=1e-6)
        ]
        assert len(near) == 1


@pytest.mark.slow
def test_without_a_budget_nothing_is_claimed(three: Equilibria) -> None:
    network, starts = three.isolated[0].network, [[0.0, 60.0, 0.0]]
    assert all_equilibria(network, starts=starts, budget=0).summary == "1 found, nothing is proven"
    few = all_equilibria(network, starts=starts, budget=3)
    assert not few.complete
    assert "undecided" in few.summary


def test_it_is_proven_that_there_is_no_equilibrium() -> None:
    """Half a packet around the equilibrium, a known number of packets (test_closed_forms)."""
    system = monotone_network(RENO, THEORY)
    whole = isolate_zeros(system, box_of(system))
    ((low, high),) = whole.zeros[0].enclosure
    for box in ((-1000.0, low - 0.5), (high + 0.5, 201.0)):
        beside = isolate_zeros(system, (box,))
        assert (beside.zeros, beside.complete) == ((), True)


@pytest.mark.parametrize(
    "network",
    [
        Network(Link(1000.0, 60, RED), {"reno": Flows(20, Reno(), base_rtt=0.05)}),
        Network(Link(1000.0, 40, RED), {"reno": Flows(20, Reno(), base_rtt=0.05)}),
        Network(Link(1000.0, 200), {"reno": Flows(10, Reno(), base_rtt=0.05)}),
        Network(Link(1000.0, 200), {"vegas": Flows(10, Vegas(alpha=6, beta=6), 0.05)}),
        Network(LINK, {"reno": Flows(10, Reno(), base_rtt=0.05, access=50.0)}),
        Network(LINK, {"reno": Flows(12, Reno(), base_rtt=0.05, access=90.0, max_window=9.0)}),
        Network(
            Link(1000.0, 200, Red(50, 150, ecn=True)),
            {
                "may": Flows(5, Reno(), base_rtt=0.05),
                "not": Flows(5, NS2, base_rtt=0.05, ecn=False),
            },
        ),
    ],
    ids=["full", "full before RED", "drop-tail", "vegas", "access", "limits", "marks"],
)
def test_the_equilibrium_at_limits_is_proven_unique_and_satisfies_the_equations(
    network: Network,
) -> None:
    found = all_equilibria(network, starts=1)
    assert found.summary == "1 found, proven to be all"
    assert np.allclose(excess_at(found.isolated[0]), 0, atol=1e-6)


def test_a_set_of_equilibria_is_reported_and_not_counted() -> None:
    link = Link(1000.0, 200)
    idle = Network(link, {"vegas": Flows(10, Vegas(alpha=2, beta=4), base_rtt=0.05)})
    found = all_equilibria(idle, starts=1)
    assert found.continuum is not None
    assert (found.count, found.complete, found.proof) == (0, False, None)
    assert "not counted" in found.summary


def test_from_given_queues_both_ends_of_the_set_are_reported() -> None:
    """Ten flows keep 2.5 to 3.5 packets each: a queue of 25 packets is the lower end."""
    law = Vegas(alpha=2, beta=4)
    low, high = (10 * backlog for backlog in law.equilibrium_backlogs)
    idle = Network(Link(1000.0, 200), {"vegas": Flows(10, law, base_rtt=0.05)})
    found = all_equilibria(idle, starts=[[low]], budget=0).continuum
    assert found is not None
    assert found.upper is not None
    assert found.values.queue == pytest.approx([low])
    assert found.upper.values.queue == pytest.approx([high], rel=1e-6)


@pytest.mark.parametrize(("buffer", "aqm"), [(200, DropTail()), (60, RED), (40, RED)])
def test_the_queue_of_an_equilibrium_that_is_only_proven_is_at_most_the_buffer(buffer, aqm) -> None:
    """It is the queue that the solver finds, without the fraction that overflows."""
    full = Network(Link(1000.0, buffer, aqm), {"reno": Flows(20, Reno(), base_rtt=0.05)})
    (((low, high),),) = with_proof([], monotone_network(full, THEORY), 100).proven_only
    assert high - 1e-6 < low <= high <= buffer
    assert equilibrium(full).values.queue == pytest.approx([high], abs=1e-6)


# ---- invalid input


@pytest.mark.parametrize(
    ("network", "options", "message"),
    [
        (
            RENO,
            DEFAULT_OPTIONS,
            "FluidOptions: recovery must be False to prove the number of equilibria, but is True.",
        ),
        (
            Network(Link(1000.0, 200, DropTail("smooth")), {"reno": Flows(2, Reno(), 0.05)}),
            THEORY,
            "bottleneck: aqm must be red, or droptail whose losses are overflow or synchronised",
        ),
        (
            Network(LINK, {"vegas": Flows(2, Vegas(dialect="ns3"), base_rtt=0.05)}),
            THEORY,
            "flows.vegas: law must be reno, newreno, cubic, or vegas of",
        ),
        (
            Network(LINK, {"cubic": Flows(2, Cubic(beta=0.95), base_rtt=0.05)}),
            THEORY,
            "flows.cubic: beta must be at most 0.9 to prove the number of equilibria, but is 0.95.",
        ),
        (
            Network(LINK, {"reno": Flows(2, Reno(), base_rtt=0.05, delayed_ack=0.1)}),
            THEORY,
            "flows.reno: delayed_ack must be 0 to prove the number of equilibria, but is 0.1.",
        ),
        (
            Network(
                {"one": LINK, "two": Link(1000.0, 200, Red(50, 150, ecn=True))},
                {"reno": Flows(2, Reno(), base_rtt=0.05, path=("one", "two"))},
            ),
            THEORY,
            "flows.reno: the number of links on the path must be 1",
        ),
    ],
)
def test_what_the_proof_does_not_cover_is_rejected(
    network: Network, options: FluidOptions, message: str
) -> None:
    with pytest.raises(InvalidInput) as error:
        all_equilibria(network, options)
    assert str(error.value).startswith(message)


def test_invalid_initial_guesses_are_rejected() -> None:
    for starts in (0, [], [[1.0, 2.0]], [[-1.0]], [[300.0]]):
        with pytest.raises(InvalidInput, match="starts"):
            all_equilibria(RENO, starts=starts)
    with pytest.raises(InvalidInput, match="budget"):
        all_equilibria(RENO, budget=-1)
