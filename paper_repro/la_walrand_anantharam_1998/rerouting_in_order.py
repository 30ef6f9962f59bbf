"""The modified Vegas whose steps (a) and (b) run in the printed order.

Step (a) sets baseRTT to the new round trip, and equation (1) of step (b) divides by baseRTT. In
that order the quotient is 1, and the window grows by one packet only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from vegasfluid.congestion.base import PacketRules
from vegasfluid.congestion.vegas_rerouting import VegasRerouting, ns2_on_ack, take_route_sample

__all__ = ["InOrder"]


def on_ack(flow: Any, now: int, acked: int) -> int:
    """Handle an ACK like the modified Vegas, but grow by one packet where the base RTT grows."""
    action = ns2_on_ack(flow, now, acked)
    if flow.acked_transmissions == 1:
        cwnd, base_rtt = flow.cwnd, flow.base_rtt
        take_route_sample(flow, float(now - flow.acked_sent_at))
        if flow.base_rtt > base_rtt:
            flow.cwnd = cwnd + 1.0
    return action


@dataclass(frozen=True)
class InOrder(VegasRerouting):
    """Modified Vegas that grows by one packet where equation (1) otherwise gives a quotient."""

    @property
    def rules(self) -> PacketRules:
        """Return the rules of the modified Vegas with the other window after a detection."""
        rules = super().rules
        return replace(rules, handlers={**rules.handlers, "on_ack": on_ack})
