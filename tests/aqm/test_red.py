"""RED's packet rule, step by step, against what ns-2.35's `queue/red.cc` does."""

from __future__ import annotations

import pytest

from tests.congestion.test_contract import red_queue, state
from vegasfluid.aqm.base import ADMIT, EARLY, FORCED, MARK
from vegasfluid.aqm.red import Red


@pytest.mark.parametrize("average", [60.0, 200.0])
@pytest.mark.parametrize("waiting", [0, 1])
def test_one_packet_in_the_queue_is_never_followed_by_a_drop(average: float, waiting: int) -> None:
    """red.cc: `if (edv_.v_ave >= edp_.th_min && qlen > 1)`, however large the average is."""
    queue = red_queue(Red(20, 100, max_drop=1.0), average)
    queue.above, queue.uniform = 1, 0.0
    assert Red(20, 100).rule.decide(queue, waiting, 0.0) == ADMIT
    assert queue.above == 0


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
