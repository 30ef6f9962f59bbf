"""Networks that ask everything of the packet engine, all with losses and timeouts.

Delays are such that every time on a path is a whole number of picoseconds, and an ACK has 1/32 of
a packet's bytes, so that sums of sizes are exact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.aqm.codel import CoDel
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.fq import Fq
from vegasfluid.aqm.fq_codel import FqCoDel
from vegasfluid.aqm.pi import Pi
from vegasfluid.aqm.pi2 import Pi2
from vegasfluid.aqm.pie import Pie
from vegasfluid.aqm.red import Red
from vegasfluid.aqm.step import StepMarking
from vegasfluid.congestion import congestion_controls
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.congestion.dctcp import Dctcp
from vegasfluid.congestion.newreno import NewReno
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.unresponsive import Unresponsive
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.congestion.vegas.fluid import DIALECTS
from vegasfluid.network import Event, Flows, Link, Network, UniformStart
from vegasfluid.traffic.cbr import Cbr
from vegasfluid.traffic.on_off import OnOff
from vegasfluid.traffic.poisson import Poisson
from vegasfluid.traffic.sessions import Sessions

US = 1e-6
STARTS = [0, 70_000, 110_000, 450_000, 930_000, 1_500_000, 200_000, 610_000]  # us

RENO_ALIKE: dict[str, CongestionControl] = {
    "reno": Reno(),
    "newreno": NewReno(),
    "counting": Reno(recovery="newreno", byte_counting=True, validates=True),
}
MORE = {"another": Reno(), "one more": NewReno(), "the last": Reno()}
LAWS: dict[str, CongestionControl] = {
    **RENO_ALIKE,
    "sack": Reno(recovery="sack"),
    "brakmo": Vegas(alpha=3, beta=5),
    "ns3": Vegas(alpha=3, beta=5, dialect="ns3"),
    "ns2": Vegas(alpha=6, beta=8, dialect="ns2"),
}
EVERY = {
    **LAWS,
    **{name: law() for name, law in congestion_controls().items() if law().rules.reliable},
    **{f"vegas of {name}": Vegas(dialect=name) for name in DIALECTS if name != "linux"},
}
SOME = ("reno", "newreno", "sack", "brakmo", "ns3")


def crowded(aqm: QueueDiscipline) -> Network:
    """More flows than the link can carry: losses, timeouts, packets that come twice."""
    classes = {
        "near": Flows(6, Reno(), base_rtt=0.02, start=UniformStart(0.5)),
        "far": Flows(6, Reno(), access=800.0, access_delay=0.02, start=UniformStart(0.5)),
    }
    return Network(Link(1000.0, 20, aqm, delay=0.005), classes)


def few(**changes: Any) -> QueueDiscipline:
    return Red(5, 15, max_drop=0.1, weight=0.02, **changes)


def link(aqm: QueueDiscipline, buffer: int, service: int = 1280, **more: Any) -> Link:
    return Link(1 / (service * US), buffer, aqm, **{"delay": 1000 * US, **more})


def flows(laws: dict[str, CongestionControl], **changes: Any) -> dict[str, Flows]:
    common: dict[str, Any] = {"access": 1 / (320 * US), "access_delay": 2000 * US}
    common |= {"max_window": 1000, "initial_window": 2.0, "initial_ssthresh": 30}
    starts = [STARTS[i % len(STARTS)] * US for i in range(len(laws))]
    return {
        name: Flows(1, law, start=start, **{**common, **changes})
        for (name, law), start in zip(laws.items(), starts, strict=True)
    }


def with_opposite(forward: dict[str, Flows]) -> dict[str, Flows]:
    """The same flows the other way round, too."""
    back = {
        f"{name} back": replace(group, direction="reverse", start=group.start + 0.05)  # type: ignore[operator]
        for name, group in forward.items()
    }
    return forward | back


def crossing(classes: dict[str, Flows], *paths: tuple[str, ...]) -> dict[str, Flows]:
    """Classes over these paths in turn."""
    pairs = enumerate(classes.items())
    return {name: replace(item, path=paths[i % len(paths)]) for i, (name, item) in pairs}


def network(links: Any, classes: dict[str, Flows], events: tuple[Event, ...] = ()) -> Network:
    return Network(links, classes, packet_bytes=1280, ack_bytes=40, events=events)


def pair(**more: Any) -> dict[str, Link]:
    """Two links in a row."""
    return {"a": link(few(), 20, **more), "b": link(DropTail(), 15, service=1600, **more)}


def two_way(links: dict[str, Link], name: str) -> Network:
    """One of the links two ways; the others are unused, so that one kernel does for many."""
    some = flows({name: LAWS[name] for name in SOME})
    some["brakmo"] = replace(some["brakmo"], delayed_ack=0.04)
    return network(links, crossing(with_opposite(some), (name,)))


def jumbled() -> Network:
    """Packets overtake each other all the time."""
    some = flows({name: LAWS[name] for name in SOME})
    links = link(DropTail(), 20, jitter=0.02, jitter_reorders=True)
    return network(links, with_opposite(some))


def chain() -> Network:
    """One way over two links; ACKs are delayed, and nobody reports what came out of order."""
    laws = {name: LAWS[name] for name in (*RENO_ALIKE, "brakmo", "ns2")}
    long, short = flows(laws, delayed_ack=0.04), flows(RENO_ALIKE)
    short = {f"short {name}": replace(group, start=0.03) for name, group in short.items()}
    classes = crossing(long, ("a", "b")) | crossing(short, ("a",), ("b",))
    return network(pair(), classes)


def two_way_chain(**more: Any) -> Network:
    changes = {} if more else {"delayed_ack": 0.04, "quick_acks": 5}
    both = with_opposite(flows({name: LAWS[name] for name in SOME}, **changes))
    return network(pair(**more), crossing(both, ("a", "b"), ("a",), ("b",)))


def marking(**changes: Any) -> Network:
    classes = flows(LAWS)
    classes["brakmo"] = replace(classes["brakmo"], ecn=False)
    classes["deaf"] = replace(classes["reno"], ecn=False, start=0.3)
    return network(link(few(ecn=True, **changes), 30), classes)


PIE = Pie(target=0.016, t_update=0.008, max_burst=0.04, ecn=True, mark_threshold=0.05)
CODEL = CoDel(target=0.006, interval=0.03, ecn=True)
PI = Pi(a=2e-3, b=1.5e-3, w=125, q_ref=8, ecn=True)
PI2 = Pi2(target=0.016, t_update=0.008, beta=6.0, ecn=True, mark_threshold=0.05)


def controlled(aqm: QueueDiscipline) -> Network:
    """A controller marks or drops; times are whole picoseconds, and it reaches its limits."""
    classes = flows(LAWS)
    classes["deaf"] = replace(classes["reno"], ecn=False, start=0.3)
    return network(link(aqm, 30), classes)


def half_marked(aqm: QueueDiscipline, buffer: int) -> Network:
    """Packets of every other class are marked, and the others dropped instead."""
    classes = flows(LAWS)
    for name in list(classes)[::2]:
        classes[name] = replace(classes[name], ecn=False)
    classes["dctcp"] = replace(classes["sack"], law=Dctcp(), ecn=True, start=5.0)
    classes["delaying"] = replace(classes["dctcp"], delayed_ack=0.04, start=6.0)
    return network(link(aqm, buffer), classes)


def offering() -> Network:
    """Every kind of traffic one way, delayed ACKs, overheads."""
    sessions = {"mean_gap": 0.3, "mean_size": 0.05}
    on_off = {"on": 0.05, "off": 0.05, "rate": 300.0, **sessions}
    by_law = flows(LAWS)
    delayed = {"delayed_ack": 0.04, "send_overhead": 200 * US}
    classes = {
        "bulk": by_law["reno"],
        "cbr": replace(by_law["sack"], traffic=Cbr(100.0), **delayed),
        "poisson": replace(by_law["brakmo"], traffic=Poisson(0.01), send_overhead=300 * US),
        "on_off": replace(by_law["reno"], traffic=OnOff(0.1, 0.2, 300.0), delayed_ack=0.04),
        "sessions": replace(by_law["ns3"], count=3, traffic=Sessions(**sessions), **delayed),
        "larger": replace(by_law["sack"], initial_window=10.0, traffic=Sessions(**sessions)),
        "short": replace(by_law["counting"], traffic=OnOff(0.1, 0.1, 400.0, times="exponential")),
        "on_off in sessions": replace(by_law["newreno"], count=2, traffic=OnOff(**on_off)),
        "udp": replace(by_law["reno"], law=Unresponsive(), traffic=Poisson(0.01), delayed_ack=0.04),
    }
    for name in ("reno", "sack", "ns3"):
        traffic = Sessions(**sessions, overlapping=True)
        classes[f"overlapping {name}"] = replace(by_law[name], count=3, traffic=traffic)
    return network(link(DropTail(), 30), classes)


def everything() -> Network:
    """Three links two ways with all that there is."""
    links = {
        "a": link(few(ecn=True, in_bytes=True), 20, jitter=3000 * US, jitter_reorders=True),
        "b": link(DropTail(), 15, service=1600, jitter=2000 * US),
        "c": link(Red(4, 12, max_drop=0.1, weight=0.02, adaptive=True), 16),
    }
    by_law = flows(LAWS, quick_acks=3)
    slow, back = {"send_overhead": 400 * US}, {"direction": "reverse"}
    near: dict[str, Any] = {"access": None, "access_delay": None, "base_rtt": 0.02}
    overlapping = Sessions(mean_gap=0.3, mean_size=0.05, overlapping=True)
    apart = Sessions(mean_gap=0.3, mean_size=0.05)
    pauses = OnOff(0.05, 0.05, 300.0, mean_gap=0.3, mean_size=0.05)
    udp: dict[str, Any] = {"law": Unresponsive(), "traffic": Poisson(0.02), "delayed_ack": 0.04}
    classes = {
        "reno": replace(by_law["reno"], path=("a", "b"), delayed_ack=0.04, **slow),
        "newreno": replace(by_law["newreno"], path=("a",), ecn=False, **back),
        "sack": replace(by_law["sack"], path=("a", "b", "c"), count=2),
        "brakmo": replace(by_law["brakmo"], path=("c", "a"), **slow, **back),
        "ns3": replace(by_law["ns3"], path=("b",), delayed_ack=0.03),
        "ns2": replace(by_law["ns2"], path=("b", "c"), **near),
        "waiting": replace(by_law["ns3"], path=("c", "b"), count=2, traffic=overlapping, **back),
        "apart": replace(by_law["reno"], path=("a",), count=2, traffic=apart, delayed_ack=0.05),
        "on_off": replace(by_law["sack"], path=("b", "c"), traffic=OnOff(0.1, 0.2, 300.0)),
        "pauses": replace(by_law["ns2"], path=("a",), initial_window=4.0, traffic=pauses, **back),
        "cbr": replace(by_law["newreno"], path=("c",), traffic=Cbr(60.0)),
        "udp": replace(by_law["reno"], path=("a", "c"), **udp, **back),
    }
    return network(links, classes, EVENTS)


def flow_queues(buffer: int) -> dict[str, Link]:
    """Links with a queue for each flow: one drops the longest, the other what finds its queue full.

    Quanta are not whole numbers of packets, so that turns differ. `buffer` is the first link's.
    """
    codel = FqCoDel(target=0.006, interval=0.03, ecn=True, quantum=1.5)
    return {
        "a": link(codel, buffer),
        "b": link(Fq(flow_limit=5, quantum=2, initial_quantum=3.5), 40, service=1600),
    }


def in_turn() -> Network:
    """Three kinds of flows over each of these links, and over both; some pause."""
    some = flows(LAWS)
    some["brakmo"] = replace(some["brakmo"], ecn=False)
    pausing = replace(some["reno"], traffic=OnOff(0.1, 0.1, 400.0), count=2)
    classes = crossing(some, ("a",), ("a", "b"), ("b",))
    return network(flow_queues(40), classes | crossing({"pausing": pausing}, ("a", "b")))


def two_way_in_turn() -> Network:
    """ACKs have their own queues; packets of the second link overtake each other."""
    both = with_opposite(flows({name: LAWS[name] for name in SOME}, delayed_ack=0.04))
    links = flow_queues(12)
    links["b"] = replace(links["b"], jitter=2000 * US, jitter_reorders=True)
    return network(links, crossing(both, ("a", "b"), ("a",), ("b",)))


EVENTS = (
    Event(2.0, "a", 0.01),
    Event(3.0, "access", 0.004, "reno"),
    Event(4.0, "c", 0.015),
    Event(5.0, "access", 0.036, "ns2"),
    Event(6.0, "a", 0.0005),
    Event(6.0, "access", 0.001, "brakmo"),
    Event(7.0, "c", 0.001),
    Event(8.0, "access", 0.012, "ns2"),
    Event(9.0, "b", 0.02),
    Event(10.0, "b", 0.0),
)
"""Up and down again: packets overtake."""

SCENARIOS: dict[str, Network] = {
    "every law": network(link(few(), 20), flows(EVERY)),
    "drop-tail": network(link(DropTail(), 12), flows({**RENO_ALIKE, **MORE})),
    "two-way RED": two_way(pair(), "a"),
    "two-way RED in bytes": two_way(pair() | {"a": link(few(in_bytes=True), 20)}, "a"),
    "two-way drop-tail": two_way(pair(), "b"),
    "two-way, large ACKs": replace(two_way(pair(), "b"), ack_bytes=1280),
    "chain": chain(),
    "two-way chain": two_way_chain(),
    "jitter in order": two_way_chain(jitter=0.003),
    "jitter out of order": jumbled(),
    "marks": marking(hard_drop=True),
    "adaptive marks": marking(adaptive=True, gentle=True, wait=False),
    "PIE": controlled(PIE),
    "PI": half_marked(PI, 30),
    "PI2": controlled(PI2),
    "CoDel": half_marked(CODEL, 30),
    "step": half_marked(StepMarking(5), 20),
    "traffic": offering(),
    "flow queues": in_turn(),
    "two-way flow queues": two_way_in_turn(),
    "everything": everything(),
}
