"""The equations: windows, one queue and its average, coupled by a delay that the queue makes.

For a group of flows with window W, base RTT T and count N, behind a queue q of capacity C:

    R = T + q / C                          round-trip time
    x = W / R                              rate, at most that of the access link
    dW/dt                                  the law's drift, with losses of one round trip ago
    dq/dt = sum N x (1 - p) - C            held between 0 and the buffer
    p = 1 - (1 - early) (1 - overflow)     the queue law's drops, and a full buffer's

What a sender learns at t was decided at t - R(t).

Sources:
    V. Misra, W.-B. Gong and D. Towsley, SIGCOMM 2000 (the form; not checked against the
    original). Loss events are counted once a window, as fast recovery does (RFC 6582, section
    3.2): a window W that meets drop probability p has one with probability 1 - exp(-p W) in a
    round trip. That, the overflow and the counters are this project's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vegasfluid import smooth
from vegasfluid.aqm.droptail import overflow_prob
from vegasfluid.aqm.law import QueueState
from vegasfluid.congestion.law import Feedback, Window
from vegasfluid.fluid.pose import Posed, Shape

__all__ = ["State", "initial", "project", "right_hand_side", "unpack"]

SMALLEST_WINDOW = 1.0
START_WIDTH = 1e-3
"""Seconds over which a group's start is blurred."""

Groups = Float[Array, "groups"]
Scalar = Float[Array, ""]


class State(NamedTuple):
    """What the equations integrate; the last four are counters.

    Args:
        cwnd: window of a flow of each group, packets.
        slow_start: share of its flows in slow start.
        queue: packets waiting.
        avg_queue: the queue law's average, packets.
        delivered: packets of a flow that were admitted since the start.
        dropped: packets of a flow that were dropped since the start.
        waited: queue times time since the start, packets s.
    """

    cwnd: Any
    slow_start: Any
    queue: Any
    avg_queue: Any
    delivered: Any
    dropped: Any
    waited: Any


class Flow(NamedTuple):
    """What follows from the state at one time.

    Args:
        rtt: of each group, s.
        rate: of a flow of each group, packets/s.
        drop_prob: of a packet that arrives at the queue.
    """

    rtt: Groups
    rate: Groups
    drop_prob: Scalar


def pack(state: State) -> Float[Array, " n"]:
    """The state as one vector."""
    scalars = [jnp.atleast_1d(value) for value in state]
    return jnp.concatenate(scalars)


def unpack(y: Any, groups: int) -> State:
    """A vector, or vectors of shape (..., n), as states."""
    g = groups
    blocks = (y[..., :g], y[..., g : 2 * g], y[..., 2 * g], y[..., 2 * g + 1])
    counters = (y[..., 2 * g + 2 : 3 * g + 2], y[..., 3 * g + 2 : 4 * g + 2], y[..., -1])
    return State(*blocks, *counters)


def initial(posed: Posed) -> Float[Array, " n"]:
    """Every flow in slow start with its initial window, before an empty queue."""
    window = posed.groups.initial_window
    none, zero = jnp.zeros_like(window), jnp.zeros((), window.dtype)
    return pack(State(window, jnp.ones_like(window), zero, zero, none, none, zero))


def project(y: Float[Array, " n"], posed: Posed) -> Float[Array, " n"]:
    """The state held where it makes sense: windows of a packet or more, the queue in its buffer."""
    state = unpack(y, posed.groups.count.shape[0])
    return pack(
        state._replace(
            cwnd=smooth.clip(state.cwnd, SMALLEST_WINDOW, posed.groups.max_window),
            queue=smooth.clip(state.queue, 0.0, posed.buffer),
        )
    )


def flow_at(time: Scalar, state: State, posed: Posed) -> Flow:
    """Round-trip times, rates and drop probability that belong to a state."""
    groups = posed.groups
    waiting = smooth.clip(state.queue, 0.0, posed.buffer)
    rtt = groups.base_rtt + waiting / posed.capacity
    active = smooth.step(time - groups.start, START_WIDTH)
    window = smooth.minimum(state.cwnd, groups.max_window)
    rate = active * smooth.minimum(window / rtt, groups.access)
    seen = queue_state(state, rate, posed)
    kept = (1 - posed.aqm.drop_prob(seen)) * (1 - overflow_prob(seen))
    return Flow(rtt, rate, 1 - kept)


def queue_state(state: State, rate: Groups, posed: Posed) -> QueueState:
    """The queue with what arrives at it."""
    arrival_rate = jnp.sum(posed.groups.count * rate)
    return QueueState(state.queue, state.avg_queue, arrival_rate, posed.capacity, posed.buffer)


def loss_events(now: Scalar, flow: Flow, history: Any, posed: Posed, shape: Shape) -> Groups:
    """Loss events that each group's senders learn of now, 1/s: those of one round trip ago."""
    first = np.array([shape.lag.index(lag) for lag in range(max(shape.lag) + 1)])
    times = now - flow.rtt[first]
    seen = jax.vmap(loss_events_at, (0, 0, None))(times, history(times), posed)
    return seen[np.array(shape.lag), np.arange(len(shape.lag))]


def loss_events_at(time: Scalar, y: Float[Array, " n"], posed: Posed) -> Groups:
    """Loss events of a flow of each group, 1/s, at most one a window."""
    state = unpack(y, posed.groups.count.shape[0])
    flow = flow_at(time, state, posed)
    window = flow.rate * flow.rtt
    return (1 - smooth.exp(-flow.drop_prob * window)) / flow.rtt


def window_drift(state: State, flow: Flow, losses: Groups, posed: Posed, shape: Shape) -> Window:
    """Each class by its own law."""
    parts, begin = [], 0
    for law, size in zip(posed.laws, shape.groups, strict=True):
        own = slice(begin, begin + size)
        seen = Feedback(
            rtt=flow.rtt[own],
            base_rtt=posed.groups.base_rtt[own],
            ack_rate=flow.rate[own],
            loss_rate=losses[own],
            initial_ssthresh=posed.groups.initial_ssthresh[own],
        )
        parts.append(law.drift(Window(state.cwnd[own], state.slow_start[own]), seen))
        begin += size
    return Window(*(jnp.concatenate(part) for part in zip(*parts, strict=True)))


def queue_drift(state: State, flow: Flow, posed: Posed) -> Scalar:
    """What is admitted less what is sent; at an empty queue only upwards, at a full one down."""
    admitted = jnp.sum(posed.groups.count * flow.rate) * (1 - flow.drop_prob)
    drift = admitted - posed.capacity
    drift = jnp.where(state.queue <= 0, smooth.maximum(drift, 0.0), drift)
    return jnp.where(state.queue >= posed.buffer, smooth.minimum(drift, 0.0), drift)


def right_hand_side(
    time: Scalar, y: Float[Array, " n"], history: Any, posed: Posed, shape: Shape
) -> Float[Array, " n"]:
    """dy/dt of the whole network; see `State` for y."""
    state = unpack(y, posed.groups.count.shape[0])
    flow = flow_at(time, state, posed)
    losses = loss_events(time, flow, history, posed, shape)
    window = window_drift(state, flow, losses, posed, shape)
    return pack(
        State(
            cwnd=window.cwnd,
            slow_start=window.slow_start,
            queue=queue_drift(state, flow, posed),
            avg_queue=posed.aqm.averaging(queue_state(state, flow.rate, posed)),
            delivered=flow.rate * (1 - flow.drop_prob),
            dropped=flow.rate * flow.drop_prob,
            waited=state.queue,
        )
    )
