"""How round-trip times of single packets differ from the mean round-trip time of the equations.

Sources:
    Derived for this project and compared with the packet simulator.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from vegasfluid import smooth
from vegasfluid.fluid.parameters import FluidParameters
from vegasfluid.fluid.shapes import PerGroup, PerQueue
from vegasfluid.fluid.structure import FluidStructure

__all__ = ["RttNoise", "jitter_noise", "minimum_rtt_offset"]

TINY = 1e-30
"""Keeps derivatives of square roots finite at 0."""
WINDOW_SPREAD = 0.3
"""Standard deviation of a window over its mean, for additive increase and independent losses."""
MINIMUM_DEVIATIONS = 2.5
"""Standard deviations below the mean at which the smallest of many samples lies."""


class RttNoise(NamedTuple):
    """How round-trip times of single packets differ from the mean of the equations.

    Args:
        mean_delay: mean delay that jitter adds, s.
        width: of the uniform noise that jitter makes in single round-trip times, s.
        minimum_offset: smallest queueing delays of a flow below the mean, s.
        reordering: fraction of the time in which packets overtake each other.
    """

    mean_delay: PerGroup
    width: PerGroup
    minimum_offset: PerGroup
    reordering: PerGroup


def jitter_noise(parameters: FluidParameters, structure: FluidStructure) -> RttNoise:
    """The effect of the links' jitter on each flow group.

    A random delay that is uniform up to J adds J/2 to a round-trip time in the mean. Where packets
    keep their order, each waits for the slowest before it: with a packet every d seconds that is a
    delay of J - sqrt(pi J d / 2) in the mean, and hardly random. Where packets may overtake, three
    that do look like a loss to a sender without selective reports.
    """
    links_per_queue = 1 if structure.has_ack_hops else 2  # ACKs cross each link, without a hop
    crossed = structure.crossings * links_per_queue
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
    """How far the smallest queueing delays that a flow meets are below the mean, s.

    Windows of flows that lose packets fluctuate by `WINDOW_SPREAD` of their mean, less where losses
    are rarer than additive increase makes them, and the queue takes the sum. A sender that takes
    the minimum over a long time meets the mean less `MINIMUM_DEVIATIONS` standard deviations, and
    no less than an empty queue.
    """
    fluctuating = smooth.minimum(loss_rate * rtt * window / 2, 1.0)
    deviation = WINDOW_SPREAD * jnp.sqrt(jnp.sum(count * fluctuating * window**2) + TINY)
    offset = MINIMUM_DEVIATIONS * deviation / jnp.min(capacity)
    return smooth.minimum(offset, smooth.maximum(rtt - base_rtt, 0.0))
