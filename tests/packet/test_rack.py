"""RACK-TLP recovery step by step, on senders whose packets and ACKs are written by hand.

Times are those of RFC 8985, RFC 6937, RFC 6298 and of Linux 6.1; runs against the kernel are in
`tests/agreement/test_linux.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.packet.single_calls import Engine
from vegasfluid import Flows, Link, Network, Reno, Vegas
from vegasfluid.errors import Unsupported
from vegasfluid.packet.rack import sending, timers, windows
from vegasfluid.packet.rack.records import (
    DISORDER,
    LOSS,
    NOT_SET,
    OPEN,
    PROBE_TIMER,
    RECOVERY,
    REORDERING_TIMER,
    RTO_TIMER,
)
from vegasfluid.packet.rack.scoreboard import advance_rack, detect_losses, in_flight
from vegasfluid.packet.sender import expire_rto, send_window

MS = 10**9
RTT = 100 * MS
LAW = Reno(recovery="rack", byte_counting=True)


class Sender(Engine):
    """A sender with a window of packets, sent one millisecond apart, and an RTT of 100 ms.

    Other flows that share its link have each one of the laws `others`, and have sent nothing.
    """

    def __init__(
        self, window: int, law: Any = LAW, ssthresh: float = 2.0, others: tuple[Any, ...] = ()
    ) -> None:
        flows = {
            f"flow {number}": Flows(1, its, base_rtt=0.1, initial_window=10, send_overhead=0.0)
            for number, its in enumerate((law, *others))
        }
        super().__init__(Network(Link(1000.0, 1000), flows))
        # far enough from the handshake, whose ACK is another function
        self.flow.una = self.flow.next_seq = self.flow.lost_below = self.flow.fack = 10
        self.flow.max_seq = self.flow.high_rxt = 10
        self.flow.srtt, self.flow.least_rtt, self.flow.rto = RTT, RTT, 3 * RTT
        self.flow.cwnd, self.flow.ssthresh = float(window), ssthresh
        for number in range(window):
            self.flow.cwnd = number + 1.0
            self.call(sending.send_new, number * MS)
        self.flow.cwnd = float(window)

    def ack(self, now: int, number: int, low: int = 0, high: int = 0) -> None:
        """An ACK of packets below `number`, with the SACK block from `low` to below `high`."""
        self.call(sending.receive_ack, now, number, low, high, False)

    def slot(self, seq: int) -> Any:
        return self.sim.slots[0, seq % 256]

    @property
    def resent(self) -> list[int]:
        """Packets of the window that were sent more than once."""
        flow = self.flow
        return [n for n in range(flow.una, flow.next_seq) if self.slot(n).transmissions > 1]


def test_a_window_is_in_flight_and_a_probe_waits_for_two_round_trips() -> None:
    sender = Sender(10)
    assert in_flight(sender.flow) == 10
    # RFC 8985, section 7.2: 2 srtt after the last packet; Linux adds 2 ms
    assert sender.flow.timer == PROBE_TIMER
    assert sender.flow.deadline == 9 * MS + 2 * RTT + 2 * MS


def test_three_packets_out_of_order_start_recovery() -> None:
    """The first packet is missing: two SACKs send new packets, the third retransmits it."""
    sender = Sender(20)
    for number in (1, 2):
        sender.ack(RTT + number * MS, 10, 11, 11 + number)
        assert sender.flow.state == DISORDER
        assert sender.resent == []
        assert sender.flow.next_seq == 30 + number  # limited transmit (RFC 3042)
    sender.ack(RTT + 3 * MS, 10, 11, 14)
    assert sender.flow.state == RECOVERY
    assert sender.resent == [10]
    assert sender.flow.ssthresh == 10


def test_where_all_older_packets_were_delivered_or_lost_nothing_is_waited_for() -> None:
    """In recovery the reordering window is 0 (RFC 8985, section 6.2); 11 to 13 are delivered."""
    sender = Sender(20)
    for number in (1, 2, 3):
        sender.ack(RTT + number * MS, 10, 11, 11 + number)
    assert sender.call(detect_losses, RTT + 3 * MS) == 0
    assert sender.flow.lost_below == 14  # the search goes on there


def test_with_fewer_the_reordering_window_is_a_quarter_of_the_smallest_rtt() -> None:
    """RFC 8985, section 6.2: early retransmit without three duplicate ACKs."""
    sender = Sender(3)
    sender.ack(RTT + 2 * MS, 10, 11, 13)
    assert sender.flow.timer == REORDERING_TIMER
    # packet 10 was sent at 0, packet 12 at 2 ms and delivered after an RTT; Linux adds 2 ms
    assert sender.flow.deadline == RTT + 25 * MS + 2 * MS
    sender.call(sending.expire_timer, sender.flow.deadline)
    assert (sender.flow.state, sender.resent) == (RECOVERY, [10])
    assert sender.flow.timeouts == 0


def test_a_lost_retransmission_is_sent_again_without_a_timeout() -> None:
    """RFC 8985: a packet sent after the retransmission is delivered, so that is lost, too."""
    sender = Sender(20)
    for number in range(1, 20):
        sender.ack(RTT + number * MS, 10, 11, 11 + number)
    again = sender.slot(10)
    assert again.transmissions == 2
    # the packets 30, 31, ... were sent from RTT + 1 ms on; 10 again at RTT + 3 ms
    later = [n for n in range(30, sender.flow.next_seq) if sender.slot(n).sent_at > again.sent_at]
    arrives = int(sender.slot(later[0]).sent_at) + RTT
    sender.ack(arrives, 10, 11, later[0] + 1)
    assert sender.slot(10).transmissions == 3
    assert sender.slot(10).sent_at == arrives
    assert sender.flow.timeouts == 0


@pytest.mark.parametrize(
    ("transmissions", "rtt", "taken"),
    [(1, RTT // 2, True), (1, 2 * RTT, True), (2, RTT // 2, False), (2, 2 * RTT, True)],
)
def test_of_what_was_sent_twice_the_delivery_counts_after_the_smallest_rtt(
    transmissions: int, rtt: int, taken: bool
) -> None:
    """RFC 8985, section 6.2, step 2: before that, it may be the original that arrived."""
    sender = Sender(4)
    slot = sender.slot(12)
    slot.transmissions, slot.sent_at = transmissions, RTT
    advance_rack(sender.flow, slot, 12, RTT + rtt)
    found = (sender.flow.rack_advanced, sender.flow.rack_rtt, sender.flow.rack_sent_at)
    assert found == ((1, rtt, RTT) if taken else (0, 0, NOT_SET))


@pytest.mark.parametrize("cut", [0.5, 0.7])
def test_rate_reduction_sends_in_proportion_to_what_arrives(cut: float) -> None:
    """RFC 6937, section 3: sent = ceil(delivered ssthresh / prior window) while above ssthresh."""
    sender = Sender(20)
    flow = sender.flow
    flow.prior_cwnd, flow.ssthresh, flow.state = 20.0, 20 * cut, RECOVERY
    flow.lost_out, sent = 1, []
    for _ in range(6):
        flow.sacked += 1
        windows.reduce_window(flow, 1, 0, False)
        allowed = int(flow.cwnd) - in_flight(flow)
        flow.next_seq += allowed
        flow.reduced_sent += allowed
        sent.append(int(flow.reduced_sent))
    assert sent == [int(np.ceil(n * 20 * cut / 20)) for n in range(1, 7)]


def test_below_ssthresh_the_reduction_sends_what_arrives_and_one_more() -> None:
    """RFC 6937, section 3.1, slow start reduction bound."""
    sender = Sender(20)
    flow = sender.flow
    flow.prior_cwnd, flow.ssthresh, flow.state = 20.0, 10.0, RECOVERY
    flow.lost_out, flow.reduced_delivered, flow.reduced_sent = 15, 3, 3
    windows.reduce_window(flow, 1, 0, True)
    assert flow.cwnd == 5 + 2
    windows.reduce_window(flow, 1, 2, True)  # more is lost: only what arrives
    assert flow.cwnd == 5 + max(1, 5 - 3)


def test_the_end_of_recovery_sets_the_window_to_ssthresh() -> None:
    sender = Sender(20)
    for number in range(1, 20):
        sender.ack(RTT + number * MS, 10, 11, 11 + number)
    sender.ack(2 * RTT + 3 * MS, int(sender.flow.recover))
    assert (sender.flow.state, sender.flow.cwnd) == (OPEN, 10.0)
    assert (sender.flow.sacked, sender.flow.lost_out, sender.flow.resent_out) == (0, 0, 0)


def test_a_late_packet_undoes_the_recovery() -> None:
    """RFC 3522: the ACK comes sooner than an RTT after the retransmission, so it is the original's.

    RFC 8985, section 6.2, step 2, says the same.
    """
    sender = Sender(20)
    for number in (1, 2, 3):
        sender.ack(RTT + number * MS, 10, 11, 11 + number)
    assert sender.flow.ssthresh == 10
    sender.ack(RTT + 8 * MS, 14)
    assert sender.flow.cwnd >= 20
    assert sender.flow.ssthresh >= 15
    assert sender.flow.reordering_seen == 1


def test_the_probe_is_a_new_packet_and_then_the_timeout_runs() -> None:
    """RFC 8985, section 7.3."""
    sender = Sender(4)
    at = int(sender.flow.deadline)
    sender.call(sending.expire_timer, at)
    assert sender.flow.next_seq == 15
    assert sender.flow.timeouts == 0
    assert (sender.flow.timer, sender.flow.deadline) == (RTO_TIMER, at + 3 * RTT)


def test_a_timeout_marks_old_packets_and_sends_the_oldest_again() -> None:
    sender = Sender(8)
    sender.flow.timer, sender.flow.rack_rtt = RTO_TIMER, RTT
    sender.flow.deadline = RTT + 4 * MS  # packets 15, 16, 17 were sent within the last RTT
    sender.call(sending.expire_timer, int(sender.flow.deadline))
    assert (sender.flow.state, sender.flow.timeouts) == (LOSS, 1)
    assert [n for n in range(10, 18) if sender.slot(n).lost] == [10, 11, 12, 13, 14]
    assert sender.resent == [10]
    assert (sender.flow.ssthresh, sender.flow.cwnd) == (4.0, 4.0)
    # RFC 6298, sections 5.5 and 5.6: the next one comes after twice the time
    assert sender.flow.backoff == 2
    assert (sender.flow.timer, sender.flow.deadline) == (RTO_TIMER, RTT + 4 * MS + 2 * 3 * RTT)


def test_a_spurious_timeout_is_undone_when_originals_arrive() -> None:
    """RFC 5682, section 3.1, step 3.b: packets sent once are acknowledged after the timeout."""
    sender = Sender(8)
    sender.flow.timer, sender.flow.rack_rtt = RTO_TIMER, RTT
    sender.call(sending.expire_timer, 4 * RTT)
    sender.ack(5 * RTT, 11)  # of the retransmission, or the late original
    assert sender.flow.state == LOSS
    assert sender.flow.next_seq > 18  # two new packets show which
    sender.ack(5 * RTT + MS, 12)
    assert sender.flow.state == OPEN
    assert sender.flow.cwnd >= 8


@pytest.mark.parametrize(("rtt", "timeout"), [(20, 20 + 200), (150, 150 + 300)])
def test_the_timeout_is_the_rtt_and_at_least_200_ms_more(rtt: int, timeout: int) -> None:
    """Linux's tcp_rtt_estimator: the first sample's deviation is half of it (times 4)."""
    sender = Sender(4)
    sender.flow.srtt, sender.flow.min_rto = 0, 200 * MS
    timers.estimate_rtt(sender.flow, rtt * MS)
    assert sender.flow.rto == timeout * MS


def test_retransmitted_packets_are_timed_from_their_last_transmission() -> None:
    """By timestamps (RFC 7323): 3 RTTs after the last transmission, 5 after the first."""
    sender = Sender(4)
    sender.slot(10).transmissions, sender.slot(10).sent_at = 2, 2 * RTT
    sender.ack(5 * RTT, 11)
    assert sender.flow.srtt == RTT + (3 * RTT - RTT) // 8


def test_vegas_of_linux_is_off_in_disorder_and_forgets_its_base_rtt_after_a_timeout() -> None:
    """net/ipv4/tcp_vegas.c: set_state and CA_EVENT_TX_START."""
    sender = Sender(20, Vegas(dialect="linux"))
    sender.flow.base_rtt = 0.7 * RTT
    sender.ack(RTT + MS, 10, 11, 12)
    assert (sender.flow.state, sender.flow.vegas_on) == (DISORDER, 0)
    sender.ack(RTT + 2 * MS, 12)
    assert (sender.flow.state, sender.flow.vegas_on) == (OPEN, 1)
    assert sender.flow.base_rtt == 0.7 * RTT
    sender.flow.timer = RTO_TIMER
    sender.call(sending.expire_timer, 9 * RTT)
    assert sender.flow.base_rtt > 1e20
    assert sender.flow.vegas_on == 1
    assert sender.flow.undo_marker != NOT_SET


def test_a_flow_without_rack_follows_its_own_recovery_next_to_one_that_has_it() -> None:
    """RFC 5681, section 3.2: each of three duplicate ACKs adds a packet to a window of five.

    RFC 5681, section 3.1: after a timeout the window is one packet, the oldest.
    """
    sender = Sender(4, others=(Reno(recovery="newreno"),))
    other = sender.sim.flows[1]
    other.cwnd, other.inflation = 5.0, 3
    sender.call(send_window, 0, f=1)
    assert (other.next_seq - other.una, other.sent) == (8, 8)
    sender.call(expire_rto, 10 * RTT, f=1)
    assert (other.timeouts, other.cwnd) == (1, 1.0)
    assert (other.next_seq - other.una, other.sent) == (1, 9)


def test_handlers_that_rack_would_not_call_are_refused():
    rules = LAW.rules
    with pytest.raises(Unsupported, match=r"handlers of on_ack .* RACK-TLP recovery does not call"):
        replace(rules, handlers={"on_ack": rules.on_ack})
    assert replace(rules, recovery="sack", handlers={"on_ack": rules.on_ack}).handlers
