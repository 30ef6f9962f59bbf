"""CoDel's packet rule and fluid against RFC 8289 and computations by hand.

`tests/agreement/test_linux_queues.py` compares packets with a real Linux kernel.
"""

from __future__ import annotations

import math

import pytest

from tests.aqm.queue_records import record
from vegasfluid import CoDel, Flows, Link, Network, Reno, mbps, metrics, simulate_fluid
from vegasfluid.analysis import equilibrium
from vegasfluid.aqm.base import ADMIT, EARLY, MARK, QueueState
from vegasfluid.aqm.codel import CoDelState

MS = 10**9
"""A millisecond, ps."""
LONG, SHORT = 10, 2
"""Delays above and below the target of 5 ms, ms."""


class Queue:
    """A queue that packets leave one each millisecond, after a delay that the test chooses."""

    def __init__(self, law: CoDel = CoDel(), **values: int) -> None:  # noqa: B008 (it is frozen)
        self.record = record(law, **values)
        self.law, self.time = law, 1000

    def leave(self, delay: int, waiting: int = 10) -> int:
        """The verdict on a packet that leaves at the present time, ms, after this delay, ms."""
        self.record.now, self.record.free = (self.time - delay) * MS, self.time * MS
        return self.law.rule.decide(self.record, waiting, 0.0)

    def drops(self, packets: int, delay: int) -> list[int]:
        """Times, ms, of drops among these many packets; a packet that is dropped takes no time."""
        found = []
        for _ in range(packets):
            if self.leave(delay) == EARLY:
                found.append(self.time)
            else:
                self.time += 1
        return found


def test_drops_come_ever_closer() -> None:
    """RFC 8289, 5.3: the first after an interval, then interval / sqrt(n) after the n-th."""
    found = Queue().drops(500, LONG)
    wanted = 1101.0  # the first packet later than an interval after the one at 1000 ms
    assert found[0] == wanted
    for number, time in enumerate(found[1:], 1):
        wanted += 100 / math.sqrt(number)
        assert time == math.ceil(wanted - 1e-9)


@pytest.mark.parametrize(("delay", "waiting"), [(SHORT, 10), (LONG, 1)])
def test_a_packet_that_waits_less_or_leaves_one_behind_ends_the_drops(delay, waiting) -> None:
    queue = Queue()
    assert len(queue.drops(300, LONG)) == 3
    assert queue.leave(delay, waiting) == ADMIT
    queue.time += 1
    begin = queue.time
    assert queue.drops(102, LONG)[0] == begin + 101  # it takes an interval again


def test_drops_that_begin_again_soon_go_on_with_the_number_of_drops_between() -> None:
    """Linux: n drops; the next episode begins with n - 1, and not with 1, within 16 intervals."""
    for wait, count in ((0, 5), (3000, 1)):
        queue = Queue()
        while len(queue.drops(1, LONG)) == 0 or queue.record.drops < 6:
            pass
        queue.leave(SHORT)
        queue.time += 1 + wait
        first, second, *_ = queue.drops(260, LONG)
        assert queue.record.drops_before == count
        assert second - first == math.ceil(100 / math.sqrt(count) - 1e-9)


def test_the_packet_after_the_first_drop_is_let_through_whatever_it_waited() -> None:
    queue = Queue()
    while queue.leave(LONG) == ADMIT:
        queue.time += 1
    assert queue.record.dropping == 1
    assert queue.leave(SHORT) == ADMIT
    assert queue.record.dropping == 1


def test_an_idle_link_ends_the_drops() -> None:
    queue = Queue()
    queue.drops(250, LONG)
    assert queue.record.dropping == 1
    queue.record.now, queue.record.free = queue.time * MS, (queue.time - 1) * MS
    assert queue.law.rule.decide(queue.record, 0, 1.0) == ADMIT
    assert queue.record.dropping == 0


def test_marks_take_the_place_of_drops() -> None:
    """A marked packet leaves, so that the next mark is at least a packet later."""
    queue = Queue(CoDel(ecn=True), ect=1)
    verdicts, times = [], []
    for _ in range(400):
        verdicts.append(queue.leave(LONG))
        times.append(queue.time)
        queue.time += 1
    marks = [time for time, verdict in zip(times, verdicts, strict=True) if verdict == MARK]
    assert EARLY not in verdicts
    assert marks[:3] == [1101, 1201, 1272]  # after 100 and 100 / sqrt(2) ms
    queue.record.ect = 0
    assert queue.drops(200, LONG)


def state(delay: float, load: float, timer: float) -> QueueState:
    return QueueState(1000 * delay, CoDelState(load, timer), 1000.0, 1000.0, 1e6)


def test_the_fluids_rate_of_drops_grows_as_the_spacing_makes_it() -> None:
    """Drops at t_n = I sum 1/sqrt(k), about 2 I sqrt(n): n = (t / 2 I)^2, at a rate of t / (2 I^2).

    With I = 0.1 s the rate of drops grows by 50 packets/s in a second, at any time.
    """
    for load in (0.0, 0.04):
        rate = CoDel().derivative(state(0.02, load, 1.5))
        assert 1000 * float(rate.drop_load) == pytest.approx(50.0)
    times = [0.0]
    for number in range(1, 400):
        times.append(times[-1] + 0.1 / math.sqrt(number))
    rates = [1 / (times[n + 1] - times[n]) for n in (100, 300)]
    assert (rates[1] - rates[0]) / (times[300] - times[100]) == pytest.approx(50.0, rel=1e-2)


def test_the_fluid_drops_nothing_until_an_interval_has_passed() -> None:
    for timer, fraction in ((0.5, 0.0), (1.5, 0.02)):
        found = CoDel().drop_prob(state(0.02, 0.02 / 0.98, timer))
        assert float(found) == pytest.approx(fraction)
    rising, falling = (CoDel().derivative(state(delay, 0.0, 0.5)).timer for delay in (0.02, 0.001))
    assert float(rising) == pytest.approx(10.0 * (1 - 0.5 / 2))
    assert float(falling) == pytest.approx(-0.5 * 100)


def test_nothing_that_can_be_marked_is_dropped() -> None:
    here = state(0.02, 0.1, 1.5)
    assert float(CoDel(ecn=True).forced_prob(here)) == 0.0
    assert float(CoDel().forced_prob(here)) == float(CoDel().drop_prob(here)) > 0.05


def many() -> Network:
    """Twenty Reno flows over 50 Mbit/s."""
    flows = {"reno": Flows(20, Reno(), base_rtt=0.05)}
    return Network(Link(mbps(50), 1000, CoDel()), flows)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_at_equilibrium_the_delay_is_a_little_above_the_target() -> None:
    delay = float(equilibrium(many()).values.queue[0]) / mbps(50)
    assert 0.005 < delay < 1.5 * 0.005


def test_the_fluid_cycles_with_a_delay_of_several_targets() -> None:
    """In an interval without drops 20 flows add 20 packets in each of two round-trip times: 10 ms.

    In packet runs the mean delay is 14 ms (not asserted: it is the benchmark's).
    """
    run = simulate_fluid(many(), until=40, warmup=15)
    delay = float(metrics.queueing_delay(run)[0])
    assert 2 * 0.005 < delay < 4 * 0.005
    assert any("oscillates" in line for line in run.attrs["warnings"].splitlines())
