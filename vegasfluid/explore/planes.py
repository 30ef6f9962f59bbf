"""The plane of two parameters: a grid of fluid runs, computed in batches from coarse to fine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from vegasfluid.errors import InvalidInput, VegasfluidError
from vegasfluid.explore.fluid_runs import path_numbers, path_of
from vegasfluid.model import Model
from vegasfluid.network import Network
from vegasfluid.sweep import Numbers, Sweep
from vegasfluid.sweep.axes import is_whole
from vegasfluid.sweep.fluid_batches import compute_points, empty_results
from vegasfluid.sweep.results import DONE, Results
from vegasfluid.sweep.summary import tuned_class

__all__ = ["Span", "plane", "span_of"]

BATCH = 32
"""Number of runs computed together; a newer request is noticed between two batches; chosen."""
MOST_VALUES = 41
"""Largest number of values along an axis."""
LARGEST = 1e15
"""Absolute values of the ends of an axis are below this, in any unit."""
STRIDES = (4, 2, 1)
"""Distances of the points that are computed first, second and last, in steps of the grid."""


class Span(NamedTuple):
    """Values of a parameter along an axis.

    Args:
        name: parameter such as `vegas.alpha_packets`.
        low: the lowest value, in the unit that ends the name.
        high: the highest value.
        count: number of values.
    """

    name: str
    low: float
    high: float
    count: int

    def values(self, network: Network) -> list[float]:
        """Evenly spaced values, both ends included, in the unit that ends the name.

        Where the parameter takes whole numbers only they are rounded, and equal ones merged.
        """
        values = np.linspace(self.low, self.high, self.count)
        if is_whole(network, self.name):
            values = np.unique(np.round(values))
        return [float(value) for value in values]


def span_of(given: object) -> Span:
    """The span in a JSON object with `name`, `low`, `high` and `count`.

    Raises:
        InvalidInput: for something else, ends that are not ascending, or a count that is not a
            whole number from 2 to 41. Whether the parameter exists is not checked.
    """
    table: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    name, count = str(table.get("name")), table.get("count")
    ends = [table.get("low"), table.get("high")]
    numbers = [float(end) for end in ends if isinstance(end, int | float) and abs(end) < LARGEST]
    if len(numbers) < 2:
        raise InvalidInput("plane", f"ends of {name}", "two numbers", ends)
    low, high = numbers
    if not low < high:
        raise InvalidInput("plane", f"ends of {name}", "the lower one first", ends)
    if type(count) is not int or not 2 <= count <= MOST_VALUES:
        raise InvalidInput("plane", "count", f"2 to {MOST_VALUES}", count)
    return Span(name, low, high, count)


def plane(model: Model, x: Span, y: Span, tuned: str | None) -> Iterator[dict[str, Any]]:
    """Simulate a grid over two parameters by the fluid model, as `vegasfluid sweep` does.

    Args:
        model: network and times; its values of the two parameters do not matter.
        x: parameter along the horizontal axis.
        y: parameter along the vertical axis.
        tuned: class in the numerator of the ratio; None: the only Vegas class, else the first.

    Yields:
        First `x` and `y`, the values along the axes, and `valid`, column and row of each valid
        point, from coarse to fine. Then batches as `points`: for each column, row, ratio (NaN with
        one class), Jain's index, and on the tuned class's path queueing delay (s), loss ratio and
        utilisation; all None for a run that failed.

    Raises:
        InvalidInput: for an unknown parameter, or the same one twice.
        SolveFailed: if the device fails.
    """
    axes = [Numbers(span.name, span.values(model.network)) for span in (y, x)]
    sweep = Sweep(model, axes, tune=tuned, chunk=BATCH)
    rows, columns = sweep.shape
    valid = [index for index in coarse_to_fine(rows, columns) if is_valid(sweep, index)]
    yield {
        "y": axes[0].labels,
        "x": axes[1].labels,
        "valid": [(column, row) for row, column in valid],
    }
    path = path_of(model.network, tuned_class(model.network, tuned))
    for begin in range(0, len(valid), BATCH):
        batch = valid[begin : begin + BATCH]
        results = empty_results(sweep, len(batch))
        points = [sweep.point(index) for index in batch]
        for together in compute_points(sweep, points, BATCH, results):
            found = [numbers_of(results, number, sweep.links, path) for number in together]
            places = [batch[number] for number in together]
            pairs = zip(places, found, strict=True)
            yield {"points": [[column, row, *numbers] for (row, column), numbers in pairs]}


def coarse_to_fine(rows: int, columns: int) -> list[tuple[int, int]]:
    """Row and column of each point of a grid once: every fourth first, then every second, then all.

    >>> coarse_to_fine(1, 6)
    [(0, 0), (0, 4), (0, 2), (0, 1), (0, 3), (0, 5)]
    """
    grids = (np.ndindex(-(-rows // s), -(-columns // s)) for s in STRIDES)
    return list(dict.fromkeys(
        (row * stride, column * stride)
        for stride, grid in zip(STRIDES, grids, strict=True)
        for row, column in grid
    ))  # fmt: skip


def is_valid(sweep: Sweep, index: tuple[int, int]) -> bool:
    """Whether a network can have the two values of a point; beta below alpha is not valid."""
    try:
        sweep.point(index).model()
    except VegasfluidError:
        return False
    return True


def numbers_of(
    results: Results, number: int, links: tuple[str, ...], path: tuple[str, ...]
) -> list[float | None]:
    """Ratio, Jain's index, queueing delay (s), loss ratio and utilisation of one point.

    All are None for a run that failed.

    Args:
        results: averages of a batch, of which the first seed is used.
        number: index of the point in the batch.
        links: names of the links in the results.
        path: names of the links on the tuned class's path.
    """
    if results.status[number] != DONE:
        return [None] * 5
    values = {name: array[number, 0] for name, array in results.values.items()}
    keys = ("queueing_delay_s", "drop_share", "utilisation")
    by_link = {name: {key: float(values[key][i]) for key in keys} for i, name in enumerate(links)}
    on_path = path_numbers(by_link, path)
    return [float(values["ratio"]), float(values["jain_index"]), *on_path.values()]
