"""The state of the fluid model's equations, and its initial value."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from vegasfluid.fluid.density import Density
from vegasfluid.fluid.mean_field import MeanField
from vegasfluid.fluid.parameters import FluidParameters, GroupParameters
from vegasfluid.fluid.shapes import PerGroup, PerHop, PerQueue
from vegasfluid.fluid.structure import FluidStructure

__all__ = ["Moments", "Population", "State", "initial_base_rtt", "initial_state"]

Population = MeanField | Density
"""Representation of the flows of a class."""


class State(NamedTuple):
    """The variables of the equations; those read at past times come first (see `delayed`).

    Args:
        loss_events: number of loss events of a flow since the start.
        arrived: packets of a flow that arrived at each hop since the start.
        signalled: packets of a flow lost or marked at each hop to which the sender responds.
        dropped: packets of a flow lost at each hop.
        queue: work waiting in each queue, data packets; of one flow where it has its own queue.
        aqm_states: state of each queue discipline.
        classes: state of each class of flows, a `LawState` or a `density.Distribution`; in saved
            states its `Moments`.
        in_timeout: fraction of the flows that are in a timeout.
        transfers: number of transfers of a flow in progress or waiting.
        timeouts: number of timeouts of a flow since the start.
        queue_integral: integral over time of the packets in each queue since the start, packets s.
        admitted: packets of a flow that each hop admitted since the start: those that arrived and
            were not lost. It is integrated, not a difference of counters, so that rounding errors
            never make it decrease.
    """

    loss_events: PerGroup
    arrived: PerHop
    signalled: PerHop
    dropped: PerHop
    queue: PerQueue
    aqm_states: tuple[Any, ...]
    classes: tuple[Any, ...]
    in_timeout: PerGroup
    transfers: PerGroup
    timeouts: PerGroup
    queue_integral: PerQueue
    admitted: PerHop


class Moments(NamedTuple):
    """Mean and variance of the windows of each flow group of a class, as saved.

    Args:
        cwnd: mean congestion window, packets.
        variance: variance of the windows, packets^2.
    """

    cwnd: PerGroup
    variance: PerGroup


def initial_state(
    parameters: FluidParameters, populations: tuple[Population, ...], structure: FluidStructure
) -> State:
    """State before the first packet of any flow: initial windows, empty queues, counters at 0.

    Args:
        parameters: parameters of the equations.
        populations: representation of the flows of each class.
        structure: static structure of the equations.
    """
    groups = parameters.groups
    no_groups, no_queues = jnp.zeros_like(groups.count), jnp.zeros(structure.queue_count)
    no_hops = jnp.zeros(len(structure.hops))
    sizes = zip(parameters.traffic, structure.groups_per_class, strict=True)
    transfers = [jnp.full(size, source.initial_transfers()) for source, size in sizes]
    base_rtt = initial_base_rtt(groups.base_rtt, groups)
    classes = tuple(
        population.initial_state(groups.initial_window[part], base_rtt[part])
        for population, part in zip(populations, structure.class_slices, strict=True)
    )
    return State(
        loss_events=no_groups,
        arrived=no_hops,
        signalled=no_hops,
        dropped=no_hops,
        queue=no_queues,
        aqm_states=tuple(jax.tree.map(jnp.asarray, aqm.init()) for aqm in parameters.aqm),
        classes=classes,
        in_timeout=no_groups,
        transfers=jnp.concatenate(transfers),
        timeouts=no_groups,
        queue_integral=no_queues,
        admitted=no_hops,
    )


def initial_base_rtt(rtt: PerGroup, groups: GroupParameters) -> PerGroup:
    """Base RTT of senders that start now, s: their first round-trip time, or the override."""
    return jnp.where(groups.base_rtt_override < 0, rtt, groups.base_rtt_override)
