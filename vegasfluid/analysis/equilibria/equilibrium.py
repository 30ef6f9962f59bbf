"""The equilibrium of a network: queues, windows, rates, and their derivatives by its parameters.

Solved are the equations that runs integrate, with any options. An approximate equilibrium
(`queue_sweeps`) is refined by Newton's method; `corners` states how unknowns at a limit (empty or
full queues, smallest or largest windows) or at a corner (Vegas at the edge of its dead band) are
treated. The implicit function theorem gives derivatives by every number of the network. Where
Vegas loses nothing, every backlog between alpha and beta is an equilibrium; then both ends of this
set are returned, approached from below and from above.

Sources:
    Derived for this project. Several equilibria with several congestion controls: A. Tang, J. Wang,
    S. Low and M. Chiang, IEEE/ACM ToN 15(4), 2007 (abstract read).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from vegasfluid.analysis.equilibria.continuation import evaluate, flatten
from vegasfluid.analysis.equilibria.converging import converging
from vegasfluid.analysis.equilibria.corners import Solution, is_continuum, solution_from
from vegasfluid.analysis.equilibria.equations import EquilibriumEquations, Unknowns
from vegasfluid.analysis.equilibria.newton import newton, refine
from vegasfluid.analysis.equilibria.quantities import Quantities, quantities
from vegasfluid.analysis.equilibria.queue_sweeps import approximate_equilibrium
from vegasfluid.errors import InvalidInput, SolveFailed, Unsupported
from vegasfluid.fluid.model import FluidModel
from vegasfluid.fluid.options import MISRA_GONG_TOWSLEY, FluidOptions
from vegasfluid.fluid.parameters import as_floats, build_parameters
from vegasfluid.html_table import html_table
from vegasfluid.network import Network, require_network

__all__ = ["THEORY", "Equilibrium", "after_events", "equilibrium"]
__all__ += ["equilibrium_model", "estimate", "finite_quantities", "quantities_near", "upper_end"]

OF_GROUPS = ("cwnd", "rtt", "goodput", "backlog")
"""Fields of `Quantities` with one value for each flow group."""
THEORY = replace(MISRA_GONG_TOWSLEY, delayed_rtt=True)
"""Options of mean-field theory: mean windows without recovery and timeouts, and senders that see
the round-trip time of one round trip ago."""
DELAY_BOUNDS = (1e-9, 1e9)
"""Bounds to which delays are clipped, s: wide, because no solver step limits them here."""


@dataclass(frozen=True)
class Equilibrium:
    """An equilibrium of a network, or one end of a continuum of them.

    Args:
        network: after its events, with all flows started.
        options: switches of the fluid model (`FluidOptions`).
        values: queues, windows and rates; arrays over queues or flow groups.
        solution: unknowns of the equations, from which nearby equilibria are computed.
        upper: the upper end of a continuum, where any Vegas backlog between alpha and beta is an
            equilibrium; None for an isolated equilibrium.
    """

    network: Network
    options: FluidOptions
    values: Quantities
    solution: Solution
    upper: Equilibrium | None = None

    def mean(self, name: str, quantity: str) -> float:
        """The mean of a quantity over the flows of a class, in the quantity's unit.

        Args:
            name: the flow class.
            quantity: name of a field of `Quantities` with a value for each flow group: `cwnd` or
                `backlog` (packets), `rtt` (s), or `goodput` (packets/s of one flow).

        Raises:
            InvalidInput: for a class that does not exist, or another quantity.
        """
        self.network.flow_class(name)
        if quantity not in OF_GROUPS:
            raise InvalidInput(
                "Equilibrium", "quantity", f"one of {', '.join(OF_GROUPS)}", quantity
            )
        parameters, structure = build_parameters(self.network)
        groups = dict(zip(self.network.flows, structure.class_slices, strict=True))[name]
        count = np.asarray(parameters.groups.count)[groups]
        values = np.asarray(getattr(self.values, quantity))[groups]
        return float(np.sum(count * values) / np.sum(count))

    def ratio(self, tuned: str) -> float:
        """Mean goodput of a flow of class `tuned` divided by the mean over flows of other classes.

        Infinite if the other flows have no goodput, NaN if no flow has any.

        Raises:
            InvalidInput: for a class that does not exist (`Unsupported` without a second one).
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.divide(self.mean(tuned, "goodput"), self.goodput_of_others(tuned)))

    def goodput_of_others(self, tuned: str) -> float:
        """Mean goodput of the flows of all classes but `tuned`, packets/s of one flow.

        Raises:
            InvalidInput: for a class that does not exist (`Unsupported` without a second one).
        """
        self.network.flow_class(tuned)
        if len(self.network.flows) < 2:
            raise Unsupported("Equilibrium", "a single flow class", "a ratio needs two classes")
        others = [name for name in self.network.flows if name != tuned]
        counts = [self.network.flows[name].count for name in others]
        return float(np.average([self.mean(name, "goodput") for name in others], weights=counts))

    def _repr_html_(self) -> str:
        """HTML table for notebooks: queues on each class's path, and means over its flows.

        A continuum has two tables, of its lower and its upper end.
        """
        if self.upper is None:
            return self._table("Equilibrium")
        return self._table("Lower end of the equilibria") + self.upper._table("Upper end")

    def _table(self, title: str) -> str:
        """HTML table with a row for each class: total queue on its data path, window and backlog
        (packets), RTT (ms) and goodput (packets/s), means over its flows.
        """
        columns = ("class", "queues", "window", "backlog", "RTT, ms", "goodput, packets/s")
        rows = []
        for name in self.network.flows:
            waiting = float(
                np.sum(np.asarray(self.values.queue)[self.network.queue_indices(name)[0]])
            )
            window, backlog, rtt, goodput = (
                self.mean(name, quantity) for quantity in ("cwnd", "backlog", "rtt", "goodput")
            )
            numbers = (waiting, window, backlog, 1e3 * rtt, goodput)
            rows.append((name, *(f"{number:.5g}" for number in numbers)))
        return html_table(title, columns, rows)

    def follow(self, network: Network) -> Quantities:
        """The equilibrium of a similar network, by Newton's method from this one.

        Args:
            network: of the same structure with other numbers, which may be traced.

        Returns:
            Queues, windows, rates and so on with the units of `Quantities`, as JAX arrays that can
            be differentiated by the network's numbers. Derivatives have all digits, and about six
            where a window is at the edge of Vegas's dead band. NaN if Newton's method fails.

        Raises:
            Unsupported: for a network with other groups of flows or other paths.

        >>> import jax
        >>> from vegasfluid import Flows, Link, Network, Red, Reno
        >>> def network(capacity):
        ...     link = Link(capacity, 200, Red(min_thresh=50, max_thresh=150))
        ...     return Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)})
        >>> point = equilibrium(network(1000.0))
        >>> queue = lambda capacity: point.follow(network(capacity)).queue[0]
        >>> f"{jax.grad(queue)(1000.0):.5f}"
        '-0.01206'
        """
        model = equilibrium_model(after_events(network), self.options)
        own, other = equilibrium_model(self.network, self.options).structure, model.structure
        if (other.groups_per_class, other.hops) != (own.groups_per_class, own.hops):
            reason = "its flow groups and paths must be those of the solved network"
            raise Unsupported("follow", "a network of another structure", reason)
        return quantities_near(replace(model, structure=own), self.solution)


def after_events(network: Network) -> Network:
    """The network after its events, with all flows started at time 0 and no events left.

    Raises:
        Unsupported: if the network has no equilibrium: finite transfers, adaptive RED,
            or a queue for each flow.
    """
    for name, flows in network.flows.items():
        if np.isfinite(flows.traffic.mean_transfer_size(network.packet_bytes)):
            what = f"traffic {flows.traffic.name}"
            raise Unsupported(f"flows.{name}", what, "finite transfers have no equilibrium")
    for name, link in network.links.items():
        if link.aqm.adapts:
            reason = "adaptive RED keeps changing max_drop, so it has no equilibrium"
            raise Unsupported(name, "aqm.adaptive", reason)
        if link.aqm.flow_queues:
            reason = "each flow has its own queue and a fair share; there is no common queue"
            raise Unsupported(name, f"aqm {link.aqm.name}", reason)
    *_, last = network.stages()
    flows = {name: replace(group, start=0.0) for name, group in last.flows.items()}
    return replace(last, flows=flows, events=())


def equilibrium_model(network: Network, options: FluidOptions) -> FluidModel:
    """The fluid model of a network for equilibrium equations.

    All numbers are JAX arrays, and delays (s) are almost unbounded, since no solver step limits
    them.
    """
    parameters, structure = build_parameters(network, delay_bounds=DELAY_BOUNDS)
    return FluidModel(as_floats(parameters), structure, options)


@jax.jit
def quantities_near(model: FluidModel, solution: Solution) -> Quantities:
    """Queues, windows and rates of a model at its equilibrium near a solution; JAX arrays.

    Found by Newton's method; NaN if that fails. Differentiable in the model's numbers.
    """
    equations, unknowns = EquilibriumEquations.from_model(model), newton(model, solution)
    return quantities(equations, unknowns, *equations.evaluate(unknowns))


def equilibrium(network: Network, options: FluidOptions = THEORY) -> Equilibrium:
    """The equilibrium of a network after its events, with all flows started; stable or not.

    Args:
        network: one or more links, any congestion controls; flows that send without end.
        options: switches of the fluid model (`FluidOptions`).

    Returns:
        The equilibrium: queues (packets), and of one flow of each group the window (packets), the
        round-trip time (s) and the goodput (packets/s). If any backlog between alpha and beta is
        one, the lower end of this set, with the upper end in `upper`.

    Raises:
        InvalidInput: if `network` is not a `Network`.
        Unsupported: if the network has no equilibrium (finite transfers, adaptive RED), or has a
            queue for each flow.
        SolveFailed: if none is found.

    >>> from vegasfluid import Flows, Link, Red, Reno
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> point = equilibrium(Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)}))
    >>> f"{point.mean('reno', 'cwnd'):.2f}"
    '12.25'
    """
    require_network("equilibrium", network)
    network = after_events(network)
    model = equilibrium_model(network, options)
    low = estimate(model)
    if not is_continuum(model, low.unknowns):
        values = finite_quantities(model, refine(model, low), low)
        return Equilibrium(network, options, values, low)
    values = finite_quantities(model, low.unknowns, low)
    return Equilibrium(network, options, values, low, upper_end(network, options, model))


def upper_end(network: Network, options: FluidOptions, model: FluidModel) -> Equilibrium:
    """The upper end of a continuum of equilibria, with each Vegas backlog at its largest.

    Args:
        network: after its events, with all flows started.
        options: switches of the fluid model (`FluidOptions`).
        model: the fluid model of the network.

    Raises:
        SolveFailed: if it is not found.
    """
    laws = tuple(law.upper_variant() for law in model.parameters.laws)
    from_above = replace(model, parameters=model.parameters._replace(laws=laws))
    high = solution_from(model, approximate_equilibrium(converging(from_above)), side=1.0)
    return Equilibrium(network, options, finite_quantities(model, high.unknowns, high), high)


def estimate(model: FluidModel) -> Solution:
    """An approximate equilibrium of a fluid model (about ten digits), from below.

    The search starts with small windows and empty queues. The result also states which unknowns are
    at a limit (such as a full buffer) or at the edge of Vegas's dead band.
    """
    return solution_from(model, approximate_equilibrium(converging(model)))


def finite_quantities(model: FluidModel, unknowns: Unknowns, start: Solution) -> Quantities:
    """Queues, windows and other `Quantities` at a solution, as NumPy arrays; all are finite.

    Args:
        model: the fluid model.
        unknowns: the solution; NaN if the solver failed.
        start: from which the solver started.

    Raises:
        SolveFailed: if a quantity is not finite; the message gives queues and windows of `start`.
    """
    values = evaluate(model, flatten(unknowns)).quantities
    if all(np.all(np.isfinite(value)) for value in values):
        return values
    first = evaluate(model, flatten(start.unknowns)).quantities
    raise SolveFailed(
        "no equilibrium was found near the estimate with queues of "
        f"{comma_separated(first.queue)} and windows of {comma_separated(first.cwnd)} packets"
    )


def comma_separated(values: Any) -> str:
    """Text of numbers with six digits, such as "1.5, 20"."""
    return ", ".join(f"{value:.6g}" for value in np.asarray(values))
