"""The laws with answers to losses that are kept, also where the loss turns out to be none.

Selective reports and a threshold of reordering that grows are as before: the sender learns that
packets overtake each other, but the window and the threshold of its first mistakes stay low.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import vegasfluid as vf
from vegasfluid.congestion.base import PacketRules
from vegasfluid.congestion.loss_recovery import RETRANSMIT
from vegasfluid.congestion.vegas import DIALECTS

__all__ = ["CubicWithoutUndo", "RenoWithoutUndo", "VegasWithoutUndo"]

reno_duplicate, cubic_duplicate, vegas_duplicate = (
    vf.Reno().rules.on_duplicate_ack,
    vf.Cubic().rules.on_duplicate_ack,
    DIALECTS["linux"].rules.on_duplicate_ack,
)


def keep_answer(flow: Any, action: int) -> int:
    """Forget what the window and the threshold were, so that nothing brings them back."""
    if action & RETRANSMIT:
        flow.undo_cwnd = flow.cwnd
        flow.undo_ssthresh = flow.ssthresh
    return action


def on_reno_duplicate(flow: Any, now: int) -> int:
    """Reno's answer."""
    return keep_answer(flow, reno_duplicate(flow, now))


def on_cubic_duplicate(flow: Any, now: int) -> int:
    """CUBIC's answer."""
    return keep_answer(flow, cubic_duplicate(flow, now))


def on_vegas_duplicate(flow: Any, now: int) -> int:
    """The answer of Linux's Vegas."""
    return keep_answer(flow, vegas_duplicate(flow, now))


@dataclass(frozen=True)
class RenoWithoutUndo(vf.Reno):
    """Reno."""

    @property
    def rules(self) -> PacketRules:
        """Reno's, but for the answer to a loss."""
        return replace(super().rules, handlers={"on_duplicate_ack": on_reno_duplicate})


@dataclass(frozen=True)
class CubicWithoutUndo(vf.Cubic):
    """CUBIC."""

    @property
    def rules(self) -> PacketRules:
        """CUBIC's, but for the answer to a loss."""
        return replace(super().rules, handlers={"on_duplicate_ack": on_cubic_duplicate})


@dataclass(frozen=True)
class VegasWithoutUndo(vf.Vegas):
    """Vegas of Linux."""

    @property
    def rules(self) -> PacketRules:
        """Those of Linux's Vegas, but for the answer to a loss."""
        return replace(super().rules, handlers={"on_duplicate_ack": on_vegas_duplicate})
