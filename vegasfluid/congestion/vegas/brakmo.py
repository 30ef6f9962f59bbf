"""Vegas as published: Brakmo and Peterson's rule with Reno's loss recovery.

Once per round trip, `diff = cwnd (rtt - base) / rtt` is compared with alpha and beta; the window
changes by one packet over the next round trip. Slow start doubles the window every other round trip
and ends when diff exceeds gamma.

Sources:
    L. Brakmo and L. Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet",
    IEEE JSAC 13(8), 1995, section IV (the rule; the defaults 1 and 3 as in Weigle and Feng,
    LA-UR-01-3420, section 2.1). Response to losses: RFC 5681, section 3.2.
"""

from __future__ import annotations

from typing import Any

from vegasfluid.congestion.packet_rules import PacketRules
from vegasfluid.congestion.vegas.implementation import COUNTERS, VegasImplementation

__all__ = ["BRAKMO"]

Flow = Any
"""A record of `vegasfluid.packet.records.FLOW`: NumPy's when interpreted, Numba's when compiled."""


def end_round(flow: Flow, rtt: float) -> None:
    """At the end of a round trip, compare the backlog with the thresholds and set the increase.

    `rtt` is the latest round-trip time, ps. Sets `flow.increase`, the packets by which each ACK of
    the next round trip changes the window. Ends slow start (ssthresh becomes 2) if the backlog
    exceeds gamma.
    """
    backlog = flow.cwnd * (rtt - flow.base_rtt) / rtt
    flow.vegas_diff = backlog
    if flow.cwnd < flow.ssthresh:
        flow.doubling_round = 1 - flow.doubling_round
        flow.increase = float(flow.doubling_round)
        if backlog > flow.gamma:
            flow.ssthresh = 2.0
            flow.increase = 0.0
            flow.vegas_above_gamma += 1
    elif backlog > flow.beta:
        flow.increase = -1.0 / flow.cwnd
        flow.vegas_above_beta += 1
    elif backlog < flow.alpha:
        flow.increase = 1.0 / flow.cwnd
        flow.vegas_below_alpha += 1
    else:
        flow.increase = 0.0
        flow.vegas_unchanged += 1


def on_rtt_sample(flow: Flow, rtt: float) -> None:
    """Store `rtt` (ps) as the flow's latest round-trip time, and update its base RTT."""
    flow.latest_rtt = rtt
    flow.base_rtt = min(flow.base_rtt, rtt)


def increase_window(flow: Flow, now: int, acked: int) -> None:
    """Add `flow.increase` (packets per ACK) to `flow.cwnd`, which stays at least 2 packets.

    At the end of a round trip, first set the increase for the next one. `now` (ps) and `acked` are
    not used.
    """
    if flow.una > flow.round_end:
        if flow.latest_rtt > 0.0:
            end_round(flow, flow.latest_rtt)
        flow.round_end = flow.next_seq
        flow.latest_rtt = 0.0
    if flow.increase == 1.0 and flow.cwnd >= flow.ssthresh:
        flow.increase = 0.0
    flow.cwnd = max(flow.cwnd + flow.increase, 2.0)


def window_after_loss(flow: Flow, window: float) -> float:
    """Window after a loss, packets: half of the window in use (`window`)."""
    return window / 2


def on_restart(flow: Flow, now: int) -> None:
    """After a timeout, set `flow.cwnd` to two packets, and start with a round that doubles it.

    The round begins with the first ACK; RTT samples from before the timeout are discarded.
    """
    flow.cwnd = 2.0
    flow.increase = 1.0
    flow.doubling_round = 1
    flow.round_end = flow.una
    flow.latest_rtt = 0.0


BRAKMO = VegasImplementation(
    name="brakmo",
    alpha=1,
    beta=3,
    gamma=1,
    loss_cut=1 / 2,
    slow_start_cut=0.0,
    slow_start_rounds=2,
    divides_by_base_rtt=False,
    alpha_offset=0.5,
    beta_offset=-0.5,
    uses_min_rtt=False,
    reno_during_reordering=False,
    unsent_fraction=0.0,
    steps_per_ack=True,
    min_samples=0,
    resets_base_rtt_at_timeout=False,
    keeps_ssthresh=False,
    whole_packets=False,
    rules=PacketRules(
        increase_window,
        window_after_loss,
        on_rtt_sample=on_rtt_sample,
        on_restart=on_restart,
        state={
            "round_end": 0,
            "latest_rtt": 0.0,
            "base_rtt": 1e30,
            "increase": 1.0,
            "doubling_round": 1,
            **COUNTERS,
        },
        places=("round_end",),
        counters=tuple(COUNTERS),
    ),
    sources=("Brakmo and Peterson, IEEE JSAC 13(8), 1995", "RFC 5681, section 3.2"),
)
"""Vegas as in the paper of Brakmo and Peterson."""
