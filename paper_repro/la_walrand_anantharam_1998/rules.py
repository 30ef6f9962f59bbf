"""The paper's statements about the algorithms, tested on the simulator's packet rules."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Results
from vegasfluid.aqm.base import ADMIT, EARLY, FORCED
from vegasfluid.congestion.base import (
    CongestionControl,
)
from vegasfluid.congestion.loss_recovery import (
    RESEND,
    RETRANSMIT,
)
from vegasfluid.packet.records import FLOW, LINK

__all__ = ["EXPERIMENT", "MS", "detect", "sender"]

MS = 10**9
"""Picoseconds in a millisecond."""
OWN_MS = 10.0
"""Round trip of packet K above the base RTT, ms: the own backlog."""
PRECISE_MS = 1e-4
"""Accuracy to which a margin is found, ms."""
ALWAYS_SEND = 10**9
"""Packets that the application offers, more than are ever sent."""


def sender(law: CongestionControl, **given: Any) -> Any:
    """Return a sender's state at the start of a run, with some fields replaced."""
    fields = dict.fromkeys(FLOW, 0) | {"offered": ALWAYS_SEND, "ssthresh": 2.0, "max_window": 1e5}
    return SimpleNamespace(**(fields | dict(law.rules.state) | law.packet_parameters() | given))


def difference(rtt_ms: float) -> float:
    """Return Diff (packets/s) at a window of 20 packets and a base RTT of 100 ms."""
    flow = sender(
        vf.Vegas(), cwnd=20.0, base_rtt=100.0 * MS, una=1, next_seq=21, acked_transmissions=1
    )
    vf.Vegas().rules.on_ack(flow, round(rtt_ms * MS), 1)
    return flow.vegas_diff * 1000 / (flow.base_rtt / MS)


def smallest_difference() -> float:
    """Return the smallest of 1000 values of Diff, for RTTs from 50 to 200 ms."""
    trips = np.random.default_rng(1).uniform(50, 200, 1000)
    return min(difference(trip) for trip in trips)


def duplicates_until_resent(age_ms: float) -> int:
    """Return the number of duplicate ACKs that trigger a retransmission; 0 for none of nine.

    Args:
        age_ms: time since the packet was sent, ms; the fine-grained timeout is 150 ms.
    """
    law = vf.Vegas(dialect="ns2")
    flow = sender(law, cwnd=10.0, una=1, max_seq=11, next_seq=11, fine_timeout=150.0 * MS)
    flow.oldest_transmissions = 1
    for count in range(1, 10):
        if law.rules.on_duplicate_ack(flow, round(age_ms * MS)) & RETRANSMIT:
            return count
    return 0


def resent_after_retransmission() -> list[float]:
    """Return 1 or 0 for each of three new ACKs after a loss: whether it resends an old packet."""
    law = vf.Vegas(dialect="ns2")
    flow = sender(law, cwnd=10.0, una=1, max_seq=11, next_seq=11, fine_timeout=150.0 * MS)
    flow.base_rtt = flow.round_rtt_sum = 100.0 * MS
    flow.round_end, flow.oldest_transmissions = 10, 1
    for _ in range(3):
        law.rules.on_duplicate_ack(flow, 120 * MS)
    flow.fine_timeout = 150.0 * MS
    resent = []
    for packet in (2, 3, 4):
        flow.una = packet
        resent.append(float(bool(law.rules.on_ack(flow, 400 * MS, 1) & RESEND)))
    return resent


def detect(
    trips_ms: Iterable[float], cwnd: float = 12.0, base_ms: float = 100.0
) -> tuple[int, Any]:
    """Return after how many packets the modified Vegas accepts a longer route.

    Args:
        trips_ms: round-trip times of single packets, after a packet with 10 ms of own backlog.
        cwnd: window, packets.
        base_ms: base RTT, ms.

    Returns:
        The number of packets (0: it never did), and the flow.
    """
    law = vf.VegasRerouting()
    flow = sender(law, base_rtt=base_ms * MS, acked_transmissions=1, round_end=ALWAYS_SEND)
    flow.una, flow.cwnd = 100, cwnd
    law.rules.on_ack(flow, round((base_ms + OWN_MS) * MS), 1)
    for count, trip in enumerate(trips_ms, 1):
        flow.una += 1
        law.rules.on_ack(flow, round(trip * MS), 1)
        if flow.cwnd != cwnd:
            return count, flow
    return 0, flow


def margin_ms(base_ms: float) -> float:
    """Return how far round trips may be above base RTT and own backlog without detection, ms.

    Args:
        base_ms: base RTT, ms.
    """
    low, high = 0.0, base_ms
    while high - low > PRECISE_MS:
        middle = (low + high) / 2
        found = detect([base_ms + OWN_MS + middle] * 400, base_ms=base_ms)[0] > 0
        low, high = (low, middle) if found else (middle, high)
    return low


def note_route(evidence: Evidence) -> None:
    """Record the detection of a longer route, section 3, steps (1) and (2)."""
    longer = [500.0] * 79 + [480.0]
    count, flow = detect(longer)
    once_low = [500.0] * 60 + [100.0] * 20 + [500.0] * 79
    measures = {
        "own_backlog_ms": flow.backlog_delay / MS,
        "packets_to_detect": float(count),
        "new_base_ms": flow.base_rtt / MS,
        "new_window": flow.cwnd,
        "detected_below_margin": float(detect([129.0] * 400)[0] > 0),
        "detected_above_margin": float(detect([131.0] * 400)[0] > 0),
        "margins_ms": [margin_ms(100.0), margin_ms(1000.0)],
        "detected_if_once_low": float(detect(once_low)[0] > 0),
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"rules.{name}", value)


def red_decisions(average: float, packets: int = 20000) -> np.ndarray:
    """Return RED's decisions at a constant average queue; thresholds 40 and 80 packets."""
    law = vf.Red(40, 80, max_drop=0.02)
    fields = dict.fromkeys(LINK, 0) | dict(law.rule.state) | law.packet_parameters()
    queue = SimpleNamespace(**(fields | {"avg_queue": average, "waiting_size": average}))
    variates = np.random.default_rng(1).uniform(size=packets)
    decisions = []
    for variate in variates:
        queue.uniform, queue.avg_queue = variate, average
        decisions.append(law.rule.decide(queue, int(average), 0.0))
    return np.array(decisions)


def note_red(evidence: Evidence) -> None:
    """Record RED's drop probabilities below, between and above the thresholds, section 4."""
    quarter, half = (float((red_decisions(average) == EARLY).mean()) for average in (50.0, 60.0))
    measures = {
        "dropped_below": float((red_decisions(39.0) != ADMIT).mean()),
        "dropped_above": float((red_decisions(81.0) == FORCED).mean()),
        "drop_slope": half / quarter,
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"rules.{name}", value)


def measure(results: Results) -> Evidence:
    """Record what the rules do; nothing is simulated."""
    evidence = Evidence()
    measures = {
        "difference": difference(125.0),
        "smallest_difference": smallest_difference(),
        "duplicates_if_old": float(duplicates_until_resent(200.0)),
        "duplicates_if_young": float(duplicates_until_resent(100.0)),
        "resent_after_retransmission": resent_after_retransmission(),
    }
    for name, value in measures.items():
        evidence.note(PACKETS, f"rules.{name}", value)
    note_route(evidence)
    note_red(evidence)
    return evidence


EXPERIMENT = Experiment(
    "rules", "The algorithms, rule by rule", measure, quick=True, single_rules=True
)
