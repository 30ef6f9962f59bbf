"""The compiled engine against itself as plain Python, and against a second engine.

The second one is a conventional simulator with one heap of events, and judges the scheduling.
vegasfluid's engine follows a packet to its ACK the moment that it is admitted, and keeps one key a
flow; here every arrival at the queue, every departure from the link, every arrival at the receiver,
every ACK and every timer is an event of its own, in order of time. Both use the same rules of the
laws; everything else is written anew, the layout of the path and the random numbers included. All
times are whole picoseconds, so the two must agree to the last packet.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.law import AbstractQueueLaw
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.law import RETRANSMIT, SEND, SEND_ONE, AbstractWindowLaw
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.network import Flows, Link, Network
from vegasfluid.packet.compiler import interpreted
from vegasfluid.packet.setup import prepare
from vegasfluid.packet.simulate import execute, machine

US = 10**6  # ps
DEPARTURE, ARRIVAL, RECEIVED, ACK, TIMER = range(5)
"""Kinds of events, in the order in which those of one time are processed."""

SERVICE, ACCESS, LINK_DELAY, ACCESS_DELAY = 1250 * US, 250 * US, 1000 * US, 2000 * US
ACKS = (SERVICE + 2 * ACCESS) // 40  # an ACK has a fortieth of a packet's bytes
BUFFER, END, INITIAL_WINDOW = 60, 20 * 10**12, 2.0


class Xorshift:
    """xorshift128+ with shifts 23, 17, 26 (S. Vigna, 2017), in whole numbers."""

    def __init__(self, state: np.ndarray) -> None:
        self.s = [int(word) for word in state]

    def uniform(self) -> float:
        x, y = self.s
        x ^= (x << 23) % 2**64
        self.s = [y, x ^ y ^ (x >> 17) ^ (y >> 26)]
        return ((self.s[1] + y) % 2**64 >> 11) / 2**53


class Sender:
    """A TCP sender and its receiver."""

    def __init__(self, law: AbstractWindowLaw, number: int, start: int, sim: Simulator) -> None:
        self.rules, self.number, self.sim = law.rules, number, sim
        fields = {
            **dict.fromkeys(
                ["una", "next_seq", "max_seq", "duplicates", "inflation", "recover"], 0
            ),
            **dict.fromkeys(["in_recovery", "srtt", "rttvar", "timeouts", "sacked"], 0),
            "recovery": law.rules.recovery,
            "window_limited": 1,
            **law.rules.state,
            **law.packet_parameters(),
        }
        self.flow = SimpleNamespace(**fields, cwnd=INITIAL_WINDOW, ssthresh=30.0, max_window=1000.0)
        self.flow.rto, self.flow.min_rto, self.flow.backoff = 3 * 10**12, 2 * 10**11, 1
        self.flow.deadline = start + self.flow.rto
        self.log: list[tuple[int, ...]] = []
        self.sent = self.resent = self.delivered = 0
        self.arrivals: list[tuple[int, int]] = [(0, 0)]
        self.timed: tuple[int, int] | None = None
        self.sent_at: dict[int, int] = {}
        self.times_sent: Counter[int] = Counter()
        self.access_free = self.exit_free = 0
        self.early: set[int] = set()
        self.expected = 0
        self.note(0)
        self.fill(start)
        self.note(start)

    def note(self, now: int) -> None:
        flow = self.flow
        state = (self.sent, self.resent, flow.timeouts, flow.cwnd, flow.srtt)
        self.log.append((now, *state))

    def send(self, seq: int, now: int) -> None:
        flow = self.flow
        self.access_free = max(now, self.access_free) + ACCESS
        arrival = self.access_free + ACCESS_DELAY
        self.sim.schedule(arrival, ARRIVAL, self.number, seq)
        self.sent += 1
        if seq >= flow.max_seq:
            flow.max_seq = seq + 1
            self.timed = self.timed or (seq, now)
        else:
            self.resent += 1
        self.sent_at[seq] = now
        self.times_sent[seq] += 1

    def fill(self, now: int) -> None:
        flow = self.flow
        while flow.next_seq < flow.una + int(min(flow.cwnd, flow.max_window)) + flow.inflation:
            self.send(flow.next_seq, now)
            flow.next_seq += 1
        self.arm()

    def arm(self) -> None:
        self.sim.schedule(self.flow.deadline, TIMER, self.number, 0)

    def take_ack(self, upto: int, now: int) -> None:
        flow = self.flow
        acked, flow.una = upto - flow.una, upto
        if acked:
            flow.next_seq = max(flow.next_seq, flow.una)
            if self.timed and self.timed[0] < upto:
                self.sample(now - self.timed[1])
                self.timed = None
            flow.deadline = now + flow.rto * flow.backoff
            flow.acked_sent_at = self.sent_at[upto - 1]
            flow.acked_transmissions = self.times_sent[upto - 1]
        flow.oldest_sent_at = self.sent_at.get(upto, 0)
        flow.oldest_transmissions = self.times_sent[upto]
        if acked:
            action = self.rules.on_ack(flow, now, acked)
            if acked == upto:  # the first packet stands for the handshake
                flow.cwnd = INITIAL_WINDOW
        else:
            action = self.rules.on_duplicate_ack(flow, now)
        if action & RETRANSMIT:
            self.timed = None
            flow.deadline = now + flow.rto * flow.backoff
            self.send(flow.una, now)
        if action & SEND:
            self.fill(now)
        if action & SEND_ONE and flow.next_seq - flow.una < flow.duplicates + int(flow.cwnd):
            self.send(flow.next_seq, now)
            flow.next_seq += 1
        self.arm()

    def sample(self, rtt: int) -> None:
        """RFC 6298, section 2, in whole picoseconds."""
        flow = self.flow
        if not flow.srtt:
            flow.srtt, flow.rttvar = rtt, rtt // 2
        else:
            flow.rttvar += (abs(rtt - flow.srtt) - flow.rttvar) // 4
            flow.srtt += (rtt - flow.srtt) // 8
        flow.rto, flow.backoff = max(flow.srtt + 4 * flow.rttvar, flow.min_rto), 1

    def time_out(self, now: int) -> None:
        flow = self.flow
        if flow.deadline != now:
            return  # it was set anew
        flow.timeouts += 1
        self.rules.on_timeout(flow, now)
        flow.next_seq, self.timed = flow.una, None
        flow.backoff = min(64, 2 * flow.backoff)
        flow.deadline = now + flow.rto * flow.backoff
        self.fill(now)

    def receive(self, seq: int, now: int) -> None:
        """Count a packet that is new, and move on over what had come early."""
        if seq < self.expected or seq in self.early:
            return
        self.delivered += 1
        self.arrivals.append((now, self.delivered))
        self.early.add(seq)
        while self.expected in self.early:
            self.early.remove(self.expected)
            self.expected += 1


class Simulator:
    """The heap of events, and the link with its queue."""

    def __init__(
        self, laws: list[AbstractWindowLaw], aqm: AbstractQueueLaw, starts: list[int], coins: Any
    ) -> None:
        self.events: list[tuple[int, ...]] = []
        self.order = count()
        self.coins = Xorshift(coins)
        self.drops: Callable[..., int] = aqm.rule.drops
        self.queue = SimpleNamespace(count=0.0, avg_queue=0.0, coin=0.0, tossed=1)
        self.queue.__dict__.update({"in_bytes": 0} | dict(aqm.rule.state) | aqm.packet_parameters())
        self.waiting: deque[tuple[int, int]] = deque()
        self.busy: tuple[int, int] | None = None
        self.idle_since = 0
        self.log: list[tuple[int, ...]] = [(0, 0, 0, 0, 0, 0)]
        self.counts = Counter(dict.fromkeys(("admitted", "early", "forced", "full"), 0))
        self.dropped = [0] * len(laws)
        self.senders = [Sender(law, n, starts[n], self) for n, law in enumerate(laws)]

    def schedule(self, time: int, kind: int, number: int, seq: int) -> None:
        heapq.heappush(self.events, (time, kind, number, next(self.order), seq))

    def run(self) -> None:
        while self.events[0][0] <= END:
            now, kind, number, _, seq = heapq.heappop(self.events)
            sender = self.senders[number]
            if kind == ARRIVAL:
                self.arrive(number, seq, now)
            elif kind == DEPARTURE:
                self.depart(now)
            elif kind == RECEIVED:
                sender.receive(seq, now)
                back = LINK_DELAY + 2 * ACCESS_DELAY + ACKS
                self.schedule(now + back, ACK, number, sender.expected)
            elif kind == ACK:
                sender.take_ack(seq, now)
                sender.note(now)
            elif kind == TIMER:
                sender.time_out(now)
                sender.note(now)

    def arrive(self, number: int, seq: int, now: int) -> None:
        queue, waiting = self.queue, len(self.waiting)
        idle = 0.0 if self.busy else float((now - self.idle_since) // SERVICE)
        if queue.tossed:
            queue.coin, queue.tossed = self.coins.uniform(), 0
        verdict = self.drops(queue, waiting, idle)
        if verdict:
            fate = {1: "early", 2: "forced"}[verdict]
        elif waiting >= BUFFER:
            queue.count = 0.0
            fate = "full"
        else:
            fate = "admitted"
            self.waiting.append((number, seq))
            if not self.busy:
                self.serve(now)
        self.counts[fate] += 1
        self.dropped[number] += fate != "admitted"
        waiting = len(self.waiting)
        self.log.append((now, *self.counts.values(), waiting))

    def serve(self, now: int) -> None:
        self.busy = self.waiting.popleft()
        self.schedule(now + SERVICE, DEPARTURE, *self.busy)

    def depart(self, now: int) -> None:
        assert self.busy
        number, seq = self.busy
        sender = self.senders[number]
        sender.exit_free = max(now + LINK_DELAY + ACCESS_DELAY, sender.exit_free) + ACCESS
        self.schedule(sender.exit_free, RECEIVED, number, seq)
        self.busy, self.idle_since = None, now
        if self.waiting:
            self.serve(now)
        self.log.append((now, *self.counts.values(), len(self.waiting)))


EVERY: list[AbstractWindowLaw] = [
    Reno(),
    Reno(),
    Vegas(alpha=2, beta=4, dialect="ns2"),
    Vegas(alpha=6, beta=8, dialect="ns2"),
    Vegas(alpha=3, beta=5),
    Vegas(alpha=4, beta=6),
]
RED = Red(10, 30, max_drop=0.1, weight=0.01)
STARTS = [0, 70_000, 110_000, 450_000, 930_000, 1_500_000]  # us


TICKS = np.linspace(0, END, 401).astype(np.int64)


def network_of(laws: list[AbstractWindowLaw], aqm: AbstractQueueLaw) -> Network:
    flows = {
        f"f{n}": Flows(
            1,
            law,
            access=1e12 / ACCESS,
            access_delay=ACCESS_DELAY * 1e-12,
            start=STARTS[n] * 1e-6,
            max_window=1000,
            initial_window=INITIAL_WINDOW,
            initial_ssthresh=30,
        )
        for n, law in enumerate(laws)
    }
    link = Link(1e12 / SERVICE, BUFFER, aqm, delay=LINK_DELAY * 1e-12)
    return Network(link, flows, packet_bytes=1600, ack_bytes=40)


def sampled(log: list[tuple[int, ...]], names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """What the last entry up to each sample time says."""
    rows = np.array(log, float)
    last = np.searchsorted(rows[:, 0], TICKS, side="right") - 1
    return dict(zip(names, rows[last, 1:].T, strict=True))


@pytest.mark.parametrize(
    ("laws", "aqm"), [(EVERY, RED), ([Reno()] * 6, DropTail())], ids=["every law", "drop-tail"]
)
def test_both_engines_agree_to_the_last_packet(
    laws: list[AbstractWindowLaw], aqm: AbstractQueueLaw
) -> None:
    network = network_of(laws, aqm)
    begin = prepare(network, 3)
    sim = execute(network, begin, TICKS * 1e-12, machine(begin))
    flows, link = sim.flow_samples, sim.link_samples[:, 0]
    coins = np.array([begin.links["dice_a"][0], begin.links["dice_b"][0]])
    second = Simulator(laws, aqm, [start * US for start in STARTS], coins)
    second.run()
    of_link = sampled(second.log, ("admitted", "early", "forced", "full", "queue"))
    for name, values in of_link.items():
        np.testing.assert_array_equal(link[name], values, err_msg=name)
    # Little's law: the time that packets have waited is the integral of the queue.
    rows = np.array(second.log, float)
    area = np.sum(np.diff(np.append(rows[:, 0], END)) * rows[:, -1])
    assert link["waited"][-1] - area == pytest.approx(waits_to_come(second), abs=1)
    assert link["avg_queue"][-1] == second.queue.avg_queue
    for n, sender in enumerate(second.senders):
        names = ("sent", "retransmitted", "timeouts", "cwnd", "rtt")
        for name, values in sampled(sender.log, names).items():
            np.testing.assert_array_equal(flows[name][:, n], values, err_msg=f"{laws[n]} {name}")
        delivered = sampled(sender.arrivals, ("delivered",))["delivered"]
        np.testing.assert_array_equal(flows["delivered"][:, n], delivered, err_msg=f"{laws[n]}")
    np.testing.assert_array_equal(flows["dropped"][-1], second.dropped)
    assert flows["dropped"][-1].sum() > 50  # there is something to compare
    assert flows["timeouts"][-1].sum() > 2
    assert flows["delivered"][-1].sum() > 10_000


@pytest.mark.parametrize(
    ("laws", "aqm"), [(EVERY, RED), ([Reno()] * 6, DropTail())], ids=["every law", "drop-tail"]
)
def test_the_compiled_engine_gives_the_bytes_of_the_interpreted_one(
    laws: list[AbstractWindowLaw], aqm: AbstractQueueLaw
) -> None:
    network, times = network_of(laws, aqm), np.linspace(0, 6, 61)
    begin = prepare(network, 1)
    fast = execute(network, begin, times, machine(begin))
    with np.errstate(over="ignore"):  # the random numbers wrap, as they shall
        plain = execute(network, begin, times, interpreted(begin.rules))
    for array in ("flows", "stages", "links", "flow_samples", "link_samples"):
        one, other = getattr(fast, array), getattr(plain, array)
        for name in one.dtype.names:
            assert one[name].tobytes() == other[name].tobytes(), f"{array}.{name}"
    flows = fast.flow_samples
    assert flows["delivered"][-1].sum() > 3000
    assert flows["timeouts"][-1].sum() > 0
    assert flows["retransmitted"][-1].sum() > 10


def waits_to_come(second: Simulator) -> float:
    """The eager engine counts a wait when it begins: what is still to come at the end, ps."""
    if not second.busy:
        return 0.0
    free = next(event[0] for event in sorted(second.events) if event[1] == DEPARTURE)
    return float(sum(free - END + place * SERVICE for place in range(len(second.waiting))))
