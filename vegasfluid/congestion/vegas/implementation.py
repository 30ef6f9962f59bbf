"""Whose Vegas: what the implementations of Vegas do differently, each told in one file.

A dialect is a set of named constants for the one fluid law, and the packet rules.

Sources:
    The counters: Net100's TCP Vegas, 2004 (WAD_VegasNoChange, WAD_VegasGTBeta, WAD_VegasLTAlpha,
    WAD_VegasGTGamma and VegasDiff of its Web100 instrumentation).
"""

from __future__ import annotations

from dataclasses import dataclass

from vegasfluid.congestion.base import PacketRules

__all__ = ["COUNTERS", "VegasImplementation"]

COUNTERS: dict[str, int | float] = {
    "vegas_unchanged": 0,
    "vegas_above_beta": 0,
    "vegas_below_alpha": 0,
    "vegas_above_gamma": 0,
    "vegas_diff": 0.0,
}
"""What every dialect shows, with its value at the start: once a round trip, what was decided,
and the backlog that it was decided by (packets, as the dialect estimates it)."""


@dataclass(frozen=True)
class VegasImplementation:
    """One implementation of Vegas.

    Args:
        name: the name in model files.
        alpha: default of the implementation, packets.
        beta: default, packets.
        gamma: default, packets.
        loss_cut: the share of the window that a loss takes away.
        slow_start_cut: the share of the window given up when slow start ends by `gamma`.
        slow_start_rounds: the round trips in which slow start doubles the window.
        over_base: whether the backlog estimate is `cwnd (rtt - base) / base` (Linux) instead of
            `cwnd (rtt - base) / rtt`.
        rise: where a growing window comes to rest, as an offset to alpha, packets: the rounding
            of the estimate plus half of the whole-packet step.
        fall: where a shrinking window comes to rest, as an offset to beta, packets.
        smallest_rtt: whether the estimate takes the smallest RTT of a round, and not the mean.
        reno_in_disorder: whether packets that overtake each other switch it off (Linux).
        unsent: the mean part of a packet by which a window at rest is above what is in flight:
            a half where losses leave parts of packets and steps are whole, so that parts stay.
        per_ack: whether a step is made in parts, with each ACK, and not at once.
        fewest_samples: RTT samples that a round must have; one with fewer takes a Reno step.
        forgets: whether a timeout makes it take the present RTT for its base.
        keeps_threshold: whether a loss leaves no less than losses before (ns-3: ssthresh rises to
            3/4 of the largest window and does not fall while the window grows).
        recovery_scheme: how losses are repaired (see `CongestionControl.recovery_scheme`).
        whole_packets: whether the implementation takes whole numbers only.
        rules: the packet rules.
        sources: where they were read.
    """

    name: str
    alpha: float
    beta: float
    gamma: float
    loss_cut: float
    slow_start_cut: float
    slow_start_rounds: float
    over_base: bool
    rise: float
    fall: float
    smallest_rtt: bool
    reno_in_disorder: bool
    unsent: float
    per_ack: bool
    fewest_samples: float
    forgets: bool
    keeps_threshold: bool
    recovery_scheme: str
    whole_packets: bool
    rules: PacketRules
    sources: tuple[str, ...]
