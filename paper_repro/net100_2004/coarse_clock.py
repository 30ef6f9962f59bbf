"""Vegas of Linux with a clock that ticks every 10 ms: what the page calls the standard timer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import vegasfluid as vf
from vegasfluid.congestion.base import PacketRules
from vegasfluid.congestion.vegas import DIALECTS

__all__ = ["CoarseVegas"]

TICK = 10**10
"""ps: a jiffy of Linux 2.4 (HZ = 100)."""

linux_on_ack = DIALECTS["linux"].rules.on_ack


def on_ack(flow: Any, now: int, acked: int) -> int:
    """As Linux's, with both times of a round trip read from the ticking clock."""
    sent = flow.acked_sent_at
    flow.acked_sent_at = sent - sent % TICK
    action = linux_on_ack(flow, now - now % TICK, acked)
    flow.acked_sent_at = sent
    return action


@dataclass(frozen=True)
class CoarseVegas(vf.Vegas):
    """Vegas that reads the time in steps of 10 ms."""

    @property
    def rules(self) -> PacketRules:
        """Linux's, but for the clock."""
        return replace(super().rules, handlers={"on_ack": on_ack})
