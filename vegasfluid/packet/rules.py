"""The packet rules and features that a network uses, and the record types that they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.congestion.base import CongestionControl
from vegasfluid.packet.features import Features
from vegasfluid.packet.rack.records import RACK_FLOW, RACK_SLOT
from vegasfluid.packet.records import (
    BIN,
    CHANGE,
    FLOW,
    FLOW_QUEUE,
    FLOW_SAMPLE,
    HEAP_ENTRY,
    HOP,
    LINK,
    LINK_SAMPLE,
    PACKET,
    SACK_BLOCK,
    SLOT,
    TIME,
    WAITING,
    with_fields,
)
from vegasfluid.traffic.base import TrafficSource

__all__ = ["Rules", "counters_of", "flow_fields", "layout", "link_fields"]


class Rules(NamedTuple):
    """Rules and features that the engine is compiled for.

    Args:
        controls: one congestion control for each set of packet rules; `flow.law` is an index.
        disciplines: one queue discipline for each admission rule; `link.law` is an index.
        sources: one traffic source for each set of rules; `flow.traffic` is an index.
        features: features of the engine that the network uses.
    """

    controls: tuple[CongestionControl, ...]
    disciplines: tuple[QueueDiscipline, ...]
    sources: tuple[TrafficSource, ...]
    features: Features

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """All functions of the congestion controls, disciplines and traffic sources in use."""
        controls = [control.rules for control in self.controls]
        sources = [source.rules for source in self.sources]
        return (
            *(function for rule in controls for function in rule.functions),
            *(discipline.rule.decide for discipline in self.disciplines),
            *(discipline.rule.on_empty for discipline in self.disciplines),
            *(f for r in sources for f in (r.on_application, r.on_finished)),
        )


def counters_of(rules: Rules) -> tuple[str, ...]:
    """Names of the counters that the congestion controls in use add to samples, without repeats."""
    return tuple(
        dict.fromkeys(name for control in rules.controls for name in control.rules.counters)
    )


def flow_fields(component: CongestionControl | TrafficSource, *sizes: int) -> dict[str, Any]:
    """Fields that a congestion control or a traffic source adds to a flow, with initial values.

    They are its state and its parameters, by field name.

    Args:
        component: the congestion control or the traffic source.
        sizes: size of a packet, bytes; for a traffic source only.
    """
    return {**component.rules.state, **component.packet_parameters(*sizes)}  # type: ignore[arg-type]


def link_fields(discipline: QueueDiscipline) -> dict[str, Any]:
    """Fields that a queue discipline adds to a link, with initial values: state and parameters."""
    return {**discipline.rule.state, **discipline.packet_parameters()}


def layout(rules: Rules) -> dict[str, np.dtype]:
    """Record types (NumPy dtypes) of the arrays of a `Simulation`, by array name.

    They have the fields that the packet rules in use need.
    """
    flows = [flow_fields(control) for control in rules.controls]
    flows += [flow_fields(source, 1) for source in rules.sources]
    flow = with_fields(FLOW | (RACK_FLOW if rules.features.RACK else {}), flows)
    slot = np.dtype(SLOT + (RACK_SLOT if rules.features.RACK else []), align=True)
    counters = [dict.fromkeys(counters_of(rules), 0.0)]
    link = with_fields(
        LINK | (FLOW_QUEUE if rules.features.FLOW_QUEUES else {}),
        [link_fields(each) for each in rules.disciplines],
    )
    return {
        "flows": flow,
        "initial": flow,
        "hops": with_fields(HOP, []),
        "links": link,
        "packets": with_fields(PACKET | (SACK_BLOCK if rules.features.SACK_BLOCKS else {}), []),
        "slots": slot,
        "waiting": WAITING,
        "changes": CHANGE,
        "times": TIME,
        "flow_samples": with_fields(FLOW_SAMPLE, counters),
        "link_samples": LINK_SAMPLE,
        "bins": BIN,
        "queues": link,
        "heap": HEAP_ENTRY,
    }
