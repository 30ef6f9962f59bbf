"""Experiments that are run again under other readings of a paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import vegasfluid as vf
from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results

__all__ = ["Change", "OtherReading", "unchanged", "with_readings"]

Change = Callable[[vf.Network], vf.Network]
"""Function that returns a network under another reading."""


def unchanged(network: vf.Network) -> vf.Network:
    """Return the network as it is."""
    return network


def every_measure(name: str) -> bool:
    """Whether a measure is about what the reading changes: each is."""
    return True


@dataclass(frozen=True)
class OtherReading:
    """Another reading of what a paper leaves open."""

    source: str
    """Name of its evidence, after the engine's and a comma."""
    change: Change
    """Function that changes the networks of an experiment."""
    about: Callable[[str], bool] = every_measure
    """Whether a measure, by its name in the experiment, is about what the reading changes."""
    first_seed_only: bool = False
    """Whether each network runs once only under it."""

    def job(self, job: Job) -> Job:
        """Return a job under the reading."""
        seeds = job.seeds[:1] if self.first_seed_only else job.seeds
        return replace(job, network=self.change(job.network), seeds=seeds)


def with_readings(
    experiment: Experiment,
    readings: Sequence[OtherReading],
    measure_under: Callable[[Results, Change], Evidence] | None = None,
) -> Experiment:
    """Return the experiment, whose packet runs are also made under other readings.

    Args:
        experiment: the experiment.
        readings: other readings.
        measure_under: function of results and of the change that computes evidence; None: that of
            the experiment, whose measures then need no network.
    """

    def jobs() -> Mapping[str, Job]:
        usual = dict(experiment.jobs())
        packets = {name: job for name, job in usual.items() if job.engine == "packets"}
        return usual | {
            f"{reading.source} | {name}": reading.job(job)
            for reading in readings
            for name, job in packets.items()
        }

    def measure(results: Results) -> Evidence:
        usual = {name: results[name] for name in experiment.jobs()}
        evidence = experiment.measure(usual)
        for reading in readings:
            runs = {name: results.get(f"{reading.source} | {name}", usual[name]) for name in usual}
            if measure_under is None:
                found = experiment.measure(runs)
            else:
                found = measure_under(runs, reading.change)
            evidence.add(renamed(found, reading))
        return evidence

    return replace(experiment, jobs=jobs, measure=measure)


def renamed(evidence: Evidence, reading: OtherReading) -> Evidence:
    """Return what packet runs show of the measures that a reading is about, as its evidence."""
    other = Evidence()
    tables = (
        (evidence.found, other.found),
        (evidence.spread, other.spread),
        (evidence.runs, other.runs),
    )
    for values, kept in tables:
        for source, measures in values.items():
            engine, comma, tail = source.partition(", ")
            about = {
                name: value
                for name, value in measures.items()
                if reading.about(name.partition(".")[2])
            }
            if engine == PACKETS and about:
                kept[f"{PACKETS}, {reading.source}{comma}{tail}"] = about  # type: ignore[assignment]
    return other
