"""One fluid run for the page: its averages, which are those of `metrics`, and its course."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vegasfluid.fluid import TOLERANCE, record_fluid
from vegasfluid.fluid.validity import validity_warnings
from vegasfluid.model import Model
from vegasfluid.network import Network
from vegasfluid.quantities import mbps
from vegasfluid.run_options import DEFAULT_SAMPLES
from vegasfluid.sweep.summary import METRICS, Summary, links_of, run_averages, tuned_class
from vegasfluid.trajectory import Recording, class_means

__all__ = ["fluid_run", "meaning", "path_numbers"]

CLASS_METRICS = [name for name, metric in METRICS.items() if metric.along == "flow_class"]
"""Names of the averages of each flow class in an answer; METRICS has their units."""
LINK_METRICS = [name for name, metric in METRICS.items() if metric.along == "link"]
"""Names of the averages of each link in an answer; METRICS has their units."""
DIGITS = 5
"""Significant digits of the samples that the page draws; averages have all."""
SAME = 0.05
"""Relative difference of goodputs up to which they are called about the same."""


def fluid_run(
    model: Model, tuned: str | None, *, accurate: bool, samples: int = DEFAULT_SAMPLES
) -> dict[str, Any]:
    """Simulate a model by its fluid model; returns the JSON of its averages and its course.

    Args:
        model: network and times.
        tuned: class in the numerator of the ratio; None: the only Vegas class, else the first.
        accurate: whether the solver's step is halved until averages are accurate to 1 %, as in
            `vegasfluid simulate`; otherwise there is one run with the default step.
        samples: number of samples in time, including both ends.

    Returns:
        `tuned`, the class in the numerator; `ratio` (null with one class) and `meaning` in words;
        `classes`, `links` and `jain_index` as in the JSON output of `simulate`; `path`, see
        `path_numbers`, on the tuned class's path; `accurate`; `warmup_s`; `series`, see `series`;
        `warnings`.

    Raises:
        VegasfluidError: if the network cannot be simulated.
    """
    network, name = model.network, tuned_class(model.network, tuned)
    tolerance = TOLERANCE if accurate else None
    run = record_fluid(network, model.duration, samples, warmup=model.warmup, tolerance=tolerance)
    means = run_averages(run, model.warmup, name)
    ratio = None if name is None else float(means["ratio"])
    links = labelled(links_of(network), LINK_METRICS, means)
    return {
        "tuned": name,
        "ratio": ratio,
        "meaning": "" if name is None or ratio is None else meaning(ratio, name, network),
        "jain_index": float(means["jain_index"]),
        "classes": labelled(list(network.flows), CLASS_METRICS, means),
        "links": links,
        "path": path_numbers(links, path_of(network, name)),
        "accurate": accurate,
        "warmup_s": model.warmup,
        "series": series(run),
        "warnings": [
            *network.warnings(),
            *validity_warnings(run, model.warmup, tolerance or TOLERANCE),
        ],
    }


def labelled(
    names: Sequence[str], metrics: Sequence[str], means: Summary
) -> dict[str, dict[str, float]]:
    """Averages by name of the class or link, then by metric, in the units of METRICS.

    `means` has an array for each of `metrics`, with a value for each of `names`.
    """
    return {
        name: {metric: float(means[metric][number]) for metric in metrics}
        for number, name in enumerate(names)
    }


def path_of(network: Network, name: str | None) -> tuple[str, ...]:
    """Names of the links, with their direction, that data of a class cross; None: of all links.

    The names are those of `links_of`: a class whose `direction` is reverse has reverse ones.
    """
    if name is None:
        return tuple(network.links)
    names = links_of(network)
    return tuple(names[queue] for queue in network.queue_indices(name)[0])


def path_numbers(
    links: Mapping[str, Mapping[str, float]], path: tuple[str, ...]
) -> dict[str, float]:
    """Queueing delay, drops and utilisation on a path, from those of its links.

    Args:
        links: averages of each link by name: `queueing_delay_s`, `drop_share`, `utilisation`.
        path: names of the links on the path; those without averages are left out.

    Returns:
        `queueing_delay_s`, the sum of the delays; `drop_share`, the fraction of packets dropped on
        the whole path; `utilisation`, the largest one, NaN without links.

    >>> link = {"queueing_delay_s": 0.02, "drop_share": 0.1, "utilisation": 0.8}
    >>> path_numbers({"up": link, "down": link}, ("up", "down"))["queueing_delay_s"]
    0.04
    """
    crossed = [links[name] for name in path if name in links]
    return {
        "queueing_delay_s": sum(link["queueing_delay_s"] for link in crossed),
        "drop_share": 1 - math.prod(1 - link["drop_share"] for link in crossed),
        "utilisation": max((link["utilisation"] for link in crossed), default=math.nan),
    }


def meaning(ratio: float, tuned: str, network: Network) -> str:
    """A goodput ratio as a sentence; from 0.95 to 1.05 it is `about the same goodput`.

    Args:
        ratio: goodput of a flow of the tuned class over that of another flow; infinite if the
            other flows have none, NaN if no flow has any.
        tuned: name of the tuned class.
        network: the network, whose other classes are named if there is only one.
    """
    names = [name for name in network.flows if name != tuned]
    other = f"a {names[0]} flow" if len(names) == 1 else "a flow of the other classes"
    if math.isnan(ratio):
        return "No flow delivers anything after the warm-up."
    if math.isinf(ratio):
        return f"The {tuned} flows have all of the goodput."
    if abs(ratio - 1) <= SAME:
        return f"A {tuned} flow and {other} get about the same goodput."
    if ratio < 1:
        return f"A {tuned} flow gets {100 * ratio:.2g} % of the goodput of {other}."
    return f"A {tuned} flow gets {ratio:.3g} times the goodput of {other}."


def series(run: Recording) -> dict[str, Any]:
    """The course of a run in time, rounded for drawing.

    Args:
        run: a fluid run.

    Returns:
        `time` (s) of the samples and `interval` (s), the middles between them; by flow class the
        means over its flows `cwnd` (packets), `rtt_ms` and, over the intervals, `goodput_mbps`; by
        link `queue` (packets); and `controls`, the congestion control of each class.
    """
    times, network = run.times, run.network
    names, links = list(network.flows), links_of(network)
    cwnd, rtt, delivered = (
        class_means(network.counts, run.flows[name]) for name in ("cwnd", "rtt", "delivered")
    )
    rates = np.diff(delivered, axis=0) / np.diff(times)[:, np.newaxis]

    def by_name(columns: list[str], values: np.ndarray) -> dict[str, list[float]]:
        """Columns of `values` (time, name), rounded, by the names in `columns`."""
        return {name: rounded(values[:, i]) for i, name in enumerate(columns)}

    return {
        "time": rounded(times),
        "interval": rounded((times[1:] + times[:-1]) / 2),
        "cwnd": by_name(names, cwnd),
        "rtt_ms": by_name(names, 1e3 * rtt),
        "goodput_mbps": by_name(names, rates / mbps(1.0, network.packet_bytes)),
        "queue": by_name(links, run.links["queue"]),
        "controls": {name: flows.law.name for name, flows in network.flows.items()},
    }


def rounded(values: np.ndarray) -> list[float]:
    """Values with five significant digits, as a list; 0 stays 0."""
    size = np.abs(values, where=values != 0, out=np.ones_like(values, float))
    scale = 10.0 ** (DIGITS - 1 - np.floor(np.log10(size)))
    return (np.round(values * scale) / scale).tolist()
