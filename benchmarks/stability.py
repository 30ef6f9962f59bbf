"""Verdicts of the linear analysis compared with the nonlinear delay equations near the boundary.

    python -m benchmarks.stability [--json] [--full]

Each family is a network with one parameter. `critical_value` finds where stability is lost. At 2
and 5 % on either side, the verdict of the rightmost root is compared with a run of the nonlinear
equations from a small disturbance of the equilibrium: whether it decays, and at which rate. No
verdict may be wrong. The time of a stability map is measured, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from benchmarks.harness import Figures, run
from vegasfluid.analysis import THEORY, critical_value, equilibrium, stability, stability_map
from vegasfluid.analysis.linear_stability.disturbances import disturbed, growth_rate
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.fluid import FluidOptions
from vegasfluid.network import Flows, Link, Network

__all__ = ["FAMILIES", "Case", "Family", "cases", "measure"]

SIDES = (0.95, 0.98, 1.02, 1.05)
"""Values of the parameter, relative to the critical one."""
FOLDS = 8.0
"""Duration of a run in units of the time in which the disturbance changes by a factor e."""
LONGEST = 1500.0
"""Longest run, s."""
SHORTEST = 40.0
"""Shortest run, s."""
SMALL = 1e-7
"""Relative disturbance of windows and queues."""


@dataclass(frozen=True)
class Family:
    """A network with a parameter.

    Args:
        name: name of the family.
        network_of: function from the parameter to the network.
        low: value of the parameter on one side of the boundary.
        high: value on the other side.
        options: options of the fluid model.
        wide: whether only the outermost values are used, where runs are slow.
    """

    name: str
    network_of: Callable[[float], Network]
    low: float
    high: float
    options: FluidOptions = THEORY
    wide: bool = False


@dataclass(frozen=True)
class Case:
    """One network near the stability boundary.

    Args:
        family: name of the family.
        part: parameter relative to the critical one.
        predicted: real part of the rightmost root, 1/s.
        measured: growth rate of a disturbance in the nonlinear equations, 1/s.
    """

    family: str
    part: float
    predicted: float
    measured: float

    @property
    def right(self) -> bool:
        """Whether both agree."""
        return (self.predicted < 0) == (self.measured < 0)


def red(max_drop: float, *, weight: float = 0.002, **more: object) -> Red:
    """A queue that drops from 100 packets on, with a slope over 400 packets."""
    return Red(100.0, 500.0, max_drop, weight=weight, **more)  # type: ignore[arg-type]


def over_red(flows: dict[str, Flows], capacity: float = 2000.0, **of_red: object) -> Callable:
    """Networks over RED by the curve's maximum."""

    def network_of(max_drop: float) -> Network:
        return Network(Link(capacity, 2000, red(max_drop, **of_red)), flows)  # type: ignore[arg-type]

    return network_of


def farther(flows: dict[str, Flows], max_drop: float, **of_red: Any) -> Callable:
    """Networks by a factor on all base RTTs: a critical delay."""

    def network_of(factor: float) -> Network:
        far = {k: replace(group, base_rtt=factor * group.base_rtt) for k, group in flows.items()}  # type: ignore[operator]
        return over_red(far, **of_red)(max_drop)

    return network_of


def slower_average(flows: dict[str, Flows], max_drop: float) -> Callable:
    """Networks by the weight of RED's average."""
    return lambda weight: over_red(flows, weight=weight)(max_drop)


def parking_lot(max_drop: float) -> Network:
    """A long class over two links, and a short one over each."""
    links = {
        name: Link(capacity, 2000, red(max_drop, weight=0.02), delay=0.01)
        for name, capacity in (("first", 2000.0), ("second", 1500.0))
    }
    flows = {
        "long": Flows(10, Reno(), base_rtt=0.12, path=("first", "second")),
        "one": Flows(10, Reno(), base_rtt=0.08, path=("first",)),
        "two": Flows(10, Reno(), base_rtt=0.08, path=("second",)),
    }
    return Network(links, flows)


def buffered(buffer: float) -> Network:
    """Reno over a drop-tail queue with the losses of an M/M/1/K system, by its buffer."""
    link = Link(2000.0, buffer, DropTail(losses="mm1k"))
    return Network(link, {"reno": Flows(20, Reno(), base_rtt=0.1)})


def mixed(vegas: Vegas) -> dict[str, Flows]:
    """Ten Reno and ten Vegas flows."""
    return {"reno": Flows(10, Reno(), base_rtt=0.1), "vegas": Flows(10, vegas, base_rtt=0.1)}


RENO = {"reno": Flows(20, Reno(), base_rtt=0.1)}
NS2 = mixed(Vegas(8, 10, dialect="ns2"))
TWO_TRIPS = {"near": Flows(10, Reno(), base_rtt=0.06), "far": Flows(10, Reno(), base_rtt=0.15)}
DEFAULT = FluidOptions()
FAMILIES = (
    Family("reno, curve", over_red(RENO, weight=0.05), 0.05, 1.0),
    Family("reno, slow average", slower_average(RENO, 0.3), 2e-6, 2e-3),
    Family("reno, critical delay", farther(RENO, 0.2, weight=0.05), 0.5, 4.0),
    Family("reno, marks", over_red(RENO, weight=0.05, ecn=True, wait=False), 0.01, 0.5),
    Family("reno, two round trips", over_red(TWO_TRIPS, weight=0.05), 0.05, 1.0),
    Family("reno, as packets count", over_red(RENO, weight=0.05), 0.02, 1.0, DEFAULT),
    Family("cubic", over_red({"cubic": Flows(5, Cubic(), base_rtt=0.1)}, weight=0.05), 0.005, 1.0),
    Family(
        "highspeed", over_red({"hs": Flows(8, HighSpeed(), base_rtt=0.1)}, weight=0.05), 0.002, 1.0
    ),
    Family(
        "scalable", over_red({"sc": Flows(8, Scalable(), base_rtt=0.1)}, weight=0.05), 0.002, 1.0
    ),
    Family("reno and vegas (ns2)", over_red(NS2, weight=0.05), 0.05, 1.0),
    Family(
        "reno and vegas (linux)",
        over_red(mixed(Vegas(12, 14, dialect="linux")), weight=0.05),
        0.05,
        1.0,
    ),
    Family("reno and vegas (brakmo)", farther(mixed(Vegas(6, 8)), 0.2, weight=0.05), 0.5, 6.0),
    Family("reno, two links", parking_lot, 0.02, 1.0, wide=True),
    Family("reno, M/M/1/K losses", buffered, 12.0, 40.0),
)


def cases(family: Family, sides: tuple[float, ...] = SIDES) -> list[Case]:
    """Return networks of a family on both sides of its stability boundary."""
    sides = (sides[0], sides[-1]) if family.wide else sides
    critical = critical_value(family.network_of, family.low, family.high, family.options)
    equilibria = [equilibrium(family.network_of(part * critical), family.options) for part in sides]
    predicted = [stability(state).rightmost_root.real for state in equilibria]
    slowest = FOLDS / min(abs(rate) for rate in predicted)
    times, windows = disturbed(equilibria, float(np.clip(slowest, SHORTEST, LONGEST)), by=SMALL)
    measured = growth_rate(times, windows)
    rows = zip(sides, predicted, measured, strict=True)
    return [Case(family.name, part, root, float(rate)) for part, root, rate in rows]


def seconds_of_map() -> float:
    """Return the CPU seconds of a stability map of 100 x 100 points, with its compilation.

    Reno and Vegas over RED, by the curve's maximum and the base RTT.
    """

    def network_of(max_drop: float, base_rtt: float) -> Network:
        flows = {k: replace(item, base_rtt=base_rtt) for k, item in NS2.items()}
        return over_red(flows, weight=0.05)(max_drop)

    begin = time.process_time()
    stability_map(network_of, np.geomspace(0.02, 1.0, 100), np.linspace(0.02, 0.4, 100))
    return time.process_time() - begin


def measure(full: bool) -> Figures:
    """Return the figures of all families; `full` has more values near each boundary."""
    figures = Figures()
    sides = (0.95, 0.97, 0.98, 0.99, 1.01, 1.02, 1.03, 1.05) if full else SIDES
    found = []
    for family in FAMILIES:
        found += cases(family, sides)
        jax.clear_caches()
    figures.add("stability.cases", len(found), at_least=40)
    figures.add("stability.wrong", sum(not case.right for case in found), at_most=0)
    figures.add("stability.map.cpu_seconds", seconds_of_map(), at_most=20)
    for family in FAMILIES:
        of_family = [case for case in found if case.family == family.name]
        worst = max(abs(case.measured / case.predicted - 1) for case in of_family)
        figures.add(f"stability.growth_rate.{family.name}", worst)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
