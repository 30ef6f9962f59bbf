"""The packet rules of a congestion control, called step by step with ACKs and timeouts."""

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

WINDOW = 20.0
"""Window of the sender, packets."""
OLDEST = 100
"""Number of the oldest packet in flight."""
UNLIMITED = 1e6
"""Advertised window that never limits the sender, packets."""
AGE = 2 * 10**11
"""Time since the oldest packet was sent, ps."""
TIMEOUT = 1e11
"""Vegas's fine-grained timeout, ps."""


def sender(law: CongestionControl, window: float = WINDOW) -> Any:
    """Return a sender in congestion avoidance with a full window in flight."""
    common = {
        "cwnd": window, "ssthresh": 2.0, "max_window": UNLIMITED, "inflation": 0, "duplicates": 0,
        "in_recovery": 0, "recover": 0, "recovery": law.rules.recovery_number, "una": OLDEST,
        "next_seq": OLDEST + int(window), "max_seq": OLDEST + int(window), "offered": 2**60,
        "undo_cwnd": 0.0, "undo_ssthresh": 0.0, "window_limited": 1, "backoff": 1,
        "acked_sent_at": 0, "acked_transmissions": 2, "oldest_sent_at": 0,
        "oldest_transmissions": 1,
    }  # fmt: skip
    return SimpleNamespace(**common | dict(law.rules.state) | law.packet_parameters())


@dataclass(frozen=True)
class RenoAfterLoss:
    """State of a Reno sender after a loss."""

    equal_acks: int
    """ACKs with the same number, with the first, until the packet is retransmitted."""
    kept: float
    """Threshold as a fraction of the window before."""
    beyond: list[float]
    """Window in use minus the threshold, packets: at the loss, after one more duplicate ACK, and
    after the next new ACK."""
    restarted: list[float]
    """After a timeout: the window, the window four ACKs later (packets), and the threshold as a
    fraction of the old window."""


def reno_after_loss() -> RenoAfterLoss:
    """Return the state after fast retransmit, fast recovery and a timeout."""
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
    expired = sender(law)
    law.rules.on_timeout(expired, 0)
    restarted = [expired.cwnd]
    for _ in range(4):
        law.rules.on_ack(expired, 0, 1)
    return RenoAfterLoss(
        equal_acks=1 + duplicates,
        kept=flow.ssthresh / WINDOW,
        beyond=beyond,
        restarted=[*restarted, expired.cwnd, expired.ssthresh / WINDOW],
    )


def overdue_vegas() -> Any:
    """Return a Vegas sender of ns-2, which has both checks, with an overdue oldest packet."""
    flow = sender(vf.Vegas(dialect="ns2"))
    flow.base_rtt = flow.fine_rtt = TIMEOUT / 2
    flow.fine_timeout = TIMEOUT
    flow.round_end = 10**9  # no round ends meanwhile
    return flow


def checked_at_duplicate() -> int:
    """Return the number of the duplicate ACK at which an overdue packet is retransmitted."""
    law, flow = vf.Vegas(dialect="ns2"), overdue_vegas()
    duplicates = 1
    while not law.rules.on_duplicate_ack(flow, AGE) & RETRANSMIT:
        duplicates += 1
    return duplicates


def checked_after_resending() -> list[float]:
    """Return which of three new ACKs after a retransmission resend the next, overdue packet.

    1 or 0 for each ACK.
    """
    law, flow = vf.Vegas(dialect="ns2"), overdue_vegas()
    while not law.rules.on_duplicate_ack(flow, AGE) & RETRANSMIT:
        pass
    resent = []
    for _ in range(3):
        flow.una += 1
        flow.fine_timeout = TIMEOUT
        resent.append(float(bool(law.rules.on_ack(flow, AGE, 1) & RESEND)))
    return resent
