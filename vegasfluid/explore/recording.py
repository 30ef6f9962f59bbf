"""Runs of networks as JSON, for a page that needs no server: `vegasfluid explore --out`."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from vegasfluid import modelfile
from vegasfluid.errors import VegasfluidError
from vegasfluid.explore.documents import NOMINAL, errors_of
from vegasfluid.explore.fluid_runs import fluid_run
from vegasfluid.explore.followed import Report
from vegasfluid.explore.latest import Tickets, Worker
from vegasfluid.explore.packet_runs import packet_runs
from vegasfluid.explore.planes import Span, plane
from vegasfluid.explore.recommendations import Recommendations
from vegasfluid.explore.session import changed, opened
from vegasfluid.model import Model
from vegasfluid.parallel import processors
from vegasfluid.sweep.summary import tuned_class
from vegasfluid.version import package_version

__all__ = ["COUNT", "recording"]

COUNT = 17
"""Number of values along each axis, as on the page with a server."""
SAMPLES = 161
"""Samples of each run in time."""
HEADROOM = 1.3
"""Top of the drawn values / the largest one after the warm-up; values above it are clipped."""
LEVELS = 255
"""Largest stored value of a sample, which is one byte."""
DIGITS = 6
"""Significant digits of averages."""
COURSES = ("cwnd", "goodput_mbps", "rtt_ms", "queue")
"""Quantities over time, in the order in which they are stored."""

Answer = dict[str, Any]
"""A part of the recording as JSON, like the answer of a server to the page."""


def recording(models: Mapping[str, Model], report: Report, *, count: int = COUNT) -> Answer:
    """Simulate the planes of models, and recommend parameters for each.

    Args:
        models: models by the name that the page shows.
        report: called with progress in words.
        count: number of values along each axis of the planes.

    Returns:
        `version` of the package, and `networks`, a list with what `recorded` returns for each.

    Raises:
        VegasfluidError: if a network cannot be simulated. A recommendation, its explanation or a
            packet run that fails is part of the result instead.
    """
    networks = [recorded(name, model, report, count) for name, model in models.items()]
    return {"version": package_version(), "networks": networks}


def recorded(name: str, model: Model, report: Report, count: int) -> Answer:
    """The runs of one model for the saved page of `explore`, in place of answers of its server.

    The page shows a plane: the results over two numbers of the model, such as alpha and beta.

    Args:
        name: file or name of the model, which the page shows.
        model: network and times; ranges of uncertain parameters are left out.
        report: called with progress in words.
        count: number of values along each axis of the plane.

    Returns:
        `name`; `document` and `text` of the model; `notes`; `numbers`, the two on the axes;
        `tuned`, the class in the numerator of the ratio; `recommend` and `plane`, the parts of
        these answers; `series`, times, names and congestion controls of the runs; `runs`, with the
        given and the recommended setting and at the points of the plane; `packets`, packet runs
        with these two settings; `why`, reasons for the recommended one. Runs, packet runs and
        reasons have `at`, the values of the two numbers; the last two also `parts`.
    """
    notes = [NOMINAL] if model.ranges else []
    model = replace(model, ranges={})
    tuned = tuned_class(model.network, None)
    start = opened(model)
    numbers = plane_numbers(start["numbers"])
    names = [str(number["name"]) for number in numbers]
    given = tuple(float(number["value"]) for number in numbers)
    report(f"{name}: recommendation")
    recommendations, ticket = Recommendations(Worker()), Tickets().take("", never)
    recommended = parts_of(recommendations.recommend(model, tuned, ticket))
    settings = [given, *recommended_setting(recommended, names)]
    report(f"{name}: reasons")
    why = [
        {"at": at, "parts": parts_of(recommendations.why(at_setting(model, names, at), ticket))}
        for at in settings[1:]
    ]
    report(f"{name}: plane")
    x, y = (Span(str(one["name"]), one["low"], one["high"], count) for one in numbers)
    head, *batches = plane(model, x, y, tuned)
    points = [(head["x"][column], head["y"][row]) for column, row in head["valid"]]
    runs = list(fluid_runs(model, names, list(dict.fromkeys([*settings, *points])), report))
    series = [run.pop("series") for run in runs]
    report(f"{name}: packet runs")
    packets = [
        {"at": at, "parts": parts_of(packet_runs(at_setting(model, names, at), tuned))}
        for at in settings
    ]
    return {
        **start,
        "name": name,
        "notes": notes,
        "numbers": numbers,
        "tuned": tuned,
        "plane": [head, {"points": [point for batch in batches for point in batch["points"]]}],
        "recommend": recommended,
        "packets": packets,
        "why": why,
        "series": series[0],
        "runs": runs,
    }


def never() -> bool:
    """Return False: there is no page that could be gone."""
    return False


def plane_numbers(numbers: Sequence[Answer]) -> list[Answer]:
    """The two entries of `numbers` on the axes: alpha and beta of the first Vegas class.

    Without a Vegas class, the first two. The entries are those of `schema.numbers_to_tune`.
    """
    by_name = {str(number["name"]): number for number in numbers}
    for name in by_name:
        beta = name.removesuffix("alpha_packets") + "beta_packets"
        if name.endswith(".alpha_packets") and beta in by_name:
            return [by_name[name], by_name[beta]]
    return list(numbers[:2])


def parts_of(answers: Iterator[Answer]) -> list[Answer]:
    """The parts of a long answer; if it raises a VegasfluidError, a last part has its `errors`."""
    parts = []
    try:
        parts.extend(answers)
    except VegasfluidError as error:
        parts.append({"errors": errors_of(error)})
    return parts


def recommended_setting(parts: list[Answer], names: list[str]) -> list[tuple[float, ...]]:
    """Values of the numbers `names` in a recommendation, in their order, as a list of one tuple.

    The list is empty if the recommendation failed, or `names` are not its alpha and beta. `parts`
    are the messages of the recommendation.
    """
    found = parts[-1].get("recommended")
    if found is None:
        return []
    values = {f"{found['tuned']}.{key}_packets": found[key] for key in ("alpha", "beta")}
    return [tuple(values[name] for name in names)] if values.keys() == set(names) else []


def at_setting(model: Model, names: list[str], values: Sequence[float]) -> Model:
    """A model with `values` of the numbers `names`, in the unit that ends each name."""
    return changed(model, dict(zip(names, values, strict=True)))


def fluid_runs(
    model: Model, names: list[str], settings: list[tuple[float, ...]], report: Report
) -> Iterator[Answer]:
    """Fluid runs at settings of the numbers `names`, as many at a time as there are processors.

    Yields:
        What `packed` returns for each run, in the order of `settings`, with the values as `at`, and
        the model file as `text`.

    Raises:
        VegasfluidError: if a run fails.
    """

    def one(values: tuple[float, ...]) -> Answer:
        """The run at one setting."""
        found = at_setting(model, names, values)
        run = fluid_run(found, None, accurate=False, samples=SAMPLES)
        return {"at": values, "text": modelfile.dumps(found)} | packed(run)

    with ThreadPoolExecutor(processors()) as pool:
        for done, run in enumerate(pool.map(one, settings), 1):
            report(f"{done} of {len(settings)} runs")
            yield run


def packed(run: Answer) -> Answer:
    """A run with fewer digits, and its samples as one byte each.

    Args:
        run: the result of `fluid_run`.

    Returns:
        The run with `samples`, base64 of all samples in the order of `COURSES`, and `tops`, the
        value in the unit of the quantity for which 255 stands; larger values are clipped. `series`
        has the times, the congestion controls, and names in place of samples.
    """
    series = run["series"]
    times = {"goodput_mbps": series["interval"]}
    columns, tops = [], []
    for name in COURSES:
        values = np.array(list(series[name].values()))
        after = np.asarray(times.get(name, series["time"])) >= run["warmup_s"]
        top = HEADROOM * float(np.max(values[:, after], initial=0.0)) or 1.0
        tops.append(rounded(top))
        columns.append(np.clip(np.round(values / top * LEVELS), 0, LEVELS).astype(np.uint8))
    samples = b"".join(column.tobytes() for column in columns)
    common = {"time": series["time"], "interval": series["interval"]}
    common |= {"controls": series["controls"]} | {name: list(series[name]) for name in COURSES}
    return rounded(run) | {
        "series": common,
        "samples": base64.b64encode(samples).decode(),
        "tops": tops,
    }


def rounded(value: Any) -> Any:
    """JSON with numbers of six significant digits; whole numbers and text are unchanged.

    >>> rounded({"a": [1 / 3, 2]})
    {'a': [0.333333, 2]}
    """
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value
