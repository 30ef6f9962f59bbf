"""How a recommendation over ranges is shown: the worst cases, and the price of robustness."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from rich.table import Table

from vegasfluid.cli.output import console, table
from vegasfluid.model import Model
from vegasfluid.modelfile.parameters import with_values
from vegasfluid.tuning import RobustRecommendation, recommend
from vegasfluid.tuning.result import ScenarioResult

__all__ = ["recommended", "show_robustness"]


def recommended(model: Model, tune: str | None, **options: Any) -> RobustRecommendation:
    """The recommendation over the ranges of a model.

    Args:
        model: with ranges.
        tune: the class to tune.
        options: as of `vegasfluid.recommend`.
    """
    substitute = partial(with_values, model.network)
    return recommend(model.network, tune, ranges=model.ranges, substitute=substitute, **options)


def show_robustness(found: RobustRecommendation) -> None:
    """The worst cases with the recommended parameters, and with those of the nominal network."""
    out, robust = console(), found.robust
    corners = sum(seen.scenario.kind == "corner" for seen in robust.scenarios)
    inside = sum(seen.scenario.kind == "inside" for seen in robust.scenarios)
    out.print(f"Over {corners} corners of the ranges and {inside} points inside:\n")
    out.print(ratios(found))
    out.print(price(found))


def price(found: RobustRecommendation) -> str:
    """What robustness gains in the worst case, and what it costs at the nominal network."""
    robust = found.robust
    own, law = robust.nominal_optimum.law, found.after.law
    if (own.alpha, own.beta) == (law.alpha, law.beta):
        return "\nThe nominal network alone would take the same: robustness costs nothing.\n"
    change = f"{abs(math.expm1(robust.price)):.1%}"
    farther = "farther from" if robust.price > 0 else "nearer to"
    return (
        f"\nThe nominal network alone would take alpha = {own.alpha:.6g}, beta = {own.beta:.6g}: "
        f"{robust.nominal_optimum.packets.ratio:.3f} there,\n"
        f"but in its worst case farther from the goal than need be "
        f"by a factor of {math.exp(robust.nominal_regret):.2f}; the recommended ones by "
        f"{math.exp(robust.regret):.2f}.\n"
        f"Price of robustness: the nominal network is {change} {farther} the goal.\n"
    )


def ratios(found: RobustRecommendation) -> Table:
    """Where the ratio is farthest from the goal on either side, and at the nominal network."""
    robust = found.robust
    rows = table("", "ratio", "95 % interval", "fluid", "where", texts=["where"])
    for name, seen in (
        ("least", robust.lowest),
        ("nominal", robust.nominal),
        ("most", robust.highest),
        ("least, nominal's own", robust.nominal_lowest),
        ("most, nominal's own", robust.nominal_highest),
    ):
        rows.add_row(name, *row(seen))
    return rows


def row(seen: ScenarioResult) -> tuple[str, ...]:
    """A network's ratios and numbers."""
    low, high = seen.packets.interval
    return (
        f"{seen.packets.ratio:.3f}",
        f"{low:.3f} to {high:.3f}",
        f"{seen.fluid_ratio:.3f}",
        seen.scenario.text,
    )
