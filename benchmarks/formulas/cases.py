"""Comparison of formulas with the equilibrium solver, long fluid runs and packet runs.

Networks that differ in numbers only make a `Block`, so that each is compiled once. Each engine
gives a `View` of each network: the mean of a flow of each group. A `Relation` computes a formula's
value and the engine's value from views; the difference of both goes into the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vegasfluid import dde
from vegasfluid.analysis import THEORY, Equilibrium, equilibrium
from vegasfluid.analysis.closed_forms import Formula
from vegasfluid.fluid import FluidOptions
from vegasfluid.fluid.model import build
from vegasfluid.fluid.output import to_recording
from vegasfluid.fluid.time_grid import mean_field_grid
from vegasfluid.network import Network
from vegasfluid.packet import record_packets
from vegasfluid.parallel import parallel_map
from vegasfluid.trajectory import Recording

__all__ = [
    "BOUNDS",
    "ENGINES",
    "MODELS",
    "WITHOUT_FLUID",
    "WITHOUT_PACKETS",
    "WITHOUT_SOLVER",
    "Block",
    "Comparison",
    "Group",
    "Relation",
    "Row",
    "View",
    "Views",
    "fluid_runs",
    "of_group",
    "view_of",
]

ENGINES = ("solver", "fluid", "packets")
"""Names of the engines."""
WITHOUT_PACKETS = ENGINES[:2]
"""Engines for quantities that packet runs do not give."""
WITHOUT_SOLVER = ENGINES[1:]
"""Engines for networks that oscillate."""
WITHOUT_FLUID = (ENGINES[0], ENGINES[2])
"""Engines for rows that need no long fluid run."""
MODELS = Path(__file__).resolve().parents[2] / "models"
"""Folder with the model files."""
BOUNDS = {"solver": 1e-6, "fluid": 0.01, "packets": 0.1}
"""Largest relative differences from the formula where theory applies."""
SAMPLES = 401
"""Samples of a fluid run."""
PACKET_SAMPLES = 4001
"""Samples of a packet run."""
LATE = 0.75
"""Fraction of a fluid run that means leave out."""
WARMUP = 0.25
"""Fraction of a packet run that means leave out."""


class Group(NamedTuple):
    """Means of a flow of a group.

    Args:
        cwnd: window, mean over time, packets.
        per_round: window, mean over round trips, packets.
        rtt: round-trip time, s.
        rate: delivered packets/s.
        sent: sent packets/s.
        drop_prob: probability of a drop or mark at the first link of the path.
        queue: queue of that link, packets.
        utilisation: utilisation of that link.
        period: time between peaks of the window, s.
        lowest: mean of the queue's minima, packets.
    """

    cwnd: float
    per_round: float
    rtt: float
    rate: float
    sent: float
    drop_prob: float
    queue: float
    utilisation: float
    period: float = np.nan
    lowest: float = np.nan


View = dict[str, Group]
"""Groups by the name of their class; a second round-trip time has the suffix .1."""
Views = dict[str, View]
"""Views by network, of one engine and one seed."""


def of_group(
    network: str, name: str, quantity: Callable[[Group], float]
) -> Callable[[Views], float]:
    """Return a function of views: a quantity of one group of a network."""
    return lambda views: quantity(views[network][name])


class Comparison(NamedTuple):
    """A formula's value and an engine's value, means over seeds.

    Args:
        formula: value of the formula with the engine's quantities.
        value: value that the engine gives.
        error: standard error of value over formula; NaN without seeds.
    """

    formula: float
    value: float
    error: float = np.nan

    @property
    def difference(self) -> float:
        """Relative difference of the value from the formula."""
        return self.value / self.formula - 1


@dataclass(frozen=True)
class Relation:
    """One formula on one or more networks of a block.

    Args:
        name: unique name of the row.
        formula: formula that is compared; None for one that is not in `closed_forms`.
        words: network and compared quantity, for the page.
        prediction: function of an engine's views that gives the formula's value.
        measurement: function of an engine's views that gives the engine's value.
        engines: engines that apply.
        free: engines for which theory does not apply: their differences have no target.
        plain: the formula as text, where there is no `Formula`.
    """

    name: str
    formula: Formula | None
    words: str
    prediction: Callable[[Views], float]
    measurement: Callable[[Views], float]
    engines: tuple[str, ...] = ENGINES
    free: tuple[str, ...] = ()
    plain: str = ""


@dataclass(frozen=True)
class Row:
    """A relation and its comparisons by engine."""

    relation: Relation
    comparisons: Mapping[str, Comparison]

    def bound(self, engine: str) -> float | None:
        """Return the largest difference that theory allows; None where it does not apply."""
        return None if engine in self.relation.free else BOUNDS[engine]


@dataclass(frozen=True)
class Block:
    """Networks of one structure, and the relations to compare on them.

    Args:
        name: name of the block.
        networks: networks for the solver and the fluid model, by name.
        fluids: networks for the fluid model; None: the same.
        relations: rows of the table.
        until: simulated time of the fluid runs, s.
        options: options of the fluid model.
        packets: networks for the packet simulator; None: the same.
        packets_until: simulated time of its runs, s.
        packets_after: fraction of its runs that means leave out.
        solve: function that computes the equilibrium, possibly with wrong base RTTs.
        flow: function that makes the fluid runs.
        look: function from a recording and a warm-up (s) to a view.
        long: whether only the long version contains the block, as it resembles another one.
    """

    name: str
    networks: dict[str, Network]
    relations: Sequence[Relation]
    until: float
    options: FluidOptions = THEORY
    fluids: dict[str, Network] | None = None
    packets: dict[str, Network] | None = None
    packets_until: float = 200.0
    packets_after: float = WARMUP
    solve: Callable[[Network, FluidOptions], Equilibrium] = equilibrium
    flow: Callable[[Sequence[Network], FluidOptions, float], list[Recording]] = field(
        default_factory=lambda: fluid_runs
    )
    look: Callable[[Recording, float], View] = field(default_factory=lambda: view_of)
    long: bool = False

    @property
    def needs_solver(self) -> bool:
        """Whether a relation uses the solver."""
        return any("solver" in relation.engines for relation in self.relations)

    def rows(self, full: bool, engines: Sequence[str] = ENGINES) -> list[Row]:
        """Return all rows.

        Args:
            full: whether runs are longer and seeds more.
            engines: engines to use; rows without any of them are left out.
        """
        asked = [
            name for name in engines if any(name in relation.engines for relation in self.relations)
        ]
        views = {name: getattr(self, f"by_{name}")(full) for name in asked}
        rows = [
            Row(relation, {n: compare(relation, views[n]) for n in asked if n in relation.engines})
            for relation in self.relations
        ]
        return [row for row in rows if row.comparisons]

    def by_solver(self, full: bool) -> list[Views]:
        """Return the views of the equilibria."""
        equilibria = {
            name: self.solve(network, self.options) for name, network in self.networks.items()
        }
        return [{name: view_of_equilibrium(each) for name, each in equilibria.items()}]

    def by_fluid(self, full: bool) -> list[Views]:
        """Return the views of the end of long fluid runs."""
        until = self.until * (2 if full else 1)
        networks = self.networks if self.fluids is None else self.fluids
        runs = self.flow(list(networks.values()), self.options, until)
        views = (self.look(run, LATE * until) for run in runs)
        return [dict(zip(networks, views, strict=True))]

    def by_packets(self, full: bool) -> list[Views]:
        """Return the views of packet runs, one for each seed."""
        until = self.packets_until * (2 if full else 1)
        networks = self.networks if self.packets is None else self.packets
        begin = self.packets_after * until
        times = np.unique(np.append(np.linspace(0.0, until, PACKET_SAMPLES), begin))

        def one(seed: int) -> Views:
            runs = {
                name: record_packets(network, times, seed) for name, network in networks.items()
            }
            return {name: self.look(run, begin) for name, run in runs.items()}

        return parallel_map(one, range(1, (10 if full else 3) + 1))


def compare(relation: Relation, views: Sequence[Views]) -> Comparison:
    """Return the comparison of a relation on the views of one engine."""
    formula, value = (
        np.array([quantity(view) for view in views])
        for quantity in (relation.prediction, relation.measurement)
    )
    error = np.std(value / formula, ddof=1) / np.sqrt(value.size) if value.size > 1 else np.nan
    return Comparison(float(formula.mean()), float(value.mean()), float(error))


def groups_of(network: Network) -> dict[str, tuple[str, np.ndarray]]:
    """Return the class and the indices of the flows of each group, by the group's name.

    A group has one round-trip time.
    """
    groups, first = {}, 0
    for name, flows in network.flows.items():
        rtts = np.array(network.base_rtts(name))
        for number, rtt in enumerate(dict.fromkeys(rtts.tolist())):
            members = first + np.flatnonzero(rtts == rtt)
            groups[name if number == 0 else f"{name}.{number}"] = (name, members)
        first += flows.count
    return groups


def view_of_equilibrium(equilibrium: Equilibrium) -> View:
    """Return the view of an equilibrium."""
    network, values = equilibrium.network, equilibrium.values
    view = {}
    for number, (name, (law, _)) in enumerate(groups_of(network).items()):
        link = list(network.links).index((network.flows[law].path or tuple(network.links))[0])
        queue, prob = float(values.queue[link]), float(values.drop_prob[link])
        cwnd, rtt = float(values.cwnd[number]), float(values.rtt[number])
        rate = float(values.goodput[number])
        delivered = (
            1.0 if getattr(list(network.links.values())[link].aqm, "ecn", False) else 1 - prob
        )
        view[name] = Group(cwnd, cwnd, rtt, rate, rate / delivered, prob, queue, np.nan)
    return view


def view_of(run: Recording, warmup: float) -> View:
    """Return the view of a run after a warm-up (s)."""
    gained, network = run.totals_after(warmup), run.network
    late, seconds = run.times >= warmup, run.times[-1] - warmup
    first = int(np.argmax(late))
    marked = run.links["marked"][-1] - run.links["marked"][first]
    probs = (gained.lost + marked) / (gained.lost + gained.admitted)
    view = {}
    for name, (law, flows) in groups_of(network).items():
        link = list(network.links).index((network.flows[law].path or tuple(network.links))[0])
        cwnd, rtt = (run.flows[key][late][:, flows] for key in ("cwnd", "rtt"))
        rtt = np.where(rtt > 0, rtt, np.nan)  # before a flow's first sample
        delivered, sent = (
            (run.flows[key][-1] - run.flows[key][first])[flows].mean() / seconds
            for key in ("delivered", "sent")
        )
        view[name] = Group(
            float(cwnd.mean()),
            float(np.nanmean(cwnd / rtt) / np.nanmean(1 / rtt)),
            float(np.nanmean(rtt)),
            float(delivered),
            float(sent),
            float(probs[link]),
            float(gained.mean_queue[link]),
            float(gained.utilisation[link]),
        )
    return view


def fluid_runs(
    networks: Sequence[Network], options: FluidOptions, until: float, samples: int = SAMPLES
) -> list[Recording]:
    """Return fluid runs of networks of one structure, compiled once.

    Args:
        networks: networks that differ in numbers only.
        options: options of the fluid model.
        until: simulated time, s.
        samples: samples of each run.
    """
    bounds = [build(network).parameters.delay_bounds for network in networks]
    delays = min(bound.shortest for bound in bounds), max(bound.longest for bound in bounds)
    step = min(mean_field_grid(network, until, samples).step for network in networks)
    runs = []
    for network in networks:
        model = build(network, options=options, delay_bounds=delays)
        grid = mean_field_grid(network, until, samples)._replace(step=step, longest_lag=delays[1])
        solution = model.integrate(grid)
        dde.check(solution)
        runs.append(to_recording(network, solution, model.vector_field))
    return runs
