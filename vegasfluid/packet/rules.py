"""What the engine is compiled for: a network's rules, and the records that they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.packet.features import Features
from vegasfluid.packet.records import (
    BIN,
    CHANGE,
    ENTRY,
    FLOW,
    FLOW_SAMPLE,
    LINK,
    LINK_SAMPLE,
    PACKET,
    PLACE,
    REPORT,
    SLOT,
    STAGE,
    TIME,
    with_fields,
)
from vegasfluid.traffic.base import TrafficSource

__all__ = ["Rules", "counters_of", "flow_fields", "layout", "link_fields"]


class Rules(NamedTuple):
    """What the engine is compiled for.

    Args:
        laws: one for each set of packet rules, in the order of the numbers in `flow.law`.
        queues: one for each set of admission rules, in the order of `link.law`.
        offers: one for each kind of traffic, in the order of `flow.traffic`.
        features: what the network asks for.
    """

    laws: tuple[CongestionControl, ...]
    queues: tuple[QueueDiscipline, ...]
    offers: tuple[TrafficSource, ...]
    features: Features

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """All rules, as plain functions."""
        laws, offers = [law.rules for law in self.laws], [kind.rules for kind in self.offers]
        return (
            *(function for rule in laws for function in rule.functions),
            *(law.rule.decide for law in self.queues),
            *(f for r in offers for f in (r.on_application, r.on_finished)),
        )


def counters_of(rules: Rules) -> tuple[str, ...]:
    """The counters of the laws in use, each once."""
    return tuple(dict.fromkeys(name for law in rules.laws for name in law.rules.counters))


def flow_fields(kind: CongestionControl | TrafficSource, *sizes: int) -> dict[str, Any]:
    """The fields that a law or a kind of traffic adds, with their values at the start.

    Args:
        kind: the law, or the kind of traffic.
        sizes: for traffic, the size of a packet, bytes.
    """
    return {**kind.rules.state, **kind.packet_parameters(*sizes)}  # type: ignore[arg-type]


def link_fields(law: QueueDiscipline) -> dict[str, Any]:
    """The fields that a queue law adds, with their values at the start."""
    return {**law.rule.state, **law.packet_parameters()}


def layout(rules: Rules) -> dict[str, np.dtype]:
    """The type of each array of a `Simulation`."""
    flows = [flow_fields(law) for law in rules.laws]
    flows += [flow_fields(kind, 1) for kind in rules.offers]
    flow = with_fields(FLOW, flows)
    counters = [dict.fromkeys(counters_of(rules), 0.0)]
    return {
        "flows": flow,
        "fresh": flow,
        "stages": with_fields(STAGE, []),
        "links": with_fields(LINK, [link_fields(law) for law in rules.queues]),
        "packets": with_fields(PACKET | (REPORT if rules.features.SELECTIVE else {}), []),
        "slots": SLOT,
        "places": PLACE,
        "changes": CHANGE,
        "times": TIME,
        "flow_samples": with_fields(FLOW_SAMPLE, counters),
        "link_samples": LINK_SAMPLE,
        "bins": BIN,
        "heap": ENTRY,
    }
