"""From a network to what the packet engine starts with: flows, their stages, links, changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.network import Flows, Network, UniformStart
from vegasfluid.packet.features import Features
from vegasfluid.packet.records import NEVER, picoseconds
from vegasfluid.packet.ring import ACCESS
from vegasfluid.packet.rules import Rules, flow_fields, layout, link_fields
from vegasfluid.traffic.base import TrafficSource
from vegasfluid.traffic.bulk import ENDLESS

__all__ = ["Start", "prepare"]

INITIAL_RTO = 3.0
"""Seconds until the first round-trip sample (RFC 2988, section 2; ns-2's `rtxcur_init_`)."""
INITIAL_REORDERING = 3
"""Packets that may overtake before one counts as lost (RFC 6675, DupThresh)."""
NO_QUEUE = -1


class Start(NamedTuple):
    """What a run begins with.

    Args:
        flows: (flows,) records, in the order of the network's classes.
        stages: (flows, stages) records.
        links: (links,) records, forward and then, where ACKs wait in queues, backward.
        changes: (changes,) records.
        rules: the rules in use.
    """

    flows: np.ndarray
    stages: np.ndarray
    links: np.ndarray
    changes: np.ndarray
    rules: Rules


def distinct(kinds: Iterable[Any]) -> tuple[Any, ...]:
    """One of each set of rules, in order; `kinds` are laws or kinds of traffic."""
    return tuple({mark_of(kind): kind for kind in kinds}.values())


def mark_of(kind: CongestionControl | TrafficSource | QueueDiscipline) -> Any:
    """What tells the rules of laws apart, and those of kinds of traffic, and of queues."""
    if isinstance(kind, CongestionControl):
        return kind.rules.on_ack
    return kind.rules.on_application if isinstance(kind, TrafficSource) else kind.rule.decide


def numbers_of(kinds: Sequence[Any]) -> dict[Any, int]:
    """The number of each set of rules."""
    return {mark_of(kind): number for number, kind in enumerate(kinds)}


def features_of(network: Network, counted: bool) -> Features:
    """What a network asks of the engine."""
    links, classes = network.links.values(), network.flows.values()
    jitter = any(link.jitter > 0 for link in links)
    loose = bool(network.events) or any(link.jitter > 0 and link.jitter_reorders for link in links)
    two_way = loose or jitter or network.two_way
    several = any(len(network.links_of(name)) > 1 for name in network.flows)
    return Features(
        STAGES=two_way or several,
        TWO_WAY=two_way,
        LOOSE=loose,
        JITTER=jitter,
        CHANGES=bool(network.events),
        DELAYED=any(flows.delayed_ack > 0 for flows in classes),
        SELECTIVE=any(flows.law.rules.recovery == "sack" for flows in classes),
        MARKS=any(link.aqm.marks for link in links),
        OFFERED=any(not flows.traffic.endless for flows in classes),
        OVERHEAD=any(network.send_overhead(name) > 0 for name in network.flows),
        COUNTED=counted,
    )


def start_times(network: Network, seed: np.random.SeedSequence) -> Iterator[np.ndarray]:
    """The start times of each class, s; random ones drawn class by class from `seed`."""
    for flows, own in zip(network.flows.values(), seed.spawn(len(network.flows)), strict=True):
        if isinstance(flows.start, UniformStart):
            yield np.random.default_rng(own).uniform(0, flows.start.spread, flows.count)
        else:
            yield np.broadcast_to(np.asarray(flows.start, float), (flows.count,))


def place_on_path(records: np.ndarray, network: Network, name: str) -> None:
    """Write the delays and sending times along the path of one class."""
    flows, links = network.flows[name], network.links_of(name)
    ratio = network.ack_bytes / network.packet_bytes
    service = 0.0 if flows.access is None else 1 / flows.access
    access = network.access_delays(name)
    acks = ratio * (2 * service + sum(1 / link.capacity for link in links))
    back = sum(link.delay for link in links)
    records["access_service"] = records["exit_service"] = picoseconds(service)
    records["ack_service"] = picoseconds(ratio * service)
    records["access_delay"] = [picoseconds(delay) for delay in access]
    records["return_delay"] = [picoseconds(back + 2 * delay + acks) for delay in access]
    records["overhead"] = picoseconds(network.send_overhead(name))
    records["ack_delay"] = picoseconds(flows.delayed_ack)


def fill_class(records: np.ndarray, flows: Flows, starts: np.ndarray, packet_bytes: int) -> None:
    """Write the fields of one class of flows that do not depend on its path."""
    rules, bulk = flows.law.rules, flows.traffic.endless
    records["start"] = [picoseconds(start) for start in starts]
    records["rto"] = picoseconds(INITIAL_RTO)
    records["deadline"] = records["start"] + records["rto"] if bulk else NEVER
    records["offered"] = ENDLESS if bulk else 0
    records["app_at"] = NEVER if bulk else records["start"]
    records["held_at"] = NEVER
    records["min_rto"] = picoseconds(flows.min_rto)
    records["cwnd"], records["initial_window"] = 1.0, flows.initial_window
    records["ssthresh"] = flows.initial_ssthresh
    records["quick_acks"] = flows.quick_acks
    records["max_window"] = int(flows.max_window)
    records["backoff"] = records["window_limited"] = 1
    records["timed_seq"] = -1
    records["least_rtt"] = NEVER
    records["reordering"] = INITIAL_REORDERING
    records["recovery"], records["reliable"] = rules.recovery_number, rules.reliable
    records["ect"] = flows.ecn and rules.reliable
    records["keeps_send_times"] = rules.keeps_send_times
    for name, value in {
        **flow_fields(flows.law),
        **flow_fields(flows.traffic, packet_bytes),
    }.items():
        records[name] = value


def flow_records(network: Network, rules: Rules, seed: np.random.SeedSequence) -> np.ndarray:
    """The records of all flows at time 0."""
    records = np.zeros(sum(network.counts), layout(rules)["flows"])
    ends, laws, kinds = np.cumsum(network.counts), numbers_of(rules.laws), numbers_of(rules.offers)
    drawn = start_times(network, seed)
    for group, (name, starts) in enumerate(zip(network.flows, drawn, strict=True)):
        flows = network.flows[name]
        part = records[ends[group] - flows.count : ends[group]]
        fill_class(part, flows, starts, network.packet_bytes)
        place_on_path(part, network, name)
        part["group"] = group
        part["law"] = laws[mark_of(flows.law)]
        part["traffic"] = kinds[mark_of(flows.traffic)]
    return records


def hop_queues(network: Network, name: str, features: Features) -> tuple[list[int], list[int]]:
    """Queue index of each hop of the data packets and of the ACKs of a class, in order.

    NO_QUEUE stands for the hop over an access link, which exists where packets can be reordered.
    """
    data, acks = network.queue_indices(name)
    access = [NO_QUEUE] if features.LOOSE else []
    return data + access, (acks + access if features.TWO_WAY else [])


def stage_records(network: Network, rules: Rules) -> tuple[np.ndarray, np.ndarray]:
    """The stages of all flows, and how many of them are for data; (flows, stages), (flows, 2)."""
    routes = [hop_queues(network, name, rules.features) for name in network.flows]
    most = max(len(there) + len(back) for there, back in routes)
    ratio = network.ack_bytes / network.packet_bytes
    links = list(network.links.values())
    by_class = np.zeros((len(routes), most), layout(rules)["stages"])
    by_class["key"], by_class["link"] = NEVER, NO_QUEUE
    for group, (there, back) in enumerate(routes):
        for i, number in enumerate(there + back):
            if number == NO_QUEUE:
                continue
            stage, link = by_class[group, i], links[number % len(links)]
            stage["link"], stage["worth"] = number, 1.0 if i < len(there) else ratio
            stage["service"] = picoseconds(stage["worth"] / link.capacity)
            stage["onward"] = picoseconds(link.delay)
            stage["jitter"] = picoseconds(link.jitter)
            stage["reorders"] = link.jitter_reorders
    ends = np.array([(len(there), len(there) + len(back)) for there, back in routes])
    counts = network.counts
    return np.repeat(by_class, counts, axis=0), np.repeat(ends, counts, axis=0)


def link_records(network: Network, rules: Rules) -> np.ndarray:
    """The records of the links, idle and empty; backward ones follow where ACKs wait in queues."""
    links = list(network.links.values()) * (2 if rules.features.TWO_WAY else 1)
    records = np.zeros(len(links), layout(rules)["links"])
    numbers = numbers_of(rules.queues)
    for record, link in zip(records, links, strict=True):
        record["service"] = picoseconds(1 / link.capacity)
        record["buffer"] = int(link.buffer)
        record["uniform_used"] = 1
        record["in_bytes"] = link.aqm.counts_bytes
        record["law"] = numbers[mark_of(link.aqm)]
        for name, value in link_fields(link.aqm).items():
            record[name] = value
    return records


def change_records(network: Network, rules: Rules) -> np.ndarray:
    """Records of the changes of delay, in order of time; (changes,).

    A base RTT that an event sets is divided between links as they were before all events.
    """
    names, rows = list(network.links), []
    for event in network.events:
        at = picoseconds(event.at)
        if event.link != "access":
            index, delay = names.index(event.link), picoseconds(event.delay)
            rows += [(at, index, 0, delay), (at, len(names) + index, 0, delay)]
            continue
        changed = network.after(event)
        for number, name in enumerate(network.flows):
            if event.flows in (None, name):
                delay = picoseconds(changed.access_delays(name)[0])
                rows.append((at, ACCESS, number, delay))
    return np.array(rows, layout(rules)["changes"])


def rules_of(network: Network, counted: bool) -> Rules:
    """The rules that a network uses."""
    classes = network.flows.values()
    return Rules(
        distinct(flows.law for flows in classes),
        distinct(link.aqm for link in network.links.values()),
        distinct(flows.traffic for flows in classes),
        features_of(network, counted),
    )


def prepare(network: Network, seed: int, *, counted: bool = False) -> Start:
    """The records of a network at time 0.

    Args:
        network: what to simulate.
        seed: start times, coins of the queues and dice of the flows come from separate streams
            of it, so that another parameter of a law meets the same ones.
        counted: whether arrivals are counted in bins.
    """
    starts, coins, dice = np.random.SeedSequence(seed).spawn(3)
    rules = rules_of(network, counted)
    flows, links = flow_records(network, rules, starts), link_records(network, rules)
    stages, ends = stage_records(network, rules)
    flows["turn"], flows["stages"] = ends.T
    hand_out_dice(flows, dice)
    hand_out_dice(links, coins)
    return Start(flows, stages, links, change_records(network, rules), rules)


def hand_out_dice(records: np.ndarray, seed: np.random.SeedSequence) -> None:
    """Give each record its own source of random numbers."""
    states = seed.generate_state(2 * len(records), np.uint64).reshape(-1, 2)
    records["dice_a"], records["dice_b"] = states.T
