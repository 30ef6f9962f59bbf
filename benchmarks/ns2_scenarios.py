"""Networks of vegasfluid for the scenarios of ns-2's reference runs.

The runs are JSON objects of the project's ns-2 harness: `scenario` has the network; `totals`,
`link` and `flows` have the results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.network import Event, Flows, Link, Network, UniformStart
from vegasfluid.quantities import mbps, ms
from vegasfluid.traffic.base import TrafficSource
from vegasfluid.traffic.bulk import Bulk
from vegasfluid.traffic.cbr import Cbr
from vegasfluid.traffic.on_off import OnOff
from vegasfluid.traffic.sessions import Sessions

__all__ = ["network_of", "reference_runs"]

DEFAULTS = {
    "access_bw_mbps": 10.0,
    "access_delay_ms": 4.0,
    "bottleneck_bw_mbps": 1.55,
    "bottleneck_delay_ms": 4.0,
    "buffer_pkts": 50,
    "queue": "droptail",
    "packet_size": 1500,
    "max_window_pkts": 100_000,
    "min_rto_s": 0.2,
}
"""Defaults of the harness, for keys that a scenario does not have."""
NO_KIND = ("count", "start_s", "pair")
"""Keys of a flow in which the flows of a class may differ."""


def reference_runs(path: Path) -> Iterator[dict[str, Any]]:
    """The runs of a file of JSON lines."""
    with path.open() as file:
        yield from map(json.loads, file)


def network_of(scenario: Mapping[str, Any]) -> Network:
    """The network of a scenario; flows that are alike become one class, in order of appearance."""
    given = DEFAULTS | dict(scenario)
    size = given["packet_size"]
    queue = queue_of(given)
    drops_last_of_limit = isinstance(queue, DropTail)  # ns-2's RED drops the one after it
    link = Link(
        mbps(given["bottleneck_bw_mbps"], size),
        given["buffer_pkts"] - drops_last_of_limit,
        queue,
        delay=ms(given["bottleneck_delay_ms"]),
    )
    flows = each_flow(given)
    names = class_names(flows, {event["flow"] for event in given.get("events", ())})
    classes = {}
    for name in dict.fromkeys(names):
        members = [n for n, one in enumerate(names) if one == name]
        classes[name] = class_of(given, [flows[n] for n in members], members)
    return Network(link, classes, packet_bytes=size, events=events_of(given, names))


def class_names(flows: Sequence[Mapping[str, Any]], alone: set[int]) -> list[str]:
    """The class of each flow: flows that differ in their start only are one, but for `alone`."""
    found: list[str] = []
    kinds: dict[str, str] = {}
    for number, flow in enumerate(flows):
        what = {key: value for key, value in flow.items() if key not in NO_KIND}
        kind = repr(sorted(what.items(), key=str)) + str(number if number in alone else "")
        found.append(kinds.setdefault(kind, f"{flow['algo']}{len(kinds)}"))
    return found


def each_flow(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One entry a flow."""
    return [flow for flow in given["flows"] for _ in range(int(flow.get("count", 1)))]


def round_trips(given: Mapping[str, Any]) -> list[float]:
    """Propagation there and back of each flow, s."""
    count = len(each_flow(given))

    def per_flow(side: str) -> Sequence[float]:
        value = given.get(f"{side}_access_delay_ms", given["access_delay_ms"])
        value = given["access_delay_ms"] if value is None else value
        return value if isinstance(value, list) else [value] * count

    ends = zip(per_flow("src"), per_flow("dst"), strict=True)
    return [2 * ms(a + b + given["bottleneck_delay_ms"]) for a, b in ends]


def queue_of(given: Mapping[str, Any]) -> DropTail | Red:
    """Queue discipline of the scenario's bottleneck."""
    if given["queue"] == "droptail":
        return DropTail()
    red = {"max_p": 1.0, "q_weight": 0.002, "gentle": False, "wait": True} | given["red"]
    return Red(
        red["min"],
        red["max"],
        max_drop=red["max_p"],
        weight=red["q_weight"],
        gentle=red["gentle"],
        wait=red["wait"],
        adaptive=red.get("adaptive", False),
    )


def law_of(flow: Mapping[str, Any]) -> CongestionControl:
    """Congestion control of a flow group."""
    if flow["algo"] != "vegas":
        recovery = {"reno": "reno", "newreno": "newreno", "sack": "sack"}[flow["algo"]]
        return Reno(recovery=recovery)
    alpha, beta = flow.get("alpha", 1), flow.get("beta", 3)
    return Vegas(alpha=alpha, beta=beta, gamma=flow.get("gamma", 1), dialect="ns2")


def traffic_of(given: Mapping[str, Any], flow: Mapping[str, Any]) -> TrafficSource:
    """Traffic source of a flow group."""
    traffic = flow.get("traffic", "ftp")
    kind = traffic if isinstance(traffic, str) else traffic["type"]
    settings = {} if isinstance(traffic, str) else traffic
    rate = mbps(settings.get("rate_mbps", given["access_bw_mbps"]), given["packet_size"])
    gap, mean = settings.get("mean_interflow_s", 0.5), settings.get("mean_flow_mb", 10.0)
    shape = settings.get("shape", 1.5)
    if kind == "ftp":
        return Bulk()
    if kind == "cbr":
        return Cbr(rate)
    if kind == "nps":
        return Sessions(gap, mean, shape)
    on, off = settings.get("mean_on_s", 0.03), settings.get("mean_off_s", 0.07)
    return OnOff(on, off, rate, shape, mean_gap=gap, mean_size=mean)


def class_of(
    given: Mapping[str, Any], flows: Sequence[Mapping[str, Any]], members: Sequence[int]
) -> Flows:
    """A class of flows that are alike; `members` are their numbers in the scenario."""
    first, jitter = flows[0], given.get("start_jitter_s", 0.0)
    starts = tuple(float(flow.get("start_s", 0.0)) for flow in flows)
    rtts = round_trips(given)
    return Flows(
        len(flows),
        law_of(first),
        base_rtt=tuple(rtts[number] for number in members),
        access=mbps(given["access_bw_mbps"], given["packet_size"]),
        start=UniformStart(jitter) if jitter and not any(starts) else starts,
        direction="reverse" if first.get("direction") == "rev" else "forward",
        max_window=first.get("max_window_pkts", given["max_window_pkts"]),
        initial_ssthresh=given.get("initial_ssthresh_pkts") or 1e5,
        min_rto=given["min_rto_s"],
        traffic=traffic_of(given, first),
        delayed_ack=0.1 if given.get("delayed_ack") else 0.0,
        send_overhead=given.get("send_overhead_s", 0.0),
    )


def events_of(given: Mapping[str, Any], names: list[str]) -> tuple[Event, ...]:
    """Changes of the delay at the receiver's side of one flow, as changes of its round trip."""
    found = []
    for event in given.get("events", ()):
        changed = dict(given) | {"dst_access_delay_ms": event["delay_ms"]}
        rtt = round_trips(changed)[event["flow"]]
        found.append(Event(event["t"], "access", rtt, names[event["flow"]]))
    return tuple(found)
