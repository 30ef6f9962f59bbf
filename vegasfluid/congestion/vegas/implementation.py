"""What distinguishes the implementations (dialects) of Vegas; each is defined in its own file.

A dialect is a set of constants for the fluid model, which is the same for all, and packet rules.

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
"""Counters of every dialect with their initial values: how often each decision was made, at most
once per round trip, and the last backlog (packets, as the dialect estimates it)."""


@dataclass(frozen=True)
class VegasImplementation:
    """One implementation of Vegas.

    Args:
        name: name in model files.
        alpha: default of the backlog below which the window grows, packets.
        beta: default of the backlog above which the window shrinks, packets.
        gamma: default of the backlog above which slow start ends, packets.
        loss_cut: fraction of the window that a loss takes away.
        slow_start_cut: fraction of the window taken away when slow start ends by `gamma`.
        slow_start_rounds: round trips in which slow start doubles the window.
        divides_by_base_rtt: whether the backlog estimate is `cwnd (rtt - base) / base` (Linux)
            instead of `cwnd (rtt - base) / rtt`.
        alpha_offset: equilibrium backlog of a growing window minus alpha, packets: the rounding of
            the estimate plus half of the whole-packet step.
        beta_offset: equilibrium backlog of a shrinking window minus beta, packets.
        uses_min_rtt: whether the estimate takes the smallest RTT of a round, not the mean.
        reno_during_reordering: whether the window grows as Reno's while packets are reordered.
        unsent_fraction: mean of cwnd - floor(cwnd) at equilibrium, packets: 0.5 where losses leave
            fractions of a packet and steps are whole packets, so that fractions stay, else 0.
        steps_per_ack: whether the step of one packet per round trip is spread over the ACKs of the
            round trip; otherwise its last ACK makes the whole step.
        min_samples: RTT samples needed in a round trip; with fewer, the window grows as Reno's.
        resets_base_rtt_at_timeout: whether a timeout sets the base RTT to the present RTT.
        keeps_ssthresh: whether a loss reduces the window to ssthresh (ns-3: ssthresh rises to
            3/4 of the largest window and does not fall while the window grows).
        whole_packets: whether alpha, beta and gamma must be whole numbers.
        rules: rules of the packet simulator.
        sources: literature and source code that define it.
        timeouts_like: recovery scheme whose fraction of timeouts the fluid model uses; None: that
            of `rules`.
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
