"""Response time of notebook 2's sliders in a browser.

    python -m benchmarks.slider [--json] [--full]

Starts JupyterLab and Chromium. A key moves the slider of alpha; the figure is the time from the key
to the frame that shows both new plots: the fluid run in the kernel, drawing, and communication.
`callback_cpu_ms` is the kernel's part in CPU time, measured in this process. 20 moves; with
`--full` 38.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import vegasfluid as vf
from benchmarks.browser import BROWSERS, chromium
from benchmarks.harness import Figures, run
from benchmarks.slider.lab import jupyter_lab
from benchmarks.slider.notebook import network
from benchmarks.slider.page import opened

ENOUGH = 200.0
"""Milliseconds."""


def callback_milliseconds(moves: int) -> float:
    """Processor time of a move in the kernel, ms."""
    explorer = vf.plot.explore(network(), until=60, packets=(2, 23), points=3)
    explorer.alpha.value = 3.0  # compiles what is not compiled yet
    begin = time.process_time()
    for move in range(moves):
        explorer.alpha.value = 3.5 + 0.5 * (move % 32)
    return 1e3 * (time.process_time() - begin) / moves


def measure(full: bool) -> Figures:
    """The moves in the browser, and the kernel's part of them."""
    figures, moves = Figures(), 38 if full else 20
    with (
        tempfile.TemporaryDirectory(prefix="vegasfluid-slider-") as folder,
        jupyter_lab(Path(folder)) as lab,
        opened(lab, Path(folder)) as page,
    ):
        found = page.moves(moves)
    figures.add("redraw_ms", found.median, at_most=ENOUGH)
    figures.add("redraw_90th_percentile_ms", found.slow, at_most=ENOUGH)
    figures.add("callback_cpu_ms", callback_milliseconds(moves))
    figures.add("load_average", found.load)
    return figures


if __name__ == "__main__":
    if chromium() is None:
        sys.exit("benchmarks.slider: none of " + ", ".join(BROWSERS) + " is installed.")
    run(measure, __doc__ or "")
