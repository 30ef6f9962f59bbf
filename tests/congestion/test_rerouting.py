"""The modified Vegas of La, Walrand and Anantharam: when it takes a longer way for what it is."""

from __future__ import annotations

import math

import pytest

from tests.congestion.sender import RTT, Clock
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.congestion.vegas_rerouting import VegasRerouting
from vegasfluid.errors import InvalidInput

K, N, L = 100, 20, 4
CONSTANT = {"alpha": 1, "beta": 500, "gamma": 1}
"""Thresholds between which every backlog of these tests lies, so that the window is constant."""


class Route:
    """A sender with a steady window whose route changes after some ACKs."""

    def __init__(self, law: VegasRerouting | Vegas, rtt: float = RTT, queued: float = 0.0) -> None:
        self.clock, self.acks = Clock(law, 10.0, rtt, rtt=rtt + queued), 0
        self.flow, self.window = self.clock.flow, 10.0

    def take(self, count: int) -> None:
        for _ in range(count):
            self.clock.take_ack()
            self.acks += 1

    def lengthen(self, rtt: float) -> int:
        """Change the route; process the ACKs that went the old way. The ACKs so far."""
        self.clock.rtt = rtt
        first = int(self.flow.next_seq)
        while self.flow.una < first:
            self.take(1)
        return self.acks

    def follows_after(self, most: int) -> int | None:
        """After how many more ACKs the base RTT is another; None: not after `most`."""
        base = self.flow.base_rtt
        for count in range(1, most + 1):
            self.window = float(self.flow.cwnd)
            self.take(1)
            if self.flow.base_rtt != base:
                return count
        return None


@pytest.mark.parametrize("before", [90, 104, 109, 110, 195])
def test_the_base_rtt_follows_a_longer_route_after_four_groups(before: int) -> None:
    """Groups of N packets begin after the K-th; the first L whole ones on the new way count."""
    route = Route(VegasRerouting(**CONSTANT))
    route.take(before)
    old = route.lengthen(2.0 * RTT)
    assert old >= K
    last = K + N * (math.ceil((old - K) / N) + L)  # by hand: the end of the L-th such group
    assert route.follows_after(500) == last - old
    assert route.flow.base_rtt == pytest.approx(2.0 * RTT)  # step (a)
    # Step (b): cwnd baseRTT_estimate / baseRTT + 1, with the old base RTT.
    assert route.flow.cwnd == pytest.approx(2.0 * route.window + 1.0, abs=0.2)


def test_plain_vegas_never_follows() -> None:
    route = Route(Vegas(dialect="ns2", **CONSTANT))
    route.take(110)
    route.lengthen(2.0 * RTT)
    assert route.follows_after(2000) is None


def test_a_spike_of_three_groups_is_forgotten() -> None:
    route = Route(VegasRerouting(**CONSTANT))
    route.take(110)
    begin = route.lengthen(2.0 * RTT)
    assert route.follows_after(3 * N - 5) is None
    end = route.lengthen(RTT)
    assert route.flow.groups_high == 3
    assert 3 * N <= end - begin < L * N
    assert route.follows_after(400) is None
    assert route.flow.base_rtt == pytest.approx(RTT)
    assert route.flow.groups_high == 0


def test_nothing_happens_while_the_backlog_is_learnt() -> None:
    """Step (1): up to the K-th packet it is plain Vegas; what RTT that one has is no surprise."""
    route = Route(VegasRerouting(**CONSTANT))
    route.take(40)
    route.lengthen(2.0 * RTT)
    assert route.follows_after(1000) is None
    assert route.flow.backlog_delay == pytest.approx(RTT)  # 2 RTT - RTT at the K-th packet


@pytest.mark.parametrize(
    ("rtt", "queued", "limit"),
    [
        (RTT, 0.0, 0.2 * RTT),  # delta base
        (RTT, 0.05 * RTT, 0.25 * RTT),  # and what the own packets add
        (10 * RTT, 0.0, RTT),  # gamma = 100 ms is less than 0.2 of a second
    ],
)
def test_the_margin_is_the_smaller_of_delta_and_gamma(
    rtt: float, queued: float, limit: float
) -> None:
    for excess, follows in ((0.99, False), (1.01, True)):
        route = Route(VegasRerouting(**CONSTANT), rtt, queued)
        route.take(K + N - 10)
        assert route.flow.backlog_delay == pytest.approx(queued)
        route.lengthen(rtt + excess * limit)
        assert (route.follows_after(6 * N) is not None) is follows


def test_up_to_the_k_th_packet_and_in_peace_it_is_ns2s_vegas() -> None:
    windows = []
    for law in (VegasRerouting(), Vegas(dialect="ns2")):
        clock = Clock(law, 4.0, RTT / 1.05, ssthresh=1e5)
        windows.append([clock.run_until(n * RTT) for n in range(1, 60)])
    assert windows[0] == windows[1]


def test_invalid_input_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="alpha must be at most beta"):
        VegasRerouting(alpha=4)
    with pytest.raises(InvalidInput, match="delta must be below 1"):
        VegasRerouting(delta=1.0)
