"""Figures 11 to 14: congestion windows of LANL's clients in the proposed ESnet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_repro.experiment import PACKETS, Evidence, Experiment, Job, Results
from paper_repro.feng_tinnakornsrisuphap_2000.esnet import (
    DURATION,
    PROPOSED,
    Setting,
    network_of,
)
from paper_repro.style import COLOURS, label, panels

__all__ = ["FIGURES11TO14", "Windows", "rests", "shared_cuts"]

NAME = "figures11to14"
FIGURES = {11: ("reno", 35), 12: ("vegas", 35), 13: ("reno", 60), 14: ("vegas", 60)}
STEP = 0.1
"""s between two samples."""
PER_BIN = 5
"""Samples in a bin in which cuts count as made at the same time: half a second."""
CUT = 0.7
"""A window that falls below so much of what it was a sample before was cut."""
PAUSE = 2.0
"""s: "without transmitting anything for more than two seconds"."""
WIDTHS = (2.4, 1.5, 0.7)
"""Of the lines of the clients that are drawn, so that none hides another."""


@dataclass(frozen=True)
class Windows:
    """LANL's clients in one run; (time, client) each."""

    times: np.ndarray
    cwnd: np.ndarray
    sent: np.ndarray
    delivered: np.ndarray
    timeouts: np.ndarray


def keep(run: xr.Dataset) -> Windows:
    """The windows of the clients that are classes of their own."""
    names = [name for name in run["flow_class"].values if str(name).startswith("lanl_")]
    own = run.sel(flow_class=names)
    kept = (own[name].values for name in ("cwnd", "sent", "delivered", "timeouts"))
    return Windows(run["time"].values, *kept)


def rests(windows: Windows, counter: np.ndarray) -> list[tuple[float, float]]:
    """For how long a counter of each client rests, s, and the client's timeouts in that time.

    Args:
        windows: of a run.
        counter: one of its arrays, `sent` or `delivered`. Before it first moves it does not rest.
    """
    found = [(0.0, 0.0)]
    for count, expired in zip(counter.T, windows.timeouts.T, strict=True):
        moves = np.flatnonzero(np.diff(count) > 0)
        gaps = np.diff(windows.times[moves])
        timeouts = expired[moves[1:] + 1] - expired[moves[:-1]]
        found += zip(gaps.tolist(), timeouts.tolist(), strict=True)
    return found


def most_timeouts(windows: Windows) -> float:
    """Of one client, while nothing new of it arrives for more than two seconds."""
    pauses = rests(windows, windows.delivered)
    return max((timeouts for gap, timeouts in pauses if gap > PAUSE), default=0.0)


def cuts_of(windows: Windows) -> np.ndarray:
    """Whether each client cut its window in each bin; (bin, client)."""
    cut = windows.cwnd[1:] < CUT * windows.cwnd[:-1]
    whole = len(cut) // PER_BIN * PER_BIN
    return np.asarray(cut[:whole].reshape(-1, PER_BIN, cut.shape[1]).any(1))


def shared_cuts(windows: Windows) -> float:
    """The mean correlation between two clients of whether they cut their windows in a bin.

    0 where clients cut independently of each other, 1 where they cut together; 0 without cuts.
    """
    cuts = cuts_of(windows).astype(float)
    cuts = cuts[:, cuts.std(0) > 0]
    count = cuts.shape[1]
    if count < 2:
        return 0.0
    together = np.corrcoef(cuts.T)
    return float((together.sum() - count) / (count * (count - 1)))


def fluctuation(windows: Windows) -> float:
    """Standard deviation over mean of a client's window, mean over clients."""
    return float(np.mean(windows.cwnd.std(0) / windows.cwnd.mean(0)))


def jobs() -> Mapping[str, Job]:
    """The runs for each figure; Reno's first losses depend on which sessions come when."""
    return {
        str(figure): Job(
            network_of(Setting(PROPOSED, law, clients, traced=True)),
            DURATION,
            keep=keep,
            seeds=(1, 2, 3) if law == "reno" else (1,),
            samples=round(DURATION / STEP) + 1,
        )
        for figure, (law, clients) in FIGURES.items()
    }


def numbers_of(windows: Windows) -> Mapping[str, float]:
    """What is said of the windows of a run."""
    return {
        "peak": float(np.median(windows.cwnd.max(0))),
        "silence": max(gap for gap, _ in rests(windows, windows.sent)),
        "timeouts_without_progress": most_timeouts(windows),
        "shared_cuts": shared_cuts(windows),
        "fluctuation": fluctuation(windows),
    }


def measure(results: Results) -> Evidence:
    """What the windows show."""
    evidence, swings = Evidence(), {}
    for figure, (law, clients) in FIGURES.items():
        runs = [numbers_of(windows) for windows in results[str(figure)]]
        for name in runs[0]:
            found = [of[name] for of in runs]
            evidence.note_mean(PACKETS, f"{NAME}.{law}_{name}_{clients}", found)
        swings[law, clients] = np.mean([of["fluctuation"] for of in runs])
    ratios = [float(swings["reno", n] / swings["vegas", n]) for n in (35, 60)]
    evidence.note(PACKETS, f"{NAME}.fluctuation_reno_over_vegas", ratios)
    return evidence


def draw_windows(axes: Axes, windows: Windows, figure: int) -> None:
    """Some clients' windows over time."""
    law, clients = FIGURES[figure]
    colours = (COLOURS[law], COLOURS["other"], COLOURS["third"])
    for client, (colour, width) in enumerate(zip(colours, WIDTHS, strict=True)):
        axes.plot(
            windows.times, windows.cwnd[:, client], lw=width, color=colour,
            label=f"client {client + 1}",
        )  # fmt: skip
    title = f"Figure {figure}: TCP {law.capitalize()} (clients = {clients})"
    axes.set_xlim(0, DURATION)
    axes.set_ylim(0)
    label(axes, title, "time (s)", "congestion window (packets)")


def draw(results: Results) -> Figure:
    """The four figures."""
    figure, axes = panels(2, 2)
    for number in FIGURES:
        place = axes[(number - 11) // 2][(number - 11) % 2]
        draw_windows(place, results[str(number)][0], number)
    return figure


FIGURES11TO14 = Experiment(
    NAME,
    "Figures 11 to 14: congestion windows of three of LANL's clients, proposed ESnet.",
    measure,
    jobs,
    draw,
)
