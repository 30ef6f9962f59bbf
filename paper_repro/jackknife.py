"""Standard errors of measures by the jackknife: each seed is left out in turn.

It applies to any measure that is computed from the runs of several seeds, such as a ratio of sums
or a correlation. For a mean it gives the usual standard error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from paper_repro.experiment import ROUNDING, Evidence, Experiment, Job, Results

__all__ = ["with_errors"]

Found = Mapping[str, Mapping[str, float | list[float]]]
"""Values by source and measure."""


def with_errors(experiment: Experiment, results: Results) -> Evidence:
    """Evidence of an experiment, with standard errors of all measures that follow from seeds.

    Jobs with the same seeds lose the same seed at a time, so that what their runs have in common
    stays in common. Errors from jobs with other seeds are independent. An error that the
    experiment states itself stays. The number of runs behind an error is that of the smallest such
    group. A measure has none if it does not depend on several seeds, or
    compares runs of one seed.
    """
    evidence = experiment.measure(results)
    variances: dict[tuple[str, str], np.ndarray] = {}
    runs: dict[tuple[str, str], int] = {}
    for names in same_seeds(experiment.jobs()):
        count = len(results[names[0]])
        parts = [experiment.measure(without(results, names, seed)).found for seed in range(count)]
        for key, variance in variances_of(evidence.found, parts).items():
            variances[key] = variances.get(key, np.zeros(())) + variance
            if variance.any():
                runs[key] = min(count, runs.get(key, count))
    for (source, measure), variance in variances.items():
        if variance.any() and (source, measure) not in evidence.pairs:
            error = np.sqrt(variance).tolist()
            evidence.spread.setdefault(source, {}).setdefault(measure, error)
            evidence.runs.setdefault(source, {}).setdefault(measure, runs[source, measure])
    return evidence


def same_seeds(jobs: Mapping[str, Job]) -> list[list[str]]:
    """Names of the jobs of the packet simulator with more than one seed, grouped by seeds."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, job in jobs.items():
        if job.engine == "packets" and len(job.seeds) > 1:
            groups.setdefault(tuple(job.seeds), []).append(name)
    return list(groups.values())


def without(results: Results, names: Sequence[str], seed: int) -> Results:
    """Results without the run of one seed (its index) of the named jobs."""
    fewer = {name: [*results[name][:seed], *results[name][seed + 1 :]] for name in names}
    return {**results, **fewer}


def variances_of(found: Found, parts: Sequence[Found]) -> dict[tuple[str, str], np.ndarray]:
    """Jackknife variances of the finite measures that all parts have.

    Args:
        found: values from all seeds.
        parts: values without each seed.
    """
    variances = {}
    for source, measures in found.items():
        for measure, value in measures.items():
            values = [part.get(source, {}).get(measure) for part in parts]
            if any(other is None or np.shape(other) != np.shape(value) for other in values):
                continue
            rows = np.array(values, float)
            if np.isfinite(rows).all():
                mean = rows.mean(axis=0)
                deviations = np.where(abs(rows - mean) > ROUNDING * abs(mean), rows - mean, 0.0)
                squares = (deviations**2).sum(axis=0)
                variances[source, measure] = (len(rows) - 1) / len(rows) * squares
    return variances
