"""RED of Linux against what include/net/red.h and net/sched/sch_red.c of Linux 6.1 do, by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import jax
import pytest

from tests.congestion.test_contract import red_queue, state
from vegasfluid import Flows, InvalidInput, Link, Network, Reno, Vegas
from vegasfluid.aqm.base import ADMIT, EARLY, FORCED, MARK
from vegasfluid.aqm.red import AdaptedAverage, Red, tc_weight


def linux(**options: Any) -> Red:
    """p_b is 0.05 at an average of 60 packets."""
    return Red(20, 100, max_drop=0.1, implementation="linux", in_bytes=False, **options)


def decisions(queue: SimpleNamespace, law: Red, waiting: int, uniforms: Sequence[float]) -> str:
    """First letters of the decisions on one packet for each value of `uniform`."""
    letters = {ADMIT: "a", EARLY: "e", FORCED: "f", MARK: "m"}
    text = ""
    for value in uniforms:
        queue.uniform = value
        text += letters[law.rule.decide(queue, waiting, 0.0)]
    return text


def test_a_threshold_is_drawn_once_and_reached_by_counting() -> None:
    """red_action: from qcount -1 the first packet only draws qR; then p * qcount >= qR drops.

    qR = 0.12 is reached by the third packet after the draw (0.05, 0.10, 0.15); at the drop 0.04 is
    drawn, which the next packet reaches. Values in between are not looked at.
    """
    law = linux()
    queue = red_queue(law, 60.0)
    queue.count = -1.0
    given = [0.12, 0.99, 0.0, 0.04, 0.5, 0.5]
    assert decisions(queue, law, 60, given) == "aaaeea"
    assert queue.count == 1.0


@pytest.mark.parametrize("waiting", [0, 1])
def test_a_short_queue_does_not_protect(waiting: int) -> None:
    """Only the average counts, unlike ns-2's `qlen > 1`."""
    law = linux()
    queue = red_queue(law, 60.0)
    queue.weight, queue.count, queue.threshold = 0.0, 3.0, 0.1
    assert law.rule.decide(queue, waiting, 0.0) == EARLY


@pytest.mark.parametrize(("average", "verdict"), [(10.0, ADMIT), (150.0, FORCED)])
def test_outside_the_range_the_count_begins_anew(average: float, verdict: int) -> None:
    """red_action: qcount = -1 below qth_min (RED_DONT_MARK) and above qth_max (RED_HARD_MARK)."""
    law = linux()
    queue = red_queue(law, average)
    queue.count, queue.threshold = 7.0, 0.0
    assert law.rule.decide(queue, int(average), 0.0) == verdict
    assert queue.count == -1.0
    queue.avg_queue = 60.0
    assert decisions(queue, law, 60, [0.0, 0.5]) == "ae"


def test_the_average_does_not_decay_below_a_shaper() -> None:
    """A token bucket peeks: red_dequeue is not called on an empty queue, which would start idling.

    red_calc_qavg_no_idle_time: qavg += W (backlog - qavg).
    """
    law = linux(weight=0.25)
    queue = red_queue(law, 16.0)
    law.rule.decide(queue, 0, 1000.0)
    assert queue.avg_queue == 12.0


@pytest.mark.parametrize("parts", [4, 16, 64])
def test_the_share_of_drops_follows_from_the_mean_gap(parts: int) -> None:
    """With p = 1/m the gap is the first whole number from m U on, m thresholds are equally likely.

    The mean of 1..m is (m + 1) / 2.
    """
    law, prob = Red(20, 100, max_drop=2 / parts, implementation="linux", in_bytes=False), 1 / parts
    gaps = []
    for number in range(1, parts + 1):
        queue = red_queue(law, 60.0)
        queue.count, queue.threshold, queue.uniform = 0.0, (number - 0.5) / parts, 0.0
        gaps.append(1)
        while law.rule.decide(queue, 60, 0.0) == ADMIT:
            gaps[-1] += 1
    assert gaps == [math.ceil((number - 0.5) / parts / prob) for number in range(1, parts + 1)]
    assert float(law.drop_prob(state(60.0))) == pytest.approx(1 / (sum(gaps) / parts))


@pytest.mark.parametrize(
    ("capable", "hard", "average", "verdict"),
    [
        (1, False, 60.0, MARK),
        (0, False, 60.0, EARLY),
        (1, False, 150.0, MARK),  # RED_HARD_MARK marks
        (1, True, 150.0, FORCED),  # unless TC_RED_HARDDROP is set
        (0, False, 150.0, FORCED),
    ],
)
def test_marks(capable: int, hard: bool, average: float, verdict: int) -> None:
    law = linux(ecn=True, hard_drop=hard)
    queue = red_queue(law, average)
    queue.ect, queue.count, queue.threshold = capable, 3.0, 0.1
    assert law.rule.decide(queue, int(average), 0.0) == verdict


def test_bytes_change_the_queue_but_not_the_chance_of_a_small_packet() -> None:
    """red_enqueue: the backlog is in bytes, red_mark_probability has no size."""
    law = Red(20, 100, max_drop=0.1, weight=0.5, implementation="linux")
    queue = red_queue(law, 40.0)
    queue.waiting_size, queue.relative_size = 80.0, 0.03
    queue.count, queue.threshold = 1.0, 0.1
    assert law.counts_bytes
    assert law.rule.decide(queue, 500, 0.0) == EARLY
    assert queue.avg_queue == 60.0


def test_it_adapts_as_the_paper_says() -> None:
    """red_adaptative_algo: max_P grows by a quarter, at most 0.01, above the middle fifth."""
    law = Red(20, 100, max_drop=0.02, implementation="linux", in_bytes=False, adaptive=True)
    queue = red_queue(law, 90.0)
    queue.now, queue.uniform = 500_000_000_000, 1.0
    law.rule.decide(queue, 90, 0.0)
    assert queue.max_drop == pytest.approx(0.025)
    assert float(law.max_drop_derivative(AdaptedAverage(90.0, 0.02))) == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("red", "dialects", "expected"),
    [
        (Red(20, 100), ["linux", "linux"], ("linux", 1 / 64)),
        (Red(20, 100), ["ns2", "ns2"], ("ns2", 0.002)),
        (Red(20, 100), ["linux", "ns2"], ("ns2", 0.002)),
        (Red(20, 100, wait=False), ["linux"], ("ns2", 0.002)),
        (Red(20, 100, gentle=True), ["linux"], ("ns2", 0.002)),
        (Red(20, 100, weight=0.01), ["linux"], ("linux", 0.01)),
        (Red(20, 100, implementation="linux"), ["ns2"], ("linux", 1 / 64)),
        (Red(20, 100, implementation="ns2"), ["linux"], ("ns2", 0.002)),
    ],
)
def test_whose_red_it_is_follows_from_the_hosts(
    red: Red, dialects: list[str], expected: tuple[str, float]
) -> None:
    classes = {
        f"vegas{number}": Flows(1, Vegas(dialect=dialect), base_rtt=0.1)
        for number, dialect in enumerate(dialects)
    }
    host = None if len(set(dialects)) == 1 else "ns2"
    classes["reno"] = Flows(1, Reno(), base_rtt=0.1, host=host)
    network = Network(Link(1000.0, 200, red), classes).resolved()
    found = network.link.aqm
    assert isinstance(found, Red)
    assert (found.implementation, found.weight) == expected
    assert found.packet_parameters()["weight"] == found.average_weight == expected[1]
    assert network.resolved() is network


# Bursts are (2 min + max) / 3 packets. The kernel's table (red.h) has, to some packets, Wlog 5 from
# a burst of 46 on where min is 32 packets. By hand: 27 <= (1 - (63/64)^46) 64 = 33.0, but not
# (1 - (31/32)^46) 32 = 24.6; 80000 packets are 120 MB, which leave 31 - 27 bits.
@pytest.mark.parametrize(
    ("low", "high", "burst", "log"),
    [(32, 71, 45, 4), (32, 83, 49, 5), (20, 100, 46, 6), (20_000, 80_000, 40_000, 4)],
)
def test_the_weight_is_the_one_that_tc_chooses(low: int, high: int, burst: int, log: int) -> None:
    assert tc_weight.usual_burst(low, high) == burst
    assert Red(low, high, implementation="linux").average_weight == 2.0**-log


def test_the_weight_can_be_traced() -> None:
    """Derivatives of an equilibrium take thresholds that are no numbers."""
    weight = jax.jit(lambda low, high: Red(low, high, implementation="linux").average_weight)
    assert float(weight(20.0, 80.0)) == 2.0**-5


@pytest.mark.parametrize(("name", "value"), [("wait", True), ("wait", False), ("gentle", True)])
def test_linux_has_no_choice_of_gaps_or_curve(name: str, value: bool) -> None:
    with pytest.raises(InvalidInput, match=rf"Red: {name} must be left out.* is {value}"):
        Red(20, 100, implementation="linux", **{name: value})  # type: ignore[arg-type]


def test_an_unknown_implementation_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"implementation must be one of ns2, linux,.*ns3"):
        Red(20, 100, implementation="ns3")
