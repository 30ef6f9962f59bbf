"""How single round-trip times differ from the mean that the equations know.

Sources:
    Derived for this project, and held against the packet simulator.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from vegasfluid import smooth
from vegasfluid.fluid.parameters import FluidParameters
from vegasfluid.fluid.structure import FluidStructure

__all__ = ["Noise", "dips", "jitter"]

NOTHING = 1e-30
SPREAD, RARE = 0.3, 2.5

Groups = Float[Array, "groups"]


class Noise(NamedTuple):
    """How single round-trip times differ from the mean of the equations; each (groups,).

    Args:
        delay: what jitter adds in the mean, s.
        width: of the uniform noise that jitter is, s.
        dips: how far the smallest queues that a flow meets are below the mean, s.
        disorder: the share of the time in which packets overtake each other.
    """

    delay: Groups
    width: Groups
    dips: Groups
    disorder: Groups


def jitter(posed: FluidParameters, plan: FluidStructure) -> Noise:
    """What the jitter of the links on its way does to each group.

    A random delay that is uniform up to J adds J/2 to a round-trip time in the mean. Where
    packets keep their order, each waits for the slowest before it: with a packet every d seconds
    that is a delay of J - sqrt(pi J d / 2) in the mean, and hardly random. Where they may
    overtake, three that do look like a loss to a sender without reports.
    """
    waiting = any(hop.acks for hop in plan.hops)  # else ACKs, too, cross each link, without a hop
    crossed = plan.crossings * (1 if waiting else 2)
    width, spacing = posed.stations.jitter, 1 / posed.stations.capacity
    loose = posed.stations.reorders
    pressed = smooth.maximum(width - jnp.sqrt(jnp.pi / 2 * spacing * width + NOTHING), width / 2)
    pressed = jnp.where(width > 0, pressed, 0.0)
    delay = loose * width / 2 + (1 - loose) * pressed
    overtaking = loose * smooth.step(width - 2 * spacing, spacing)
    disorder = smooth.minimum(crossed @ overtaking, 1.0)
    return Noise(crossed @ delay, crossed @ (loose * width), jnp.zeros_like(disorder), disorder)


def dips(
    window: Groups, lost: Groups, base: Groups, rtt: Groups, sending: Any, count: Groups
) -> Groups:
    """How far the smallest queueing delays that a flow meets are below the mean, s.

    The windows of flows that lose packets go up and down by themselves, by SPREAD of the mean
    (standard deviation, additive increase and independent losses; less where losses are rarer than
    additive increase makes them), and the queue takes the sum of it. A sender that looks for long
    meets the mean less RARE standard deviations, and no less than nothing.
    """
    moved = smooth.minimum(lost * rtt * window / 2, 1.0)
    packets = SPREAD * jnp.sqrt(jnp.sum(count * moved * window**2) + NOTHING)
    return smooth.minimum(RARE * packets / jnp.min(sending), smooth.maximum(rtt - base, 0.0))
