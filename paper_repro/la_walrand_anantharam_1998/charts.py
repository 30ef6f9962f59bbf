"""The paper's two types of charts: queue sizes over time, and packet sequences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from paper_repro.la_walrand_anantharam_1998.recorded_run import RecordedRun
from paper_repro.style import COLOURS, PAPER_MARK, label

__all__ = ["SEGMENT", "draw_queue", "draw_sequences", "moving_average", "segment_times"]

SEGMENT = 90
"""Packets with consecutive numbers in one segment of a sequence chart, as in the paper."""
HEIGHT = 0.8
"""Height of a segment in rows of the chart (one row for each connection)."""
Point = tuple[float, float]
"""Time (s) and queue (packets)."""
AVERAGED = 1.0
"""Width of the moving average of a queue, s."""


def moving_average(record: RecordedRun) -> np.ndarray:
    """Return the queue averaged over the second around each sample, packets; (time,)."""
    sums = np.cumsum(record.queue)
    half = max(round(AVERAGED / (record.time[1] - record.time[0]) / 2), 1)
    place = np.arange(record.time.size)
    low, high = np.maximum(place - half, 0), np.minimum(place + half, place[-1])
    return (sums[high] - sums[low]) / (high - low)


def segment_times(record: RecordedRun, connection: int) -> np.ndarray:
    """Return when each segment of a connection starts, s; a short distance is a high rate."""
    delivered = record.delivered[:, connection]
    firsts = np.arange(1, delivered[-1], SEGMENT)
    return np.interp(firsts, delivered, record.time)


def draw_queue(
    axes: Axes, record: RecordedRun, title: str, top: float, printed: Sequence[Point] = ()
) -> None:
    """Plot the queue over time: each sample, and the moving average.

    Args:
        axes: panel to draw in.
        record: run to plot.
        title: title of the panel.
        top: upper end of the vertical axis, packets.
        printed: times (s) and queues (packets) that the text states.
    """
    axes.plot(record.time, record.queue, color=COLOURS["fourth"], lw=0.5, label="queue size")
    average = moving_average(record)
    axes.plot(record.time, average, color=COLOURS["vegas"], lw=1.2, label="its mean over 1 s")
    if printed:
        axes.plot(*zip(*printed, strict=True), **PAPER_MARK)
    axes.set_xlim(0, record.time[-1])
    axes.set_ylim(0, top)
    label(axes, title, "Time (sec)", "Queue size (packets)")


def draw_sequences(axes: Axes, record: RecordedRun, title: str) -> None:
    """Plot packet sequences: a row for each connection, a slanted line for each 90 packets.

    Args:
        axes: panel to draw in.
        record: run to plot.
        title: title of the panel.
    """
    for connection in range(record.delivered.shape[1]):
        begins = segment_times(record, connection)
        lines = [
            [(begin, connection + 1 - HEIGHT / 2), (end, connection + 1 + HEIGHT / 2)]
            for begin, end in pairwise(begins)
        ]
        axes.add_collection(LineCollection(lines, colors=COLOURS["vegas"], linewidths=0.7))
    count = record.delivered.shape[1]
    axes.set_xlim(0, record.time[-1])
    axes.set_ylim(0.4, count + 0.6)
    axes.set_yticks(range(1, count + 1))
    label(axes, title, "Time (sec)", "Connection (a line: 90 packets)", legend=False)
