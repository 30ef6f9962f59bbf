"""A model in independent simulators and kernels, beside our packet simulator and fluid model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vegasfluid.crosscheck.averages import Averages, averages_of, parse_averages
from vegasfluid.crosscheck.comparison import (
    SMALLEST_DROP_SHARE,
    SMALLEST_QUEUE,
    Comparison,
    Verdict,
    compare,
    worst,
)
from vegasfluid.crosscheck.programs import scenario_folder
from vegasfluid.crosscheck.reference import Reference
from vegasfluid.export import Exported, OperatingPoint, export_model
from vegasfluid.fluid import record_fluid
from vegasfluid.model import Model
from vegasfluid.network import Network
from vegasfluid.packet import record_packets
from vegasfluid.parallel import parallel_map
from vegasfluid.quantities import mbps
from vegasfluid.run_options import DEFAULT_SAMPLES

__all__ = ["Crosscheck", "OwnRuns", "ReferenceRuns", "own_runs", "reference_runs"]

SMALLEST = {
    "goodput": 0.0,
    "ratio": 0.0,
    "queue": SMALLEST_QUEUE,
    "drop_share": SMALLEST_DROP_SHARE,
}
"""Difference that is inside every interval, for each compared quantity, a field of `Averages`: for
`queue` in packets."""


@dataclass(frozen=True)
class OwnRuns:
    """Averages of the packet simulator's runs and of a run of the fluid model.

    Args:
        packets: averages of each packet run.
        fluid: averages of the fluid run.
    """

    packets: tuple[Averages, ...]
    fluid: Averages


@dataclass(frozen=True)
class ReferenceRuns:
    """Averages of the runs of a reference.

    Args:
        reference: the reference.
        exported: the exported model that it ran.
        runs: averages of each run.
    """

    reference: Reference
    exported: Exported
    runs: tuple[Averages, ...]


@dataclass(frozen=True)
class Crosscheck:
    """A network in one reference, compared with our packet runs.

    Args:
        network: the network.
        own: our runs.
        others: the runs of the reference.
    """

    network: Network
    own: OwnRuns
    others: ReferenceRuns

    def compare(self, quantity: str, index: int) -> Comparison:
        """Compare one quantity of one class or link.

        Args:
            quantity: a field of `Averages`.
            index: index of the class (`goodput`, `ratio`) or link (`queue`, `drop_share`).
        """
        ours, theirs = (
            [getattr(run, quantity)[index] for run in runs]
            for runs in (self.own.packets, self.others.runs)
        )
        return compare(ours, theirs, SMALLEST[quantity])

    def class_comparisons(self, name: str) -> dict[str, Comparison]:
        """Comparisons of class `name`: `goodput` (packets/s), and `ratio` if it is not alone."""
        index = list(self.network.flows).index(name)
        quantities = ("goodput", "ratio") if len(self.network.flows) > 1 else ("goodput",)
        return {quantity: self.compare(quantity, index) for quantity in quantities}

    def link_comparisons(self, name: str) -> dict[str, Comparison]:
        """Comparisons of link `name`: `queue` (packets) and `drop_share`."""
        index = list(self.network.links).index(name)
        return {quantity: self.compare(quantity, index) for quantity in ("queue", "drop_share")}

    def misses(self, name: str) -> dict[str, Comparison]:
        """Comparisons of class `name` and its path's links whose verdict is not "inside".

        The keys name the quantity, such as `goodput` or `queue of bottleneck`.
        """
        words = {"drop_share": "loss ratio"}
        found = dict(self.class_comparisons(name))
        for link in self.network.path_of(name):
            for quantity, comparison in self.link_comparisons(link).items():
                found[f"{words.get(quantity, quantity)} of {link}"] = comparison
        return {what: one for what, one in found.items() if one.verdict != "inside"}

    def verdict(self, name: str) -> Verdict:
        """Verdict on class `name`: the worst of its comparisons and those of its path's links."""
        return worst([comparison.verdict for comparison in self.misses(name).values()])

    @property
    def worst(self) -> Verdict:
        """The worst verdict on any class."""
        return worst([self.verdict(name) for name in self.network.flows])

    def as_json(self) -> dict[str, Any]:
        """Comparisons and verdicts as in the JSON output of `vegasfluid crosscheck`.

        Returns:
            `title` of the reference; the worst `verdict`; `classes` by name (`verdict`,
            `goodput_mbps`, `ratio` if there are several); `links` by name (`queue_packets`,
            `drop_share`); and `vegas` and `notes` of the exported model.
        """
        scale = 1 / mbps(1.0, self.network.packet_bytes)
        classes = {}
        for index, name in enumerate(self.network.flows):
            compared = self.class_comparisons(name)
            fluid = self.own.fluid.goodput[index], self.own.fluid.ratio[index]
            classes[name] = {
                "verdict": self.verdict(name),
                "goodput_mbps": as_json(compared["goodput"], fluid[0], scale),
            }
            if "ratio" in compared:
                classes[name]["ratio"] = as_json(compared["ratio"], fluid[1])
        links = {}
        for index, name in enumerate(self.network.links):
            compared = self.link_comparisons(name)
            fluid = self.own.fluid.queue[index], self.own.fluid.drop_share[index]
            links[name] = {
                "queue_packets": as_json(compared["queue"], fluid[0]),
                "drop_share": as_json(compared["drop_share"], fluid[1]),
            }
        exported = self.others.exported.as_json()
        return {
            "title": self.others.reference.title,
            "verdict": self.worst,
            "classes": classes,
            "links": links,
            "vegas": exported["vegas"],
            "notes": exported["notes"],
        }


def as_json(compared: Comparison, fluid: float, scale: float = 1.0) -> dict[str, Any]:
    """One comparison as JSON: `fluid`, `packets`, `interval`, `reference` and `verdict`.

    Args:
        compared: the comparison.
        fluid: the fluid model's value, in its unit.
        scale: factor on all numbers, to change the unit.
    """
    return {
        "fluid": scale * fluid,
        "packets": scale * compared.packets,
        "interval": [scale * compared.low, scale * compared.high],
        "reference": scale * compared.reference,
        "verdict": compared.verdict,
    }


def own_runs(model: Model, seeds: Sequence[int]) -> OwnRuns:
    """Run the packet simulator once for each seed, and the fluid model once.

    Args:
        model: the network and the times of its runs.
        seeds: seeds of the packet runs.

    Raises:
        TooLarge: for runs that need too much memory or time.
        SolveFailed: if the fluid model cannot be integrated.
    """
    network, warmup = model.network, model.warmup
    times = np.unique([0.0, warmup, model.duration])
    packets = parallel_map(
        lambda seed: averages_of(record_packets(network, times, seed), warmup), seeds
    )
    fluid = record_fluid(network, model.duration, DEFAULT_SAMPLES, warmup=warmup)
    return OwnRuns(tuple(packets), averages_of(fluid, warmup))


def reference_runs(
    model: Model,
    reference: Reference,
    seeds: Sequence[int],
    points: Mapping[str, OperatingPoint] | None = None,
) -> ReferenceRuns:
    """Run a model in a reference, once for each seed.

    Args:
        model: the model.
        reference: the reference.
        seeds: seeds of the runs, at least one.
        points: operating points of the Vegas classes whose dialect is not the reference's, as for
            `vegasfluid.export.export_model`.

    Raises:
        InvalidInput: for a part of the model that the reference does not support.
        NotInstalled: if the reference finds that something is missing.
        ComputationFailed: if the reference fails.
    """
    exported = export_model(model, reference.format, points=points, seed=seeds[0])

    def run(seed: int) -> Averages:
        """Run the exported model with a seed; return its averages after the warm-up."""
        with scenario_folder(exported.files) as folder:
            text = reference.run(folder, seed)
        return parse_averages(text, model.network, reference.title)

    workers = None if reference.parallel else 1
    return ReferenceRuns(reference, exported, tuple(parallel_map(run, seeds, workers)))
