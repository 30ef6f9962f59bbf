"""`vegasfluid recommend --pareto`: Pareto front of fairness and queueing delay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vegasfluid import modelfile
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.cli.next_steps import show_written
from vegasfluid.cli.output import COMPILING, console, plain, print_json, progress, table
from vegasfluid.cli.request import single_class
from vegasfluid.cli.targets import PICTURES, check_target, save_picture
from vegasfluid.errors import Unsupported
from vegasfluid.model import Model
from vegasfluid.tuning import Front, pareto_front
from vegasfluid.version import package_version

__all__ = ["run"]

FRONT_ONLY = "a front has many settings, so none of them is tuned further or written"
"""Reason why --pareto has no --tune-gamma and no --out."""


def run(
    name: str,
    *,
    tune_gamma: bool,
    out: Path | None,
    plot: Path | None,
    until: float | None,
    warmup: float | None,
    as_json: bool,
    force: bool = False,
    **request: Any,
) -> None:
    """Compute the Pareto front of a model, print it and plot it.

    Args:
        name: path of a model file, or name of a built-in model.
        tune_gamma: must be False, as a front has many settings.
        out: must be None, as a front has many settings.
        plot: picture to write; None: none.
        until: simulated time, s; None: that of the model.
        warmup: warm-up, s; None: that of the model.
        as_json: whether to print JSON.
        force: whether a picture that vegasfluid has not written is replaced.
        request: further arguments of `pareto_front`; its `tune` is a list of at most one class.

    Raises:
        InvalidInput: for several classes, an invalid model, or a picture that may not be written.
        Unsupported: with `tune_gamma` or `out`.
    """
    for option, given in {"--tune-gamma": tune_gamma, "--out": out is not None}.items():
        if given:
            raise Unsupported("recommend", f"{option} with --pareto", FRONT_ONLY)
    model = modelfile.read_model(name).with_times(until, warmup)
    request["tune"] = single_class(request["tune"], "with --pareto")
    check_target("recommend", "--plot", plot, PICTURES, model=name, force=force)
    keep_compiled_equations()
    with progress("recommend", COMPILING) as report:
        times = {"until": model.duration, "warmup": model.warmup}
        front = pareto_front(model.network, **times, **request, report=report)
    if plot is not None:
        from vegasfluid.plot import front as draw_front
        from vegasfluid.plot.style import figure_of

        save_picture(figure_of(draw_front(front)), plot)
    if as_json:
        points = [point.as_json() for point in front.points]
        head = {"model": name, "version": package_version(), "goal": front.objective.key}
        print_json(head | {"front": points, "plot": None if plot is None else str(plot)})
    else:
        show(model, front)
        show_written(plot)


def show(model: Model, front: Front) -> None:
    """Print a Pareto front as a table: one setting a row, with means over its packet runs.

    The columns are the parameters, the value of the objective, queueing delay (ms), utilisation (%)
    and the fraction of packets dropped.
    """
    out = console()
    out.print(model.title or "model", style="bold")
    names = [name.rsplit(".", 1)[-1].removesuffix("_packets") for name in front.points[0].setting]
    rows = table(
        *names, front.objective.key.replace("_", " "), "delay, ms", "utilisation", "loss ratio"
    )
    for point in front.points:
        means = point.packets.means()
        rows.add_row(
            *map(plain, point.setting.values()),
            f"{point.packet_values.mean():.3f}",
            f"{1e3 * means['queueing_delay_s']:.2f}",
            f"{means['utilisation']:.1%}",
            f"{means['drop_share']:.2e}",
        )
    out.print(rows)
    out.print(
        f"\nSettings from fairest to lowest delay, measured by the packet simulator over "
        f"{len(front.points[0].packet_values)} or more runs. "
        f"{front.objective.key.replace('_', ' ')}: {front.objective.unit}."
    )
