"""Quantities of a network that follow from the unknowns of its equilibrium equations."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from vegasfluid.analysis.equilibria.equations import EquilibriumEquations, Unknowns
from vegasfluid.fluid.observables import Observables
from vegasfluid.fluid.state import State

__all__ = ["Quantities", "quantities"]


class Quantities(NamedTuple):
    """Quantities of a network at equilibrium.

    Args:
        queue: packets; (queues,): of each link in the forward direction, then (if the network has
            queues there) of each link in the reverse direction.
        delay: queueing delay, s, which ACKs in a queue make longer by less than data packets;
            (queues,).
        drop_prob: probability that a data packet is dropped or marked and its sender responds; 0
            where none arrive; (queues,).
        cwnd: window of a flow, packets; (groups,).
        rtt: round-trip time, s; (groups,).
        goodput: packets/s of one flow that pass its last queue; (groups,).
        backlog: a flow's own data packets in all queues; (groups,).
    """

    queue: Any
    delay: Any
    drop_prob: Any
    cwnd: Any
    rtt: Any
    goodput: Any
    backlog: Any


def quantities(
    equations: EquilibriumEquations, unknowns: Unknowns, observed: Observables, rates: State
) -> Quantities:
    """Queues, drop probabilities, windows, round-trip times, goodputs and backlogs at equilibrium.

    Args:
        equations: the equilibrium equations of a network.
        unknowns: their solution, queues in packets.
        observed: the observables there, from `EquilibriumEquations.evaluate`.
        rates: the rates of change there, from the same.

    Returns:
        The quantities, with the units and shapes of `Quantities`.
    """
    field, structure = equations.field, equations.field.structure
    state = equations.state(unknowns)
    delays = state.queue / field.parameters.queues.capacity
    group = np.array([hop.group for hop in structure.hops])
    is_data = np.array([not hop.is_ack for hop in structure.hops], float)
    queue = np.array([hop.queue for hop in structure.hops])
    at_queue = (queue[:, None] == np.arange(structure.queue_count)).astype(float)
    flows = (is_data * field.parameters.groups.count[group])[:, None] * at_queue
    arrived, signalled = rates.arrived @ flows, rates.signalled @ flows
    last = np.array(structure.last_data_hops)
    parts = zip(field.populations, state.classes, structure.class_slices, strict=True)
    rtt = observed.senders.rtt
    cwnd = [population.cwnd(values, rtt[groups]) for population, values, groups in parts]
    in_queues = is_data * rates.arrived * delays[queue]
    return Quantities(
        observed.waiting,
        delays,
        jnp.where(arrived > 0, signalled / jnp.where(arrived > 0, arrived, 1.0), 0.0),
        jnp.concatenate(cwnd),
        rtt,
        rates.admitted[last],
        jnp.asarray(structure.group_hop_matrix) @ in_queues,
    )
