"""Where a network comes to rest: queues, windows, rates, and how they follow its parameters.

The rest of the fluid's own equations, with any options. A first estimate (`relaxation`) is polished
by Newton's method; what stands at a limit (an empty or a full queue, the smallest or the largest
window) or at a corner (Vegas at the edge of its dead zone) is treated as `corners` says. By the
implicit function theorem the result can be differentiated in every number of the network. Where
Vegas loses nothing, its windows rest anywhere between alpha and beta: then rest is a set, and its
two ends are found, from below and from above.

Sources:
    Derived for this project. Several equilibria of several protocols: A. Tang, J. Wang, S. Low and
    M. Chiang, IEEE/ACM ToN 15(4), 2007 (abstract read).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from vegasfluid.analysis.equilibria.corners import Solved, idling, solved
from vegasfluid.analysis.equilibria.equations import Steady, Unknowns
from vegasfluid.analysis.equilibria.newton import Nearby, newton
from vegasfluid.analysis.equilibria.pseudo_transient import Case, relax
from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.fluid.options import MISRA_GONG_TOWSLEY, FluidOptions
from vegasfluid.fluid.parameters import FluidParameters, as_floats, build_parameters
from vegasfluid.fluid.structure import FluidStructure
from vegasfluid.network import Network, require_network

__all__ = ["THEORY", "Equilibrium", "Quantities", "arrays", "equilibrium", "polished", "solution"]

THEORY = replace(MISRA_GONG_TOWSLEY, delayed_rtt=True)
"""What theory writes down: windows in the mean, no repairs, no timeouts, all delays told."""
AT_REST = 1e-6
"""1/s: an estimate whose parts all move more slowly than this, of their values, is kept where
Newton's method fails."""
UNBOUNDED = (1e-9, 1e9)
"""Seconds."""


class Quantities(NamedTuple):
    """What is at rest; JAX arrays.

    Args:
        queue: packets; (stations,).
        drop_prob: probability that a packet is dropped or marked; (stations,).
        cwnd: packets; (groups,).
        rtt: s; (groups,).
        goodput: packets/s of a flow delivered; (groups,).
        backlog: own packets of a flow in all queues; (groups,).
    """

    queue: Any
    drop_prob: Any
    cwnd: Any
    rtt: Any
    goodput: Any
    backlog: Any


@dataclass(frozen=True)
class Equilibrium:
    """A network at rest; or one end of the set in which it may rest.

    Args:
        network: as it rests: all flows started, all events past.
        options: switches of the fluid model (`FluidOptions`).
        values: what is at rest.
        solved: the solver's solution.
        upper: the other end, where rest is a set; else None.
    """

    network: Network
    options: FluidOptions
    values: Quantities
    solved: Solved
    upper: Equilibrium | None = None

    def mean(self, name: str, of: str) -> float:
        """The mean of a quantity over the flows of a class.

        Args:
            name: of the class.
            of: a field of `Quantities` that groups have, such as `cwnd`.
        """
        posed, plan = build_parameters(self.network)
        own = dict(zip(self.network.flows, plan.class_slices, strict=True))[name]
        count = np.asarray(posed.groups.count)[own]
        return float(np.sum(count * np.asarray(getattr(self.values, of))[own]) / np.sum(count))

    def ratio(self, tuned: str) -> float:
        """Goodput of a flow of class `tuned` over that of a flow of the other classes."""
        others = [name for name in self.network.flows if name != tuned]
        counts = [self.network.flows[name].count for name in others]
        rates = [self.mean(name, "goodput") for name in others]
        return self.mean(tuned, "goodput") / float(np.average(rates, weights=counts))

    def follow(self, network: Network) -> Quantities:
        """Rest of a network near this one, with other numbers, which may be traced.

        Args:
            network: of the same structure.

        Returns:
            JAX arrays that can be differentiated in the network's numbers: to all digits, and to
            some six where a window stands at the edge of Vegas's dead zone. NaN where Newton's
            method does not lead from one to the other.

        Raises:
            InvalidInput: for a network of another structure.

        >>> import jax
        >>> from vegasfluid import Flows, Link, Network, Red, Reno
        >>> def network(capacity):
        ...     link = Link(capacity, 200, Red(min_thresh=50, max_thresh=150))
        ...     return Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)})
        >>> rest = equilibrium(network(1000.0))
        >>> queue = lambda capacity: rest.follow(network(capacity)).queue[0]
        >>> f"{jax.grad(queue)(1000.0):.5f}"
        '-0.01206'
        """
        (_, plan), (posed, other) = arrays(self.network), arrays(at_last(network))
        if (other.groups_per_class, other.hops) != (plan.groups_per_class, plan.hops):
            allowed = "of the same structure as the one that was solved"
            raise InvalidInput(
                "follow", "network", allowed, f"{other.groups_per_class} groups of flows"
            )
        return polished(posed, plan, self.options, self.solved)


def at_last(network: Network) -> Network:
    """The network after its events, with all flows begun.

    Raises:
        InvalidInput: where something in it never rests, or a thing is not told by its mean.
    """
    for name, flows in network.flows.items():
        if np.isfinite(flows.traffic.mean_transfer_size(network.packet_bytes)):
            allowed = "one without end, or the flows never rest"
            raise InvalidInput(f"flows.{name}", "traffic", allowed, flows.traffic.name)
    for name, link in network.links.items():
        if link.aqm.adapts:
            allowed = "false, or RED itself never rests"
            raise InvalidInput(name, "aqm.adaptive", allowed, True)
    *_, last = network.stages()
    flows = {name: replace(of, start=0.0) for name, of in last.flows.items()}
    return replace(last, flows=flows, events=())


def arrays(network: Network) -> tuple[FluidParameters, FluidStructure]:
    """The numbers of a network as JAX arrays, and its structure, which holds no number.

    A run bounds its lags, for its steps; rest need not.
    """
    posed, plan = build_parameters(network, delay_bounds=UNBOUNDED)
    return as_floats(posed), plan


@partial(jax.jit, static_argnames=("plan", "options"))
def polished(
    posed: FluidParameters, plan: FluidStructure, options: FluidOptions, near: Solved
) -> Quantities:
    """Rest near a solution; differentiable in the numbers."""
    case = Case(posed, plan, options)
    return measured(case.steady, newton(case, near))


@partial(jax.jit, static_argnames=("plan", "options"))
def solution(
    posed: FluidParameters, plan: FluidStructure, options: FluidOptions, near: Solved
) -> Unknowns:
    """The zero of the equations near an estimate, to all digits; the estimate itself where Newton's
    method fails from there, if nothing in it moves much; else NaN.
    """
    case = Case(posed, plan, options)
    nearby = Nearby(case, near)
    root, nothing = nearby.root(), jnp.zeros_like(nearby.flat)
    at_rest = jnp.max(jnp.abs(nearby.residual(nothing, case.posed))) < AT_REST
    kept = jnp.where(at_rest, nothing, jnp.nan)
    return nearby.unknowns(jnp.where(jnp.all(jnp.isfinite(root)), root, kept))


def measured(steady: Steady, unknowns: Unknowns) -> Quantities:
    """What a user asks of rest."""
    now, moved = steady.look(unknowns)
    system, plan = steady.system, steady.system.structure
    state = steady.state(unknowns)
    waits = state.queue / system.parameters.queues.capacity
    group = np.array([hop.group for hop in plan.hops])
    data = np.array([not hop.is_ack for hop in plan.hops], float)
    station = np.array([hop.queue for hop in plan.hops])
    at = (station[:, None] == np.arange(plan.queue_count)).astype(float)
    packets = (data * system.parameters.groups.count[group])[:, None] * at
    came, hit = moved.arrived @ packets, moved.signalled @ packets
    last = np.array(plan.last_data_hops)
    parts = zip(system.populations, state.classes, plan.class_slices, strict=True)
    cwnd = jnp.concatenate([kind.cwnd(of, now.senders.rtt[own]) for kind, of, own in parts])
    own = jnp.asarray(plan.group_hop_matrix) @ (data * moved.arrived * waits[station])
    return Quantities(
        now.waiting,
        jnp.where(came > 0, hit / jnp.where(came > 0, came, 1.0), 0.0),
        cwnd,
        now.senders.rtt,
        moved.arrived[last] - moved.dropped[last],
        own,
    )


def equilibrium(network: Network, options: FluidOptions = THEORY) -> Equilibrium:
    """Where a network comes to rest, stable or not.

    Args:
        network: of one link or several, any mix of laws; flows that send without end.
        options: switches of the fluid model (`FluidOptions`).

    Returns:
        The rest; where it is a set, its lower end, with the upper one as `upper`.

    Raises:
        InvalidInput: where something in the network never rests.
        SolveFailed: where no rest is found.

    >>> from vegasfluid import Flows, Link, Red, Reno
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> rest = equilibrium(Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)}))
    >>> f"{rest.mean('reno', 'cwnd'):.2f}"
    '12.25'
    """
    require_network("equilibrium", network)
    network = at_last(network)
    case = Case(*arrays(network), options)
    low = estimate(case)
    if not idling(case, low.unknowns):
        return Equilibrium(network, options, concrete(case, solution(*case, low), low), low)
    above = case._replace(
        posed=case.posed._replace(laws=tuple(law.upper_variant() for law in case.posed.laws))
    )
    high = solved(case, relax(above), side=1.0)
    lower, upper = (
        Equilibrium(network, options, concrete(case, of.unknowns, of), of) for of in (low, high)
    )
    return replace(lower, upper=upper)


def estimate(case: Case) -> Solved:
    """A first estimate, come to from below, and what in it stands at a limit or a corner."""
    return solved(case, relax(case))


def concrete(case: Case, unknowns: Unknowns, near: Solved) -> Quantities:
    """What a user asks of a solution, as plain arrays.

    Raises:
        SolveFailed: where the solution is none; it tells the estimate from which it was sought.
    """
    found = Quantities(*(np.asarray(value) for value in read_off(*case, unknowns)))
    if all(np.all(np.isfinite(value)) for value in found):
        return found
    estimate = read_off(*case, near.unknowns)
    raise SolveFailed(
        "no equilibrium was found near the estimate with queues of "
        f"{listed(estimate.queue)} and windows of {listed(estimate.cwnd)} packets"
    )


def listed(values: Any) -> str:
    """Numbers as words: "1.5, 20"."""
    return ", ".join(f"{value:.6g}" for value in np.asarray(values))


@partial(jax.jit, static_argnames=("plan", "options"))
def read_off(
    posed: FluidParameters, plan: FluidStructure, options: FluidOptions, unknowns: Unknowns
) -> Quantities:
    """What a user asks of rest, at a solution."""
    return measured(Case(posed, plan, options).steady, unknowns)
