"""All rests of a network, and the proof that there is no other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from flint import arb, arb_mat

from tests.analysis.drifts import cubic_window, draws, vegas_window, window
from tests.paths import MODELS
from vegasfluid import (
    Cubic,
    DropTail,
    Flows,
    InvalidInput,
    Link,
    Network,
    NewReno,
    Red,
    Reno,
    Vegas,
    modelfile,
)
from vegasfluid.analysis.disturbances import disturbed, growth_rate
from vegasfluid.analysis.equilibria import THEORY, Equilibrium
from vegasfluid.analysis.exclusion import exclude
from vegasfluid.analysis.krawczyk import Box, zero_near
from vegasfluid.analysis.reduced import Reduced
from vegasfluid.analysis.reduced_network import reduced_network
from vegasfluid.analysis.reduced_queues import ReducedRed, ReducedTail
from vegasfluid.analysis.several import Equilibria, all_equilibria
from vegasfluid.analysis.verdicts import stability
from vegasfluid.aqm.droptail import overflow_prob
from vegasfluid.aqm.law import Average, QueueState
from vegasfluid.congestion.law import AbstractWindowLaw
from vegasfluid.fluid.closure import DEFAULT_CLOSURE, Closure

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


def lot(last: AbstractWindowLaw) -> Network:
    """A parking lot: a long way over two links, and a short one over each."""
    link = Link(1000.0, 300, Red(min_thresh=30, max_thresh=120), delay=0.005)
    flows = {
        "long": Flows(5, Reno(), base_rtt=0.1, path=("one", "two")),
        "left": Flows(5, Reno(), base_rtt=0.05, path=("one",)),
        "right": Flows(5, last, base_rtt=0.05, path=("two",)),
    }
    return Network({"one": link, "two": link}, flows)


def box_of(system: Reduced) -> Box:
    return tuple(system.bounds)


def excess_at(rest: Equilibrium) -> list[float]:
    """What the reduced equations leave at a rest of the very equations, packets/s."""
    system = reduced_network(rest.network, rest.closure)
    places = system.places(rest.values.queue, rest.values.drop_prob)
    return [float(of) for of in system.at([arb(place) for place in places])]


# ---- systems with known zeros


class Toggle:
    """Two that hold each other back: x = a / (1 + y^2), y = a / (1 + x^2).

    Taking one equation from the other, x = y or x y = 1. So one zero has x^3 + x = a, and where a
    is above 2 two others have x + y = a, x y = 1.
    """

    scale = (1.0, 1.0)

    def __init__(self, a: float) -> None:
        self.a = arb(a)

    def at(self, places: Sequence[arb]) -> list[arb]:
        x, y = places
        return [self.a / (1 + y * y) - x, self.a / (1 + x * x) - y]

    highest = lowest = at

    def slopes(self, places: Sequence[arb]) -> arb_mat:
        x, y = (-2 * self.a * of / (1 + of * of) ** 2 for of in places)
        return arb_mat([[-1, y], [x, -1]])


def holds(box: Box, *point: float) -> bool:
    return all(low <= at <= high for (low, high), at in zip(box, point, strict=True))


def test_three_known_zeros_are_enclosed_and_no_other_is_left() -> None:
    found = exclude(Toggle(3.0), ((0.0, 4.0), (0.0, 4.0)))
    low, high = (3 - math.sqrt(5)) / 2, (3 + math.sqrt(5)) / 2
    (middle,) = [of.real for of in np.roots([1, 0, 1, -3]) if abs(of.imag) < 1e-9]
    assert found.complete
    assert found.share == 0
    assert len(found.zeros) == 3
    told = {zero.index: [] for zero in found.zeros} | {1: [], -1: []}
    for zero in found.zeros:
        told[zero.index].append(zero.at)
    assert [holds(box, middle, middle) for box in told[-1]] == [True]
    assert sorted(holds(box, low, high) for box in told[1]) == [False, True]
    assert sorted(holds(box, high, low) for box in told[1]) == [False, True]


def test_one_zero_below_the_fold() -> None:
    found = exclude(Toggle(1.9), ((0.0, 4.0), (0.0, 4.0)))
    assert (len(found.zeros), found.complete, found.zeros[0].index) == (1, True, 1)


def test_a_double_zero_is_left_undecided() -> None:
    found = exclude(Toggle(2.0), ((0.0, 4.0), (0.0, 4.0)), budget=500)
    assert not found.complete
    assert 0 < found.share < 1e-3


def test_nothing_is_found_in_a_box_without_a_zero() -> None:
    found = exclude(Toggle(3.0), ((1.3, 2.5), (0.5, 4.0)))
    assert (found.zeros, found.complete) == ((), True)


def test_what_the_budget_does_not_cover_is_told() -> None:
    found = exclude(Toggle(3.0), ((0.0, 4.0), (0.0, 4.0)), budget=1)
    assert found.boxes == 1
    assert found.undecided > 0
    assert 0 < found.share <= 1


def test_a_known_zero_is_not_counted_twice() -> None:
    system = Toggle(3.0)
    known = zero_near(system, (0.4, 2.6))
    assert known is not None
    found = exclude(system, ((0.0, 4.0), (0.0, 4.0)), [known, known])
    assert (len(found.zeros), found.complete) == (3, True)


# ---- rates and losses against the laws themselves


def one_law(law: AbstractWindowLaw, process: str = "meanfield") -> Reduced:
    network = Network(LINK, {"one": Flows(1, law, base_rtt=0.1)})
    return reduced_network(network, Closure(process, False, False, False))


@pytest.mark.parametrize("process", ["meanfield", "periodic", "iid"])
@pytest.mark.parametrize(
    "law",
    [
        Reno(),
        NewReno(),
        Cubic(),
        Cubic(beta=0.8, fast_convergence=False, friendly=False),
        Vegas(alpha=3, beta=5),
        Vegas(alpha=4, beta=4),
        NS2,
        Vegas(alpha=60, beta=90, dialect="ns2"),
        LINUX,
    ],
    ids=str,
)
def test_rates_are_those_at_which_the_drift_is_zero(law: AbstractWindowLaw, process: str) -> None:
    (sender,) = one_law(law, process).senders
    base = sender.crowd.base_rtt
    for at in draws(6, 7, prob=(1e-5, 2e-2), wait=(1e-3, 0.3)):
        prob, rtt = at["prob"], base + at["wait"]
        if isinstance(law, Cubic):
            expected = cubic_window(law, rtt, prob, process)
        elif isinstance(law, Vegas):
            expected = vegas_window(law, rtt, base, prob, process, 1e-3)
        else:
            expected = window(law, rtt, prob, process)
        if expected < 3:
            continue
        low, high = (bound(arb(prob), arb(rtt)) for bound in (sender.lowest, sender.highest))
        assert low < high
        assert float(low) == pytest.approx(expected / rtt, rel=1e-9)
        assert float(high) == pytest.approx(expected / rtt, rel=1e-9)


def test_small_windows_of_linux_step_as_reno() -> None:
    """Between two and three packets: the drift itself, with the share that steps as Reno."""
    (sender,) = one_law(LINUX).senders
    for prob in (0.25, 0.35, 0.45):
        rtt = 0.3
        rate = sender.rate(arb(prob), arb(rtt))
        cwnd = float(rate) * rtt
        assert 2 < cwnd < 3
        found = [drift_of_linux(cwnd * off, prob, rtt) for off in (1 - 1e-6, 1 + 1e-6)]
        assert found[0] > 0 > found[1]


def drift_of_linux(cwnd: float, prob: float, rtt: float) -> float:
    from tests.analysis.drifts import seen
    from vegasfluid.congestion.vegas import VegasWindow

    base = np.float64(0.1 + one_law(LINUX).senders[0].crowd.base_rtt - 0.1)
    state = VegasWindow(np.float64(cwnd), np.float64(0), base, np.float64(0))
    return float(LINUX.drift(state, seen(cwnd, rtt, prob)).cwnd)


@pytest.mark.parametrize("law", [Reno(), Cubic(), NS2, LINUX], ids=str)
def test_slopes_hold_all_difference_quotients(law: AbstractWindowLaw) -> None:
    (sender,) = one_law(law).senders
    base = sender.crowd.base_rtt
    random = np.random.default_rng(3)
    for at in draws(5, 11, prob=(1e-4, 1e-2), wait=(0.02, 0.2)):
        lost, rtt = (arb(of, of / 50) for of in (at["prob"], base + at["wait"]))
        told = sender.slopes(lost, rtt)
        ends = [
            [arb(float(of.mid()) * (1 + off)) for of, off in zip((lost, rtt), offs, strict=True)]
            for offs in random.uniform(-0.02, 0.02, (2, 2))
        ]
        change = sender.rate(*ends[1]) - sender.rate(*ends[0])
        told_change = told.by_lost * (ends[1][0] - ends[0][0])
        told_change += told.by_rtt * (ends[1][1] - ends[0][1])
        assert told_change.contains(change)


@pytest.mark.parametrize(
    "red",
    [
        RED,
        Red(50, 150, 0.02, wait=False),
        Red(50, 80, 0.7, wait=False, gentle=True),
        Red(50, 80, 0.3, gentle=True, ecn=True),
        Red(50, 80, 0.3, ecn=True),
    ],
    ids=str,
)
def test_losses_are_those_of_the_queue_law(red: Red) -> None:
    queue = ReducedRed(Link(1000.0, 200, red), red)
    for packets in (0.0, 50.0, 60.0, 79.9, 80.4, 81.5, 120.0, 150.2, 170.0):
        seen = QueueState(packets, Average(packets), 1000.0, 1000.0, 200.0)
        met = queue.met(arb(packets))
        assert float(met.wait) == pytest.approx(packets / 1000)
        assert float(met.lost) == pytest.approx(float(red.drop_prob(seen)), abs=1e-14)
        assert float(met.dropped) == pytest.approx(float(red.forced_prob(seen)), abs=1e-14)


@pytest.mark.parametrize("place", [59.2, 59.5, 59.9, 60.3])
def test_a_full_buffer_loses_what_the_fluid_says(place: float) -> None:
    """With arrivals C / ((1 - e) (1 - r)), what is admitted is C; the fluid's overflow is r."""
    red = Red(50, 150, 0.1)
    link = Link(1000.0, 60, red)
    queue = ReducedRed(link, red)
    met = queue.met(arb(place))
    packets, lost = float(met.wait) * 1000, float(met.lost)
    assert 59 < packets < 60
    seen = QueueState(packets, Average(packets), 1000 / (1 - lost), 1000.0, 60.0)
    refused = float(overflow_prob(seen))
    assert packets + refused == pytest.approx(place, abs=1e-9)
    assert 1 - (1 - float(red.drop_prob(seen))) * (1 - refused) == pytest.approx(lost, abs=1e-12)


def test_a_drop_tail_buffer_is_full_before_it_loses() -> None:
    queue = ReducedTail(Link(1000.0, 60))
    below, above = queue.met(arb(59.9)), queue.met(arb(60.25))
    assert (float(below.lost), float(above.lost)) == (0.0, 0.25)
    assert float(above.wait) == pytest.approx(0.06)


# ---- networks


@pytest.mark.parametrize(
    ("network", "starts"),
    [(RENO, 2), (TWO_LAWS, [[60.0]]), (THREE_LAWS, [[60.0]]), (lot(NS2), [[40.0, 40.0]])],
    ids=["reno", "reno and vegas", "reno, cubic and vegas", "parking lot"],
)
def test_there_is_one_rest_and_it_is_proven_to_be_the_only_one(
    network: Network, starts: int | list[list[float]]
) -> None:
    found = all_equilibria(network, starts=starts)
    assert found.says == "1 found, proven to be all"
    assert (found.count, found.odd, found.complete, found.indices) == (1, True, True, (1,))
    assert np.allclose(excess_at(found.found[0]), 0, atol=1e-8)


@pytest.fixture(scope="module")
def three() -> Equilibria:
    """Of the model, begun with links one and three full, and with link two full."""
    network = modelfile.load(MODEL).network
    return all_equilibria(network, starts=[[150.0, 0.0, 150.0], [0.0, 60.0, 0.0]])


def test_the_example_has_three_rests_and_no_other(three: Equilibria) -> None:
    assert three.says == "3 found, proven to be all"
    assert three.odd
    assert sorted(three.indices) == [-1, 1, 1]
    by_link = [np.round(rest.values.queue, 2).tolist() for rest in three.found]
    assert by_link[:2] == [[154.49, 0.0, 153.82], [0.0, 58.38, 0.0]]
    assert by_link[2] == [48.88, 28.47, 47.67]
    assert three.indices[2] == -1


def test_in_two_of_them_reno_or_vegas_has_the_better_part(three: Equilibria) -> None:
    rates = [[rest.mean(name, "goodput") for name in ("reno", "left")] for rest in three.found]
    assert rates[0][0] > 1.5 * rates[0][1]
    assert rates[1][1] > 4 * rates[1][0]
    for rest in three.found:
        assert np.allclose(excess_at(rest), 0, atol=1e-8)


def test_the_one_of_negative_index_is_not_stable(three: Equilibria) -> None:
    """By the linear delay system, to which the sign of det(-F') is unknown."""
    roots = [stability(rest).rightmost_root.real for rest in three.found]
    assert roots[0] < 0
    assert roots[1] < 0
    assert roots[2] > 0.5


def test_the_delay_equations_leave_it_as_fast_as_its_root_says(three: Equilibria) -> None:
    """Packets go over two full links to a third: what comes there is told by two looks back."""
    rest = three.found[2]
    (rate,) = growth_rate(*disturbed([rest], 8.0, 1e-7))
    assert rate == pytest.approx(stability(rest).rightmost_root.real, rel=0.02)


def test_a_list_that_is_not_complete_is_shown_not_to_be(three: Equilibria) -> None:
    found = all_equilibria(three.found[0].network, starts=[[0.0, 60.0, 0.0]])
    assert found.says == "1 found, 2 more are proven"
    assert not found.complete
    for box in found.unlisted:
        near = [
            rest
            for rest in three.found
            if np.allclose(rest.values.queue, [sum(side) / 2 for side in box], atol=1e-6)
        ]
        assert len(near) == 1


def test_without_a_budget_nothing_is_claimed(three: Equilibria) -> None:
    network, starts = three.found[0].network, [[0.0, 60.0, 0.0]]
    assert all_equilibria(network, starts=starts, budget=0).says == "1 found, nothing is proven"
    few = all_equilibria(network, starts=starts, budget=3)
    assert not few.complete
    assert "undecided" in few.says


def test_no_rest_is_proven_where_there_is_none() -> None:
    """Half a packet around the rest, which is a known number of packets (test_closed_forms)."""
    system = reduced_network(RENO, THEORY)
    whole = exclude(system, box_of(system))
    ((low, high),) = whole.zeros[0].at
    for box in ((-1000.0, low - 0.5), (high + 0.5, 201.0)):
        beside = exclude(system, (box,))
        assert (beside.zeros, beside.complete) == ((), True)


@pytest.mark.parametrize(
    "network",
    [
        Network(Link(1000.0, 60, RED), {"reno": Flows(20, Reno(), base_rtt=0.05)}),
        Network(Link(1000.0, 40, RED), {"reno": Flows(20, Reno(), base_rtt=0.05)}),
        Network(Link(1000.0, 200), {"reno": Flows(10, Reno(), base_rtt=0.05)}),
        Network(
            Link(1000.0, 200), {"vegas": Flows(10, Vegas(alpha=6, beta=6, dialect="ns2"), 0.05)}
        ),
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
def test_rest_at_limits_is_proven_alone_and_is_that_of_the_very_equations(network: Network) -> None:
    found = all_equilibria(network, starts=1)
    assert found.says == "1 found, proven to be all"
    assert np.allclose(excess_at(found.found[0]), 0, atol=1e-6)


def test_a_set_of_rests_is_told_and_not_counted() -> None:
    idle = Network(LINK, {"vegas": Flows(10, Vegas(alpha=2, beta=4, dialect="ns2"), base_rtt=0.05)})
    found = all_equilibria(idle, starts=1)
    assert found.idle is not None
    assert (found.count, found.complete, found.proof) == (0, False, None)
    assert "not counted" in found.says


# ---- refusals


@pytest.mark.parametrize(
    ("network", "closure", "says"),
    [
        (RENO, DEFAULT_CLOSURE, "Closure: repairs must be false for a proof, but is True."),
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
            "flows.cubic: beta must be at most 0.9 for a proof, but is 0.95.",
        ),
        (
            Network(LINK, {"reno": Flows(2, Reno(), base_rtt=0.05, delayed_ack=0.1)}),
            THEORY,
            "flows.reno: delayed_ack must be 0 for a proof, but is 0.1.",
        ),
        (
            Network(
                {"one": LINK, "two": Link(1000.0, 200, Red(50, 150, ecn=True))},
                {"reno": Flows(2, Reno(), base_rtt=0.05, path=("one", "two"))},
            ),
            THEORY,
            "flows.reno: path must be of one link where packets are marked, but is '2 links'.",
        ),
    ],
)
def test_what_the_proof_does_not_cover_is_refused(
    network: Network, closure: Closure, says: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        all_equilibria(network, closure)
    assert str(refused.value).startswith(says)


def test_beginnings_that_make_no_sense_are_refused() -> None:
    for starts in (0, [], [[1.0, 2.0]], [[-1.0]], [[300.0]]):
        with pytest.raises(InvalidInput, match="starts"):
            all_equilibria(RENO, starts=starts)
    with pytest.raises(InvalidInput, match="budget"):
        all_equilibria(RENO, budget=-1)
