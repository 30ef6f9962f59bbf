"""Pareto and NPS traffic over one connection for each source, which section 3.2 may also mean.

The window, and what Vegas has learned of the path, then outlive a flow: the next one does not
begin with slow start.
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
    """As `Sessions`, but the connection goes on."""
    by_sessions(flow, now)
    return CONTINUED


def on_packet(flow: Any, now: int) -> int:
    """As `OnOff`, but the connection goes on."""
    by_on_off(flow, now)
    return CONTINUED


@dataclass(frozen=True)
class KeptSessions(vf.Sessions):
    """Sessions of a source that share one connection."""

    @property
    def rules(self) -> SourceRules:
        """As those of `Sessions`, but for the connection."""
        return replace(super().rules, on_application=on_session)


@dataclass(frozen=True)
class KeptOnOff(vf.OnOff):
    """On and off times inside sessions that share one connection."""

    @property
    def rules(self) -> SourceRules:
        """As those of `OnOff`, but for the connection."""
        return replace(super().rules, on_application=on_packet)


KEPT: dict[type[TrafficSource], type[TrafficSource]] = {
    vf.Sessions: KeptSessions,
    vf.OnOff: KeptOnOff,
}


def kept(traffic: TrafficSource) -> TrafficSource:
    """The same traffic over one connection."""
    parameters = {of.name: getattr(traffic, of.name) for of in fields(traffic)}
    return KEPT[type(traffic)](**parameters)


def over_one_connection(network: vf.Network) -> vf.Network:
    """The network whose sources have one connection each."""
    return changed_flows(network, lambda of: replace(of, traffic=kept(of.traffic)))
