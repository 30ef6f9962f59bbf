"""What a formula is held against: the solver of rest, a long run of the fluid, and packets.

Networks that differ in numbers only make a `Block`, so that each is compiled once. Each engine
gives a `View` of each network: what the flows of each group have in the mean. A `Relation` says
what a formula has of a view, and what the engine has for the same; of both come the differences.
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
    "MOVES",
    "RESTS",
    "SETTLED",
    "Block",
    "Found",
    "Group",
    "Relation",
    "Row",
    "View",
    "Views",
    "at",
    "flowed",
    "view_of",
]

ENGINES = ("solver", "fluid", "packets")
RESTS, MOVES, SETTLED = ENGINES[:2], ENGINES[1:], (ENGINES[0], ENGINES[2])
"""Engines for what packets do not have; for what does not rest; for what needs no long run."""
MODELS = Path(__file__).resolve().parents[2] / "models"
BOUNDS = {"solver": 1e-6, "fluid": 0.01, "packets": 0.1}
"""Relative differences to the formula at most, where theory claims to hold."""
SAMPLES, PACKET_SAMPLES = 401, 4001
LATE = 0.75
"""The fluid's means are those of what comes after this part of a run; packets' after WARMUP."""
WARMUP = 0.25


class Group(NamedTuple):
    """What a flow of a group has, in the mean.

    Args:
        cwnd: packets, mean over time.
        per_round: packets, mean over round trips.
        rtt: s.
        rate: packets/s delivered.
        sent: packets/s sent.
        drop_prob: of its packets to be dropped or marked, at the first link of its way.
        queue: packets, at that link.
        utilisation: of that link.
        period: from one peak of its window to the next, s.
        lowest: the queue's mean over its troughs, packets.
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
"""Groups by name: that of their class, for a second round-trip time with .1 behind it."""
Views = dict[str, View]
"""Views by the names of networks, of one engine and one seed."""


def at(network: str, name: str, of: Callable[[Group], float]) -> Callable[[Views], float]:
    """What a group of a network has."""
    return lambda views: of(views[network][name])


class Found(NamedTuple):
    """What one engine has, in the mean over seeds.

    Args:
        formula: what the formula says for it.
        value: what it has.
        error: standard error of value over formula; NaN where there are no seeds.
    """

    formula: float
    value: float
    error: float = np.nan

    @property
    def difference(self) -> float:
        """Of the value to the formula, relative."""
        return self.value / self.formula - 1


@dataclass(frozen=True)
class Relation:
    """One formula on one or more networks of a block.

    Args:
        name: of the row, unique.
        formula: that is tried; None for one that is not in `closed_forms`.
        words: where, and what is compared.
        says: what the formula has, of an engine's views.
        has: what the engine has.
        engines: that apply.
        free: engines for which theory does not claim to hold: their differences have no bound.
        plain: the formula as text, where there is no `Formula`.
    """

    name: str
    formula: Formula | None
    words: str
    says: Callable[[Views], float]
    has: Callable[[Views], float]
    engines: tuple[str, ...] = ENGINES
    free: tuple[str, ...] = ()
    plain: str = ""


@dataclass(frozen=True)
class Row:
    """A relation and what came out."""

    relation: Relation
    found: Mapping[str, Found]

    def bound(self, engine: str) -> float | None:
        """The largest difference that theory allows, if it claims to hold."""
        return None if engine in self.relation.free else BOUNDS[engine]


@dataclass(frozen=True)
class Block:
    """Networks of one structure, and what is asked of them.

    Args:
        name: of it.
        networks: for the solver and the fluid, by name.
        fluids: for the fluid; None: the same networks.
        relations: rows of the table.
        until: length of the fluid runs, s.
        options: switches of the fluid model (`FluidOptions`).
        packets: for the packet simulator; None: the same networks.
        packets_until: length of its runs, s.
        packets_after: the part of them after which packets are counted.
        solve: finds rest; it may know false base RTTs.
        flow: makes the views of the fluid.
        look: makes the view of a recording, of the time after a warm-up, s.
        long: whether it is for the long version only: formulas that others are like.
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
        default_factory=lambda: flowed
    )
    look: Callable[[Recording, float], View] = field(default_factory=lambda: view_of)
    long: bool = False

    @property
    def rests(self) -> bool:
        """Whether the solver is asked for anything."""
        return any("solver" in of.engines for of in self.relations)

    def rows(self, full: bool, engines: Sequence[str] = ENGINES) -> list[Row]:
        """All rows.

        Args:
            full: longer runs and more seeds.
            engines: to be asked; rows without any are left out.
        """
        asked = [name for name in engines if any(name in of.engines for of in self.relations)]
        views = {name: getattr(self, f"by_{name}")(full) for name in asked}
        rows = [
            Row(of, {n: found_in(of, views[n]) for n in asked if n in of.engines})
            for of in self.relations
        ]
        return [row for row in rows if row.found]

    def by_solver(self, full: bool) -> list[Views]:
        """Rest, as the solver finds it."""
        equilibria = {name: self.solve(of, self.options) for name, of in self.networks.items()}
        return [{name: of_rest(each) for name, each in equilibria.items()}]

    def by_fluid(self, full: bool) -> list[Views]:
        """The end of long runs of the fluid."""
        until = self.until * (2 if full else 1)
        networks = self.networks if self.fluids is None else self.fluids
        runs = self.flow(list(networks.values()), self.options, until)
        views = (self.look(run, LATE * until) for run in runs)
        return [dict(zip(networks, views, strict=True))]

    def by_packets(self, full: bool) -> list[Views]:
        """Runs of the packet simulator, one for each seed."""
        until = self.packets_until * (2 if full else 1)
        networks = self.networks if self.packets is None else self.packets
        begin = self.packets_after * until
        times = np.unique(np.append(np.linspace(0.0, until, PACKET_SAMPLES), begin))

        def one(seed: int) -> Views:
            runs = {name: record_packets(of, times, seed) for name, of in networks.items()}
            return {name: self.look(run, begin) for name, run in runs.items()}

        return parallel_map(one, range(1, (10 if full else 3) + 1))


def found_in(relation: Relation, views: Sequence[Views]) -> Found:
    """A relation on the views of one engine."""
    said, has = (np.array([of(view) for view in views]) for of in (relation.says, relation.has))
    error = np.std(has / said, ddof=1) / np.sqrt(said.size) if said.size > 1 else np.nan
    return Found(float(said.mean()), float(has.mean()), float(error))


def groups_of(network: Network) -> dict[str, tuple[str, np.ndarray]]:
    """The class and the flows of each group, by its name: those of one round-trip time."""
    found, first = {}, 0
    for name, flows in network.flows.items():
        rtts = np.array(network.base_rtts(name))
        for number, rtt in enumerate(dict.fromkeys(rtts.tolist())):
            members = first + np.flatnonzero(rtts == rtt)
            found[name if number == 0 else f"{name}.{number}"] = (name, members)
        first += flows.count
    return found


def of_rest(rest: Equilibrium) -> View:
    """What the solver has."""
    network, values = rest.network, rest.values
    view = {}
    for number, (name, (law, _)) in enumerate(groups_of(network).items()):
        at = list(network.links).index((network.flows[law].path or tuple(network.links))[0])
        queue, prob = float(values.queue[at]), float(values.drop_prob[at])
        cwnd, rtt = float(values.cwnd[number]), float(values.rtt[number])
        rate = float(values.goodput[number])
        kept = 1.0 if getattr(list(network.links.values())[at].aqm, "ecn", False) else 1 - prob
        view[name] = Group(cwnd, cwnd, rtt, rate, rate / kept, prob, queue, np.nan)
    return view


def view_of(run: Recording, warmup: float) -> View:
    """What a run has after a warm-up, s."""
    gained, network = run.totals_after(warmup), run.network
    late, seconds = run.times >= warmup, run.times[-1] - warmup
    first = int(np.argmax(late))
    marked = run.links["marked"][-1] - run.links["marked"][first]
    probs = (gained.lost + marked) / (gained.lost + gained.admitted)
    view = {}
    for name, (law, flows) in groups_of(network).items():
        at = list(network.links).index((network.flows[law].path or tuple(network.links))[0])
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
            float(probs[at]),
            float(gained.mean_queue[at]),
            float(gained.utilisation[at]),
        )
    return view


def flowed(
    networks: Sequence[Network], options: FluidOptions, until: float, samples: int = SAMPLES
) -> list[Recording]:
    """Fluid runs of networks of one structure, compiled once.

    Args:
        networks: that differ in numbers only.
        options: switches of the fluid model (`FluidOptions`).
        until: s.
        samples: of each run.
    """
    bounds = [build(network).parameters.delay_bounds for network in networks]
    delays = min(of.shortest for of in bounds), max(of.longest for of in bounds)
    step = min(mean_field_grid(network, until, samples).step for network in networks)
    runs = []
    for network in networks:
        model = build(network, options=options, delay_bounds=delays)
        grid = mean_field_grid(network, until, samples)._replace(step=step, longest_lag=delays[1])
        solution = model.integrate(grid)
        dde.check(solution)
        runs.append(to_recording(network, solution, model.vector_field))
    return runs
