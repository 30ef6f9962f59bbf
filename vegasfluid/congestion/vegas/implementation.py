"""Whose Vegas: what the implementations of Vegas do differently, each told in one file.

A dialect is a set of named constants for the one fluid law, and the packet rules.

Sources:
    The counters: Net100's TCP Vegas, 2004 (WAD_VegasNoChange, WAD_VegasGTBeta, WAD_VegasLTAlpha,
    WAD_VegasGTGamma and VegasDiff of its Web100 instrumentation).
"""

from __future__ import annotations

from dataclasses import dataclass

from vegasfluid.congestion.packet_rules import PacketRules

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
        divides_by_base_rtt: whether the backlog estimate is `cwnd (rtt - base) / base` (Linux)
            instead of `cwnd (rtt - base) / rtt`.
        alpha_offset: equilibrium backlog of a growing window minus alpha, packets: the rounding of
            the estimate plus half of the whole-packet step.
        beta_offset: equilibrium backlog of a shrinking window minus beta, packets.
        uses_min_rtt: whether the estimate takes the smallest RTT of a round, not the mean.
        reno_during_reordering: whether the window grows as Reno's while packets are reordered.
        unsent_fraction: mean of cwnd - floor(cwnd) at equilibrium, packets: 0.5 where losses leave
            fractions of a packet and steps are whole packets, so that fractions stay, else 0.
        steps_per_ack: whether a step is spread over the ACKs of a round, not made at its end.
        min_samples: RTT samples that a round must have; one with fewer takes a Reno step.
        resets_base_rtt_at_timeout: whether a timeout makes it take the present RTT for its base.
        keeps_ssthresh: whether a loss leaves no less than losses before (ns-3: ssthresh rises to
            3/4 of the largest window and does not fall while the window grows).
        whole_packets: whether the implementation takes whole numbers only.
        rules: the packet rules.
        sources: where they were read.
        timeouts_like: recovery scheme of whose timeouts the fluid has as many; None: its own.
    """

    name: str
    alpha: float
    beta: float
    gamma: float
    loss_cut: float
    slow_start_cut: float
    slow_start_rounds: float
    divides_by_base_rtt: bool
    alpha_offset: float
    beta_offset: float
    uses_min_rtt: bool
    reno_during_reordering: bool
    unsent_fraction: float
    steps_per_ack: bool
    min_samples: float
    resets_base_rtt_at_timeout: bool
    keeps_ssthresh: bool
    whole_packets: bool
    rules: PacketRules
    sources: tuple[str, ...]
    timeouts_like: str | None = None
