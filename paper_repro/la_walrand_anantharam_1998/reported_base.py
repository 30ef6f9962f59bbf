"""Forms of Vegas whose trajectory contains the measured base RTT, in the place of Vegas's backlog.

They behave like the originals: only the reported number differs. The modified Vegas is also there
with an average of several differences as diff_estimate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import vegasfluid as vf
from vegasfluid.clock import PICOSECONDS
from vegasfluid.congestion.base import PacketRules
from vegasfluid.congestion.vegas import DIALECTS
from vegasfluid.congestion.vegas_rerouting import UNKNOWN, take_route_sample
from vegasfluid.congestion.vegas_rerouting import on_ack as rerouting_on_ack

__all__ = ["BASE_RTT", "AveragingVegas", "ReportingModified", "ReportingVegas"]

BASE_RTT = "vegas_diff"
"""Variable of the trajectory that contains the base RTT, s."""
AVERAGED = 10
"""Differences that are averaged, up to that of packet K."""

ns2_on_ack = DIALECTS["ns2"].rules.on_ack


def report(flow: Any) -> None:
    """Put the base RTT (s) in the place of the backlog."""
    flow.vegas_diff = flow.base_rtt / PICOSECONDS


def on_ack(flow: Any, now: int, acked: int) -> int:
    """Handle an ACK like the Vegas of ns-2, and report the base RTT."""
    action = ns2_on_ack(flow, now, acked)
    report(flow)
    return action


def on_modified_ack(flow: Any, now: int, acked: int) -> int:
    """Handle an ACK like the modified Vegas, and report the base RTT."""
    action = rerouting_on_ack(flow, now, acked)
    report(flow)
    return action


def on_averaging_ack(flow: Any, now: int, acked: int) -> int:
    """Handle an ACK like the modified Vegas, with a mean difference as diff_estimate."""
    action = ns2_on_ack(flow, now, acked)
    if flow.acked_transmissions != 1:
        return action
    rtt = float(now - flow.acked_sent_at)
    if flow.backlog_delay != UNKNOWN:
        take_route_sample(flow, rtt)
    elif flow.una - flow.opened > flow.learning - AVERAGED:
        flow.difference_sum += rtt - flow.base_rtt
        flow.differences += 1
        if flow.differences == AVERAGED:
            flow.backlog_delay = flow.difference_sum / AVERAGED
    return action


def with_handler(rules: PacketRules, handler: Any, **state: float) -> PacketRules:
    """Return rules with another handler of new ACKs, and more fields of the state."""
    fields: Mapping[str, int | float] = {**rules.state, **state}
    return replace(rules, handlers={**rules.handlers, "on_ack": handler}, state=fields)


@dataclass(frozen=True)
class ReportingVegas(vf.Vegas):
    """Vegas of ns-2 whose base RTT is in the trajectory."""

    @property
    def rules(self) -> PacketRules:
        """Return the rules of ns-2's Vegas with the other report."""
        return with_handler(super().rules, on_ack)


@dataclass(frozen=True)
class ReportingModified(vf.VegasRerouting):
    """Modified Vegas whose base RTT is in the trajectory."""

    @property
    def rules(self) -> PacketRules:
        """Return the rules of the modified Vegas with the other report."""
        return with_handler(super().rules, on_modified_ack)


@dataclass(frozen=True)
class AveragingVegas(vf.VegasRerouting):
    """Modified Vegas whose diff_estimate is a mean of ten differences."""

    @property
    def rules(self) -> PacketRules:
        """Return the rules of the modified Vegas with the other diff_estimate."""
        return with_handler(
            super().rules, on_averaging_ack, difference_sum=0.0, differences=0
        )  # fmt: skip
