"""The senders: the loss signals they receive, and the mean response of a class to them.

A loss that a sender detects at time t happened when the packet arrived at the queue. For the first
queue of the path this was at t - R(t), with the present round-trip time R (Misra, Gong and
Towsley); for later queues correspondingly later.

A loss event takes a round trip, in which the window does not grow and further losses do not count
(RFC 6582, section 3.2). So the fraction of flows in recovery is the number of loss events of a flow
in the last round trip.

Sources:
    These equations, and timeouts as time without sending: derived for this project. The length of
    a timeout with backoff: J. Padhye, V. Firoiu, D. Towsley and J. Kurose, SIGCOMM 1998, f(p) (as
    later papers quote it; not checked against the original).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from vegasfluid import smooth
from vegasfluid.congestion.base import CongestionControl, Signals
from vegasfluid.congestion.loss_recovery import timeout_share
from vegasfluid.fluid.delayed import DelayedState
from vegasfluid.fluid.delays import DelayBounds
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.rtt_noise import RttNoise
from vegasfluid.fluid.shapes import LawState, PerCell, PerGroup, PerHop, PerQueue, Scalar
from vegasfluid.fluid.structure import FluidStructure

__all__ = [
    "ClassDerivative",
    "LossSignals",
    "SenderSignals",
    "capped_loss_rate",
    "law_signals",
    "loss_signals",
    "mean_derivative",
    "mean_window_growth",
    "measured_rtt",
    "synchronised_part",
    "timeout_duration",
    "timeout_fraction",
]

TINY = 1e-12
"""Keeps quotients finite where nothing arrives or nothing is lost."""
MOST_LOSSES_PER_RTT = 5.0
"""Largest number of losses of a flow in a round trip (chosen; with that many, nearly all flows of a
group have a loss event)."""
MOST_LOSSES_PER_DELAY = 2.0
"""Largest number of losses of a flow in the shortest delay (chosen; more make the equations stiff).
"""
RTO_IN_RTTS = 1.5
"""Shortest retransmission timeout in round-trip times (RFC 6298 with a variance)."""
LARGEST_BACKOFF_PROB = 0.5
"""Largest drop probability for the mean exponential backoff, which diverges at 1."""
LIMIT_WIDTH = 0.05
"""Range, as a fraction of the window, over which a sender changes from window-limited to
application-limited."""
FEW_FLOWS_LEFT = 0.2
"""Fraction of flows outside recovery below which synchronised losses become rarer (chosen)."""


class LossSignals(NamedTuple):
    """The losses and marks that senders detect now.

    Args:
        rate: packets lost or marked of a flow, packets/s; from `loss_signals` a mean over time, in
            `SenderSignals` of a flow that is sending.
        prob: probability that a packet is lost or marked.
        lost_prob: probability that a packet is lost; None where nothing is marked (then `prob`).
    """

    rate: PerGroup
    prob: PerGroup
    lost_prob: PerGroup | None = None

    @property
    def drop_prob(self) -> PerGroup:
        """Probability that a packet of a flow of each group is lost, 0 to 1; marks excluded."""
        return self.prob if self.lost_prob is None else self.lost_prob

    @property
    def mark_prob(self) -> PerGroup:
        """Probability that a packet of a flow of each group that is not lost is marked, 0 to 1."""
        marked = smooth.maximum(self.prob - self.drop_prob, 0.0)
        return marked / smooth.maximum(1 - self.drop_prob, TINY)

    @property
    def marked(self) -> PerGroup:
        """Fraction of the losses and marks of a flow of each group that are marks, 0 to 1."""
        return smooth.maximum(self.prob - self.drop_prob, 0.0) / smooth.maximum(self.prob, TINY)


class SenderSignals(NamedTuple):
    """What the senders of each flow group observe at one time.

    Args:
        rtt: round-trip time, s.
        measured_rtt: round-trip time that they measure, s (see `FluidOptions.delayed_rtt`).
        rate: packets/s that a flow sends while it is sending.
        losses: losses and marks that they detect.
        noise: noise of single round-trip times.
        in_recovery: fraction of the flows that detected a loss in the last round trip.
        rate_limit: largest rate that application and access link allow, packets/s.
        ssthresh: window at which the first slow start ends, packets.
        min_rto: smallest retransmission timeout, s.
        ack_every: packets that an ACK acknowledges.
        synchronised: fraction of the queues on the path whose losses follow window growth (see
            `queues.drop_tail_loss_bias`); not traced.
        recovered: loss events of a flow a round trip ago, whose recovery ends now, 1/s.
        timeout_exits: timeouts that end now, per flow that is not in a timeout, 1/s.
    """

    rtt: PerGroup
    measured_rtt: PerGroup
    rate: PerGroup
    losses: LossSignals
    noise: RttNoise
    in_recovery: PerGroup
    rate_limit: PerGroup
    ssthresh: PerGroup
    min_rto: PerGroup
    ack_every: PerGroup
    synchronised: np.ndarray
    recovered: PerGroup
    timeout_exits: PerGroup


def loss_signals(
    rtt: PerGroup,
    queueing_delay: PerHop,
    propagation: PerHop,
    delayed: DelayedState,
    structure: FluidStructure,
) -> LossSignals:
    """Losses and marks on all data hops that the senders of each group detect now.

    Args:
        rtt: round-trip time, s.
        queueing_delay: present waiting time at each hop, s.
        propagation: delay from the previous queue to each hop, s.
        delayed: counters at past times.
        structure: static structure of the equations.

    Returns:
        Packets lost or marked of one flow, packets/s, as a mean over the times in which it sends or
        not; the probability of a loss or mark; and that of a loss, None where no queue marks.
    """
    hops = np.array([number for number, hop in enumerate(structure.hops) if not hop.is_ack])
    group = structure.hop_groups[hops]
    delays = [
        signal_delay(
            number, rtt[structure.hops[number].group], queueing_delay, propagation, structure
        )
        for number in hops
    ]
    one_hop_each = len(hops) == len(set(group))
    same_delay = one_hop_each and len(set(structure.rtt_index)) == 1
    arrived, signalled, lost = delayed.hop_rates(hops, jnp.stack(delays), same_delay)
    if not one_hop_each:
        sums = structure.group_hop_matrix[:, hops]
        signalled, lost = (jnp.asarray(sums) @ rate for rate in (signalled, lost))
        first = [index for index, hop in enumerate(hops) if structure.hops[hop].previous < 0]
        arrived = arrived[np.array(first)]
    arrived, signalled = smooth.maximum(arrived, TINY), smooth.maximum(signalled, 0.0)
    prob = smooth.clip(signalled / arrived, 0.0, 1.0)
    lost_prob = smooth.clip(lost / arrived, 0.0, 1.0) if structure.has_ecn else None
    return LossSignals(signalled, prob, lost_prob)


def measured_rtt(
    rtt: PerGroup,
    queueing_delay: PerHop,
    propagation: PerHop,
    shares: PerQueue,
    delayed: DelayedState,
    structure: FluidStructure,
) -> PerGroup:
    """Round-trip time of the packets acknowledged now, s, with the queues at their arrivals.

    Args:
        rtt: round-trip time with the present queues, s.
        queueing_delay: present waiting time at each hop, s.
        propagation: delay from the previous queue to each hop, s.
        shares: rate at which each queue is served, packets/s.
        delayed: queues at past times.
        structure: static structure of the equations.
    """
    queues = structure.hop_queues
    delays = [
        signal_delay(number, rtt[group], queueing_delay, propagation, structure)
        for number, group in enumerate(structure.hop_groups)
    ]
    past_delay = delayed.queue(queues, jnp.stack(delays)) / shares[queues]
    return rtt + jnp.asarray(structure.group_hop_matrix) @ (past_delay - queueing_delay)


def signal_delay(
    number: int, rtt: Scalar, queueing_delay: PerHop, propagation: PerHop, structure: FluidStructure
) -> Scalar:
    """Time since a packet that is acknowledged now was at hop `number`, s.

    It is the round-trip time `rtt` (s) minus waiting times and propagation delays (s) from the
    first hop to that hop.
    """
    path = [*structure.upstream_hops(number), number]
    return rtt - sum(queueing_delay[a] + propagation[b] for a, b in pairwise(path))


def law_signals(
    window: LawState, law: CongestionControl, senders: SenderSignals, options: FluidOptions
) -> Signals:
    """Inputs of a congestion control's equations for a class, without loss events.

    Args:
        window: the mean state of the class.
        law: its congestion control.
        senders: what its senders observe.
        options: modelling options.
    """
    excess = law.in_flight(window, senders.rtt) / (senders.rate_limit * senders.rtt) - 1
    signals = Signals(
        rtt=senders.measured_rtt,
        ack_rate=senders.rate,
        loss_rate=0.0,
        initial_ssthresh=senders.ssthresh,
        ack_every=senders.ack_every,
        window_limited=smooth.clip(LIMIT_WIDTH - excess, 0.0, LIMIT_WIDTH) / LIMIT_WIDTH,
        min_rtt_offset=senders.noise.minimum_offset,
        jitter=senders.noise.width,
        reordering=senders.noise.reordering,
        timeout_rate=senders.timeout_exits,
        loss_process=options.loss_process,
    )
    if not law.distinguishes_marks:
        return signals
    return signals._replace(mark_prob=senders.losses.mark_prob, marked=senders.losses.marked)


class ClassDerivative(NamedTuple):
    """Time derivative of the state of a class, and its loss events.

    Args:
        state: time derivative of the class's state, a `LawState` or a `density.Distribution`.
        loss_events: loss events of a flow that is not in a timeout, 1/s.
        timeouts: timeouts of such a flow, 1/s.
    """

    state: Any
    loss_events: PerGroup
    timeouts: PerGroup


def mean_derivative(
    window: LawState, law: CongestionControl, senders: SenderSignals, options: FluidOptions
) -> ClassDerivative:
    """Time derivative of the mean state of a class, and its loss events and timeouts.

    Args:
        window: the mean state of the class.
        law: its congestion control.
        senders: what its senders observe.
        options: modelling options.

    Returns:
        d(window)/dt, each field in its unit per second; loss events and timeouts, 1/s.
    """
    signals = law_signals(window, law, senders, options)._replace(growing=1 - senders.in_recovery)
    events = loss_events(window, law, senders, signals)
    cwnd = law.cwnd_of(window, senders.rtt)
    timeouts = events.rate * timeout_fraction(law, cwnd, senders, options)
    signals = signals._replace(loss_rate=events.effective_rate)
    derivative = law.drift(outside_recovery(window, senders), signals)
    return ClassDerivative(derivative, events.rate, timeouts)


class LossEvents(NamedTuple):
    """Rates of loss events of a flow.

    Args:
        rate: number of loss events, 1/s.
        effective_rate: rate of loss events at the mean window that would reduce the mean equally
            fast, 1/s.
    """

    rate: PerGroup
    effective_rate: PerGroup


def loss_events(
    window: LawState, law: CongestionControl, senders: SenderSignals, signals: Signals
) -> LossEvents:
    """Rates of the loss events of one flow of a class, 1/s, from the losses its sender detects.

    A fraction r of the flows is in recovery, with windows already reduced by the fraction b, and
    does not respond again: of random losses the fraction 1 - r becomes loss events (`rate`). While
    a queue is full, each flow has one synchronised loss; these become rarer only if few flows are
    outside recovery (`FEW_FLOWS_LEFT`). The flows outside have windows W / (1 - r b), where W is
    the mean, so each event reduces the mean by 1 / (1 - r b) times as much; `effective_rate`
    includes this factor, and that of the loss process for synchronised losses. The rate of losses
    does not have this factor: losses detected now happened a round trip ago, before the flows now
    in recovery reduced their windows.
    """
    cwnd, process = law.cwnd_of(window, senders.rtt), signals.loss_process
    reduced = law.cwnd_of(law.after_loss(window, signals), senders.rtt)
    others = 1 - senders.in_recovery
    larger_window = 1 / (1 - senders.in_recovery * (1 - reduced / cwnd))
    part = synchronised_part(cwnd, senders)
    random = (1 - part) * others
    synchronised = part * smooth.minimum(others / FEW_FLOWS_LEFT, 1.0)
    losses = senders.losses.rate
    weight = (random + synchronised / law.loss_factor(process, window)) * larger_window
    return LossEvents((random + synchronised) * losses, weight * losses)


def synchronised_part(cwnd: PerCell, senders: SenderSignals) -> PerCell:
    """Fraction of the losses of windows of `cwnd` packets that is synchronised, 0 to 1.

    It is 1 - 1/cwnd on queues whose losses follow window growth, as all packets of a window but one
    are ACK-clocked.
    """
    return senders.synchronised * smooth.maximum(1 - 1 / cwnd, 0.0)


def mean_window_growth(
    window: LawState, law: CongestionControl, senders: SenderSignals, options: FluidOptions
) -> PerGroup:
    """Growth of the mean window of a class, apart from losses, packets/s, at least 0."""
    signals = law_signals(window, law, senders, options)._replace(growing=1 - senders.in_recovery)
    return smooth.maximum(law.drift(outside_recovery(window, senders), signals).cwnd, 0.0)


def outside_recovery(window: LawState, senders: SenderSignals) -> LawState:
    """Mean state of the flows outside recovery, from the mean state of all flows, `window`.

    Only the fraction in slow start differs: no flow in recovery is in slow start, so it is larger.
    """
    slow_start = window.slow_start / smooth.maximum(1 - senders.in_recovery, TINY)
    return window._replace(slow_start=smooth.minimum(slow_start, 1.0))


def timeout_fraction(
    law: CongestionControl, cwnd: PerCell, senders: SenderSignals, options: FluidOptions
) -> PerCell:
    """Fraction of the loss events that end in a timeout, for windows of `cwnd` packets, 0 to 1.

    It is 0 without `FluidOptions.timeouts`, and for senders that do not retransmit. A synchronised
    loss is a single one, and its retransmission is not lost. A mark has the response of a loss, but
    its packet has arrived and is not retransmitted (RFC 3168, 6.1.2).
    """
    if not options.timeouts or not law.rules.reliable:
        return jnp.zeros_like(cwnd)
    losses = senders.losses
    repeated_loss = (1 - synchronised_part(cwnd, senders)) * losses.drop_prob
    fraction = timeout_share(
        law.recovery_scheme, cwnd, repeated_loss, senders.rtt / senders.min_rto
    )
    if losses.lost_prob is None:
        return fraction
    return fraction * losses.lost_prob / smooth.maximum(losses.prob, TINY)


def capped_loss_rate(losses: PerGroup, rtt: PerGroup, bounds: DelayBounds) -> PerGroup:
    """Losses of a flow of each group, 1/s, clipped to at most a few per delay.

    At most `MOST_LOSSES_PER_RTT` per round trip (`rtt`, s), and `MOST_LOSSES_PER_DELAY` per
    shortest delay.
    """
    most = smooth.minimum(MOST_LOSSES_PER_RTT / rtt, MOST_LOSSES_PER_DELAY / bounds.shortest)
    return smooth.minimum(losses, most)


def timeout_duration(cwnd: PerGroup, senders: SenderSignals) -> PerGroup:
    """Mean time in which a flow does not send after a timeout, s, for windows of `cwnd` packets.

    It is the mean retransmission timer with backoff, plus half the duration of the slow start to
    half the window.
    """
    p = smooth.minimum(senders.losses.drop_prob, LARGEST_BACKOFF_PROB)
    backoff = (1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6) / (1 - p)
    timer = smooth.maximum(senders.min_rto, RTO_IN_RTTS * senders.rtt) * backoff
    doublings = smooth.log1p(smooth.maximum(cwnd / 2, 1.0) - 1) / np.log(2)
    return timer + senders.rtt * doublings / 2
