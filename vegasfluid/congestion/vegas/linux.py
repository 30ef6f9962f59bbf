"""Vegas of the Linux kernel (net/ipv4/tcp_vegas.c).

The backlog is `diff = cwnd (rtt - base) / base`, with the *base* RTT as divisor, in whole packets,
from the smallest RTT of the round. So the estimate is rtt/base times that of the published rule.
Slow start doubles the window every round trip. With fewer than three samples in a round (with
delayed ACKs, a window below six packets), the window grows as Reno's.

Lost packets are retransmitted by RACK-TLP. While packets are missing or reordered, Vegas is off and
the window grows as Reno's. The base RTT is discarded when a packet is sent with nothing in flight:
after a timeout, or a pause of the application.

Sources:
    The behaviour of Linux 6.1, net/ipv4/tcp_vegas.c and tcp_cong.c (no code copied).
"""

from __future__ import annotations

from typing import Any

from vegasfluid.congestion.counted_growth import COUNT, grow_as_reno, slow_start
from vegasfluid.congestion.packet_rules import OPEN, PacketRules
from vegasfluid.congestion.vegas.implementation import COUNTERS, VegasImplementation

__all__ = ["LINUX"]

Flow = Any
"""A record of `vegasfluid.packet.records.FLOW`: NumPy's when interpreted, Numba's when compiled."""

NO_SAMPLE = 1e30
"""Value of a smallest RTT until the first sample, ps: larger than any RTT."""
FEWEST_SAMPLES = 3
"""RTT samples with which a round trip is evaluated; with fewer, the window grows as Reno's."""


def begin_round(flow: Flow) -> None:
    """Start a round trip of a flow: it ends with the ACK of the next packet to be sent.

    The RTT samples of the last round are discarded.
    """
    flow.round_end = flow.next_seq
    flow.round_samples = 0
    flow.round_rtt = NO_SAMPLE


def end_round(flow: Flow, acked: int) -> None:
    """At the end of a round trip, change `flow.cwnd` by one packet, or leave slow start.

    The backlog (whole packets, by the smallest RTT of the round) is compared with gamma in slow
    start, otherwise with alpha and beta. Slow start that goes on grows by the `acked` packets of
    this ACK. ssthresh rises to at least 3/4 of the window.
    """
    queueing = (flow.round_rtt - flow.base_rtt) / flow.base_rtt
    backlog = int(flow.cwnd * queueing)
    flow.vegas_diff = float(backlog)
    if flow.cwnd < flow.ssthresh:
        if backlog > flow.gamma:
            flow.cwnd = min(flow.cwnd, float(int(flow.cwnd / (1 + queueing))) + 1.0)
            flow.ssthresh = min(flow.ssthresh, flow.cwnd)
            flow.vegas_above_gamma += 1
        else:
            slow_start(flow, acked)
    elif backlog > flow.beta:
        flow.cwnd -= 1.0
        flow.ssthresh = min(flow.ssthresh, flow.cwnd)
        flow.vegas_above_beta += 1
    elif backlog < flow.alpha:
        flow.cwnd += 1.0
        flow.vegas_below_alpha += 1
    else:
        flow.vegas_unchanged += 1
    flow.cwnd = max(flow.cwnd, 2.0)
    flow.ssthresh = max(flow.ssthresh, float(int(flow.cwnd) // 2 + int(flow.cwnd) // 4))


def on_rtt_sample(flow: Flow, rtt: float) -> None:
    """Update a flow's smallest round-trip time of the round and base RTT by `rtt`, all in ps."""
    flow.base_rtt = min(flow.base_rtt, rtt)
    flow.round_rtt = min(flow.round_rtt, rtt)
    flow.round_samples += 1


def increase_window(flow: Flow, now: int, acked: int) -> None:
    """Change `flow.cwnd` for an ACK, by Vegas's rule at the end of a round trip.

    While packets are missing or reordered, and at the end of a round trip with fewer than three RTT
    samples, the window grows as Reno's. Slow start grows with every ACK. `acked` is the number of
    new packets delivered; `now` (ps) is not used.
    """
    if not flow.vegas_on:
        as_reno(flow, acked)
    elif flow.una > flow.round_end:
        if flow.round_samples < FEWEST_SAMPLES:
            as_reno(flow, acked)
        else:
            end_round(flow, acked)
        begin_round(flow)
    elif flow.cwnd < flow.ssthresh:
        slow_start(flow, acked)


def as_reno(flow: Flow, acked: int) -> None:
    """Grow `flow.cwnd` as Reno for `acked` packets, if the window limits the sender."""
    if flow.window_limited:
        grow_as_reno(flow, acked)


def on_state(flow: Flow, state: int) -> None:
    """Switch Vegas on, with a new round trip, when no packet is missing; off in other states."""
    flow.vegas_on = int(state == OPEN)
    if flow.vegas_on:
        begin_round(flow)


def on_flight_start(flow: Flow, now: int) -> None:
    """Discard the base RTT of a flow that sends with nothing in flight, and switch Vegas on."""
    flow.base_rtt = NO_SAMPLE
    flow.vegas_on = 1
    begin_round(flow)


def window_after_loss(flow: Flow, window: float) -> float:
    """Window after a loss, packets: half of the window in use (`window`).

    Also resets `flow.acked_count`, which counts packets for Reno's growth.
    """
    flow.acked_count = 0
    return window / 2


LINUX = VegasImplementation(
    name="linux",
    alpha=2,
    beta=4,
    gamma=1,
    loss_cut=1 / 2,
    slow_start_cut=0.0,
    slow_start_rounds=1,
    divides_by_base_rtt=True,
    alpha_offset=0.5,
    beta_offset=0.5,
    uses_min_rtt=True,
    reno_during_reordering=True,
    unsent_fraction=0.5,
    steps_per_ack=False,
    min_samples=3,
    resets_base_rtt_at_timeout=False,
    keeps_ssthresh=False,
    whole_packets=True,
    rules=PacketRules(
        increase_window,
        window_after_loss,
        on_rtt_sample=on_rtt_sample,
        on_state=on_state,
        on_flight_start=on_flight_start,
        state={
            "round_end": 0,
            "round_samples": 0,
            "round_rtt": NO_SAMPLE,
            "base_rtt": NO_SAMPLE,
            "vegas_on": 1,
            **COUNT,
            **COUNTERS,
        },
        places=("round_end",),
        counters=tuple(COUNTERS),
        recovery="rack",
    ),
    sources=("Linux 6.1, net/ipv4/tcp_vegas.c", "RFC 8985"),
)
"""Vegas of the Linux kernel."""
