"""A second packet simulator, of the conventional kind: one heap of events, in order of time.

It checks vegasfluid's engine, which looks ahead: that one follows a packet as far as it can the
moment that a queue admits it. Here every arrival at a queue, every departure from a link, every
arrival at an access link, at the receiver and at the sender, every timer of a sender, a receiver
or an application is a separate event. Both use the same rules of the laws, of the queues and of
the applications; everything else is written anew from the RFCs, in the plainest way: what is lost
or in the network is counted when it is asked for, delays are looked up when a packet leaves.

Times are whole picoseconds. Events of one time come in the order of their kinds, then of the
flows, then of the stages of their paths. Each flow and each queue draws from a separate source:
a queue when a packet arrives and the last number was used, and for jitter when it admits one, a
flow for an overhead when it sends.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import Any
from unittest.mock import patch

import numpy as np

from tests.packet.second_flow_queues import FlowQueues
from tests.packet.second_network import (
    ACK,
    APPLICATION,
    ARRIVAL,
    DELAYED_ACK,
    DEPARTURE,
    EDGE,
    REACHED,
    RECEIVED,
    TIMER,
    Queue,
    Rng,
)
from tests.packet.second_tcp import Flow
from vegasfluid.network import Link, Network
from vegasfluid.packet.initial_state import InitialState
from vegasfluid.traffic import random_variates


def queue_for(sim: Simulator, name: str, link: Link, rng: Rng) -> Queue:
    """The queue in front of a link, or the queues."""
    return (FlowQueues if link.aqm.flow_queues else Queue)(sim, name, link, rng)


def sampled(log: list[tuple[float, ...]], ticks: np.ndarray) -> np.ndarray:
    """Value of the last entry up to each time, (entries, times)."""
    rows = np.array(log, float)
    return rows[np.searchsorted(rows[:, 0], ticks, side="right") - 1, 1:].T


class Simulator:
    """The heap of events, the queues and the flows."""

    def __init__(self, network: Network, begin: InitialState, end: int) -> None:
        """Of `begin` only the random numbers and start times are used."""
        self.network = network = network.resolved()
        self.end, self.order = end, count()
        self.two_way = bool(network.events) or any(link.jitter for link in network.links.values())
        self.two_way |= any(flows.direction == "reverse" for flows in network.flows.values())
        self.events: list[tuple[Any, ...]] = []
        ways = [(name, back) for back in (False, True) for name in network.links]
        records = [*begin.links, *begin.links][: len(ways)]
        self.queues = {
            way: queue_for(self, way[0], network.links[way[0]], Rng(record))
            for way, record in zip(ways, records, strict=True)
        }
        names = [name for name, flows in network.flows.items() for _ in range(flows.count)]
        self.first = {name: names.index(name) for name in names}
        self.flows = [Flow(self, name, n, begin.flows[n]) for n, name in enumerate(names)]

    def order_of(self, queue: Queue) -> int:
        return list(self.queues.values()).index(queue)

    def schedule(self, time: int, kind: int, number: int, stage: int = 0, what: Any = None) -> None:
        heapq.heappush(self.events, (time, kind, number, stage, next(self.order), what))

    def run(self) -> None:
        with patch.object(
            random_variates, "uniform", lambda state: state.rng.uniform(), create=True
        ):
            while self.events and self.events[0][0] <= self.end:
                now, kind, number, stage, _, what = heapq.heappop(self.events)
                self.process(now, kind, self.flows[number], stage, what)

    def process(self, now: int, kind: int, flow: Flow, stage: int, what: Any) -> None:
        if kind == DEPARTURE:
            what.depart(now)
        elif kind == ARRIVAL:
            flow.queues[stage].arrive(what, flow, stage, now)
        elif kind == EDGE:
            flow.cross_access(what, stage, now)
        elif kind == REACHED:
            flow.leave_access(what, now)
        elif kind == RECEIVED:
            flow.receive(what, now)
        elif kind == DELAYED_ACK and flow.ack_deadline == now:
            flow.send_ack(now)
        elif kind >= ACK:
            self.wake(now, kind, flow, what)

    def wake(self, now: int, kind: int, flow: Flow, what: Any) -> None:
        """Something happens at a sender."""
        flow.alarms.discard((now, kind))
        if kind == ACK:
            flow.take_ack(what, now)
        elif kind == APPLICATION:
            flow.offer(now)
        else:
            flow.time_out(now)
        flow.note(now)
        alarms = {(flow.deadline or -1, TIMER), (flow.state.app_at, APPLICATION)}
        for alarm in alarms - flow.alarms:
            if alarm[0] >= now:
                self.schedule(*alarm, flow.number)
        flow.alarms = {alarm for alarm in flow.alarms | alarms if alarm[0] >= now}
