"""Packet rules of a law, driven by hand: what ACKs and timeouts make of a sender."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import vegasfluid as vf
from vegasfluid.congestion.base import (
    CongestionControl,
)
from vegasfluid.congestion.loss_recovery import (
    RESEND,
    RETRANSMIT,
    window_in_use,
)

__all__ = ["RenoAfterLoss", "checked_after_resending", "checked_at_duplicate", "reno_after_loss"]

WINDOW, OLDEST = 20.0, 100
"""Packets; and the number of the oldest one under way."""
FOREVER = 1e6
AGE, TIMEOUT = 2 * 10**11, 1e11
"""ps: of the oldest packet, and what Vegas's fine timer allows it."""


def sender(law: CongestionControl, window: float = WINDOW) -> Any:
    """A sender in congestion avoidance with a whole window under way."""
    common = {
        "cwnd": window, "ssthresh": 2.0, "max_window": FOREVER, "inflation": 0, "duplicates": 0,
        "in_recovery": 0, "recover": 0, "recovery": law.rules.recovery_number, "una": OLDEST,
        "next_seq": OLDEST + int(window), "max_seq": OLDEST + int(window), "offered": 2**60,
        "undo_cwnd": 0.0, "undo_ssthresh": 0.0, "window_limited": 1, "backoff": 1,
        "acked_sent_at": 0, "acked_transmissions": 2, "oldest_sent_at": 0,
        "oldest_transmissions": 1,
    }  # fmt: skip
    return SimpleNamespace(**common | dict(law.rules.state) | law.packet_parameters())


@dataclass(frozen=True)
class RenoAfterLoss:
    """What a loss makes of Reno's window."""

    equal_acks: int
    """ACKs with one number until the packet is sent again, the first one included."""
    kept: float
    """The share of the window that the threshold is."""
    beyond: list[float]
    """The window in use less the threshold, packets: at once, after one more duplicate, and after
    the next new ACK."""
    restarted: list[float]
    """After a timeout: the window, what it is four ACKs later (packets), and the share of the old
    window that the threshold is."""


def reno_after_loss() -> RenoAfterLoss:
    """Fast retransmit, fast recovery and a timeout, step by step."""
    law = vf.Reno()
    flow = sender(law)
    duplicates = 1
    while not law.rules.on_duplicate_ack(flow, 0) & RETRANSMIT:
        duplicates += 1
    beyond = [window_in_use(flow) - flow.ssthresh]
    law.rules.on_duplicate_ack(flow, 0)
    beyond.append(window_in_use(flow) - flow.ssthresh)
    flow.una = flow.max_seq
    law.rules.on_ack(flow, 0, int(WINDOW))
    beyond.append(window_in_use(flow) - flow.ssthresh)
    late = sender(law)
    law.rules.on_timeout(late, 0)
    restarted = [late.cwnd]
    for _ in range(4):
        law.rules.on_ack(late, 0, 1)
    return RenoAfterLoss(
        equal_acks=1 + duplicates,
        kept=flow.ssthresh / WINDOW,
        beyond=beyond,
        restarted=[*restarted, late.cwnd, late.ssthresh / WINDOW],
    )


def worried_vegas() -> Any:
    """A Vegas sender (ns-2's, which has both stages) whose oldest packet is overdue."""
    flow = sender(vf.Vegas(dialect="ns2"))
    flow.base_rtt = flow.fine_rtt = TIMEOUT / 2
    flow.fine_timeout = TIMEOUT
    flow.round_end = 10**9  # no round ends meanwhile
    return flow


def checked_at_duplicate() -> int:
    """The duplicate ACK at which an overdue packet is sent again."""
    law, flow = vf.Vegas(dialect="ns2"), worried_vegas()
    duplicates = 1
    while not law.rules.on_duplicate_ack(flow, AGE) & RETRANSMIT:
        duplicates += 1
    return duplicates


def checked_after_resending() -> list[float]:
    """Which of the first three new ACKs after a packet was sent again look at the next packet's
    age, and send it again where it is overdue, as it is here; 1 or 0 for each.
    """
    law, flow = vf.Vegas(dialect="ns2"), worried_vegas()
    while not law.rules.on_duplicate_ack(flow, AGE) & RETRANSMIT:
        pass
    found = []
    for _ in range(3):
        flow.una += 1
        flow.fine_timeout = TIMEOUT
        found.append(float(bool(law.rules.on_ack(flow, AGE, 1) & RESEND)))
    return found
