"""The paper's two types of figures over time: throughput in bit/s, and CWND with SSTH."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_repro.experiment import Results
from paper_repro.marrone_2013.environment import LINK_MBPS
from paper_repro.marrone_2013.recorded_flow import RecordedFlow
from paper_repro.style import COLOURS, PAPER_MARK, label, panels

__all__ = ["Panel", "draw_panels", "fastest", "slowest", "throughput", "windows"]

Panel = Callable[[Axes, Results], None]
"""Function that draws one of the paper's figures."""
NAMES = {"reno": "Reno", "cubic": "CUBIC", "vegas": "Vegas"}
"""Labels by congestion control."""
Mark = tuple[float, float]
"""Time (s) and value."""
Pick = Callable[[Sequence[RecordedFlow]], RecordedFlow]
"""Function that chooses one of several tests."""
SLOTS = 100
"""Time slots of a throughput curve."""


def first(records: Sequence[RecordedFlow]) -> RecordedFlow:
    """Return the test of the first seed."""
    return records[0]


def slowest(records: Sequence[RecordedFlow]) -> RecordedFlow:
    """Return the test with the lowest throughput."""
    return min(records, key=RecordedFlow.throughput)


def fastest(records: Sequence[RecordedFlow]) -> RecordedFlow:
    """Return the test with the highest throughput."""
    return max(records, key=RecordedFlow.throughput)


def throughput(
    title: str,
    *,
    pick: Pick = first,
    until: float | None = None,
    mark: Mark | None = None,
    **names: str,
) -> Panel:
    """Return a panel with throughput by congestion control.

    The second curve has steps, as in the paper.

    Args:
        title: title with the figure's number in the paper.
        pick: choice among a job's tests.
        until: end of the time axis, s; None: that of the test.
        mark: a time (s) and a rate (Mbit/s) that the paper prints.
        names: names of jobs by congestion control.
    """

    def draw(axes: Axes, results: Results) -> None:
        for place, (law, name) in enumerate(names.items()):
            record = pick(results[name])
            ends, rates = record.rates((until or record.until) / SLOTS)
            plot = axes.step if place else axes.plot
            plot(ends, 1e6 * rates, color=COLOURS[law], label=NAMES[law], linewidth=1)
            axes.set_xlim(0, until or record.until)
        axes.axhline(1e6 * LINK_MBPS, color="grey", linewidth=0.8, linestyle=":", label="the link")
        if mark is not None:
            axes.plot([mark[0]], [1e6 * mark[1]], **PAPER_MARK)
        axes.set_ylim(0, 1.25e6 * LINK_MBPS)
        label(axes, title, "time (s)", "throughput (bit/s)")

    return draw


def windows(
    title: str,
    law: str,
    name: str,
    pick: Pick = first,
    *,
    until: float | None = None,
    mark: Mark | None = None,
) -> Panel:
    """Return a panel with window and threshold of one job, the threshold as in tcp_probe.

    Args:
        title: title with the figure's number in the paper.
        law: congestion control of the job.
        name: name of the job.
        pick: choice among the job's tests.
        until: end of the time axis, s; None: that of the test.
        mark: a time (s) and a window (packets) that follow from printed values.
    """

    def draw(axes: Axes, results: Results) -> None:
        record = pick(results[name])
        threshold = record.probed()
        top = 1.3 * record.cwnd.max()
        axes.plot(record.times, record.cwnd, color=COLOURS[law], linewidth=1, label="CWND")
        visible = threshold <= top  # before the first loss it is far above
        axes.plot(
            record.times[visible], threshold[visible], color="grey", linewidth=1, linestyle="--",
            label="SSTH",
        )  # fmt: skip
        if mark is not None:
            style: dict[str, Any] = PAPER_MARK | {"label": "the paper: path full"}
            axes.plot([mark[0]], [mark[1]], **style)
        axes.set_xlim(0, until or record.until)
        axes.set_ylim(0, top)
        label(axes, title, "time (s)", "CWND and SSTH (packets)")

    return draw


def draw_panels(rows: Sequence[Sequence[Panel]]) -> Callable[[Results], Figure]:
    """Return a function that draws panels row by row."""

    def draw(results: Results) -> Figure:
        figure, axes = panels(len(rows), max(len(row) for row in rows))
        for line, row in zip(axes, rows, strict=True):
            for place, panel in zip(line, row, strict=False):
                panel(place, results)
            for place in line[len(row) :]:
                place.set_axis_off()
        return figure

    return draw
