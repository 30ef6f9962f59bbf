"""From the solution of the equations to the plain arrays of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from vegasfluid import dde
from vegasfluid.fluid.delayed import places
from vegasfluid.fluid.invariants import check_invariants
from vegasfluid.fluid.parameters import flows_of_groups
from vegasfluid.fluid.queues import reliable
from vegasfluid.fluid.structure import FluidStructure
from vegasfluid.fluid.vector_field import State, System
from vegasfluid.network import Network
from vegasfluid.trajectory import WITHIN, Recording

__all__ = ["counters", "delivered", "record"]


def delivered(ys: Any, plan: FluidStructure) -> Any:
    """Packets of a flow of each group that came through since the start.

    Args:
        ys: states of the solution, (..., n).
        plan: structure.

    Returns:
        Shape (..., groups).
    """
    at, last = places(plan), np.array(plan.last_data)
    return ys[..., at.arrived + last] - ys[..., at.dropped + last]


def record(network: Network, solution: dde.Solution, system: System) -> Recording:
    """The states of a solution as plain arrays.

    Args:
        network: what was integrated.
        solution: of its equations.
        system: the equations, with concrete numbers.

    Raises:
        SolveFailed: where something in it cannot be (see `invariants`).
    """
    state: State = system.saved.unpack(np.asarray(solution.ys))
    times = np.asarray(solution.ts)
    links = of_links(times, state, system)
    rtt = round_trips(times, links, system)
    group_of = flows_of_groups(network)
    flows = {name: values[:, group_of] for name, values in of_groups(state, rtt, system).items()}
    return check_invariants(Recording(network, times, flows, links))


def of_links(times: np.ndarray, state: State, system: System) -> dict[str, np.ndarray]:
    """Arrays (time, link) by names of `vegasfluid.trajectory.LINK_VARIABLES`."""
    found = counters(state, system)
    marks = marked(state, system) @ at_stations(system)
    averages = np.stack([memory.avg_queue for memory in state.memories], axis=-1)
    waiting = state.queue / waiting_worth(times, state, found, system)
    return found | {
        "queue": waiting, "backlog": state.queue, "avg_queue": averages, "marked": marks,
    }  # fmt: skip


def counters(state: State, system: System) -> dict[str, Any]:
    """What links count: arrays (time, link), plain or JAX's, by their names in a run."""
    sums, admitted = at_stations(system), state.arrived - state.dropped
    return {
        "admitted": admitted @ sums,
        "lost": state.dropped @ sums,
        "waited": state.waited,
        "work": (admitted * system.posed.worth) @ sums,
    }


def at_stations(system: System) -> Any:
    """How many flows send over each hop, in the column of its station; (hops, stations)."""
    hops = system.plan.hops
    at = np.array([hop.station for hop in hops])[:, np.newaxis] == np.arange(system.plan.stations)
    count = system.posed.groups.count[np.array([hop.group for hop in hops])]
    return at.astype(float) * count[:, np.newaxis]


def marked(state: State, system: System) -> np.ndarray:
    """Packets of a flow that each hop marked; (time, hops)."""
    marks = [getattr(system.posed.aqm[hop.station], "ecn", False) for hop in system.plan.hops]
    return np.where(marks, state.noticed - state.dropped, 0.0)


def waiting_worth(
    times: np.ndarray, state: State, counted: dict[str, Any], system: System
) -> np.ndarray:
    """The mean worth of a packet that waits: of what came since the first of them, or since the
    sample before; (time, link).
    """
    worth = np.ones_like(state.queue)
    if not any(hop.acks for hop in system.plan.hops):
        return worth
    before = np.concatenate([times[:1], times[:-1]])
    for link, capacity in enumerate(np.asarray(system.posed.stations.capacity)):
        first = np.minimum(times - state.queue[:, link] / capacity, before)
        work, packets = (
            of[:, link] - np.interp(first, times, of[:, link])
            for of in (counted["work"], counted["admitted"])
        )
        np.divide(work, packets, out=worth[:, link], where=packets > 0)
    return worth


def round_trips(times: np.ndarray, links: dict[str, np.ndarray], system: System) -> np.ndarray:
    """The round-trip time of each group, without its own access link, s; (time, groups)."""
    posed, plan = system.posed, system.plan
    base = np.asarray(posed.groups.base_rtt) + np.zeros((times.size, 1))
    if posed.changes.at is not None:
        base = base + (times[:, np.newaxis] >= posed.changes.at) @ posed.changes.base_rtt
    waits = links["backlog"] / np.asarray(posed.stations.capacity)
    return base + waits @ plan.crossings.T


def of_groups(state: State, rtt: np.ndarray, system: System) -> dict[str, np.ndarray]:
    """Arrays (time, group) by names of `vegasfluid.trajectory.CLASS_VARIABLES`."""
    plan = system.plan
    cwnd, variance = (np.concatenate(of, axis=1) for of in zip(*state.classes, strict=True))
    last = np.array(plan.last_data)
    lost = np.zeros_like(cwnd)
    for number, hop in enumerate(plan.hops):
        if not hop.acks:
            lost[:, hop.group] += state.dropped[:, number]
    return {
        "cwnd": cwnd,
        WITHIN: variance,
        "rtt": np.maximum(rtt, cwnd / np.asarray(system.posed.groups.access)),
        "delivered": state.arrived[:, last] - state.dropped[:, last],
        "dropped": lost,
        "retransmitted": lost * reliable(system.posed, plan),
        "sent": state.arrived[:, np.array(plan.first)],
        "timeouts": state.timeouts,
    }
