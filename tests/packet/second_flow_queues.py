"""A link of the second engine (see `second_engine`) that has a queue for each flow.

Written from RFC 8290, section 4: queues are deques, the lists of new and old queues are, too. A
packet is taken when the link is free, and the queue discipline's rule is asked then.
"""

from __future__ import annotations

import math
from collections import deque
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tests.packet.second_network import Packet, Queue, QueuedPacket, Rng, ps
from vegasfluid.aqm.base import EARLY, FORCED, MARK
from vegasfluid.network import Link

if TYPE_CHECKING:
    from tests.packet.second_engine import Simulator
    from tests.packet.second_tcp import Flow


class OwnQueue:
    """The packets of one flow that wait, each with its time of arrival."""

    def __init__(self, state: SimpleNamespace, credit: float) -> None:
        self.state, self.credit, self.left_at = state, credit, 0
        self.packets: deque[tuple[int, QueuedPacket]] = deque()

    def size(self) -> float:
        return sum(queued.packet.size for _, queued in self.packets)


class FlowQueues(Queue):
    """A link in one direction, with a queue for each flow in front of it."""

    def __init__(self, sim: Simulator, name: str, link: Link, rng: Rng) -> None:
        assert link.aqm.flow_queues
        self.served = link.aqm.flow_queues
        self.own: dict[Flow, OwnQueue] = {}
        self.new: deque[OwnQueue] = deque()
        self.old: deque[OwnQueue] = deque()
        super().__init__(sim, name, link, rng)

    def note(self, now: int) -> None:
        state = (self.length(), self.work, 0.0, self.free)
        self.log.append((now, *self.counts.values(), *state))

    def yet_to_wait(self, end: int) -> float:
        """Less than nothing: what those that wait have waited, which counts once they leave."""
        return -float(sum(end - came for own in self.own.values() for came, _ in own.packets))

    def length(self) -> int:
        return sum(len(own.packets) for own in self.own.values())

    def queue_of(self, flow: Flow) -> OwnQueue:
        if flow not in self.own:
            aqm = self.link.aqm
            fields = {"uniform": 0.0, "uniform_used": 1}
            state = SimpleNamespace(**fields, **aqm.rule.state, **aqm.packet_parameters())
            self.own[flow] = OwnQueue(state, self.served.initial_quantum)
        return self.own[flow]

    def arrive(self, packet: Packet, flow: Flow, stage: int, now: int) -> None:
        if stage < flow.data_hops:
            self.came.append(now)
        own, queued = self.queue_of(flow), QueuedPacket(packet, flow, stage, 0)
        buffer = int(self.link.buffer)
        full = self.length() >= buffer or len(own.packets) >= self.served.flow_limit
        if full and not self.served.drops_longest:
            self.lose("full", queued, now)
        else:
            own.packets.append((now, queued))
            if own not in self.new and own not in self.old:
                if now - own.left_at >= ps(self.served.refill_delay):
                    own.credit = max(own.credit, self.served.quantum)
                self.new.append(own)
            if self.length() > buffer:
                self.cut_longest(now)
        if self.serving is None:
            self.serve(now)
        self.note(now)

    def cut_longest(self, now: int) -> None:
        longest = max(self.in_order(), key=OwnQueue.size)
        for _ in range(min(64, math.ceil(len(longest.packets) / 2))):
            came, queued = longest.packets.popleft()
            self.lost_waited += now - came
            self.lose("full", queued, now)

    def in_order(self) -> list[OwnQueue]:
        """Queues in the order of their flows: the first of equal ones is cut."""
        return [self.own[flow] for flow in sorted(self.own, key=lambda flow: flow.number)]

    def lose(self, why: str, queued: QueuedPacket, now: int) -> None:
        self.counts[why] += 1
        if queued.stage < queued.flow.data_hops:
            queued.flow.lose(now)

    def serve(self, now: int) -> None:
        while self.new or self.old:
            queues = self.new or self.old
            own = queues[0]
            if own.credit <= 0:
                own.credit += self.served.quantum
                self.old.append(queues.popleft())
            elif not own.packets:
                self.link.aqm.rule.on_empty(own.state)
                queues.popleft()
                own.left_at = now
                if queues is self.new and self.old:
                    self.old.append(own)
            elif chosen := self.judge(own, *own.packets.popleft(), now):
                own.credit -= chosen.packet.size
                self.send(chosen, now)
                return

    def judge(self, own: OwnQueue, came: int, queued: QueuedPacket, now: int) -> Any:
        """The packet, if it is not dropped as it leaves its queue."""
        packet, flow, state = queued.packet, queued.flow, own.state
        if state.uniform_used:
            state.uniform, state.uniform_used = self.rng.uniform(), 0
        is_data = queued.stage < flow.data_hops
        state.now, state.free, state.relative_size = came, now, packet.size
        state.ect = is_data and flow.spec.ecn and flow.spec.law.rules.reliable
        verdict = self.link.aqm.rule.decide(state, self.length(), 0.0)
        if verdict in (EARLY, FORCED):
            self.lost_waited += now - came
            self.lose({EARLY: "early", FORCED: "forced"}[verdict], queued, now)
            return None
        self.counts["marked"] += verdict == MARK
        packet.marked |= verdict == MARK
        return queued

    def send(self, queued: QueuedPacket, now: int) -> None:
        self.counts["admitted"] += 1
        self.work += queued.packet.size
        most = ps(self.link.jitter)
        jitter = int(self.rng.uniform() * most) if most else 0
        self.waiting.append(queued._replace(jitter=jitter))
        super().serve(now)

    def depart(self, now: int) -> None:
        super().depart(now)
        if self.serving is None:
            self.serve(now)
            self.note(now)
