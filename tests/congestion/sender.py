"""A toy sender: packet rules of a congestion control, called as plain Python at regular ACKs."""

from __future__ import annotations

from collections import deque
from typing import Any

from tests.packet.plain_records import plain_class
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.congestion.loss_recovery import RESEND, RETRANSMIT, SEND, SEND_ONE
from vegasfluid.packet.records import FLOW, with_fields

RTT = 10**11  # 0.1 s in ps
FAR = 1e5


def flow_record(law: CongestionControl, cwnd: float, ssthresh: float, base_rtt: float) -> Any:
    """The record of a sender that has seen `base_rtt` (ps) and sent nothing."""
    added = {**law.rules.state, **law.packet_parameters()}
    added |= {"recovery": law.rules.recovery_number, "window_limited": 1, "reordering": 3}
    dtype = with_fields(FLOW, [added])
    flow = plain_class(dtype)()
    for name, value in (dict.fromkeys(dtype.names or (), 0) | added).items():
        setattr(flow, name, value)
    if "base_rtt" in added:
        flow.base_rtt = base_rtt
    flow.cwnd, flow.ssthresh, flow.max_window = cwnd, ssthresh, 1e6
    flow.rto, flow.min_rto, flow.backoff = 10 * RTT, 2 * RTT, 1
    return flow


class Clock:
    """A sender whose packets are acknowledged one round trip after they were sent.

    Its first window goes out evenly over the first round trip. The round trip may be changed on
    the way; no packet overtakes another.
    """

    def __init__(
        self,
        law: CongestionControl,
        cwnd: float,
        base_rtt: float,
        ssthresh: float = 2.0,
        rtt: float = RTT,
    ) -> None:
        self.rules = law.rules
        self.flow = flow_record(law, cwnd, ssthresh, base_rtt)
        self.rtt = rtt
        self.under_way: deque[tuple[float, float, int]] = deque()
        self.sent_at: dict[int, float] = {}
        self.received: set[int] = set()
        self.lost: set[int] = set()
        for place in range(int(cwnd)):
            self.send(self.flow.next_seq, place * rtt / int(cwnd))
            self.flow.next_seq += 1

    def send(self, seq: int, now: float) -> None:
        if seq not in self.lost:
            last = self.under_way[-1][0] if self.under_way else 0.0
            self.under_way.append((max(now + self.rtt, last), now, seq))
        self.lost.discard(seq)
        self.sent_at[seq] = now

    def take_ack(self) -> float:
        """Process the next ACK; when it came, ps."""
        flow = self.flow
        now, sent, seq = self.under_way.popleft()
        again = self.sent_at[seq] != sent
        self.received.add(seq)
        expected = int(flow.una)
        while expected in self.received:
            expected += 1
        acked, flow.una = expected - flow.una, expected
        self.report(expected)
        flow.acked_sent_at, flow.acked_transmissions = round(sent), 1 + again
        flow.oldest_sent_at = round(self.sent_at.get(expected, 0))
        flow.oldest_transmissions = 1
        if acked:
            self.apply(self.rules.on_ack(flow, round(now), acked), now)
        else:
            self.apply(self.rules.on_duplicate_ack(flow, round(now)), now)
        return now

    def report(self, expected: int) -> None:
        """Selective ACKs: what came out of order, and so what is lost before it."""
        flow = self.flow
        beyond = [seq for seq in self.received if seq > expected]
        flow.sacked = len(beyond)
        flow.lost_below = max([expected, *(seq + 1 - flow.reordering for seq in beyond)])

    def apply(self, action: int, now: float) -> None:
        flow = self.flow
        flow.max_seq = max(flow.max_seq, flow.next_seq)
        if action & (RETRANSMIT | RESEND):
            self.send(int(flow.una), now)
        window = int(flow.cwnd) + flow.inflation
        if action & SEND_ONE:
            window = int(flow.cwnd) + flow.duplicates
        if action & (SEND | SEND_ONE):
            while flow.next_seq < flow.una + window:
                self.send(int(flow.next_seq), now)
                flow.next_seq += 1
        flow.max_seq = max(flow.max_seq, flow.next_seq)

    def run_until(self, time: float) -> float:
        """Process all ACKs before `time`; the window then."""
        while self.under_way[0][0] < time - 0.5:
            self.take_ack()
        return float(self.flow.cwnd)
