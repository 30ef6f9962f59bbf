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
    SWITCH_BUFFER,
    Setting,
    network_of,
)
from paper_repro.style import COLOURS, label, panels

__all__ = ["FIGURES11TO14", "Windows", "near_best", "pauses", "shared_cuts"]

NAME = "figures11to14"
FIGURES = {11: ("reno", 35), 12: ("vegas", 35), 13: ("reno", 60), 14: ("vegas", 60)}
"""Congestion control and number of clients at each site, by figure."""
STEP = 0.1
"""Time between two samples, s."""
PER_BIN = 5
"""Samples in a bin of 0.5 s; cuts in one bin count as simultaneous."""
CUT = 0.7
"""Fraction of the previous sample below which a window counts as cut."""
NEAR = 0.5
"""Largest relative distance of a window that counts as near the optimal one (chosen)."""
EACH_RUN = "packets, each run"
"""Source of the evidence that has the value of each run, where the mean of three says little."""
EXTREMES = ("peak", "silence", "timeouts_without_progress")
"""Measures of that kind: maxima over time."""
VEGAS_BESIDE = "packets, Vegas"
"""Source of the evidence on Vegas that stands beside a statement about Reno."""
OTHER_NEAR = {"packets, within a quarter": 0.25, "packets, within three quarters": 0.75}
"""Other distances, by source of the evidence."""
PAUSE = 2.0
"""Length of a pause, s: "without transmitting anything for more than two seconds"."""
WIDTHS = (2.4, 1.5, 0.7)
"""Line widths of the plotted clients, points; they differ so that no line hides another."""


@dataclass(frozen=True)
class Windows:
    """Samples of LANL's clients in one run; (time, client) each."""

    times: np.ndarray
    """Times of the samples, s; (time,)."""
    cwnd: np.ndarray
    """Congestion windows, packets."""
    sent: np.ndarray
    """Data packets sent so far."""
    delivered: np.ndarray
    """Data packets delivered so far."""
    timeouts: np.ndarray
    """Timeouts so far."""


def keep(run: xr.Dataset) -> Windows:
    """Return the samples of the clients that are separate flow classes."""
    names = [name for name in run["flow_class"].values if str(name).startswith("lanl_")]
    clients = run.sel(flow_class=names)
    arrays = (clients[name].values for name in ("cwnd", "sent", "delivered", "timeouts"))
    return Windows(run["time"].values, *arrays)


def pauses(windows: Windows, counter: np.ndarray) -> list[tuple[float, float]]:
    """Return how long a client's counter stays constant, and the client's timeouts then.

    Args:
        windows: samples of a run.
        counter: its array `sent` or `delivered`; (time, client). The time before the first
            increase does not count.

    Returns:
        Pairs of duration (s) and timeouts, for all clients, after a pair of zeros.
    """
    pairs = [(0.0, 0.0)]
    for count, expired in zip(counter.T, windows.timeouts.T, strict=True):
        moves = np.flatnonzero(np.diff(count) > 0)
        gaps = np.diff(windows.times[moves])
        timeouts = expired[moves[1:] + 1] - expired[moves[:-1]]
        pairs += zip(gaps.tolist(), timeouts.tolist(), strict=True)
    return pairs


def most_timeouts(windows: Windows) -> float:
    """Return the most timeouts of one client in a time without progress above two seconds."""
    gaps = pauses(windows, windows.delivered)
    return max((timeouts for gap, timeouts in gaps if gap > PAUSE), default=0.0)


def cuts_of(windows: Windows) -> np.ndarray:
    """Return whether each client cut its window in each bin; (bin, client)."""
    cut = windows.cwnd[1:] < CUT * windows.cwnd[:-1]
    whole = len(cut) // PER_BIN * PER_BIN
    return np.asarray(cut[:whole].reshape(-1, PER_BIN, cut.shape[1]).any(1))


def shared_cuts(windows: Windows) -> float:
    """Return the mean correlation between two clients of whether they cut their windows.

    0 where clients cut independently of each other, 1 where they cut together; 0 without cuts.
    """
    cuts = cuts_of(windows).astype(float)
    cuts = cuts[:, cuts.std(0) > 0]
    count = cuts.shape[1]
    if count < 2:
        return 0.0
    correlations = np.corrcoef(cuts.T)
    return float((correlations.sum() - count) / (count * (count - 1)))


def fluctuation(windows: Windows) -> float:
    """Return the standard deviation over the mean of a client's window, mean over clients."""
    return float(np.mean(windows.cwnd.std(0) / windows.cwnd.mean(0)))


def near_best(windows: Windows, near: float = NEAR) -> float:
    """Return the fraction of the samples in which a window is within `near` of the optimal one."""
    clients = windows.cwnd.shape[1]
    best = (PROPOSED.bandwidth_delay + SWITCH_BUFFER) / clients
    return float((abs(windows.cwnd / best - 1) < near).mean())


def jobs() -> Mapping[str, Job]:
    """Return the runs by figure; Reno has three seeds, as the sessions decide its first losses."""
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
    """Return the measures of one run, by name."""
    return {
        "peak": float(np.median(windows.cwnd.max(0))),
        "silence": max(gap for gap, _ in pauses(windows, windows.sent)),
        "timeouts_without_progress": most_timeouts(windows),
        "shared_cuts": shared_cuts(windows),
        "fluctuation": fluctuation(windows),
        "near_best": near_best(windows),
    }


def measure(results: Results) -> Evidence:
    """Record what the windows show, and Reno's fluctuation over that of Vegas."""
    evidence, fluctuations = Evidence(), {}
    for figure, (law, clients) in FIGURES.items():
        runs = [numbers_of(windows) for windows in results[str(figure)]]
        for name in runs[0]:
            values = [run[name] for run in runs]
            evidence.note_mean(PACKETS, f"{NAME}.{law}_{name}_{clients}", values)
            if name in EXTREMES and len(values) > 1:
                evidence.note(EACH_RUN, f"{NAME}.{law}_{name}_{clients}", values)
        for source, near in OTHER_NEAR.items():
            values = [near_best(windows, near) for windows in results[str(figure)]]
            evidence.note_mean(source, f"{NAME}.{law}_near_best_{clients}", values)
        if law == "vegas":
            values = [run["near_best"] for run in runs]
            evidence.note_mean(VEGAS_BESIDE, f"{NAME}.reno_near_best_{clients}", values)
        fluctuations[law, clients] = np.mean([run["fluctuation"] for run in runs])
    ratios = [float(fluctuations["reno", n] / fluctuations["vegas", n]) for n in (35, 60)]
    evidence.note(PACKETS, f"{NAME}.fluctuation_reno_over_vegas", ratios)
    return evidence


def draw_windows(axes: Axes, windows: Windows, figure: int) -> None:
    """Plot the windows of three clients over time."""
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
    """Plot the four figures."""
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
