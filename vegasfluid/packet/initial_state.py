"""Initial state of a packet run: the records of a network's flows, hops, links and delay events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from vegasfluid.aqm.base import FlowQueues, QueueDiscipline
from vegasfluid.clock import NEVER, picoseconds
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.congestion.loss_recovery import DUPLICATE_ACK_THRESHOLD
from vegasfluid.errors import InvalidInput
from vegasfluid.network import Flows, Network, UniformStart
from vegasfluid.packet.features import Features
from vegasfluid.packet.rack.records import RACK_INITIAL
from vegasfluid.packet.ring import ACCESS
from vegasfluid.packet.rules import Rules, flow_fields, layout, link_fields
from vegasfluid.traffic.base import TrafficSource
from vegasfluid.traffic.bulk import ENDLESS

__all__ = ["InitialState", "initial_state"]

NO_QUEUE = -1
"""Queue index of a hop over an access link, which has no queue."""


class InitialState(NamedTuple):
    """Records at the start of a run.

    Args:
        flows: (flows,) records, in the order of the network's classes.
        hops: (flows, hops) records.
        links: (links,) records: forward queues, then, where ACKs wait in queues, reverse ones.
        queues: (queues,) records of the queues of single flows, link by link.
        changes: (changes,) records of delay events.
        rules: the rules in use.
    """

    flows: np.ndarray
    hops: np.ndarray
    links: np.ndarray
    queues: np.ndarray
    changes: np.ndarray
    rules: Rules


def distinct(components: Iterable[Any]) -> tuple[Any, ...]:
    """One of the components for each set of packet rules: the last one that has the set.

    Components are congestion controls, traffic sources or queue disciplines. The sets are in the
    order in which they first appear.
    """
    return tuple({rule_key(each): each for each in components}.values())


def rule_key(component: CongestionControl | TrafficSource | QueueDiscipline) -> Any:
    """Function that identifies a component's set of packet rules, so that equal sets are shared.

    It is `on_ack` of a congestion control, `on_application` of a traffic source, and `decide` of a
    queue discipline.
    """
    if isinstance(component, CongestionControl):
        return component.rules.on_ack
    if isinstance(component, TrafficSource):
        return component.rules.on_application
    return component.rule.decide


def rule_indices(components: Sequence[Any]) -> dict[Any, int]:
    """Index of each component in a sequence, by the function that identifies its packet rules."""
    return {rule_key(each): index for index, each in enumerate(components)}


def features_of(network: Network, counted: bool) -> Features:
    """Which features of the engine a network needs; the others are not compiled.

    Args:
        network: the network.
        counted: whether arrivals are counted in bins.
    """
    links, classes = network.links.values(), network.flows.values()
    jitter = any(link.jitter > 0 for link in links)
    jitter_reorders = any(link.jitter > 0 and link.jitter_reorders for link in links)
    reordering = bool(network.events) or jitter_reorders
    two_way = reordering or jitter or network.two_way
    several = any(len(network.links_of(name)) > 1 for name in network.flows)
    recoveries = {flows.law.rules.recovery for flows in classes}
    return Features(
        MULTI_HOP=two_way or several,
        TWO_WAY=two_way,
        REORDERING=reordering,
        JITTER=jitter,
        DELAY_EVENTS=bool(network.events),
        DELAYED_ACKS=any(flows.settings.delayed_ack > 0 for flows in classes),
        SACK_BLOCKS=bool(recoveries & {"sack", "rack"}),
        RACK="rack" in recoveries,
        OTHER_RECOVERY=recoveries != {"rack"},
        ECN=any(link.aqm.marks for link in links),
        APP_LIMITED=any(not flows.traffic.endless for flows in classes),
        SEND_OVERHEAD=any(network.send_overhead(name) > 0 for name in network.flows),
        ARRIVAL_BINS=counted,
        FLOW_QUEUES=any(link.aqm.flow_queues for link in links),
    )


def start_times(network: Network, seed: np.random.SeedSequence) -> Iterator[np.ndarray]:
    """Yield the start times of the flows of each class, s; (flows of the class,).

    Random times are drawn from a separate stream of `seed` for each class.
    """
    for flows, stream in zip(network.flows.values(), seed.spawn(len(network.flows)), strict=True):
        if isinstance(flows.start, UniformStart):
            yield np.random.default_rng(stream).uniform(0, flows.start.spread, flows.count)
        else:
            yield np.broadcast_to(np.asarray(flows.start, float), (flows.count,))


def fill_path(records: np.ndarray, network: Network, name: str) -> None:
    """Write delays and transmission times of class `name`, ps, into its flows' `records`.

    They follow from the access links and the links of the path.
    """
    flows, links = network.flows[name], network.links_of(name)
    ratio = network.ack_size(name)
    service = 0.0 if flows.access is None else 1 / flows.access
    access = network.access_delays(name)
    acks = ratio * (2 * service + sum(1 / link.capacity for link in links))
    back = sum(link.delay for link in links)
    records["access_service"] = records["egress_service"] = picoseconds(service)
    records["ack_service"] = picoseconds(ratio * service)
    records["access_delay"] = [picoseconds(delay) for delay in access]
    records["return_delay"] = [picoseconds(back + 2 * delay + acks) for delay in access]
    records["overhead"] = picoseconds(network.send_overhead(name))
    records["ack_delay"] = picoseconds(flows.settings.delayed_ack)


def fill_class(records: np.ndarray, flows: Flows, starts: np.ndarray, packet_bytes: int) -> None:
    """Write the fields of a class that do not depend on its path into the records of its flows.

    Args:
        records: records of the flows of the class; changed in place.
        flows: the class.
        starts: start times of its flows, s.
        packet_bytes: size of a packet, bytes.
    """
    rules, bulk, host = flows.law.rules, flows.traffic.endless, flows.settings
    records["start"] = [picoseconds(start) for start in starts]
    records["rto"] = picoseconds(host.initial_rto)
    records["deadline"] = records["start"] + records["rto"] if bulk else NEVER
    records["offered"] = ENDLESS if bulk else 0
    records["app_at"] = NEVER if bulk else records["start"]
    records["delack_deadline"] = NEVER
    records["min_rto"] = picoseconds(host.min_rto)
    records["cwnd"], records["initial_window"] = 1.0, host.initial_window
    records["ssthresh"] = host.initial_ssthresh
    records["quick_acks"] = host.quick_acks
    records["max_window"] = int(flows.max_window)
    records["backoff"] = records["window_limited"] = 1
    records["timed_seq"] = -1
    records["least_rtt"] = NEVER
    records["reordering"] = DUPLICATE_ACK_THRESHOLD
    records["recovery"], records["reliable"] = rules.recovery_number, rules.reliable
    records["ect"] = flows.ecn and rules.reliable
    records["exact_echo"] = rules.exact_echo
    records["keeps_send_times"] = rules.keeps_send_times
    added = RACK_INITIAL if rules.recovery == "rack" else {}
    for name, value in {
        **added,
        **flow_fields(flows.law),
        **flow_fields(flows.traffic, packet_bytes),
    }.items():
        records[name] = value


def flow_records(network: Network, rules: Rules, seed: np.random.SeedSequence) -> np.ndarray:
    """Records of all flows at the start of a run, in the order of classes; (flows,).

    `seed` draws random start times; times in the records are in ps.
    """
    records = np.zeros(sum(network.counts), layout(rules)["flows"])
    ends = np.cumsum(network.counts)
    controls, sources = rule_indices(rules.controls), rule_indices(rules.sources)
    all_starts = start_times(network, seed)
    for index, (name, starts) in enumerate(zip(network.flows, all_starts, strict=True)):
        flows = network.flows[name]
        part = records[ends[index] - flows.count : ends[index]]
        fill_class(part, flows, starts, network.packet_bytes)
        fill_path(part, network, name)
        part["flow_class"] = index
        part["law"] = controls[rule_key(flows.law)]
        part["traffic"] = sources[rule_key(flows.traffic)]
    return records


def hop_queues(network: Network, name: str, features: Features) -> tuple[list[int], list[int]]:
    """Queue index of each hop of the data packets, and of the ACKs, of class `name`, in order.

    NO_QUEUE stands for the hop over an access link, which exists where packets can be reordered.
    The second list is empty where ACKs wait in no queue.
    """
    data, acks = network.queue_indices(name)
    access = [NO_QUEUE] if features.REORDERING else []
    return data + access, (acks + access if features.TWO_WAY else [])


def hop_records(network: Network, rules: Rules) -> tuple[np.ndarray, np.ndarray]:
    """Records of the hops of all flows at the start of a run.

    Returns:
        The records, (flows, hops), where `hops` is the largest number of any flow; and for each
        flow the number of hops of its data, and of its data and ACKs together, (flows, 2). Times in
        the records are in ps; records beyond a flow's hops have no queue.
    """
    paths = [hop_queues(network, name, rules.features) for name in network.flows]
    most = max(len(data) + len(acks) for data, acks in paths)
    ratios = [network.ack_size(name) for name in network.flows]
    links = list(network.links.values())
    by_class = np.zeros((len(paths), most), layout(rules)["hops"])
    by_class["next_arrival"], by_class["link"], by_class["queue"] = NEVER, NO_QUEUE, NO_QUEUE
    for index, (data, acks) in enumerate(paths):
        for i, number in enumerate(data + acks):
            if number == NO_QUEUE:
                continue
            hop, link = by_class[index, i], links[number % len(links)]
            size = 1.0 if i < len(data) else ratios[index]
            hop["link"], hop["service"] = number, picoseconds(size / link.capacity)
            hop["relative_size"] = hop["service"] / picoseconds(1 / link.capacity)
            hop["propagation"] = picoseconds(link.delay)
            hop["jitter"] = picoseconds(link.jitter)
            hop["reorders"] = link.jitter_reorders
    ends = np.array([(len(data), len(data) + len(acks)) for data, acks in paths])
    counts = network.counts
    return np.repeat(by_class, counts, axis=0), np.repeat(ends, counts, axis=0)


def link_records(network: Network, rules: Rules) -> np.ndarray:
    """Records of the links' queues at the start of a run, idle and empty; (links,).

    Forward queues come first, then, where ACKs wait in queues, reverse ones. Times are in ps.
    """
    links = list(network.links.values()) * (2 if rules.features.TWO_WAY else 1)
    records = np.zeros(len(links), layout(rules)["links"])
    numbers = rule_indices(rules.disciplines)
    for record, link in zip(records, links, strict=True):
        record["service"] = picoseconds(1 / link.capacity)
        record["buffer"] = int(link.buffer)
        record["uniform_used"] = 1
        record["in_bytes"] = link.aqm.counts_bytes
        record["law"] = numbers[rule_key(link.aqm)]
        for name, value in link_fields(link.aqm).items():
            record[name] = value
        if served := link.aqm.flow_queues:
            fill_flow_queues(record, served)
    return records


def fill_flow_queues(record: np.void, served: FlowQueues) -> None:
    """Write into a link's record how it serves a queue for each flow; all of them are empty."""
    record["quantum"] = served.quantum
    record["flow_limit"] = min(served.flow_limit, NEVER)
    record["drops_longest"] = served.drops_longest
    record["refill_delay"] = picoseconds(served.refill_delay)
    record["wake"] = NEVER
    for end in ("first_new", "last_new", "first_old", "last_old"):
        record[end] = NO_QUEUE


def queue_records(network: Network, links: np.ndarray, hops: np.ndarray) -> np.ndarray:
    """Records of the queues of single flows, at the links that have such; (queues,).

    A record begins as a copy of its link's record.

    Args:
        network: the network.
        links: records of the links, (links,); each gets the range of its queues' indices.
        hops: records of the hops, (flows, hops); each gets the index of its queue.
    """
    names = list(network.links.values())
    parts = [links[:0]]
    for number, link in enumerate(links):
        served = names[number % len(names)].aqm.flow_queues
        if served is None:
            continue
        flows, places = np.nonzero(hops["link"] == number)
        first = sum(map(len, parts))
        link["first_queue"], link["end_queue"] = first, first + len(flows)
        hops["queue"][flows, places] = np.arange(first, first + len(flows))
        queues = np.repeat(links[number : number + 1], len(flows))
        queues["flow"], queues["hop"] = flows, places
        queues["credit"] = served.initial_quantum
        parts.append(queues)
    return np.concatenate(parts)


def change_records(network: Network, rules: Rules) -> np.ndarray:
    """Records of the delay events, in order of time, with times and new delays in ps; (changes,).

    A base RTT that an event sets is converted to access delays with the links' delays after it.
    """
    names, rows = list(network.links), []
    _, *stages = network.stages()
    for event, changed in zip(network.events, stages, strict=True):
        at = picoseconds(event.at)
        if event.link != "access":
            index, delay = names.index(event.link), picoseconds(event.delay)
            rows += [(at, index, 0, delay), (at, len(names) + index, 0, delay)]
            continue
        for number, name in enumerate(network.flows):
            if event.flows in (None, name):
                delay = picoseconds(changed.access_delays(name)[0])
                rows.append((at, ACCESS, number, delay))
    return np.array(rows, layout(rules)["changes"])


def rules_of(network: Network, counted: bool) -> Rules:
    """Packet rules and features that a network needs, for which the engine is compiled.

    Args:
        network: the network, in which every class has a host.
        counted: whether arrivals are counted in bins.
    """
    classes = network.flows.values()
    return Rules(
        distinct(flows.law for flows in classes),
        distinct(link.aqm for link in network.links.values()),
        distinct(flows.traffic for flows in classes),
        features_of(network, counted),
    )


def initial_state(network: Network, seed: int, *, counted: bool = False) -> InitialState:
    """Records of the flows, hops, links and delay events of a network at the start of a run.

    Args:
        network: what to simulate.
        seed: of all random numbers; start times, links and flows use separate streams, so that runs
            with another parameter of a congestion control use common random numbers.
        counted: whether arrivals are counted in bins.

    Raises:
        InvalidInput: for a seed that is no whole number from 0 on.
    """
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInput("simulate", "seed", "a whole number, at least 0", seed)
    start_seed, link_seed, flow_seed = np.random.SeedSequence(seed).spawn(3)
    network = network.resolved()
    rules = rules_of(network, counted)
    flows, links = flow_records(network, rules, start_seed), link_records(network, rules)
    hops, ends = hop_records(network, rules)
    flows["data_hops"], flows["hops"] = ends.T
    seed_rngs(flows, flow_seed)
    seed_rngs(links, link_seed)
    queues = queue_records(network, links, hops)
    return InitialState(flows, hops, links, queues, change_records(network, rules), rules)


def seed_rngs(records: np.ndarray, seed: np.random.SeedSequence) -> None:
    """Set the random number generators of flow or link `records` from `seed`, in place."""
    states = seed.generate_state(2 * len(records), np.uint64).reshape(-1, 2)
    records["rng_a"], records["rng_b"] = states.T
