"""10 000 points of alpha, beta and networks like network 2, 200 s each, on the fluid model.

The points are 25 alphas, 20 widths of the dead band and 20 networks (flows of each class and
thresholds of RED); each is a run of 200 simulated seconds of the fluid model, in compiled batches.
Without `--full` every fortieth point is run. The figures are CPU seconds per point on JAX's device
without compiling; the time of one ns-2 run of network 2 relative to that (the mean of
`tests/agreement/ns2_one_way.csv`, from another machine, and a run on this one if `ns` is
installed); and the largest difference from a run of a single point.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.harness import Figures
from benchmarks.ns2_rows import model_of, ns2_cpu_seconds, ns2_rows
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.fluid import record_fluid
from vegasfluid.fluid.model import FluidModel, build
from vegasfluid.fluid.time_grid import mean_field_grid
from vegasfluid.model import Model
from vegasfluid.network import Network
from vegasfluid.tuning.fluid_gradients import FluidSpec, outputs
from vegasfluid.tuning.measurement import summary

__all__ = ["Point", "add_points", "alone", "base", "network_at", "points", "ratios", "task_for"]
__all__ += ["together"]

ROW = "net2_oneway_a134_b139_gentle_start"
BATCH = 125
"""Points of a batch."""
COUNTS, THRESHOLDS = (10, 20, 30, 40, 50), (0.5, 0.75, 1.0, 1.25)
"""Flows of a class, and RED's thresholds in units of network 2's."""
SAMPLES = 5
CHECKED = 3
"""Points that are run alone, too."""


class Point(NamedTuple):
    """A point of the sweep.

    Args:
        alpha: packets.
        dead_band: beta - alpha, packets.
        count: flows of each class.
        threshold: RED's thresholds, in units of network 2's.
    """

    alpha: float
    dead_band: float
    count: int
    threshold: float


def points() -> list[Point]:
    """All of them."""
    alphas, dead_bands = np.round(np.geomspace(5, 500, 25)), np.arange(20.0)
    return [
        Point(*item) for item in product(alphas.tolist(), dead_bands.tolist(), COUNTS, THRESHOLDS)
    ]


def base() -> Model:
    """Network 2, with a gentle start."""
    return model_of(next(row for row in ns2_rows() if row.name == ROW))


def network_at(point: Point, model: Model) -> Network:
    """The network of a point."""
    network = model.network
    law = cast(Vegas, network.flows["vegas"].law)
    law = replace(law, alpha=point.alpha, beta=point.alpha + point.dead_band)
    flows = {name: replace(group, count=point.count) for name, group in network.flows.items()}
    flows["vegas"] = replace(flows["vegas"], law=law)
    red = cast(Red, network.link.aqm)
    low, high = (round(item * point.threshold) for item in (red.min_thresh, red.max_thresh))
    link = replace(network.link, aqm=replace(red, min_thresh=low, max_thresh=high))
    return replace(network, links={"bottleneck": link}, flows=flows)


def together(batch: list[Point], model: Model) -> FluidModel:
    """The fluid models of some points as one, each leaf with a leading axis."""
    fluids = [
        jax.tree.map(lambda leaf: np.asarray(leaf, float), build(network_at(item, model)))
        for item in batch
    ]
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *fluids)


def task_for(model: Model) -> FluidSpec:
    """What all points have in common."""
    grid = mean_field_grid(model.network, model.duration, SAMPLES)
    return FluidSpec(grid, model.warmup, (), (0,))


def ratios(fluids: FluidModel, task: FluidSpec) -> Any:
    """Goodput of a Vegas flow over that of a Reno flow, for each point; compiled."""

    def ratio(one: FluidModel) -> jax.Array:
        goodput = outputs(jnp.zeros(0), one, task)[0].goodput
        reno, vegas = (
            jnp.average(goodput[own], weights=one.parameters.groups.count[own])
            for own in one.structure.class_slices
        )
        return vegas / reno

    return jax.vmap(ratio)(fluids)


def add_points(figures: Figures, full: bool) -> None:
    """The points in plain batches, without a sweep around them."""
    model = base()
    task = task_for(model)
    chosen = points() if full else points()[::40]
    batches = [chosen[n : n + BATCH] for n in range(0, len(chosen), BATCH)]
    compiled = jax.jit(lambda fluids: ratios(fluids, task))
    jax.block_until_ready(compiled(together(batches[0], model)))
    found, cpu, wall = [], 0.0, 0.0
    for batch in batches:
        fluids = together(batch, model)
        begin = time.process_time(), time.perf_counter()
        found.append(np.asarray(compiled(fluids)))
        cpu, wall = cpu + time.process_time() - begin[0], wall + time.perf_counter() - begin[1]
    values = np.concatenate(found)
    figures.add("sweep.points", len(values))
    figures.add("sweep.cpu_s_a_point", cpu / len(values))
    figures.add("sweep.wall_s_a_point", wall / len(values))
    add_ns2(figures, cpu / len(values))
    places = np.linspace(0, len(values) - 1, CHECKED).astype(int)
    gaps = [abs(alone(chosen[n], model) / float(values[n]) - 1) for n in places]
    figures.add("sweep.worst_difference_to_single_runs", max(gaps), at_most=1e-3)
    figures.add("sweep.failed", float(np.sum(~np.isfinite(values))), at_most=0)


def add_ns2(figures: Figures, cpu: float) -> None:
    """ns-2's CPU seconds for a run, over the fluid's."""
    rows = [row for row in ns2_rows() if row.network == 2]
    recorded = float(np.mean([row.cpu_s for row in rows]))
    figures.add("sweep.ns2_recorded_over_fluid", recorded / cpu)
    if shutil.which("ns"):
        here = ns2_cpu_seconds(next(row for row in rows if row.name == ROW), two_way=False)
        figures.add("sweep.ns2_here_over_fluid", here / cpu)


def alone(point: Point, model: Model) -> float:
    """Ratio of a point in a single run."""
    network = network_at(point, model)
    recording = record_fluid(network, model.duration, SAMPLES, tolerance=None)
    return summary(recording, "vegas", model.warmup)["ratio"]
