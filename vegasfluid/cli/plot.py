"""`vegasfluid plot`: a saved run or sweep as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vegasfluid.cli.next_steps import show_written
from vegasfluid.cli.output import print_json
from vegasfluid.cli.targets import PICTURES, check_target, save_picture
from vegasfluid.errors import InvalidInput, Unsupported

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

__all__ = ["run"]

SAVED = "a trajectory (.nc, from simulate --out) or the store of a sweep (.zarr)"
"""What can be drawn."""
RUN_METRICS = {
    "window": "windows",
    "queue": "queues",
    "delay": "delays",
    "delay_distribution": "delay_distribution",
    "drops": "drops",
    "goodput": "goodputs",
}
"""Functions of `vegasfluid.plot` that draw one quantity of runs, by the name for `--metric`."""


def run(
    files: list[Path],
    *,
    out: Path | None,
    metric: str | None,
    plot_over: tuple[str, ...],
    as_json: bool,
    force: bool,
) -> None:
    """Draw saved trajectories on the same axes, or a saved sweep, and write the picture.

    Args:
        files: netCDF files of trajectories, or one Zarr store of a sweep.
        out: the picture; None: the first file's name with the ending `.png`.
        metric: metric of a sweep (None: `ratio`), or key of RUN_METRICS (None: all but
            `delay_distribution`, a panel each).
        plot_over: names of up to two dimensions of a sweep along the axes, the vertical one first;
            empty: the last two that have several values. For trajectories it must be empty.
        as_json: whether to print one JSON document instead of text.
        force: whether a file that vegasfluid has not written is replaced.

    Raises:
        InvalidInput: for files that are missing or something else, an unknown metric or dimension,
            or a sweep together with other files.
    """
    out = files[0].with_suffix(".png") if out is None else out
    check_target("plot", "--out", out, PICTURES, force=force)
    missing = [file for file in files if not file.exists()]
    if missing:
        raise InvalidInput("plot", "FILE", SAVED, str(missing[0]))
    if any(file.is_dir() for file in files):
        figure = draw_sweep(files, metric, plot_over)
    else:
        figure = draw_runs(files, metric, plot_over)
    save_picture(figure, out)
    if as_json:
        print_json({"files": [str(file) for file in files], "plot": str(out)})
    else:
        show_written(out)


def draw_sweep(files: list[Path], metric: str | None, plot_over: tuple[str, ...]) -> Figure:
    """Figure of a metric of the one sweep in `files`.

    Args:
        files: one Zarr store.
        metric: name of the metric; None: `ratio`.
        plot_over: names of up to two dimensions along the axes, the vertical one first; empty: the
            last two that have several values.

    Raises:
        InvalidInput: for an unknown metric or dimension, or several files.
    """
    from vegasfluid.plot import sweep_panels
    from vegasfluid.sweep import open_sweep

    if len(files) > 1:
        raise Unsupported("plot", "a sweep with other files", "a sweep is plotted alone")
    return sweep_panels(open_sweep(files[0]), metric or "ratio", plot_over)


def draw_runs(files: list[Path], metric: str | None, plot_over: tuple[str, ...]) -> Figure:
    """Figure of the trajectories in `files`, with all panels or the one named `metric`.

    `metric` is a key of RUN_METRICS; None: five panels, without `delay_distribution`.

    Raises:
        InvalidInput: for an unknown name, or a file without a trajectory.
        Unsupported: for dimensions, which only sweeps have.
    """
    from vegasfluid import plot

    if plot_over:
        raise Unsupported("plot", "--plot-over with a trajectory", "it is for sweeps")
    if metric is not None and metric not in RUN_METRICS:
        allowed = f"of a trajectory one of {', '.join(RUN_METRICS)}"
        raise InvalidInput("plot", "--metric", allowed, metric)
    runs = [read_run(file) for file in files]
    if len(runs) > 1:
        runs = [run.assign_attrs(label=file.stem) for run, file in zip(runs, files, strict=True)]
    if metric is None:
        return plot.compare(*runs)
    figure: Figure = getattr(plot, RUN_METRICS[metric])(*runs).get_figure()
    figure.suptitle(str(runs[0].attrs.get("title", "")))
    return figure


def read_run(file: Path) -> xr.Dataset:
    """The trajectory in a netCDF file.

    Raises:
        InvalidInput: for another file, or one without the variables of a trajectory.
    """
    import xarray as xr

    try:
        with xr.open_dataset(file, engine="h5netcdf") as saved:
            run = saved.load()
    except (OSError, ValueError, KeyError):
        raise InvalidInput("plot", "FILE", SAVED, str(file)) from None
    if not {"cwnd", "queue", "delivered"} <= set(run.variables):
        raise InvalidInput("plot", "FILE", SAVED, str(file))
    return run
