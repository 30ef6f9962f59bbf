"""Linux's Vegas with a clock of 10 ms, which the page calls the standard timer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import vegasfluid as vf
from vegasfluid.congestion.base import PacketRules
from vegasfluid.congestion.vegas import DIALECTS

__all__ = ["CoarseVegas"]

TICK = 10**10
"""Step of the clock, ps: a jiffy of Linux 2.4 (HZ = 100)."""

linux_on_ack = DIALECTS["linux"].rules.on_ack


def on_ack(flow: Any, now: int, acked: int) -> int:
    """Handle an ACK like Linux's Vegas, with both times rounded down to the clock's step."""
    sent = flow.acked_sent_at
    flow.acked_sent_at = sent - sent % TICK
    action = linux_on_ack(flow, now - now % TICK, acked)
    flow.acked_sent_at = sent
    return action


@dataclass(frozen=True)
class CoarseVegas(vf.Vegas):
    """Linux's Vegas with a clock of 10 ms."""

    @property
    def rules(self) -> PacketRules:
        """Return the rules of Linux's Vegas with the other clock."""
        return replace(super().rules, handlers={"on_ack": on_ack})
