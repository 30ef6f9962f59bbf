"""`vegasfluid recommend --pareto`: the front of fairness against queueing delay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vegasfluid import modelfile
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.cli.output import (
    PICTURES,
    check_target,
    console,
    plain,
    print_json,
    progress,
    table,
)
from vegasfluid.cli.request import only_one
from vegasfluid.model import Model
from vegasfluid.tuning import Front, pareto_front
from vegasfluid.version import package_version

__all__ = ["run"]


def run(name: str, *, plot: Path | None, as_json: bool, **asked: Any) -> None:
    """Find the front of a model file, print it, and draw it.

    Args:
        name: a model file, or the name of a shipped model.
        plot: the picture to write; None: none.
        as_json: whether to print JSON.
        asked: what `pareto_front` takes besides the network and its times.
    """
    model = modelfile.read_model(name)
    asked["tune"] = only_one(asked["tune"], "with --pareto")
    check_target("recommend", "--plot", plot, PICTURES)
    keep_compiled_equations()
    with progress("recommend") as report:
        times = {"until": model.duration, "warmup": model.warmup}
        front = pareto_front(model.network, **times, **asked, report=report)
    if plot is not None:
        from vegasfluid.plot import front as draw_front
        from vegasfluid.plot.style import figure_of

        figure_of(draw_front(front)).savefig(plot, dpi=150)
    if as_json:
        points = [point.as_json() for point in front.points]
        head = {"model": name, "version": package_version(), "goal": front.objective.key}
        print_json(head | {"front": points, "plot": None if plot is None else str(plot)})
    else:
        show(model, front)


def show(model: Model, front: Front) -> None:
    """The front as a table."""
    out = console()
    out.print(model.title or "model", style="bold")
    names = [name.rsplit(".", 1)[-1].removesuffix("_packets") for name in front.points[0].setting]
    rows = table(*names, front.objective.key.replace("_", " "), "delay, ms", "used", "drops")
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
        f"\nFrom the fairest to the smallest queueing delay, as packets have it over "
        f"{len(front.points[0].packet_values)} runs or more. "
        f"{front.objective.key.replace('_', ' ')}: {front.objective.unit}."
    )
