"""Vegas of ns-3 (src/internet/model/tcp-vegas.cc).

The backlog is cwnd minus the whole part of cwnd base / rtt, so it is rounded up, with the smallest
RTT of the round: windows are at equilibrium where the backlog is in (alpha - 1, beta]. Slow start
doubles the window every round trip. With fewer than three samples in a round, and while packets are
missing, the window grows as Reno's.

A loss reduces the window to ssthresh, or by one packet if ssthresh is larger than that. Each round
raises ssthresh to at least 3/4 of the window. Only a backlog above beta (or a loss right after a
loss) lowers it. So a loss takes away *what was gained since the last one, at most a quarter of the
window*. The fluid model leaves out what the end of slow start takes away (the backlog minus
one packet), as that is small.

Sources:
    The behaviour of ns-3-dev, src/internet/model/tcp-vegas.cc (no code copied); growth as Reno's by
    RFC 5681, as in tcp-congestion-ops.cc. Recovery by SACK is ns-3's default (TcpSocketBase's
    Sack); RFC 6675.
"""

from __future__ import annotations

from typing import Any

from vegasfluid.congestion.loss_recovery import SMALLEST_SSTHRESH
from vegasfluid.congestion.packet_rules import PacketRules
from vegasfluid.congestion.vegas.implementation import COUNTERS, VegasImplementation

__all__ = ["NS3"]

Flow = Any
"""A record of `vegasfluid.packet.records.FLOW`: NumPy's when interpreted, Numba's when compiled."""

NO_SAMPLE = 1e30
"""Value of a smallest RTT until the first sample, ps: larger than any RTT."""
FEWEST_SAMPLES = 3
"""RTT samples with which a round trip is evaluated; with fewer, the window grows as Reno's."""

TIMEOUTS_LIKE = "newreno"
"""Recovery scheme whose timeouts the fluid model has, although ns-3 recovers by SACK: a fit.

Timeouts per lost packet differ from packet runs (3 seeds, 14 networks) by a factor of 1.55 in the
geometric mean, with those of SACK by 1.54; goodput ratios by 1.27 and 1.26. Of the 7 networks that
drop less than 4 % of the packets the factors are 1.50 and 1.61, of the others 1.61 and 1.47."""


def begin_round(flow: Flow) -> None:
    """Start a round trip of a flow: it ends with the ACK of the next packet to be sent.

    The RTT samples of the last round are discarded.
    """
    flow.round_end = flow.next_seq
    flow.round_samples = 0
    flow.round_rtt = NO_SAMPLE


def window_after_loss(flow: Flow, window: float) -> float:
    """Window after a loss, packets: ssthresh, but at most `window` - 1 and at least 2.

    `window` is the window in use, packets.
    """
    return max(min(flow.ssthresh, window - 1.0), SMALLEST_SSTHRESH)


def end_round(flow: Flow) -> None:
    """At the end of a round trip, change `flow.cwnd` by one packet, or leave slow start.

    The backlog (whole packets, by the smallest RTT of the round) is compared with gamma in slow
    start, otherwise with alpha and beta. If it exceeds gamma, slow start ends with the window that
    fits the base RTT, plus one packet; otherwise slow start goes on with one packet more. ssthresh
    rises to at least 3/4 of the window.
    """
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
    """Grow `flow.cwnd` as Reno for an ACK, where RTT samples are few or Vegas is off."""
    flow.cwnd += 1.0 if flow.cwnd < flow.ssthresh else 1.0 / flow.cwnd


def on_rtt_sample(flow: Flow, rtt: float) -> None:
    """Update a flow's smallest round-trip time of the round and base RTT by `rtt`, all in ps."""
    flow.base_rtt = min(flow.base_rtt, rtt)
    flow.round_rtt = min(flow.round_rtt, rtt)
    flow.round_samples += 1


def increase_window(flow: Flow, now: int, acked: int) -> None:
    """Change `flow.cwnd` for an ACK, by Vegas's rule at the end of a round trip.

    While packets are missing or reordered, and at the end of a round trip with fewer than three RTT
    samples, the window grows as Reno's. Slow start grows by one packet with every ACK. `now` (ps)
    and `acked` are not used.
    """
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
    """After a timeout, start a new round trip of a flow, without the RTT samples before it.

    The base RTT is kept. `now` (ps) is not used.
    """
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
            "round_rtt": NO_SAMPLE,
            "base_rtt": NO_SAMPLE,
            "was_off": 0,
            **COUNTERS,
        },
        places=("round_end",),
        counters=tuple(COUNTERS),
        recovery="sack",
    ),
    timeouts_like=TIMEOUTS_LIKE,
    sources=("ns-3, src/internet/model/tcp-vegas.cc", "RFC 6675"),
)
"""Vegas of ns-3."""
