"""Vegas as ns-3 does it (src/internet/model/tcp-vegas.cc).

The estimate is cwnd minus the whole part of cwnd base / rtt, so it is rounded up, from the
smallest RTT of the round: windows rest where the backlog is in (alpha - 1, beta]. Slow start
doubles every round trip. A round with fewer than three samples takes one Reno step, and while a
loss is being repaired Vegas is off.

A loss takes the window back to ssthresh, or down by one packet where that is less. Each round
lifts ssthresh to 3/4 of the window at least, and only a backlog above beta (or a loss right after
a loss) lowers it, so a loss takes *what was gained since the last one, a quarter of the window at
most*. The fluid takes the quarter, as after a rise by a third; where losses come more often, its
windows are too small. What the end of slow start gives up (the backlog, less a packet) is small
and left out of the fluid.

Sources:
    ns-3-dev, src/internet/model/tcp-vegas.cc and, for Reno's steps, tcp-congestion-ops.cc
    (behaviour read in the first, told anew here; Reno's steps as RFC 5681 has them). Repair by
    selective reports is ns-3's default (TcpSocketBase's Sack); RFC 6675.
"""

from __future__ import annotations

from typing import Any

from vegasfluid.congestion.loss_recovery import SMALLEST_SSTHRESH
from vegasfluid.congestion.packet_rules import PacketRules
from vegasfluid.congestion.vegas.implementation import COUNTERS, VegasImplementation

__all__ = ["NS3"]

Flow = Any

FORGOTTEN = 1e30
FEWEST_SAMPLES = 3


def begin_round(flow: Flow) -> None:
    """Mark the round's last packet and forget the round's samples."""
    flow.round_end = flow.next_seq
    flow.round_samples = 0
    flow.round_rtt = FORGOTTEN


def window_after_loss(flow: Flow, window: float) -> float:
    """ssthresh, but a packet less than the window in use, and at least two packets."""
    return max(min(flow.ssthresh, window - 1.0), SMALLEST_SSTHRESH)


def end_round(flow: Flow) -> None:
    """Once a round trip: move the window by one packet, or leave slow start."""
    window = int(flow.cwnd)
    target = int(window * (flow.base_rtt / flow.round_rtt))
    backlog = window - target
    flow.vegas_diff = float(backlog)
    if flow.cwnd < flow.ssthresh:
        if backlog > flow.gamma:
            flow.cwnd = float(min(window, target + 1))
            flow.ssthresh = window_after_loss(flow, min(flow.cwnd, flow.max_window))
            flow.vegas_above_gamma += 1
        else:
            flow.cwnd += 1.0
    elif backlog > flow.beta:
        flow.cwnd = window - 1.0
        flow.ssthresh = window_after_loss(flow, min(flow.cwnd, flow.max_window))
        flow.vegas_above_beta += 1
    elif backlog < flow.alpha:
        flow.cwnd = window + 1.0
        flow.vegas_below_alpha += 1
    else:
        flow.vegas_unchanged += 1
    flow.ssthresh = max(flow.ssthresh, 3 * flow.cwnd / 4)


def reno_step(flow: Flow) -> None:
    """Reno's growth, where Vegas has too little to go by or is off."""
    flow.cwnd += 1.0 if flow.cwnd < flow.ssthresh else 1.0 / flow.cwnd


def on_rtt_sample(flow: Flow, rtt: float) -> None:
    """Take the smallest round-trip time of the round, and the base RTT, ps."""
    flow.base_rtt = min(flow.base_rtt, rtt)
    flow.round_rtt = min(flow.round_rtt, rtt)
    flow.round_samples += 1


def increase_window(flow: Flow, now: int, acked: int) -> None:
    """Move the window once a round trip; as Reno while packets are missing or reordered."""
    if flow.sacked > 0 or flow.una < flow.recover:
        reno_step(flow)
        flow.was_off = 1
        return
    if flow.was_off:
        begin_round(flow)
        flow.was_off = 0
    if flow.una >= flow.round_end:
        if flow.round_samples < FEWEST_SAMPLES:
            reno_step(flow)
        else:
            end_round(flow)
        begin_round(flow)
    elif flow.cwnd < flow.ssthresh:
        flow.cwnd += 1.0


def on_restart(flow: Flow, now: int) -> None:
    """After a timeout, begin a round."""
    begin_round(flow)


NS3 = VegasImplementation(
    name="ns3",
    alpha=2,
    beta=4,
    gamma=1,
    loss_cut=1 / 4,
    slow_start_cut=0.0,
    slow_start_rounds=1,
    divides_by_base_rtt=False,
    alpha_offset=-0.5,
    beta_offset=-0.5,
    uses_min_rtt=True,
    reno_during_reordering=False,
    unsent_fraction=0.5,
    steps_per_ack=False,
    min_samples=3,
    resets_base_rtt_at_timeout=False,
    keeps_ssthresh=True,
    whole_packets=True,
    rules=PacketRules(
        increase_window,
        window_after_loss,
        on_rtt_sample=on_rtt_sample,
        on_recovery_end=begin_round,
        on_restart=on_restart,
        state={
            "round_end": 0,
            "round_samples": 0,
            "round_rtt": FORGOTTEN,
            "base_rtt": FORGOTTEN,
            "was_off": 0,
            **COUNTERS,
        },
        places=("round_end",),
        counters=tuple(COUNTERS),
        recovery="sack",
    ),
    timeouts_like="newreno",
    sources=("ns-3, src/internet/model/tcp-vegas.cc", "RFC 6675"),
)
