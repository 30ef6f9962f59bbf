"""Random networks in few structures, so that many of them share compiled code.

A compiled program serves networks that differ in numbers only. So there are `STRUCTURES` random
structures (classes, congestion controls, queue, marking, equal or different RTTs), and each network
has the structure of its number modulo `STRUCTURES`, with random numbers. Capacity and RTTs change
up to a factor of `APART` in opposite directions, other numbers up to a factor of `NEAR`: the mesh
of windows in the density model, whose size is compiled in, then has one of few sizes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.integrity.networks import (
    LONGEST,
    MEGABITS,
    MILLISECONDS,
    MOST_PACKETS,
    SHORTEST,
    drawn,
)
from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.fluid import build
from vegasfluid.fluid.flow_groups import START_PARTS
from vegasfluid.model import Model
from vegasfluid.network import Flows, Network, UniformStart
from vegasfluid.quantities import mbps, ms

__all__ = ["STRUCTURES", "random_model"]

STRUCTURES = 100
"""Number of structures; chosen, so that each has 20 networks in the long run."""
SEED = 381
"""Seed of the numbers of all networks."""
APART, NEAR = 10.0, 1.25
"""Largest factors by which a network's numbers differ from those of its structure: capacity and
RTTs; and their product, buffers, thresholds and numbers of flows (chosen)."""


MOST_CELL_STEPS = 1e7
"""Most steps of the density model times its cells in a run of more than `FEWEST_SECONDS` (chosen:
it takes up to 4 s, and several times as long with halved steps)."""
FEWEST_SECONDS = 3.0
"""Shortest run, s; all flows have started before."""


class Numbers:
    """Random factors of the numbers of one network."""

    def __init__(self, number: int) -> None:
        self.random = np.random.default_rng([SEED, number])

    def factor(self, largest: float) -> float:
        """A factor from 1 / `largest` to `largest`, uniform on a logarithmic scale."""
        return float(largest ** self.random.uniform(-1.0, 1.0))

    def count(self, count: int) -> int:
        """Another number of flows, with as many flow groups in the fluid models."""
        if count < START_PARTS:
            return count
        return max(START_PARTS, round(count * self.factor(NEAR)))


def random_model(number: int) -> Model:
    """The random network of a number, with the times of its run.

    Args:
        number: number of the network, from 0.
    """
    first, numbers = drawn(number % STRUCTURES), Numbers(number)
    [(name, link)] = first.network.links.items()
    rtts = [concrete(flows.base_rtt) for flows in first.network.flows.values()]
    slower = within(numbers.factor(APART), rtts, ms(MILLISECONDS[0]), ms(MILLISECONDS[1]))
    change = numbers.factor(NEAR) / slower
    faster = within(change, [float(link.capacity)], mbps(MEGABITS[0]), mbps(MEGABITS[1]))
    size = numbers.factor(NEAR)
    aqm = other_thresholds(link.aqm, size, numbers)
    capacity, buffer = link.capacity * faster, max(10.0, float(round(link.buffer * size)))
    flows = {key: other_flows(flows, slower, numbers) for key, flows in first.network.flows.items()}
    network = Network({name: replace(link, capacity=capacity, buffer=buffer, aqm=aqm)}, flows)
    until = min(first.until * slower, LONGEST, MOST_PACKETS / float(capacity))
    until = min(max(until, SHORTEST), longest_run(network))
    return Model(network, duration=until, warmup=until / 4, title="random")


def longest_run(network: Network) -> float:
    """Longest run of a network, s, with at most `MOST_CELL_STEPS` if they suffice."""
    model = build(network, resolution="distribution")
    meshes = zip(model.meshes or (), model.structure.groups_per_class, strict=True)
    cells = sum(mesh.cells * groups for mesh, groups in meshes if mesh is not None)
    return max(MOST_CELL_STEPS / cells * model.time_grid(SHORTEST).step, FEWEST_SECONDS)


def concrete(value: Any) -> float:
    """A quantity of a drawn network, in its unit: none is missing, a tuple or traced."""
    return float(value)


def within(factor: float, values: list[float], low: float, high: float) -> float:
    """A factor, clipped so that its products with values stay from `low` to `high`."""
    return float(np.clip(factor, low / min(values), high / max(values)))


def other_flows(flows: Flows, slower: float, numbers: Numbers) -> Flows:
    """A class with other numbers: of flows, and of packets that Vegas keeps in the queue.

    Args:
        flows: class of the structure.
        slower: factor of its base RTT.
        numbers: source of random numbers.
    """
    changes: dict[str, Any] = {"count": numbers.count(flows.count)}
    changes["base_rtt"] = concrete(flows.base_rtt) * slower
    changes["start"] = UniformStart(numbers.factor(NEAR))
    if isinstance(flows.law, Vegas):
        alpha = max(1, round(concrete(flows.law.alpha) * numbers.factor(NEAR)))
        beta = alpha + int(numbers.random.integers(0, 4))
        changes["law"] = replace(flows.law, alpha=alpha, beta=beta)
    return replace(flows, **changes)


def other_thresholds(aqm: QueueDiscipline, size: float, numbers: Numbers) -> QueueDiscipline:
    """A queue discipline with other thresholds, drop probability and weight, if it is RED.

    Args:
        aqm: queue discipline of the structure.
        size: factor of the buffer and of the thresholds.
        numbers: source of random numbers.
    """
    if not isinstance(aqm, Red):
        return aqm
    return replace(
        aqm,
        min_thresh=concrete(aqm.min_thresh) * size,
        max_thresh=concrete(aqm.max_thresh) * size * max(numbers.factor(NEAR), 1.0),
        max_drop=min(concrete(aqm.max_drop) * numbers.factor(NEAR), 1.0),
        weight=concrete(aqm.weight) * numbers.factor(NEAR),
    )
