"""The senders: what each class learns of its losses, and what its law makes of it.

What a sender learns at t was decided in a queue when the packet came there: at the first queue of
the way that is taken as t - R(t), R the round-trip time of now (Misra, Gong and Towsley), and at
later ones the part of R later.

A loss event takes a round trip, in which the window is not grown and no other loss counts (RFC
6582, section 3.2): the share r of flows that repair is the loss events of the last round trip.

Sources:
    The equations above and timeouts as silence: derived for this project. The timer's length
    after several losses: J. Padhye, V. Firoiu, D. Towsley and J. Kurose, SIGCOMM 1998, f(p) (as
    the theory of later papers quotes it; not checked against the original).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vegasfluid import smooth
from vegasfluid.congestion.base import CongestionControl, Signals
from vegasfluid.congestion.loss_recovery import timeout_share
from vegasfluid.fluid.delayed import Past
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.parameters import Lags
from vegasfluid.fluid.rtt_noise import Noise
from vegasfluid.fluid.structure import FluidStructure

__all__ = [
    "Change",
    "Losses",
    "SendersNow",
    "counted",
    "delayed_rtt",
    "ending_in_timeout",
    "losses_seen",
    "mean_change",
    "mean_growing",
    "part_in_turn",
    "silence",
]

Groups = Float[Array, "groups"]

NOTHING = 1e-12
MOST_EVENTS, STIFF = 5.0, 2.0
"""Losses of a flow that count, in a round trip and in the shortest lag: so many make nearly all
flows answer, and more would be stiff."""
TIMER = 1.5
"""A retransmission timer is at least so many round trips (RFC 6298 with a variance)."""


class Losses(NamedTuple):
    """What senders learn of congestion now; each of shape (groups,).

    Args:
        rate: packets lost or marked, 1/s for a flow that is sending.
        prob: of a packet to be lost or marked.
        lost: of a packet to be lost; None where nothing is marked, and it is `prob`.
    """

    rate: Groups
    prob: Groups
    lost: Groups | None = None


class SendersNow(NamedTuple):
    """The senders of some groups at one time; each of shape (groups,).

    Args:
        rtt: s.
        sampled: the round-trip time that they judge by, s (see `FluidOptions.delayed_rtt`).
        rate: packets/s of a flow that is sending.
        losses: what they learn.
        noise: of jitter.
        repairing: the share of a group's flows that repair a loss: those that found one in the
            last round trip.
        limit: packets/s that application and access link allow.
        ssthresh: of the first slow start, packets.
        min_rto: s.
        ack_every: packets that an ACK acknowledges.
        in_turn: the part of the losses that come to whoever grows, see `stations.exposure`;
            concrete.
        mended: loss events of a flow a round trip ago, whose repair ends now, 1/s.
        returning: timeouts whose silence ends now, of a flow that is sending, 1/s.
    """

    rtt: Groups
    sampled: Groups
    rate: Groups
    losses: Losses
    noise: Noise
    repairing: Groups
    limit: Groups
    ssthresh: Groups
    min_rto: Groups
    ack_every: Groups
    in_turn: Any
    mended: Groups
    returning: Groups


def losses_seen(rtt: Groups, stay: Any, onward: Any, past: Past, plan: FluidStructure) -> Losses:
    """What the senders of each group learn of losses and marks at any hop of their data.

    Args:
        rtt: of each group, s.
        stay: what a packet waits at each hop now, s; (hops,).
        onward: propagation from the queue before, s; (hops,).
        past: rates of the past.
        plan: structure.
    """
    hops = np.array([number for number, hop in enumerate(plan.hops) if not hop.acks])
    group = np.array([plan.hops[number].group for number in hops])
    lags = [lag_of(number, rtt[plan.hops[number].group], stay, onward, plan) for number in hops]
    together = len(hops) == len(set(group)) and len(set(plan.lag)) == 1
    came, rate, lost = past.met(hops, jnp.stack(lags), together)
    if len(hops) > len(set(group)):
        rate, lost = (jnp.asarray(plan.ownership[:, hops]) @ of for of in (rate, lost))
        first = np.array([place for place, n in enumerate(hops) if plan.hops[n].previous < 0])
        came = came[first]
    came, rate = smooth.maximum(came, NOTHING), smooth.maximum(rate, 0.0)
    of_packet = smooth.clip(rate / came, 0.0, 1.0)
    return Losses(rate, of_packet, smooth.clip(lost / came, 0.0, 1.0) if plan.marks else None)


def delayed_rtt(
    rtt: Groups, stay: Any, onward: Any, capacity: Any, past: Past, plan: FluidStructure
) -> Groups:
    """The round-trip time of the packets that are acknowledged now, s: of queues that they met.

    Args:
        rtt: of packets that would meet the queues of now, s.
        stay: what a packet waits at each hop now, s; (hops,).
        onward: propagation from the queue before, s; (hops,).
        capacity: of each station, packets/s; (stations,).
        past: queues of the past.
        plan: structure.
    """
    at, group = (np.array([getattr(hop, of) for hop in plan.hops]) for of in ("station", "group"))
    lags = [lag_of(number, rtt[of], stay, onward, plan) for number, of in enumerate(group)]
    met = past.queue(at, jnp.stack(lags)) / capacity[at]
    return rtt + jnp.asarray(plan.ownership) @ (met - stay)


def lag_of(number: int, rtt: Any, stay: Any, onward: Any, plan: FluidStructure) -> Any:
    """How long ago what the sender learns of now happened at a hop, s."""
    way = [*plan.way_to(number), number]
    return rtt - sum(stay[a] + onward[b] for a, b in pairwise(way))


def feedback(
    window: Any, law: CongestionControl, now: SendersNow, options: FluidOptions
) -> Signals:
    """What the senders of a class see, their losses left aside."""
    excess = law.in_flight(window, now.rtt) / (now.limit * now.rtt) - 1
    used = smooth.clip(EDGE - excess, 0.0, EDGE) / EDGE
    return Signals(
        rtt=now.sampled,
        ack_rate=now.rate,
        loss_rate=0.0,
        initial_ssthresh=now.ssthresh,
        ack_every=now.ack_every,
        window_limited=used,
        min_rtt_offset=now.noise.dips,
        jitter=now.noise.width,
        reordering=now.noise.disorder,
        timeout_rate=now.returning,
        loss_process=options.loss_process,
    )


EDGE = 0.05
"""Over so much of the window a sender passes from limited by the window to limited otherwise."""


class Change(NamedTuple):
    """What happens to the flows of a class.

    Args:
        state: d(state)/dt.
        events: loss events of a flow that is not silent, 1/s; (groups,).
        timeouts: timeouts of such a flow, 1/s; (groups,).
    """

    state: Any
    events: Groups
    timeouts: Groups


def mean_change(
    window: Any, law: CongestionControl, now: SendersNow, options: FluidOptions
) -> Change:
    """The drift of a class in the mean, and its timeouts.

    Args:
        window: the state of the class.
        law: its law.
        now: its senders.
        options: switches of the fluid model (`FluidOptions`).
    """
    seen = feedback(window, law, now, options)._replace(growing=1 - now.repairing)
    events = loss_events(window, law, now, seen)
    timeouts = events.rate * ending_in_timeout(law, law.cwnd_of(window, now.rtt), now, options)
    seen = seen._replace(loss_rate=events.weight)
    return Change(law.drift(free(window, now), seen), events.rate, timeouts)


class Events(NamedTuple):
    """Loss events of a flow; each (groups,).

    Args:
        rate: 1/s.
        weight: the rate at which mean windows would have to be hit to lose as much, 1/s.
    """

    rate: Groups
    weight: Groups


def loss_events(window: Any, law: CongestionControl, now: SendersNow, seen: Signals) -> Events:
    """How often the flows of a class have a loss event.

    Where a share r repairs, with windows smaller by the share b, the windows of the others are
    W / (1 - r b), and they lose that much more. They are not hit more often for it: what is
    learned now was lost a round trip ago, when those who repair now had not been hit yet. In turn,
    each flow is hit once while the queue is full.
    """
    cwnd, process = law.cwnd_of(window, now.rtt), seen.loss_process
    left = law.cwnd_of(law.after_loss(window, seen), now.rtt)
    others = 1 - now.repairing
    above = 1 / (1 - now.repairing * (1 - left / cwnd))
    part = part_in_turn(cwnd, now)
    chance = (1 - part) * others
    turn = part * smooth.minimum(others / LAST, 1.0)
    found = now.losses.rate
    weight = (chance + turn / law.loss_factor(process, window)) * above
    return Events((chance + turn) * found, weight * found)


def part_in_turn(cwnd: Any, now: SendersNow) -> Any:
    """The part of the losses that come in turn: of a window's packets all but one are clocked."""
    return now.in_turn * smooth.maximum(1 - 1 / cwnd, 0.0)


LAST = 0.2
"""Where less than this share of the flows is left, they are not found so soon."""


def mean_growing(
    window: Any, law: CongestionControl, now: SendersNow, options: FluidOptions
) -> Any:
    """Packets/s by which the mean window of a class grows, losses left aside; (groups,)."""
    seen = feedback(window, law, now, options)._replace(growing=1 - now.repairing)
    return smooth.maximum(law.drift(free(window, now), seen).cwnd, 0.0)


def free(window: Any, now: SendersNow) -> Any:
    """The state of flows that repair no loss: as these are not in slow start, more of them are."""
    starting = window.slow_start / smooth.maximum(1 - now.repairing, NOTHING)
    return window._replace(slow_start=smooth.minimum(starting, 1.0))


def ending_in_timeout(
    law: CongestionControl, cwnd: Any, now: SendersNow, options: FluidOptions
) -> Any:
    """The share of the loss events of windows of `cwnd` packets that end in a timeout.

    Losses in turn come one at a time, and the packet that is sent again finds room. A mark is
    answered like a loss, but its packet has arrived: nothing is sent again (RFC 3168, 6.1.2).
    """
    if not options.timeouts or not law.rules.reliable:
        return jnp.zeros_like(cwnd)
    again = (1 - part_in_turn(cwnd, now)) * lost_of(now.losses)
    share = timeout_share(law.recovery_scheme, cwnd, again, now.rtt / now.min_rto)
    if now.losses.lost is None:
        return share
    return share * now.losses.lost / smooth.maximum(now.losses.prob, NOTHING)


def lost_of(losses: Losses) -> Groups:
    """The probability of a packet to be lost."""
    return losses.prob if losses.lost is None else losses.lost


def counted(losses: Any, rtt: Any, lags: Lags) -> Any:
    """Losses of a flow that count, 1/s."""
    return smooth.minimum(losses, smooth.minimum(MOST_EVENTS / rtt, STIFF / lags.least))


def silence(cwnd: Groups, now: SendersNow) -> Groups:
    """How long a timeout silences a flow, s: its timer, backed off, and half of the slow start."""
    p = smooth.minimum(lost_of(now.losses), LARGEST_PROB)
    backoff = (1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6) / (1 - p)
    timer = smooth.maximum(now.min_rto, TIMER * now.rtt) * backoff
    doublings = smooth.log1p(smooth.maximum(cwnd / 2, 1.0) - 1) / np.log(2)
    return timer + now.rtt * doublings / 2


LARGEST_PROB = 0.5
