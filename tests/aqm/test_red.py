"""RED's packet rule, step by step, against what ns-2.35's `queue/red.cc` does."""

from __future__ import annotations

import math

import pytest

from tests.congestion.test_contract import red_queue, state
from vegasfluid.aqm.base import ADMIT, EARLY, FORCED, MARK, Average, QueueState
from vegasfluid.aqm.red import AdaptedAverage, Red


@pytest.mark.parametrize("average", [60.0, 200.0])
@pytest.mark.parametrize("waiting", [0, 1])
def test_one_packet_in_the_queue_is_never_followed_by_a_drop(average: float, waiting: int) -> None:
    """red.cc: `if (edv_.v_ave >= edp_.th_min && qlen > 1)`, however large the average is."""
    queue = red_queue(Red(20, 100, max_drop=1.0), average)
    queue.above, queue.uniform = 1, 0.0
    assert Red(20, 100).rule.decide(queue, waiting, 0.0) == ADMIT
    assert queue.above == 0


@pytest.mark.parametrize(
    ("given", "by_size"),
    [
        ({"implementation": "ns2", "in_bytes": True}, True),
        ({"implementation": "ns2"}, False),
        ({"implementation": "linux"}, False),
        ({"implementation": "linux", "in_bytes": True}, False),
    ],
)
def test_only_ns2s_red_in_bytes_drops_large_packets_more_often(given, by_size: bool) -> None:
    """red.cc: `if (edp_.bytes) p = p * pkt_size / mean_pktsize`; sch_red.c does not ask."""
    assert Red(20, 100, **given).drops_by_size == by_size


def test_the_average_closes_in_as_it_does_packet_by_packet() -> None:
    """red.cc: each packet leaves 1 - q_w of the distance to the queue, a time t (1 - q_w)^(C t).

    For half, the derivative at t = 0 is -C ln 2 times the distance, which is 20 packets.
    """
    seen = QueueState(30.0, Average(10.0), 900.0, 1000.0, 1e6)
    rate = Red(20, 100, weight=0.5).derivative(seen)
    assert float(rate.avg_queue) == pytest.approx(math.log(2) * 1000.0 * 20.0)


def test_the_first_packet_above_the_threshold_is_admitted() -> None:
    """red.cc: `edv_.old == 0` starts the count of packets, and drops nothing."""
    queue = red_queue(Red(20, 100, max_drop=1.0, wait=False), 99.0)
    queue.uniform, drops = 0.0, Red(20, 100).rule.decide
    assert [drops(queue, 99, 0.0) for _ in range(2)] == [ADMIT, EARLY]
    queue.avg_queue = 101.0
    assert drops(queue, 101, 0.0) == FORCED


@pytest.mark.parametrize(("gentle", "last"), [(False, 100.0), (True, 200.0)])
def test_with_ecn_the_range_of_marks_ends_where_every_packet_is_dropped(
    gentle: bool, last: float
) -> None:
    """Floyd, "Recommendation on using the gentle variant of RED", 2000: up to twice max_thresh."""
    law = Red(20, 100, max_drop=0.1, ecn=True, hard_drop=True, gentle=gentle)
    queue = red_queue(law, 0.0)
    for average, dropped in ((0.9 * last, 0.0), (1.1 * last, 1.0)):
        queue.avg_queue, queue.above, queue.uniform = average, 1, 1.0
        assert (law.rule.decide(queue, int(average), 0.0) == FORCED) == bool(dropped)
        assert float(law.forced_prob(state(average))) == pytest.approx(dropped, abs=1e-12)


@pytest.mark.parametrize(("gentle", "last"), [(False, 100.0), (True, 200.0)])
def test_without_hard_drop_marks_go_on_above_the_range_of_chance(gentle: bool, last: float) -> None:
    """Linux 6.1, net/sched/sch_red.c, RED_HARD_MARK: marked, and dropped if it cannot be marked."""
    law = Red(20, 100, max_drop=0.1, ecn=True, gentle=gentle)
    for capable, verdict in ((1, MARK), (0, FORCED)):
        queue = red_queue(law, 1.1 * last)
        queue.ect, queue.above, queue.uniform = capable, 1, 1.0
        assert law.rule.decide(queue, int(1.1 * last), 0.0) == verdict
    assert float(law.forced_prob(state(1.1 * last))) == 0.0


def chance(law: Red, average: float, packets: int, **record: float) -> float:
    """Probability of a drop of packet number `packets` since the first one above min_thresh."""
    low, high = 0.0, 1.0
    for _ in range(50):
        queue, middle = red_queue(law, average), (low + high) / 2
        vars(queue).update(record, waiting_size=average)
        queue.uniform = 2.0
        for _ in range(packets):
            assert law.rule.decide(queue, int(average), 0.0) == ADMIT
        queue.uniform = middle
        dropped = law.rule.decide(queue, int(average), 0.0) == EARLY
        low, high = (middle, high) if dropped else (low, middle)
    return low


@pytest.mark.parametrize("size", [1.0, 0.5, 40 / 1500])
def test_in_bytes_small_packets_count_and_are_dropped_by_their_size(size: float) -> None:
    """Floyd and Jacobson, section 7; red.cc: count_bytes_ / mean_pktsize, p *= size / mean_pktsize.

    At 60 of 20 to 100 packets p_b is half of max_drop.
    """
    for in_bytes, part in ((True, size), (False, 1.0)):
        law = Red(20, 100, max_drop=0.1, wait=False, in_bytes=in_bytes)
        for packets in (1, 5, 9):
            expected = part * 0.05 / (1 - (packets + 1) * part * 0.05)
            found = chance(law, 60.0, packets, relative_size=size)
            assert found == pytest.approx(expected)


@pytest.mark.parametrize(("average", "p_b"), [(40, 0.05), (100, 0.1), (120, 0.28), (190, 0.91)])
def test_the_gentle_curve_rises_from_max_thresh_to_twice_that(average: float, p_b: float) -> None:
    """red.cc, gentle_: from max_drop to 1 in a straight line; the second packet has count 2."""
    law = Red(20, 100 if average > 40 else 60, max_drop=0.1, gentle=True, wait=False)
    assert chance(law, float(average), 1) == pytest.approx(min(p_b / max(1 - 2 * p_b, 1e-9), 1.0))


def test_only_packets_that_can_be_marked_are_marked() -> None:
    """RFC 3168, section 7: others are dropped as without ECN, by the same chance."""
    for capable, verdict in ((1, MARK), (0, EARLY)):
        law = Red(20, 100, max_drop=0.1, ecn=True, wait=False)
        queue = red_queue(law, 60.0)
        queue.ect, queue.above, queue.uniform = capable, 1, 0.0
        assert law.rule.decide(queue, 60, 0.0) == verdict
        assert queue.count == 0.0


@pytest.mark.parametrize(
    ("average", "before", "after"),
    [
        (90, 0.02, 0.025),  # a quarter more,
        (90, 0.2, 0.21),  # but 0.01 at most
        (90, 0.6, 0.6),  # and not above one half
        (60, 0.2, 0.2),  # in the middle fifth
        (30, 0.2, 0.18),  # a tenth less,
        (30, 0.005, 0.005),  # but not below 1 %
    ],
)
def test_adaptive_red_moves_max_drop_twice_a_second(
    average: float, before: float, after: float
) -> None:
    """Floyd, Gummadi and Shenker, 2001, section 3: for packets, and spread evenly for the fluid."""
    law = Red(20, 100, max_drop=before, adaptive=True)
    queue = red_queue(law, float(average))
    for now, expected in ((0.499, before), (0.5, after), (0.999, after)):
        queue.now, queue.uniform = round(now * 1e12), 1.0
        law.rule.decide(queue, int(average), 0.0)
        assert queue.max_drop == pytest.approx(expected)
    by_fluid = law.max_drop_derivative(AdaptedAverage(float(average), before))
    assert 0.5 * float(by_fluid) == pytest.approx(after - before, abs=1e-12)
