"""Congestion controls that do not undo their response to a spurious loss.

SACK and the growing reordering threshold are unchanged: the sender learns that packets are
reordered, but the window and the threshold of its first responses stay low.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import vegasfluid as vf
from vegasfluid.congestion.base import PacketRules
from vegasfluid.congestion.loss_recovery import RETRANSMIT
from vegasfluid.congestion.vegas import DIALECTS
from vegasfluid.congestion.vegas.linux import begin_round
from vegasfluid.congestion.vegas.linux import increase_window as increase_linux_window

__all__ = ["CubicWithoutUndo", "RenoWithoutUndo", "VegasWithSack", "VegasWithoutUndo"]


def increase_window(flow: Any, now: int, acked: int) -> None:
    """Change `flow.cwnd` for an ACK like Linux's Vegas, off while packets are missing.

    Kernels before 4.18 recover by SACK and not by RACK-TLP, which would switch Vegas off and on.
    """
    whole = flow.sacked == 0 and flow.una >= flow.recover
    if whole and not flow.vegas_on:
        begin_round(flow)
    flow.vegas_on = int(whole)
    increase_linux_window(flow, now, acked)


SACK_VEGAS = replace(DIALECTS["linux"].rules, increase_window=increase_window, recovery="sack")
"""Packet rules of Linux's Vegas with recovery by SACK."""

reno_duplicate, cubic_duplicate, vegas_duplicate = (
    vf.Reno().rules.on_duplicate_ack,
    vf.Cubic().rules.on_duplicate_ack,
    SACK_VEGAS.on_duplicate_ack,
)


def keep_answer(flow: Any, action: int) -> int:
    """Overwrite the stored window and threshold, so that a response cannot be undone."""
    if action & RETRANSMIT:
        flow.undo_cwnd = flow.cwnd
        flow.undo_ssthresh = flow.ssthresh
    return action


def on_reno_duplicate(flow: Any, now: int) -> int:
    """Handle a duplicate ACK like Reno, without undo."""
    return keep_answer(flow, reno_duplicate(flow, now))


def on_cubic_duplicate(flow: Any, now: int) -> int:
    """Handle a duplicate ACK like CUBIC, without undo."""
    return keep_answer(flow, cubic_duplicate(flow, now))


def on_vegas_duplicate(flow: Any, now: int) -> int:
    """Handle a duplicate ACK like Linux's Vegas, without undo."""
    return keep_answer(flow, vegas_duplicate(flow, now))


@dataclass(frozen=True)
class RenoWithoutUndo(vf.Reno):
    """Reno that does not undo its response to a spurious loss."""

    @property
    def rules(self) -> PacketRules:
        """Return Reno's rules with the other handler of duplicate ACKs."""
        return replace(super().rules, handlers={"on_duplicate_ack": on_reno_duplicate})


@dataclass(frozen=True)
class CubicWithoutUndo(vf.Cubic):
    """CUBIC that does not undo its response to a spurious loss."""

    @property
    def rules(self) -> PacketRules:
        """Return CUBIC's rules with the other handler of duplicate ACKs."""
        return replace(super().rules, handlers={"on_duplicate_ack": on_cubic_duplicate})


@dataclass(frozen=True)
class VegasWithSack(vf.Vegas):
    """Linux's Vegas that recovers by SACK."""

    @property
    def rules(self) -> PacketRules:
        """Return the rules of Linux's Vegas with recovery by SACK."""
        return SACK_VEGAS


@dataclass(frozen=True)
class VegasWithoutUndo(vf.Vegas):
    """Linux's Vegas that recovers by SACK and does not undo its response to a spurious loss."""

    @property
    def rules(self) -> PacketRules:
        """Return the rules of Linux's Vegas with the other handler of duplicate ACKs."""
        return replace(SACK_VEGAS, handlers={"on_duplicate_ack": on_vegas_duplicate})
