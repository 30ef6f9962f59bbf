"""Differences between round-trip times of single packets and the mean of the equations.

Sources:
    Derived for this project and compared with the packet simulator.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from vegasfluid import smooth
from vegasfluid.fluid.parameters import FluidParameters
from vegasfluid.fluid.shapes import PerGroup, PerQueue
from vegasfluid.fluid.structure import FluidStructure

__all__ = ["RttNoise", "jitter_noise", "minimum_rtt_offset"]

TINY = 1e-30
"""Keeps derivatives of square roots finite at 0."""
WINDOW_SPREAD = 0.3
"""Standard deviation of a window over its mean, for additive increase and independent losses
(chosen after comparison with the packet simulator)."""
MINIMUM_DEVIATIONS = 2.5
"""Mean minus the smallest of many samples of a queue, in standard deviations (chosen after
comparison with the packet simulator)."""


class RttNoise(NamedTuple):
    """Noise of the round-trip times of single packets of each group.

    Args:
        mean_delay: mean delay that jitter adds, s.
        width: width of the uniform noise of single round-trip times from jitter, s.
        minimum_offset: mean queueing delay minus the smallest one of a flow, s.
        reordering: fraction of the time in which packets overtake each other.
    """

    mean_delay: PerGroup
    width: PerGroup
    minimum_offset: PerGroup
    reordering: PerGroup


def jitter_noise(parameters: FluidParameters, structure: FluidStructure) -> RttNoise:
    """Effect of the links' jitter on the round-trip times of each flow group.

    A random delay, uniform from 0 to J, adds J/2 to the mean round-trip time. Where packets keep
    their order, each waits for the slowest one before it: with a packet every d seconds the mean
    delay is J - sqrt(pi J d / 2), with little variation. Where packets may overtake, three that do
    look like a loss to a sender without SACK.

    Returns:
        Mean delay and width of the noise, s, and the fraction of time with reordering, for each
        group; `minimum_offset` is 0.
    """
    links_per_queue = 1 if structure.has_ack_hops else 2  # ACKs cross each link, without a hop
    crossed: Any = structure.crossings * links_per_queue
    width, spacing = parameters.queues.jitter, 1 / parameters.queues.capacity
    reorders = parameters.queues.reorders
    in_order = smooth.maximum(width - jnp.sqrt(jnp.pi / 2 * spacing * width + TINY), width / 2)
    in_order = jnp.where(width > 0, in_order, 0.0)
    delay = reorders * width / 2 + (1 - reorders) * in_order
    overtaking = reorders * smooth.step(width - 2 * spacing, spacing)
    reordering = smooth.minimum(crossed @ overtaking, 1.0)
    return RttNoise(
        mean_delay=crossed @ delay,
        width=crossed @ (reorders * width),
        minimum_offset=jnp.zeros_like(reordering),
        reordering=reordering,
    )


def minimum_rtt_offset(
    window: PerGroup,
    loss_rate: PerGroup,
    base_rtt: PerGroup,
    rtt: PerGroup,
    capacity: PerQueue,
    count: PerGroup,
) -> PerGroup:
    """Mean queueing delay minus the smallest one that a flow measures over a long time, s.

    Windows of flows with losses have a standard deviation of `WINDOW_SPREAD` times their mean, less
    where losses are rarer than with additive increase. The queue varies with the sum of all
    windows. The smallest delay is `MINIMUM_DEVIATIONS` standard deviations below the mean, and at
    least that of an empty queue.

    Args:
        window: mean window of a flow of each group, packets.
        loss_rate: losses of a flow of each group, 1/s.
        base_rtt: round-trip time without queueing, s.
        rtt: round-trip time, s.
        capacity: capacity of each queue's link, packets/s; only the smallest is used.
        count: number of flows in each group.
    """
    variation = smooth.minimum(loss_rate * rtt * window / 2, 1.0)
    deviation = WINDOW_SPREAD * jnp.sqrt(jnp.sum(count * variation * window**2) + TINY)
    offset = MINIMUM_DEVIATIONS * deviation / jnp.min(capacity)
    return smooth.minimum(offset, smooth.maximum(rtt - base_rtt, 0.0))


def own_rtt_offset(
    window: PerGroup,
    loss_rate: PerGroup,
    base_rtt: PerGroup,
    rtt: PerGroup,
    shares: PerQueue,
    structure: FluidStructure,
) -> PerGroup:
    """Mean queueing delay minus the smallest one, s, of flows that have a queue of their own.

    The queue varies with the flow's own window only. The standard deviation of the window is
    `WINDOW_SPREAD` times its mean, less where losses are rarer than with additive increase. The
    smallest delay is `MINIMUM_DEVIATIONS` standard deviations below the mean, and at least that of
    an empty queue.

    Args:
        window: mean window of a flow of each group, packets.
        loss_rate: losses of a flow of each group, 1/s.
        base_rtt: round-trip time without queueing, s.
        rtt: round-trip time, s.
        shares: rate at which each queue is served, data packets/s; the smallest one on the data
            path of each group is used.
        structure: static structure of the equations.

    Returns:
        The difference for every group, also for groups that have no queue of their own.
    """
    data = [(hop.group, hop.queue) for hop in structure.hops if not hop.is_ack]
    least = [
        jnp.min(jnp.stack([shares[queue] for owner, queue in data if owner == group]))
        for group in range(structure.group_count)
    ]
    variation = smooth.minimum(loss_rate * rtt * window / 2, 1.0)
    deviation = WINDOW_SPREAD * jnp.sqrt(variation * window**2 + TINY)
    offset = MINIMUM_DEVIATIONS * deviation / jnp.stack(least)
    return smooth.minimum(offset, smooth.maximum(rtt - base_rtt, 0.0))
