"""Linux's Vegas with a clock of 10 ms, which the page calls the standard timer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import vegasfluid as vf
from vegasfluid.congestion.base import PacketRules
from vegasfluid.congestion.vegas.linux import on_rtt_sample as take_linux_sample
from vegasfluid.packet.rack.records import NOT_SET

__all__ = ["CoarseVegas"]

TICK = 10**10
"""Step of the clock, ps: a jiffy of Linux 2.4 (HZ = 100)."""


def coarse_sample(flow: Any, rtt: float) -> None:
    """Take an RTT (ps) as Linux's Vegas does, with both of its times rounded down to the clock."""
    sent = flow.ack_last_sent
    if flow.sack_first_sent != NOT_SET:
        sent = flow.sack_last_sent
    received = sent + int(rtt)
    take_linux_sample(flow, float(received - received % TICK - (sent - sent % TICK)))


@dataclass(frozen=True)
class CoarseVegas(vf.Vegas):
    """Linux's Vegas with a clock of 10 ms."""

    @property
    def rules(self) -> PacketRules:
        """Return the rules of Linux's Vegas with the other clock."""
        return replace(super().rules, on_rtt_sample=coarse_sample)
