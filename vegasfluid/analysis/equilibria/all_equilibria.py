"""All equilibria of a network, and a proof that there are no others.

With one link, or if all flows respond to the same signal, a network has one equilibrium. Flows that
respond to losses (Reno, CUBIC) and flows that respond to delays (Vegas) may have several on several
links: which link is full depends on who gets how much, and who gets how much on which link is full.

Equilibria are searched from many initial queues on the equations that runs integrate
(`multistart`). That there are no others is proven on equations in which only the queues are unknown
(`proofs.monotone_network`), by branch and prune (`proofs.branch_and_prune`). Where every Vegas
backlog between alpha and beta is an equilibrium, they form a continuum; then nothing is counted or
proven.

Sources:
    A. Tang, J. Wang, S. Low and M. Chiang, "Equilibrium of heterogeneous congestion control:
    existence and uniqueness", IEEE/ACM ToN 15(4), 2007 (abstract read): almost all networks have a
    finite, odd number of equilibria. Search and proof are derived for this project.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, ctx

from vegasfluid.analysis.equilibria.equilibrium import THEORY, Equilibrium, after_events
from vegasfluid.analysis.equilibria.multistart import SAME, multistart, same_equilibrium
from vegasfluid.analysis.proofs.branch_and_prune import IsolatedZeros, isolate_zeros
from vegasfluid.analysis.proofs.intervals import value_of
from vegasfluid.analysis.proofs.krawczyk import (
    PRECISION_BITS,
    Box,
    Zero,
    float_ends,
    inside,
    zero_near,
)
from vegasfluid.analysis.proofs.links import LosslessLink
from vegasfluid.analysis.proofs.monotone_network import MonotoneNetwork
from vegasfluid.analysis.proofs.supported_networks import monotone_network
from vegasfluid.errors import InvalidInput
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.network import Network

__all__ = ["STARTS", "Equilibria", "all_equilibria"]

STARTS = 12
"""Number of initial queues from which a search starts; chosen, the tests' networks need fewer."""
BUDGET = 10000
"""Largest number of boxes (ranges of all queues) that a proof examines."""


@dataclass(frozen=True)
class Equilibria:
    """The equilibria of a network.

    Args:
        isolated: isolated equilibria that were found, all different.
        continuum: lower end of a continuum, if one was found, with the upper end in `upper`; else
            None.
        indices: sign of det(-F') for each of `isolated`: 1 or -1, or 0 if uncertain; empty without
            a proof. An equilibrium of index -1 is unstable. The indices of all equilibria add up to
            1 if none is degenerate.
        proven_only: queues of each further equilibrium that is proven to exist but was not found,
            as (low, high) for each link, packets.
        proof: zeros of the reduced equations, and undecided boxes; None if none was tried, or if
            there is a continuum.
    """

    isolated: tuple[Equilibrium, ...]
    continuum: Equilibrium | None = None
    indices: tuple[int, ...] = ()
    proven_only: tuple[Box, ...] = ()
    proof: IsolatedZeros | None = None

    @property
    def count(self) -> int:
        """Number of isolated equilibria that were found; those of a continuum are not counted."""
        return len(self.isolated)

    @property
    def count_is_odd(self) -> bool:
        """Whether the number of isolated equilibria that were found is odd.

        The number of all equilibria of a network is odd if none is degenerate; so an even number
        found suggests that one is missing.
        """
        return self.count % 2 == 1

    def other_than(self, point: Equilibrium) -> tuple[Equilibrium, ...]:
        """The equilibria in `isolated` whose queues or drop probabilities differ from `point`'s.

        Differences up to 1e-6, absolute or relative, do not count.
        """
        return tuple(other for other in self.isolated if not same_equilibrium(other, point))

    @property
    def complete(self) -> bool:
        """Whether the equilibria found are proven to be all; False if no proof was tried."""
        if self.proof is None or self.proven_only:
            return False
        return self.proof.complete and len(self.proof.zeros) == self.count

    @property
    def summary(self) -> str:
        """Text of one line: how many equilibria were found, and what is proven about others."""
        parts = [f"{self.count} found"]
        if self.continuum is not None:
            parts.append("others form a continuum with Vegas between alpha and beta: not counted")
        elif self.complete:
            parts.append("proven to be all")
        elif self.proof is None:
            parts.append("nothing is proven")
        else:
            parts += [f"{len(self.proven_only)} more are proven"] * bool(self.proven_only)
            undecided = f"{self.proof.undecided} boxes undecided ({self.proof.share:.1e} of all)"
            parts += [undecided] * bool(self.proof.undecided)
            parts += ["some are not proven to be isolated"] * (0 in self.indices)
        return ", ".join(parts)


def all_equilibria(
    network: Network,
    options: FluidOptions = THEORY,
    starts: int | Sequence[Sequence[float]] = STARTS,
    budget: int = BUDGET,
) -> Equilibria:
    """Search for all equilibria of a network, and try to prove that there are no others.

    Args:
        network: one or more links. A proof needs RED or drop-tail, Reno, NewReno, CUBIC or Vegas
            (all dialects but ns3), and flows that always send.
        options: switches of the fluid model; a proof needs them without recovery, timeouts and
            whole packets.
        starts: number of initial states of the search, at least 1; or a list of them, each with one
            queue (packets) for every queue of the network.
        budget: bound on the boxes of queues that the proof examines; 0 for no proof.

    Returns:
        The equilibria found and the state of the proof. If equilibria form a continuum: one of
        them, and no proof.

    Raises:
        InvalidInput: for an invalid number of starts or boxes, or queues above the buffers.
        Unsupported: if the network has no equilibrium, or if `budget` is above 0 and the proof does
            not cover the network.
        SolveFailed: if no equilibrium is found.

    >>> from vegasfluid import Flows, Link, Network, Red, Reno
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> flows = {"reno": Flows(10, Reno(), base_rtt=0.05)}
    >>> all_equilibria(Network(link, flows), starts=1).summary
    '1 found, proven to be all'
    """
    if isinstance(budget, bool) or budget < 0:
        raise InvalidInput("all_equilibria", "budget", "0 or above", budget)
    network = after_events(network)
    reduced = monotone_network(network, options) if budget else None
    search = multistart(network, options, starts)
    if search.continuum is not None or reduced is None:
        return Equilibria(tuple(search.found), search.continuum)
    return with_proof(search.found, reduced, budget)


def with_proof(found: Sequence[Equilibrium], reduced: MonotoneNetwork, budget: int) -> Equilibria:
    """Equilibria with a proof of which exist, by branch and prune in interval arithmetic.

    Args:
        found: the equilibria that a solver found.
        reduced: the network's equations in which only the queues are unknown.
        budget: bound on the boxes of queues that the proof examines.

    Returns:
        `Equilibria` with the index of each (the sign of det(-F') of the equations F, 1 or -1;
        0 if it is not proven), the queues (packets) of further equilibria that are proven to
        exist, and the proof.
    """
    zeros = [zero_of(point, reduced) for point in found]
    domain, known = tuple(reduced.bounds), [zero for zero in zeros if zero]
    proof = isolate_zeros(reduced, domain, known, budget)
    proven_only = tuple(
        queues_of(zero.enclosure, reduced)
        for zero in proof.zeros
        if not any(inside(other.enclosure, zero.isolating_box) for other in known)
    )
    indices = tuple(zero.index if zero else 0 for zero in zeros)
    return Equilibria(tuple(found), None, indices, proven_only, proof)


def zero_of(point: Equilibrium, reduced: MonotoneNetwork) -> Zero | None:
    """The proven zero of a network's reduced equations that belongs to a numerical equilibrium.

    The equations have one unknown for each link: its queue (packets) plus the fraction of arrivals
    that overflow, or minus its spare capacity (packets/s). None if no zero is proven, or if the
    proven one differs by more than a relative 1e-6.
    """
    occupancies = reduced.occupancies(point.values.queue, point.values.drop_prob)
    zero = zero_near(reduced, occupancies)
    if zero is None:
        return None
    distances = [
        max(low - value, value - high) / (1 + abs(value))
        for value, (low, high) in zip(occupancies, zero.enclosure, strict=True)
    ]
    return zero if max(distances) < SAME else None


def queues_of(box: Box, reduced: MonotoneNetwork) -> Box:
    """The (low, high) bounds of each link's queue, packets, from a box of occupancies.

    One unknown, the occupancy, stands for three quantities of a link: below 0 it is minus the spare
    capacity (packets/s), above it is the queue (packets) plus the fraction of arrivals that
    overflow.
    """
    return tuple(
        queue_bounds(link, occupancies)
        for link, occupancies in zip(reduced.links, box, strict=True)
    )


def queue_bounds(link: LosslessLink, occupancies: tuple[float, float]) -> tuple[float, float]:
    """Bounds of a link's queue, packets, from those of its occupancy, with which it rises."""
    with ctx.workprec(PRECISION_BITS):
        first, last = (value_of(link.state(arb(end)).wait) * link.capacity for end in occupancies)
        low, high = float_ends(first.union(last), outwards=True)
    return max(low, 0.0), min(high, float(link.buffer))
