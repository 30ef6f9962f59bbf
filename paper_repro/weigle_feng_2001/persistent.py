"""Pareto and NPS traffic with one connection per source, another reading of section 3.2.

The window, and what Vegas knows of the path, then persist between flows: the next flow does not
start with slow start.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import vegasfluid as vf
from paper_repro.weigle_feng_2001.networks import changed_flows
from vegasfluid.traffic import TrafficSource
from vegasfluid.traffic.base import CONTINUED, SourceRules
from vegasfluid.traffic.on_off import on_application as by_on_off
from vegasfluid.traffic.sessions import on_application as by_sessions

__all__ = ["KeptOnOff", "KeptSessions", "over_one_connection"]


def on_session(flow: Any, now: int) -> int:
    """Start the next session like `Sessions`, on the same connection."""
    by_sessions(flow, now)
    return CONTINUED


def on_packet(flow: Any, now: int) -> int:
    """Offer the next packet like `OnOff`, on the same connection."""
    by_on_off(flow, now)
    return CONTINUED


@dataclass(frozen=True)
class KeptSessions(vf.Sessions):
    """Sessions of a source that share one connection."""

    @property
    def rules(self) -> SourceRules:
        """Return the rules of `Sessions` with one connection."""
        return replace(super().rules, on_application=on_session)


@dataclass(frozen=True)
class KeptOnOff(vf.OnOff):
    """On and off times in sessions that share one connection."""

    @property
    def rules(self) -> SourceRules:
        """Return the rules of `OnOff` with one connection."""
        return replace(super().rules, on_application=on_packet)


KEPT: dict[type[TrafficSource], type[TrafficSource]] = {
    vf.Sessions: KeptSessions,
    vf.OnOff: KeptOnOff,
}
"""Classes with one connection, by class of the traffic source."""


def kept(traffic: TrafficSource) -> TrafficSource:
    """Return the same traffic source over one connection."""
    parameters = {field.name: getattr(traffic, field.name) for field in fields(traffic)}
    return KEPT[type(traffic)](**parameters)


def over_one_connection(network: vf.Network) -> vf.Network:
    """Return the network whose sources use one connection each."""
    return changed_flows(network, lambda flows: replace(flows, traffic=kept(flows.traffic)))
