"""Ten recommendations for networks without Vegas, each beside a search of all settings on packets.

Every case tunes one or two numbers of a queue or of CUBIC with `recommend`; then the packet
simulator measures each point of a grid with the seeds of the search, so that the difference is that
of the search alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

import vegasfluid as vf
from benchmarks.harness import Figures
from vegasfluid.modelfile.parameters import with_values
from vegasfluid.tuning import Constraints, LargestGoodput, Objective, ShareRatio, SmallestDelay
from vegasfluid.tuning.constraints import FEASIBILITY_TOLERANCE
from vegasfluid.tuning.measurement import measure

__all__ = ["CASES", "Case", "add_cases", "excess", "network", "reno"]

BUSY = Constraints(utilisation=0.98)
RUNS = 4
TIMES: Mapping[str, Any] = {"until": 60.0, "warmup": 15.0}
WITHIN = 0.05
"""Largest relative difference from the best point of the grid."""


def reno(count: int = 2, base_rtt: float = 0.04, **more: Any) -> vf.Flows:
    """Reno flows with a base RTT in s, which start within a second."""
    return vf.Flows(count, vf.Reno(), base_rtt=base_rtt, start=vf.UniformStart(1.0), **more)


def cubic(count: int, base_rtt: float) -> vf.Flows:
    """CUBIC flows with a base RTT in s, which start within a second."""
    return replace(reno(count, base_rtt), law=vf.Cubic())


def network(
    aqm: Any = None, buffer: int = 100, capacity: float = 10.0, **flows: vf.Flows
) -> vf.Network:
    """A network with one link of `capacity` Mbit/s; by default with two Reno flows."""
    link = vf.Link(vf.mbps(capacity), buffer, **({} if aqm is None else {"aqm": aqm}))
    return vf.Network(link, flows or {"reno": reno()})


@dataclass(frozen=True)
class Case:
    """A recommendation that is compared with a search of all settings.

    Args:
        network: with the values that are given.
        grid: for each tuned number its values, in the unit of its name.
        objective: what is wanted.
        constraints: bounds on the measured means.
        runs: packet runs of each setting.
        times: `until` and `warmup`, s.
    """

    network: vf.Network
    grid: Mapping[str, Sequence[float]]
    objective: Objective = field(default_factory=SmallestDelay)
    constraints: Constraints = BUSY
    runs: int = RUNS
    times: Mapping[str, Any] = field(default_factory=lambda: dict(TIMES))

    def recommendation(self) -> Any:
        """The recommendation, searched over the range of the grid."""
        names = [f"{name}={min(values)}:{max(values)}" for name, values in self.grid.items()]
        options = {"runs": self.runs, **self.times}
        return vf.recommend(
            self.network, names, objective=self.objective, constraints=self.constraints, **options
        )

    def measured(self) -> list[dict[str, float]]:
        """Means of packet runs at each point of the grid, with the seeds of the search."""
        points = (
            dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())
        )
        tuned = getattr(self.objective, "numerator", None) or next(iter(self.network.flows))
        return [
            measure(
                with_values(self.network, point), tuned, range(1, self.runs + 1), **self.times
            ).means()
            for point in points
        ]

    def loss(self, means: Mapping[str, float]) -> float:
        """What the objective makes small: delay (s), 1 / utilisation, or a ratio, from 1 up."""
        if isinstance(self.objective, SmallestDelay):
            return means["queueing_delay_s"]
        if isinstance(self.objective, ShareRatio):
            return max(means["ratio"], 1 / means["ratio"])
        return 1 / means["utilisation"]

    def feasible(self, means: Mapping[str, float]) -> bool:
        """Whether the means are within the constraints, with the tolerance that `recommend` has."""
        exact = isinstance(self.objective, SmallestDelay)
        return not self.constraints.violated(means, 0.0 if exact else FEASIBILITY_TOLERANCE)


DCTCP = vf.Flows(2, vf.Dctcp(), base_rtt=100e-6, initial_ssthresh=20)
CASES: dict[str, Case] = {
    "buffer_of_reno": Case(network(), {"bottleneck.buffer_packets": range(20, 100)}),
    "step_threshold": Case(
        network(vf.StepMarking(60), 200, reno=reno(ecn=True)),
        {"bottleneck.threshold_packets": range(5, 60)},
    ),
    "red_thresholds": Case(
        network(vf.Red(40, 100, weight=0.01), 200),
        {
            "bottleneck.min_thresh_packets": range(1, 32, 3),
            "bottleneck.max_thresh_packets": range(33, 150, 10),
        },
    ),
    "dctcp_threshold": Case(
        network(vf.StepMarking(65), 300, 10_000, dctcp=DCTCP),
        {"bottleneck.threshold_packets": range(1, 201)},
        constraints=Constraints(utilisation=0.999),
        runs=2,
        times={"until": 0.3, "warmup": 0.1},
    ),
    "codel_target_200ms": Case(
        network(vf.CoDel(), 1000, 20, cubic=cubic(4, 0.2)),
        {"bottleneck.target_ms": np.round(np.arange(4.0, 40.0, 0.25), 2).tolist()},
        constraints=Constraints(utilisation=0.95),
        times={"until": 120.0, "warmup": 40.0},
    ),
    "pie_target": Case(
        network(vf.Pie(), 500, 50, reno=reno(5), cubic=cubic(5, 0.04)),
        {"bottleneck.target_ms": np.round(np.arange(0.5, 10.0, 0.1), 1).tolist()},
    ),
    "pi2_target": Case(
        network(vf.Pi2(), 500, 50, reno=reno(4), cubic=cubic(4, 0.04)),
        {"bottleneck.target_ms": np.round(np.arange(0.5, 10.0, 0.1), 1).tolist()},
    ),
    "red_max_drop": Case(
        network(vf.Red(10, 60), 200, reno=reno(4)),
        {"bottleneck.max_drop": np.round(np.geomspace(0.01, 0.8, 60), 4).tolist()},
        LargestGoodput(),
        Constraints(queueing_delay=0.02),
    ),
    "cubic_beta": Case(
        network(None, 100, 20, reno=reno(2, 0.06), cubic=cubic(2, 0.06)),
        {"cubic.beta": np.round(np.arange(0.3, 0.96, 0.01), 2).tolist()},
        ShareRatio(1.0, "cubic", "reno"),
        Constraints(),
    ),
    "buffer_of_cubic": Case(
        network(None, 200, 50, cubic=cubic(10, 0.08)),
        {"bottleneck.buffer_packets": range(10, 401, 5)},
    ),
}
"""A name for each case. Delays are to be as small as they can be with a link that is used to 98 %,
unless stated otherwise."""


def excess(case: Case) -> float:
    """How much worse a recommendation is than the best point of the grid, relative; NaN if not
    within the constraints.
    """
    found = case.recommendation().after.packets.means()
    if not case.feasible(found):
        return float("nan")
    best = min(case.loss(one) for one in case.measured() if case.feasible(one))
    return case.loss(found) / best - 1


def add_cases(figures: Figures) -> None:
    """Add each case, and how many are within 5 % of the best point of the grid."""
    found = {name: excess(case) for name, case in CASES.items()}
    within = sum(value <= WITHIN for value in found.values())
    figures.add("tuned.within5", within, at_least=len(CASES))
    for name, value in found.items():
        figures.add(f"tuned.{name}", value)
