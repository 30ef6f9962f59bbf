"""`vegasfluid observe`: from measurements to a model file with ranges."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from vegasfluid import modelfile
from vegasfluid.cli.next_steps import after_check, show_next, show_notes, show_written
from vegasfluid.cli.output import console, print_json, progress, table
from vegasfluid.cli.targets import PICTURES, check_target, save_picture
from vegasfluid.errors import InvalidInput, Words
from vegasfluid.observe import NetworkEstimate, estimate, next_measurements, read_files
from vegasfluid.observe.estimated import Estimated
from vegasfluid.observe.network_file import model_text
from vegasfluid.observe.repetition import MEANS, compared_means, repeat
from vegasfluid.output_files import write_text

if TYPE_CHECKING:
    import xarray as xr

    from vegasfluid.observe import Measurement

__all__ = ["run"]

UNITS = {"cwnd_packets": 1.0, "rtt_s": 1e3, "goodput_packets_per_s": 1.0}
"""Factor from the JSON's unit to that of the table, by mean."""
COLUMNS = ("class", "", "window, packets", "RTT, ms", "goodput, packets/s")
"""Columns of the table of means."""


def run(
    files: list[Path],
    *,
    out: Path | None,
    plot: Path | None,
    seed: int,
    as_json: bool,
    force: bool,
) -> bool:
    """Read measurements, estimate the network, and compare a model of it with them.

    Args:
        files: the measurements, of the same network at the same time.
        out: model file to write; None: none.
        plot: picture of the measurement and the model; None: none.
        seed: seed of the model's packet run.
        as_json: whether to print one JSON document instead of text.
        force: whether files that vegasfluid has not written are replaced.

    Returns:
        Whether the measurement determines a model, which it does if the capacity is known.
        Otherwise no file is written.

    Raises:
        InvalidInput: for no files, files that cannot be read, or output files that may not be
            written.
    """
    _check(files, out, plot, force=force)
    with progress("observe") as report:
        report("reading")
        measurement = read_files(files)
        report("estimating")
        found = estimate(measurement)
        trajectory = None
        if found.capacity.is_known:
            report("simulating the model")
            trajectory = repeat(found, seed)
    means = {} if trajectory is None else compared_means(found, trajectory)
    written = _write(files, found, measurement, trajectory, out, plot)
    if as_json:
        document = {"files": [str(file) for file in files], **found.document()}
        names = {name: None if path is None else str(path) for name, path in written.items()}
        print_json(
            document
            | {"repeated": means, "next": next_measurements(found)}
            | names
            | {"notes": measurement.notes}
        )
    else:
        show(found, means)
        show_notes(measurement.notes)
        show_written(*written.values())
        if written["out"] is not None:
            network = modelfile.load(written["out"]).network
            name = shlex.quote(str(written["out"]))
            show_next(f"vegasfluid check {name}", after_check(str(written["out"]), network))
    return found.capacity.is_known


def _check(files: list[Path], out: Path | None, plot: Path | None, *, force: bool) -> None:
    """Check the arguments of `run`.

    Raises:
        InvalidInput: for no files, or output files that may not be written.
    """
    if not files:
        allowed = "given, or --before and --after"
        raise InvalidInput("observe", "FILE", allowed, Words("missing"))
    for target, option, endings in ((out, "--out", (".toml",)), (plot, "--plot", PICTURES)):
        check_target("observe", option, target, endings, force=force)
        if target is not None and any(_same(target, file) for file in files):
            raise InvalidInput("observe", option, "a file other than the measurements", str(target))


def _same(target: Path, file: Path) -> bool:
    """Whether both paths name the same existing file."""
    return target.exists() and file.exists() and target.samefile(file)


def _write(
    files: list[Path],
    found: NetworkEstimate,
    measurement: Measurement,
    trajectory: xr.Dataset | None,
    out: Path | None,
    plot: Path | None,
) -> dict[str, Path | None]:
    """Write the model to `out` and the picture to `plot`; return their paths as `out` and `plot`.

    A path is None if that file was not requested. Without a model (`trajectory` is None) nothing is
    written and both are None.
    """
    if trajectory is None:
        return {"out": None, "plot": None}
    if out is not None:
        write_text(out, model_text(found, [file.name for file in files]))
    if plot is not None:
        from vegasfluid.plot import measured_and_modelled

        save_picture(measured_and_modelled(found, measurement, trajectory), plot)
    return {"out": out, "plot": plot}


def show(found: NetworkEstimate, means: Mapping[str, Mapping[str, Any]]) -> None:
    """Print what was found, with intervals, how well the model repeats it, and what to measure.

    `means` are the measured and modelled means of each class; empty: there is no model.
    """
    out = console()
    flows = sum(len(each.flows) for each in found.classes)
    out.print(f"{found.span:.0f} s, {flows} flow{'s' * (flows != 1)}", style="bold")
    out.print()
    out.print(findings(found))
    out.print(f"\nThe queue was clearly not empty in {found.busy:.0%} of the time.")
    out.print(f"Median queueing delay: {found.queueing_delay * 1e3:.3g} ms.")
    if means:
        out.print("\nMeans, measured and in a packet simulation of the model:")
        out.print(means_table(means))
    else:
        out.print(f"\nNo model: {found.capacity.how}.")
    advice = next_measurements(found)
    if advice:
        out.print("\nTo know more:")
    for sentence in advice:
        out.print(f"- {sentence}", soft_wrap=True)


def findings(found: NetworkEstimate) -> Table:
    """Table of the estimates with their 90 % intervals and what each was derived from.

    Capacity and rates are in Mbit/s, base RTTs in ms, alpha, beta and the buffer in packets.
    """
    rows = table("", "estimate", "90 % interval", "from", texts=["from"])
    _add(rows, "capacity, Mbit/s", found.capacity.scaled(found.packet_bytes * 8e-6))
    for each in found.classes:
        title = f"{each.name} ({len(each.flows)}): "
        _add(rows, f"{title}base RTT, ms", each.base_rtt.scaled(1e3))
        if each.vegas is not None:
            _add(rows, f"{title}alpha, packets", each.vegas.alpha)
            _add(rows, f"{title}beta, packets", each.vegas.beta)
    rows.add_row("queue", found.discipline.name or "not known", "", found.discipline.how)
    _add(rows, "buffer, packets", found.buffer)
    if found.competitors is not None:
        _add(rows, "other flows", found.competitors.count)
        rate = found.competitors.rate.scaled(found.packet_bytes * 8e-6)
        _add(rows, "their rate, Mbit/s", rate)
    return rows


def _add(rows: Table, title: str, number: Estimated) -> None:
    """Add a row for an estimated number, in its unit, with its interval and what it is from.

    Without an upper end the interval is `at least LOW`, or empty if its lower end is not above 0.
    """
    value = "not known" if number.value is None else f"{number.value:.4g}"
    if number.high == float("inf"):
        interval = f"at least {number.low:.4g}" if number.low > 0 else ""
    else:
        interval = f"{number.low:.4g} to {number.high:.4g}"
    rows.add_row(title, value, interval, number.how)


def means_table(means: Mapping[str, Mapping[str, Any]]) -> Table:
    """Table of measured and modelled means of each class, in the units of COLUMNS.

    `means` has by class `measured` and `modelled`, each with the keys of UNITS.
    """
    rows = table(*COLUMNS, texts=[""])
    for name, both in means.items():
        for label, values in both.items():
            rows.add_row(name, label, *(_mean(values[key] * UNITS[key]) for key in MEANS))
            name = ""
    return rows


def _mean(value: float) -> str:
    """A mean of the table; NaN is one that was not measured."""
    return "not measured" if math.isnan(value) else f"{value:.4g}"
