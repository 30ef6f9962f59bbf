"""On and off times that are exponential, which the paper tried in place of Pareto ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import vegasfluid as vf
from vegasfluid.traffic.chance import exponential
from vegasfluid.traffic.kind import CONTINUED, NEVER, NEW_CONNECTION, OfferRules, ps
from vegasfluid.traffic.sessions import transfer_size

__all__ = ["ExponentialOnOff"]


def on_application(flow: Any, now: int) -> int:
    """As `OnOff` inside sessions, but for the distribution of the on and off times."""
    if flow.on_until < 0:
        flow.on_until = 0
        flow.app_at = now + ps(exponential(flow, flow.gap)) + 1
        return CONTINUED
    begins = flow.left == 0
    if begins:
        flow.left = transfer_size(flow)
        flow.on_until = now + ps(exponential(flow, flow.on))
    flow.offered += 1
    flow.left -= 1
    plan_next(flow, now)
    return NEW_CONNECTION if begins else CONTINUED


def plan_next(flow: Any, now: int) -> None:
    """When the next packet is handed over: none where the transfer is complete."""
    following = now + ps(flow.interval)
    if flow.left == 0:
        following = NEVER
    elif following > flow.on_until:
        following = flow.on_until + ps(exponential(flow, flow.off))
        flow.on_until = following + ps(exponential(flow, flow.on))
    flow.app_at = following


@dataclass(frozen=True)
class ExponentialOnOff(vf.OnOff):
    """On and off times of exponential lengths inside sessions of Pareto lengths."""

    @property
    def rules(self) -> OfferRules:
        """As those of `OnOff`, but for the times."""
        return replace(super().rules, on_application=on_application)
