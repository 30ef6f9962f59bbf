"""Packets and queues of the second engine (see `second_engine`)."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from vegasfluid.aqm.base import ADMIT, EARLY, FORCED, MARK
from vegasfluid.network import Link

if TYPE_CHECKING:
    from tests.packet.second_engine import Simulator
    from tests.packet.second_tcp import Flow

DEPARTURE, ARRIVAL, EDGE, REACHED, DELAYED_ACK, RECEIVED, ACK, APPLICATION, TIMER = range(9)
"""Kinds of events, in the order in which those of one time are processed: a packet leaves a link,
comes to a queue, to the far access link, through it, is taken whole; and what is due by a clock."""


def ps(seconds: float) -> int:
    """Whole picoseconds."""
    return round(seconds * 1e12)


class Rng:
    """xorshift128+ with shifts 23, 17, 26 (S. Vigna, 2017), in whole numbers."""

    def __init__(self, record: Any) -> None:
        self.s = [int(record["rng_a"]), int(record["rng_b"])]

    def uniform(self) -> float:
        x, y = self.s
        x ^= (x << 23) % 2**64
        self.s = [y, x ^ y ^ (x >> 17) ^ (y >> 26)]
        return ((self.s[1] + y) % 2**64 >> 11) / 2**53


@dataclass
class Packet:
    """A packet of data, or an ACK: then `seq` is the next packet that is expected."""

    seq: int
    size: float = 1.0
    answers: int = 0
    """The sender's latest answer to a mark (as CWR in RFC 3168), and 0 on what is older."""
    marked: bool = False
    """By a queue; of an ACK: the echo."""
    block: range = range(0)
    """What an ACK reports of what came out of order."""


@dataclass
class Echo:
    """What a receiver echoes of marks: by RFC 3168, section 6.1.3, or by RFC 8257, section 3.2."""

    exact: bool
    on: bool = False
    answer_seen: int = 0

    def turns(self, packet: Packet) -> bool:
        """Whether marks begin or end, so that an ACK is sent at once."""
        return self.exact and packet.marked != self.on

    def take(self, packet: Packet) -> None:
        if self.exact:
            self.on = packet.marked
            return
        if packet.answers > self.answer_seen:
            self.on, self.answer_seen = False, packet.answers
        self.on |= packet.marked


class QueuedPacket(NamedTuple):
    """A packet in a queue, whose it is, where on its way, and its jitter."""

    packet: Packet
    flow: Flow
    stage: int
    jitter: int


class Queue:
    """A link in one direction, with the queue in front of it."""

    def __init__(self, sim: Simulator, name: str, link: Link, rng: Rng) -> None:
        self.sim, self.name, self.link, self.rng = sim, name, link, rng
        fields = {"count": 0.0, "avg_queue": 0.0, "uniform": 0.0, "uniform_used": 1, "in_bytes": 0}
        fields |= {**link.aqm.rule.state, **link.aqm.packet_parameters()}
        self.state = SimpleNamespace(**fields)
        self.waiting: deque[QueuedPacket] = deque()
        self.serving: QueuedPacket | None = None
        self.idle_since, self.free, self.work = 0, 0, 0.0
        self.counts = Counter(dict.fromkeys(("admitted", "early", "forced", "full", "marked"), 0))
        self.lost_waited = 0
        """What packets waited that were dropped afterwards, ps."""
        self.log: list[tuple[float, ...]] = []
        self.came: list[int] = []
        """When packets of data came."""
        self.note(0)

    def note(self, now: int) -> None:
        done = self.free + sum(self.service(queued.packet.size) for queued in self.waiting)
        state = (len(self.waiting), self.work, self.state.avg_queue, done)
        self.log.append((now, *self.counts.values(), *state))

    def service(self, size: float) -> int:
        return ps(size / self.link.capacity)

    def decide(self, packet: Packet, flow: Flow, is_data: bool, now: int) -> str:
        """What becomes of a packet that arrives."""
        state, idle = self.state, 0.0
        if self.serving is None:
            idle = float((now - self.idle_since) // self.service(1.0))
        if state.uniform_used:
            state.uniform, state.uniform_used = self.rng.uniform(), 0
        state.now, state.relative_size = now, packet.size
        work = sum(self.service(queued.packet.size) for queued in self.waiting)
        state.waiting_size = work / self.service(1.0)
        state.free, state.service = self.free + work, self.service(1.0)
        state.ect = is_data and flow.spec.ecn and flow.spec.law.rules.reliable
        verdict = self.link.aqm.rule.decide(state, len(self.waiting), idle)
        if verdict in (EARLY, FORCED):
            return {EARLY: "early", FORCED: "forced"}[verdict]
        if (state.waiting_size if state.in_bytes else len(self.waiting)) >= int(self.link.buffer):
            state.count = 0.0
            return "full"
        assert verdict in (ADMIT, MARK)
        self.counts["marked"] += verdict == MARK
        packet.marked |= verdict == MARK
        return "admitted"

    def yet_to_wait(self, end: int) -> float:
        """What those that wait have yet to wait after the end, ps."""
        begin, total = self.free, 0.0
        for queued in self.waiting:
            total += begin - end
            begin += self.service(queued.packet.size)
        return total

    def arrive(self, packet: Packet, flow: Flow, stage: int, now: int) -> None:
        is_data = stage < flow.data_hops
        if is_data:
            self.came.append(now)
        fate = self.decide(packet, flow, is_data, now)
        self.counts[fate] += 1
        if fate == "admitted":
            self.work += packet.size
            most = ps(self.link.jitter)
            jitter = int(self.rng.uniform() * most) if most else 0
            self.waiting.append(QueuedPacket(packet, flow, stage, jitter))
            if self.serving is None:
                self.serve(now)
        elif is_data:
            flow.lose(now)
        self.note(now)

    def serve(self, now: int) -> None:
        self.serving = self.waiting.popleft()
        self.free = now + self.service(self.serving.packet.size)
        self.sim.schedule(self.free, DEPARTURE, 0, self.sim.order_of(self), self)

    def depart(self, now: int) -> None:
        assert self.serving
        packet, flow, stage, jitter = self.serving
        delay = self.link.delay
        for event in self.sim.network.events:
            if event.link == self.name and ps(event.at) <= now:
                delay = event.delay
        arrival = now + ps(delay) + jitter
        if self.link.jitter and not self.link.jitter_reorders:
            arrival = max(arrival, flow.latest[stage])
            flow.latest[stage] = arrival
        flow.go_on(packet, stage + 1, arrival)
        self.serving, self.idle_since = None, now
        if self.waiting:
            self.serve(now)
        self.note(now)
