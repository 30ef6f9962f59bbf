"""From a network to the records that the packet engine starts with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from vegasfluid.congestion.law import AbstractWindowLaw
from vegasfluid.network import Flows, Network, Spread
from vegasfluid.packet.records import FLOW, LINK, picoseconds, with_fields
from vegasfluid.served import check_served

__all__ = ["Start", "prepare"]

INITIAL_RTO = 3.0
"""Seconds until the first round-trip sample (RFC 2988, section 2; ns-2's `rtxcur_init_`)."""


class Start(NamedTuple):
    """What a run begins with.

    Args:
        flows: (flows,) records, in the order of the network's classes.
        link: (1,) record.
        generator: (2,) state of the queue law's random numbers.
        laws: the distinct laws, in the order of the numbers in `flow.law`.
    """

    flows: np.ndarray
    link: np.ndarray
    generator: np.ndarray
    laws: tuple[AbstractWindowLaw, ...]

    def copy(self) -> Start:
        """The same beginning once more; a run writes over its own."""
        arrays = (self.flows.copy(), self.link.copy(), self.generator.copy())
        return Start(*arrays, self.laws)


def distinct_laws(network: Network) -> tuple[AbstractWindowLaw, ...]:
    """One law for each set of packet rules in the network."""
    by_rules = {flows.law.rules.on_ack: flows.law for flows in network.flows.values()}
    return tuple(by_rules.values())


def start_times(network: Network, seed: np.random.SeedSequence) -> Iterator[np.ndarray]:
    """The start times of each class, s; random ones drawn class by class from `seed`."""
    for flows, own in zip(network.flows.values(), seed.spawn(len(network.flows)), strict=True):
        if isinstance(flows.start, Spread):
            yield np.random.default_rng(own).uniform(0, flows.start.spread, flows.count)
        else:
            yield np.broadcast_to(np.asarray(flows.start, float), (flows.count,))


def place_on_path(records: np.ndarray, network: Network, flows: Flows) -> None:
    """Write the delays and sending times along the path of one class.

    Of the propagation that is not the link's own, a quarter lies at each end each way.
    """
    link, ratio = network.link, network.ack_bytes / network.packet_bytes
    service = 0.0 if flows.access is None else 1 / flows.access
    hop = [(rtt - 2 * link.delay) / 4 for rtt in flows.propagation(link)]
    acks = ratio * (2 * service + 1 / link.capacity)
    records["access_service"] = records["exit_service"] = picoseconds(service)
    records["access_delay"] = [picoseconds(h) for h in hop]
    records["exit_delay"] = [picoseconds(link.delay + h) for h in hop]
    records["return_delay"] = [picoseconds(link.delay + 2 * h + acks) for h in hop]


def fill_class(records: np.ndarray, network: Network, flows: Flows, starts: np.ndarray) -> None:
    """Write the fields of one class of flows."""
    place_on_path(records, network, flows)
    records["start"] = [picoseconds(start) for start in starts]
    records["rto"] = picoseconds(INITIAL_RTO)
    records["deadline"] = records["start"] + records["rto"]
    records["min_rto"] = picoseconds(flows.min_rto)
    records["cwnd"] = records["initial_window"] = flows.initial_window
    records["ssthresh"] = flows.initial_ssthresh
    records["max_window"] = int(flows.max_window)
    records["backoff"] = 1
    records["timed_seq"] = -1
    rules = flows.law.rules
    records["keeps_send_times"] = rules.keeps_send_times
    for name, value in {**rules.state, **flows.law.packet_parameters()}.items():
        records[name] = value


def link_record(network: Network) -> np.ndarray:
    """The record of the link, idle and empty."""
    link, law = network.link, network.link.aqm
    added: list[dict[str, Any]] = [dict(law.rule.state), law.packet_parameters()]
    record = np.zeros(1, with_fields(LINK, added))
    record["service"] = picoseconds(1 / link.capacity)
    record["buffer"] = int(link.buffer)
    record["tossed"] = 1
    for values in added:
        for name, value in values.items():
            record[name] = value
    return record


def prepare(network: Network, seed: int) -> Start:
    """The records of all flows and of the link at time 0.

    Args:
        network: one link with bulk data one way.
        seed: start times and coins come from separate streams of it, so that another parameter
            of a law meets the same ones.

    Raises:
        NotServed: where the network has something that is not served yet.
    """
    check_served("packet", network)
    starts, coins = np.random.SeedSequence(seed).spawn(2)
    laws = distinct_laws(network)
    numbers = {law.rules.on_ack: number for number, law in enumerate(laws)}
    added = [{**law.rules.state, **law.packet_parameters()} for law in laws]
    counts = network.counts
    records = np.zeros(sum(counts), with_fields(FLOW, added))
    ends = np.cumsum(counts)
    drawn = start_times(network, starts)
    for flows, end, times in zip(network.flows.values(), ends, drawn, strict=True):
        part = records[end - flows.count : end]
        fill_class(part, network, flows, times)
        part["law"] = numbers[flows.law.rules.on_ack]
    return Start(records, link_record(network), coins.generate_state(2, np.uint64), laws)
