"""Whose Vegas: what the implementations of Vegas do differently, each told in one file.

A dialect is a set of named constants for the one fluid law, and the packet rules.
"""

from __future__ import annotations

from dataclasses import dataclass

from vegasfluid.congestion.law import PacketRules

__all__ = ["Dialect"]


@dataclass(frozen=True)
class Dialect:
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
    whole_packets: bool
    rules: PacketRules
    sources: tuple[str, ...]
