"""The equations: windows, queues and their averages, coupled by delays that the queues make.

For a group of flows with window W, base RTT T and count N, behind queues q of capacity C:

    R = T + sum q / C                      round-trip time
    x = W / R                              rate, at most what access link and application allow
    dW/dt                                  the law's drift, with losses of one round trip ago
    dq/dt = sum N x (1 - p) - C            held between 0 and the buffer (`stations`)

A flow sends while it has something to send (`transfers`) and no timer silences it (`silent`). A
new transfer begins with a new window; before a group starts, its state is that of a beginning.

Sources:
    V. Misra, W.-B. Gong and D. Towsley, SIGCOMM 2000 (the form; not checked against the
    original). What is more is derived for this project and held against the packet simulator.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vegasfluid import smooth
from vegasfluid.fluid import queues
from vegasfluid.fluid.delayed import Past
from vegasfluid.fluid.layout import Layout
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.parameters import FluidParameters
from vegasfluid.fluid.rtt_noise import dips, jitter
from vegasfluid.fluid.senders import Change, SendersNow, counted, delayed_rtt, losses_seen, silence
from vegasfluid.fluid.structure import FluidStructure

__all__ = ["Moments", "State", "System", "look", "start", "windows"]

NOTHING = 1e-30
START_WIDTH = 1e-3
"""Seconds over which a group's start, and a change of delay, is blurred."""

Groups = Float[Array, "groups"]
Hops = Float[Array, "hops"]
Scalar = Float[Array, ""]


class State(NamedTuple):
    """What the equations integrate. First come the counters that the past is asked for.

    Args:
        answered: loss events of a flow since the start; (groups,).
        arrived: packets of a flow that came to each hop since the start; (hops,).
        noticed: of these, lost or marked ones that the sender answers; (hops,).
        dropped: of these, lost ones; (hops,).
        queue: what waits, data packets' worth; (stations,).
        memories: what each queue law keeps.
        classes: the state of each class of flows: windows, or distributions of them; where it is
            saved their moments.
        silent: share of flows that a timeout silences; (groups,).
        transfers: of a flow, under way or waiting; (groups,).
        timeouts: of a flow since the start; (groups,).
        waited: queue times time since the start, packets s; (stations,).
    """

    answered: Any
    arrived: Any
    noticed: Any
    dropped: Any
    queue: Any
    memories: tuple[Any, ...]
    classes: tuple[Any, ...]
    silent: Any
    transfers: Any
    timeouts: Any
    waited: Any


class Moments(NamedTuple):
    """What is saved of the windows of a class; each (groups,).

    Args:
        cwnd: their mean, packets.
        variance: packets^2.
    """

    cwnd: Any
    variance: Any


class System(NamedTuple):
    """A network's equations.

    Args:
        posed: numbers.
        populations: each class as the engine sees it, such as `MeanField`.
        plan: structure.
        options: switches of the fluid model (`FluidOptions`).
        layout: of states.
        saved: of what is saved of them.
    """

    posed: FluidParameters
    populations: tuple[Any, ...]
    plan: FluidStructure
    options: FluidOptions
    layout: Layout
    saved: Layout

    @classmethod
    def of(
        cls,
        posed: FluidParameters,
        populations: tuple[Any, ...],
        plan: FluidStructure,
        options: FluidOptions,
    ) -> System:
        """The equations of a network whose flows are told by `populations`."""
        begun = jax.eval_shape(lambda: start(posed, populations, plan))
        moments = tuple(
            Moments(*2 * (jax.ShapeDtypeStruct((size,), begun.queue.dtype),))
            for size in plan.groups
        )
        saved = begun._replace(classes=moments)
        return cls(posed, populations, plan, options, Layout.of(begun), Layout.of(saved))

    def save(self, time: Scalar, y: Float[Array, " n"]) -> Float[Array, " k"]:
        """What a run records of a state: instead of distributions their moments."""
        state = self.layout.unpack(y)
        base, _ = lengths(time, self.posed)
        rtt = round_trip(base, state.queue / self.posed.stations.capacity, self.plan)
        parts = zip(self.populations, state.classes, self.plan.classes, strict=True)
        moments = tuple(
            Moments(kind.cwnd(part, rtt[own]), kind.variance(part, rtt[own]))
            for kind, part, own in parts
        )
        return self.saved.pack(state._replace(classes=moments))

    def derivative(self, time: Scalar, y: Float[Array, " n"], history: Any) -> Float[Array, " n"]:
        """dy/dt of the whole network; see `State` for y."""
        state = self.held(self.layout.unpack(y))  # within a step it may be a little outside
        now = look(time, state, Past(history, self.plan, self.posed.lags, time), self)
        return self.layout.pack(change(state, now, self))

    def project(self, before: Float[Array, " n"], y: Float[Array, " n"]) -> Float[Array, " n"]:
        """The state after a step, in its domain; what a full buffer cannot take is lost."""
        state = self.layout.unpack(y)
        lost = queues.overflow_in_step(self.layout.unpack(before), state, self.posed, self.plan)
        counted = state._replace(dropped=state.dropped + lost, noticed=state.noticed + lost)
        return self.layout.pack(self.held(counted))

    def held(self, state: State) -> State:
        """Every part of the state in its domain: windows, queues, what laws keep, shares of flows.

        The counters have none but that they do not count back, which their rates see to.
        """
        parts = zip(self.populations, state.classes, self.plan.classes, strict=True)
        largest, buffers = self.posed.groups.max_window, self.posed.stations.buffer
        memories = zip(self.posed.aqm, state.memories, buffers, strict=True)
        return state._replace(
            queue=smooth.clip(state.queue, 0.0, buffers),
            memories=tuple(law.clip(memory, buffer) for law, memory, buffer in memories),
            classes=tuple(kind.within(part, largest[own]) for kind, part, own in parts),
            silent=smooth.clip(state.silent, 0.0, 1.0),
            transfers=smooth.maximum(state.transfers, 0.0),
        )


def start(posed: FluidParameters, populations: tuple[Any, ...], plan: FluidStructure) -> State:
    """Every flow before its first packet, and empty queues."""
    groups, hops = posed.groups, jnp.zeros(len(plan.hops))
    none, empty = jnp.zeros_like(groups.count), jnp.zeros(plan.stations)
    begun = beginnings(groups.base_rtt, posed, populations, plan)
    waiting = [
        jnp.full(size, kind.initial_transfers())
        for kind, size in zip(posed.traffic, plan.groups, strict=True)
    ]
    memories = tuple(jax.tree.map(jnp.asarray, law.init()) for law in posed.aqm)
    return State(
        *(none, hops, hops, hops, empty),
        memories=memories,
        classes=begun,
        silent=none,
        transfers=jnp.concatenate(waiting),
        timeouts=none,
        waited=empty,
    )


def beginnings(
    rtt: Groups, posed: FluidParameters, populations: tuple[Any, ...], plan: FluidStructure
) -> tuple[Any, ...]:
    """The state of each class whose flows start now."""
    groups = posed.groups
    first = first_rtt(rtt, groups)
    parts = zip(populations, plan.classes, strict=True)
    return tuple(kind.begin(groups.initial_window[own], first[own]) for kind, own in parts)


def first_rtt(rtt: Groups, groups: Any) -> Groups:
    """What senders that start now take for their base RTT, s: what they see, or what is given."""
    return jnp.where(groups.believed_rtt < 0, rtt, groups.believed_rtt)


def lengths(time: Scalar, posed: FluidParameters) -> tuple[Groups, Hops]:
    """Round trips with nothing in the queues, and ways between them, at a time, s."""
    changes = posed.changes
    if changes.at is None:
        return posed.groups.base_rtt, posed.onward
    done = smooth.step(time - changes.at, START_WIDTH)
    return posed.groups.base_rtt + done @ changes.base_rtt, posed.onward + done @ changes.onward


class Now(NamedTuple):
    """What follows from the state at one time.

    Args:
        senders: of all groups.
        arriving: packets/s of a flow at each hop.
        sending: packets/s that each station sends.
        waiting: packets at each station.
        started: 1 for a group that has started.
        busy: the share of a flow's time in which it has something to send.
    """

    senders: SendersNow
    arriving: Any
    sending: Any
    waiting: Any
    started: Groups
    busy: Groups


def round_trip(base: Groups, waits: Any, plan: FluidStructure) -> Groups:
    """Round-trip time of each group, without jitter and its own access link, s."""
    if plan.stations == 1:
        return base + waits[0]
    return base + plan.crossings @ waits


def windows(state: State, rtt: Groups, system: System) -> Groups:
    """Mean window of a flow of each group, packets."""
    parts = zip(system.populations, state.classes, system.plan.classes, strict=True)
    return jnp.concatenate([kind.cwnd(part, rtt[own]) for kind, part, own in parts])


def per_class(function: Any, system: System) -> Groups:
    """What `function(law, traffic, own)` says of the groups of each class, as one array."""
    kinds = zip(system.posed.laws, system.posed.traffic, system.plan.classes, strict=True)
    return jnp.concatenate([function(*kind) for kind in kinds])


def in_flight(state: State, rtt: Groups, system: System) -> Groups:
    """Packets that the windows of a flow of each group allow."""
    if not system.options.whole_packets:
        return windows(state, rtt, system)
    parts = zip(system.populations, state.classes, system.plan.classes, strict=True)
    allowed = jnp.concatenate([kind.in_flight(part, rtt[own]) for kind, part, own in parts])
    cwnd, largest = windows(state, rtt, system), system.posed.groups.max_window
    return jnp.where(cwnd < largest, allowed, largest)


def look(time: Scalar, state: State, past: Past, system: System) -> Now:
    """Round-trip times, rates, arrivals and losses that belong to a state."""
    posed, plan, groups = system.posed, system.plan, system.posed.groups
    base, onward = lengths(time, posed)
    capacity, noise = posed.stations.capacity, jitter(posed, plan)
    wait = state.queue / capacity
    rtt = round_trip(base, wait, plan) + noise.delay
    window = in_flight(state, rtt, system)
    rtt = smooth.maximum(rtt, window / groups.access)
    limit = smooth.minimum(groups.offered, groups.access)
    clocked = queues.reliable(posed, plan) > 0
    rate = jnp.where(clocked, smooth.minimum(window / rtt, limit), limit)
    started = smooth.step(time - groups.start, START_WIDTH)
    busy = per_class(lambda _, traffic, own: traffic.busy_fraction(state.transfers[own]), system)
    active = busy * (1 - state.silent)
    arriving = queues.arrivals(
        started * active * rate, onward, time, state.queue, past, posed, plan
    )
    admitted = state.arrived - state.dropped
    waiting = state.queue / queues.waiting_worth(admitted, wait, past, posed, plan)
    stay = wait[np.array([hop.station for hop in plan.hops])]
    losses = losses_seen(rtt, stay, onward, past, plan)
    noise = noise._replace(dips=dips(window, losses.rate, base, rtt, capacity, groups.count))
    repairing = smooth.clip(state.answered - past.answered(rtt), 0.0, 1.0)
    of_sending = counted(losses.rate / smooth.maximum(active, NOTHING), rtt, posed.lags)
    sampled = rtt
    if system.options.delayed_rtt:
        sampled = delayed_rtt(rtt, stay, onward, capacity, past, plan)
    senders = SendersNow(
        *(rtt, sampled, rate, losses._replace(rate=of_sending), noise, repairing, limit),
        *(groups.initial_ssthresh, groups.min_rto, groups.ack_every),
        in_turn=in_turn(posed, plan),
        mended=past.answering(rtt),
        returning=jnp.zeros_like(rtt),
    )
    ended = state.silent / silence(windows(state, rtt, system), senders)
    senders = senders._replace(returning=ended / smooth.maximum(1 - state.silent, NOTHING))
    sending = queues.service(arriving, posed, plan)
    return Now(senders, arriving, sending, waiting, started, busy)


def in_turn(posed: FluidParameters, plan: FluidStructure) -> np.ndarray:
    """The share of the queues on the way of each group that hit those who grow; (groups,)."""
    ways: list[list[bool]] = [[] for _ in range(sum(plan.groups))]
    for hop in plan.hops:
        if not hop.acks:
            ways[hop.group].append(posed.aqm[hop.station].losses_follow_growth)
    return np.array([np.mean(way) for way in ways])


def change(state: State, now: Now, system: System) -> State:
    """The derivative of each part of the state."""
    posed, plan = system.posed, system.plan
    exposed = queues.exposure(now.arriving, growing(state, now, system), posed, plan)
    verdict = queues.judge(state, now.arriving, now.sending, now.waiting, exposed, posed, plan)
    rates = [change_of_class(number, state, now, system) for number in range(len(plan.groups))]
    events = now.started * jnp.concatenate([rate.events for rate in rates])
    timeouts = now.started * jnp.concatenate([rate.timeouts for rate in rates])
    first = now.arriving[np.array(plan.first)]
    done = first / posed.groups.transfer
    arriving = per_class(lambda _, traffic, own: traffic.arrival_rate(state.transfers[own]), system)
    laws = zip(posed.aqm, verdict.seen, strict=True)
    return State(
        answered=float(system.options.recovery) * events,
        arrived=now.arriving,
        noticed=now.arriving * verdict.noticed,
        dropped=now.arriving * verdict.dropped,
        queue=queues.queue_drift(state, now.arriving, verdict, posed, plan),
        memories=tuple(law.derivative(queue) for law, queue in laws),
        classes=tuple(rate.state for rate in rates),
        silent=(1 - state.silent) * (timeouts - now.senders.returning),
        transfers=now.started * (arriving - done),
        timeouts=(1 - state.silent) * now.busy * timeouts,
        waited=now.waiting,
    )


def growing(state: State, now: Now, system: System) -> Groups | None:
    """Packets/s by which a window of each group grows; None where no queue wants to know."""
    if not any(law.losses_follow_growth for law in system.posed.aqm):
        return None
    parts = zip(system.populations, state.classes, system.plan.classes, strict=True)
    rates = [
        kind.growing(
            part, jax.tree.map(lambda leaf, own=own: leaf[own], now.senders), system.options
        )
        for kind, part, own in parts
    ]
    return now.started * now.busy * jnp.concatenate(rates)


def change_of_class(number: int, state: State, now: Now, system: System) -> Change:
    """What happens to the flows of a class, also to those that begin."""
    own = list(system.plan.classes)[number]
    senders, started, groups = jax.tree.map(
        lambda leaf: leaf[own], (now.senders, now.started, system.posed.groups)
    )
    kind, part = system.populations[number], state.classes[number]
    found = kind.change(part, senders, system.options)
    seen = senders.rtt - senders.noise.delay
    begun = kind.begin(groups.initial_window, first_rtt(seen, groups))
    renewed = started * senders.rate / groups.transfer + (1 - started) / senders.rtt
    total = jax.tree.map(
        lambda change, at, new: scaled(started, change) + scaled(renewed, new - at),
        found.state,
        part,
        begun,
    )
    return found._replace(state=total)


def scaled(factor: Groups, values: Any) -> Any:
    """Values of each group, (groups, ...), times the group's factor."""
    return factor.reshape(factor.shape + (1,) * (values.ndim - 1)) * values
