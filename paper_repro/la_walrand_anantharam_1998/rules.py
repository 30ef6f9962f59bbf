"""What the paper says of the algorithms, asked of the rules themselves, packet by packet."""

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

__all__ = ["EXPERIMENT", "detect"]

MS = 10**9
"""Picoseconds."""
ALWAYS_SEND = 10**9
"""Packets that the application offers."""


def a_flow(law: CongestionControl, **given: Any) -> Any:
    """A sender's record, as a run begins with, and with some fields as given."""
    fields = dict.fromkeys(FLOW, 0) | {"offered": ALWAYS_SEND, "ssthresh": 2.0, "max_window": 1e5}
    return SimpleNamespace(**(fields | dict(law.rules.state) | law.packet_parameters() | given))


def difference(rtt_ms: float) -> float:
    """Diff (packets a second) at a window of 20 packets and a base RTT of 100 ms."""
    flow = a_flow(
        vf.Vegas(), cwnd=20.0, base_rtt=100.0 * MS, una=1, next_seq=21, acked_transmissions=1
    )
    vf.Vegas().rules.on_ack(flow, round(rtt_ms * MS), 1)
    return flow.vegas_diff * 1000 / (flow.base_rtt / MS)


def smallest_difference() -> float:
    """The smallest of many differences, round trips drawn around the base RTT."""
    trips = np.random.default_rng(1).uniform(50, 200, 1000)
    return min(difference(trip) for trip in trips)


def duplicates_until_resent(age_ms: float) -> int:
    """How many duplicate ACKs it takes with a fine-grained timeout of 150 ms."""
    law = vf.Vegas(dialect="ns2")
    flow = a_flow(law, cwnd=10.0, una=1, max_seq=11, next_seq=11, fine_timeout=150.0 * MS)
    flow.oldest_transmissions = 1
    for count in range(1, 10):
        if law.rules.on_duplicate_ack(flow, round(age_ms * MS)) & RETRANSMIT:
            return count
    return 0


def resent_after_retransmission() -> list[float]:
    """Whether each of three new ACKs after a loss has the next packet resent, if that is old."""
    law = vf.Vegas(dialect="ns2")
    flow = a_flow(law, cwnd=10.0, una=1, max_seq=11, next_seq=11, fine_timeout=150.0 * MS)
    flow.base_rtt = flow.round_rtt_sum = 100.0 * MS
    flow.round_end, flow.oldest_transmissions = 10, 1
    for _ in range(3):
        law.rules.on_duplicate_ack(flow, 120 * MS)
    flow.fine_timeout = 150.0 * MS
    answers = []
    for packet in (2, 3, 4):
        flow.una = packet
        answers.append(float(bool(law.rules.on_ack(flow, 400 * MS, 1) & RESEND)))
    return answers


def detect(trips_ms: Iterable[float], cwnd: float = 12.0) -> tuple[int, Any]:
    """After how many round trips of packets the modified Vegas believes in a longer route.

    Args:
        trips_ms: round-trip times of single packets, after it has learned 10 ms of own backlog
            at a base RTT of 100 ms with its K-th packet.
        cwnd: window, packets.

    Returns:
        The number of packets (0: it never did), and the flow.
    """
    law = vf.VegasRerouting()
    flow = a_flow(law, base_rtt=100.0 * MS, acked_transmissions=1, round_end=ALWAYS_SEND)
    flow.una, flow.cwnd = 100, cwnd
    law.rules.on_ack(flow, 110 * MS, 1)
    for count, trip in enumerate(trips_ms, 1):
        flow.una += 1
        law.rules.on_ack(flow, round(trip * MS), 1)
        if flow.cwnd != cwnd:
            return count, flow
    return 0, flow


def note_route(evidence: Evidence) -> None:
    """Section 3, steps (1) and (2)."""
    longer = [500.0] * 79 + [480.0]
    count, flow = detect(longer)
    once_low = [500.0] * 60 + [100.0] * 20 + [500.0] * 79
    found = {
        "own_backlog_ms": flow.backlog_delay / MS,
        "packets_to_detect": float(count),
        "new_base_ms": flow.base_rtt / MS,
        "new_window": flow.cwnd,
        "detected_below_margin": float(detect([129.0] * 400)[0] > 0),
        "detected_above_margin": float(detect([131.0] * 400)[0] > 0),
        "detected_if_once_low": float(detect(once_low)[0] > 0),
    }
    for name, value in found.items():
        evidence.note(PACKETS, f"rules.{name}", value)


def fates(average: float, packets: int = 20000) -> np.ndarray:
    """What RED with thresholds 40 and 80 does to packets at an average queue that stays."""
    law = vf.Red(40, 80, max_drop=0.02)
    fields = dict.fromkeys(LINK, 0) | dict(law.rule.state) | law.packet_parameters()
    queue = SimpleNamespace(**(fields | {"avg_queue": average, "waiting_size": average}))
    coins = np.random.default_rng(1).uniform(size=packets)
    made = []
    for coin in coins:
        queue.uniform, queue.avg_queue = coin, average
        made.append(law.rule.decide(queue, int(average), 0.0))
    return np.array(made)


def note_red(evidence: Evidence) -> None:
    """Section 4, the gateway."""
    quarter, half = (float((fates(average) == EARLY).mean()) for average in (50.0, 60.0))
    found = {
        "dropped_below": float((fates(39.0) != ADMIT).mean()),
        "dropped_above": float((fates(81.0) == FORCED).mean()),
        "drop_slope": half / quarter,
    }
    for name, value in found.items():
        evidence.note(PACKETS, f"rules.{name}", value)


def measure(results: Results) -> Evidence:
    """Ask the rules; nothing is run."""
    evidence = Evidence()
    found = {
        "difference": difference(125.0),
        "smallest_difference": smallest_difference(),
        "duplicates_if_old": float(duplicates_until_resent(200.0)),
        "duplicates_if_young": float(duplicates_until_resent(100.0)),
        "resent_after_retransmission": resent_after_retransmission(),
    }
    for name, value in found.items():
        evidence.note(PACKETS, f"rules.{name}", value)
    note_route(evidence)
    note_red(evidence)
    return evidence


EXPERIMENT = Experiment("rules", "The algorithms, rule by rule", measure, quick=True)
