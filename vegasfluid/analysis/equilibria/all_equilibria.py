"""All rests of a network: which there are, and whether these are shown to be all.

With one link, or one kind of signal, a network has one rest. Protocols that see different signals,
losses (Reno, CUBIC) and delays (Vegas), may have several on several links: if a queue holds Reno
back more than Vegas on one link, and less on another, which link is full decides who gets what, and
who gets what decides which link is full.

Equilibria are searched from many initial guesses on the fluid's own equations (`multistart`). That
there is no other one is proven on equations in which only the queues are unknown
(`proofs.monotone_network`): branch and prune excludes all other queues (`proofs.branch_and_prune`).
If any Vegas backlog between alpha and beta is an equilibrium, the equilibria are a continuum; the
result says so, and nothing is counted or proven.

Sources:
    A. Tang, J. Wang, S. Low and M. Chiang, "Equilibrium of heterogeneous congestion control:
    existence and uniqueness", IEEE/ACM ToN 15(4), 2007 (abstract read): almost all networks have a
    finite and odd number of rests. The search and the proof are derived for this project.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vegasfluid.analysis.equilibria.equilibrium import THEORY, Equilibrium, at_last
from vegasfluid.analysis.equilibria.multistart import SAME, same, searched
from vegasfluid.analysis.proofs.branch_and_prune import IsolatedZeros, isolate_zeros
from vegasfluid.analysis.proofs.krawczyk import Box, Zero, inside, zero_near
from vegasfluid.analysis.proofs.monotone_network import MonotoneNetwork
from vegasfluid.analysis.proofs.supported_networks import monotone_network
from vegasfluid.errors import InvalidInput
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.network import Network

__all__ = ["STARTS", "Equilibria", "all_equilibria"]

STARTS, BUDGET = 12, 10000


@dataclass(frozen=True)
class Equilibria:
    """The rests of a network.

    Args:
        found: rests that are points, all different.
        idle: a rest that is one of a set of them, if there are such; sets are not counted.
        indices: of each that was found, the sign of det(-F'), 1 or -1; 0 where it is not certain.
            A rest of index -1 is not stable; if all are known the indices add up to 1.
        unlisted: queues of each further rest that is proven, as (low, high) of each link, packets.
        proof: what is known of all queues; None where no proof was asked for.
    """

    found: tuple[Equilibrium, ...]
    idle: Equilibrium | None = None
    indices: tuple[int, ...] = ()
    unlisted: tuple[Box, ...] = ()
    proof: IsolatedZeros | None = None

    @property
    def count(self) -> int:
        """How many were found."""
        return len(self.found)

    @property
    def odd(self) -> bool:
        """Whether their number is odd, as that of all is where none is degenerate."""
        return self.count % 2 == 1

    def beside(self, rest: Equilibrium) -> tuple[Equilibrium, ...]:
        """Those that were found, but for one."""
        return tuple(other for other in self.found if not same(other, rest))

    @property
    def complete(self) -> bool:
        """Whether those that were found are proven to be all."""
        if self.proof is None or self.unlisted:
            return False
        return self.proof.complete and len(self.proof.zeros) == self.count

    @property
    def says(self) -> str:
        """All of it in a line."""
        told = [f"{self.count} found"]
        if self.idle is not None:
            told.append("others are a set, as Vegas idles between alpha and beta: not counted")
        elif self.complete:
            told.append("proven to be all")
        elif self.proof is None:
            told.append("nothing is proven")
        else:
            told += [f"{len(self.unlisted)} more are proven"] * bool(self.unlisted)
            undecided = f"{self.proof.undecided} boxes undecided ({self.proof.share:.1e} of all)"
            told += [undecided] * bool(self.proof.undecided)
            told += ["some are not proven to be alone"] * (0 in self.indices)
        return ", ".join(told)


def all_equilibria(
    network: Network,
    options: FluidOptions = THEORY,
    starts: int | Sequence[Sequence[float]] = STARTS,
    budget: int = BUDGET,
) -> Equilibria:
    """Where a network may come to rest: all such places that are found, and whether they are all.

    Args:
        network: one link or several; for a proof with RED or drop-tail, Reno, NewReno, CUBIC and
            Vegas (not ns-3's), and flows that send all the time.
        options: of the fluid model; for a proof without recovery, timeouts and whole packets.
        starts: from how many beginnings to search, or the queues to begin at, packets.
        budget: how many boxes of queues the proof may look at; 0: no proof.

    Raises:
        InvalidInput: where something in the network never rests, or the proof does not cover it.
        SolveFailed: where no rest is found.

    >>> from vegasfluid import Flows, Link, Network, Red, Reno
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> flows = {"reno": Flows(10, Reno(), base_rtt=0.05)}
    >>> all_equilibria(Network(link, flows), starts=1).says
    '1 found, proven to be all'
    """
    if isinstance(budget, bool) or budget < 0:
        raise InvalidInput("all_equilibria", "budget", "0 or above", budget)
    network = at_last(network)
    system = monotone_network(network, options) if budget else None
    search = searched(network, options, starts)
    if search.idle is not None or system is None:
        return Equilibria(tuple(search.found), search.idle)
    return proven(search.found, system, budget)


def proven(found: Sequence[Equilibrium], system: MonotoneNetwork, budget: int) -> Equilibria:
    """What is proven of the rests that were found, and of all others."""
    zeros = [zero_of(rest, system) for rest in found]
    proof = isolate_zeros(system, tuple(system.bounds), [zero for zero in zeros if zero], budget)
    unlisted = tuple(
        queues_in(zero.enclosure)
        for zero in proof.zeros
        if not any(of is not None and inside(of.enclosure, zero.isolating_box) for of in zeros)
    )
    indices = tuple(zero.index if zero else 0 for zero in zeros)
    return Equilibria(tuple(found), None, indices, unlisted, proof)


def zero_of(rest: Equilibrium, system: MonotoneNetwork) -> Zero | None:
    """The zero of the reduced equations that belongs to a rest; None where none is proven."""
    places = system.occupancies(rest.values.queue, rest.values.drop_prob)
    zero = zero_near(system, places)
    if zero is None:
        return None
    off = [
        max(low - at, at - high) / (1 + abs(at))
        for at, (low, high) in zip(places, zero.enclosure, strict=True)
    ]
    return zero if max(off) < SAME else None


def queues_in(box: Box) -> Box:
    """The queues of places, packets."""
    return tuple((max(low, 0.0), max(high, 0.0)) for low, high in box)
