"""The paper's two kinds of figure: throughput in bit/s, and CWND with SSTH, over time."""

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
"""Draws one of the paper's figures into axes."""
NAMES = {"reno": "Reno", "cubic": "CUBIC", "vegas": "Vegas"}
Mark = tuple[float, float]
Pick = Callable[[Sequence[RecordedFlow]], RecordedFlow]
"""Which of several tests is drawn."""
SLOTS = 100
"""Time slots of a throughput curve."""


def first(records: Sequence[RecordedFlow]) -> RecordedFlow:
    """That of the first seed."""
    return records[0]


def slowest(records: Sequence[RecordedFlow]) -> RecordedFlow:
    """That with the lowest throughput."""
    return min(records, key=RecordedFlow.throughput)


def fastest(records: Sequence[RecordedFlow]) -> RecordedFlow:
    """That with the highest throughput."""
    return max(records, key=RecordedFlow.throughput)


def throughput(
    title: str,
    *,
    pick: Pick = first,
    until: float | None = None,
    mark: Mark | None = None,
    **names: str,
) -> Panel:
    """Throughput of jobs, by law; of two the second is in pulses, as the paper has it.

    Args:
        title: which figure of the paper it is.
        pick: which of a job's tests is drawn.
        until: the end of the time axis, s; None: of the test.
        mark: a time (s) and a rate (Mbit/s) that the paper prints.
        names: jobs by law.
    """

    def draw(axes: Axes, results: Results) -> None:
        for place, (law, name) in enumerate(names.items()):
            record = pick(results[name])
            ends, rates = record.rates((until or record.until) / SLOTS)
            drawn = axes.step if place else axes.plot
            drawn(ends, 1e6 * rates, color=COLOURS[law], label=NAMES[law], linewidth=1)
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
    """Window and threshold of one job; the threshold as tcp_probe prints it.

    Args:
        title: which figure of the paper it is.
        law: of the job.
        name: of the job.
        pick: which of its tests is drawn.
        until: the end of the time axis, s; None: of the test.
        mark: a time (s) and a window (packets) that follow from what the paper prints.
    """

    def draw(axes: Axes, results: Results) -> None:
        record = pick(results[name])
        shown = record.probed()
        top = 1.3 * record.cwnd.max()
        axes.plot(record.times, record.cwnd, color=COLOURS[law], linewidth=1, label="CWND")
        inside = shown <= top  # before the first loss it is far above
        axes.plot(
            record.times[inside], shown[inside], color="grey", linewidth=1, linestyle="--",
            label="SSTH",
        )  # fmt: skip
        if mark is not None:
            look: dict[str, Any] = PAPER_MARK | {"label": "the paper: path full"}
            axes.plot([mark[0]], [mark[1]], **look)
        axes.set_xlim(0, until or record.until)
        axes.set_ylim(0, top)
        label(axes, title, "time (s)", "CWND and SSTH (packets)")

    return draw


def draw_panels(rows: Sequence[Sequence[Panel]]) -> Callable[[Results], Figure]:
    """A figure of the paper's figures, row by row."""

    def draw(results: Results) -> Figure:
        figure, axes = panels(len(rows), max(len(row) for row in rows))
        for line, row in zip(axes, rows, strict=True):
            for place, panel in zip(line, row, strict=False):
                panel(place, results)
            for place in line[len(row) :]:
                place.set_axis_off()
        return figure

    return draw
