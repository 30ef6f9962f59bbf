"""Output of a recommendation for ranges: worst cases and price of robustness."""

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

__all__ = ["recommend_over_ranges", "show_robustness"]


def recommend_over_ranges(model: Model, tune: str | None, **options: Any) -> RobustRecommendation:
    """Tune one class of a model for the worst case over its ranges.

    Args:
        model: model with ranges.
        tune: class to tune; None: the only Vegas class.
        options: further arguments of `vegasfluid.recommend`.

    Returns:
        The robust parameters (packets), and ratios over the ranges.
    """
    substitute = partial(with_values, model.network)
    return recommend(model.network, tune, ranges=model.ranges, substitute=substitute, **options)


def show_robustness(result: RobustRecommendation) -> None:
    """Print worst-case ratios of the robust and nominal parameters over the ranges."""
    out = console()
    kinds = [evaluated.scenario.kind for evaluated in result.robust.scenarios]
    corners, inside = kinds.count("corner"), kinds.count("inside")
    out.print(f"Worst cases over {corners} corners of the ranges and {inside} points inside:\n")
    out.print(worst_cases_table(result))
    out.print(price(result))


def price(result: RobustRecommendation) -> str:
    """Sentences on the gain of robustness in the worst case and its cost at the nominal network.

    The gain is stated as two factors by which the goodput ratio misses the best achievable one, the
    cost in % of the ratio.
    """
    robust, law = result.robust, result.after.law
    nominal = robust.nominal_optimum
    if (nominal.law.alpha, nominal.law.beta) == (law.alpha, law.beta):
        return "\nRobustness costs nothing: the nominal network has the same best parameters.\n"
    change = f"{abs(math.expm1(robust.price)):.1%}"
    direction = "farther from" if robust.price > 0 else "closer to"
    return (
        f"\nFor the nominal network alone the best is alpha = {nominal.law.alpha:.6g}, "
        f"beta = {nominal.law.beta:.6g}: ratio {nominal.packets.ratio:.3f}.\n"
        f"In their worst case these parameters miss the best achievable ratio by a factor of "
        f"{math.exp(robust.nominal_regret):.2f}, the recommended ones by "
        f"{math.exp(robust.regret):.2f}.\n"
        f"Price of robustness: the nominal network is {change} {direction} the goal.\n"
    )


def worst_cases_table(result: RobustRecommendation) -> Table:
    """Table of lowest, nominal and highest goodput ratio over the ranges.

    With the recommended parameters and with those best for the nominal network.
    """
    robust = result.robust
    rows = table(
        "parameters, case", "ratio", "95 % interval", "fluid", "network", texts=["network"]
    )
    for name, evaluated in (
        ("recommended, lowest", robust.lowest),
        ("recommended, nominal", robust.nominal),
        ("recommended, highest", robust.highest),
        ("nominal, lowest", robust.nominal_lowest),
        ("nominal, highest", robust.nominal_highest),
    ):
        rows.add_row(name, *ratio_cells(evaluated))
    return rows


def ratio_cells(evaluated: ScenarioResult) -> tuple[str, ...]:
    """Cells of a table row for a scenario, as text.

    Goodput ratio in packet runs, its 95 % confidence interval, the fluid model's ratio, and names
    and values of the uncertain numbers.
    """
    low, high = evaluated.packets.interval
    return (
        f"{evaluated.packets.ratio:.3f}",
        f"{low:.3f} to {high:.3f}",
        f"{evaluated.fluid_ratio:.3f}",
        evaluated.scenario.text,
    )
