"""Output of a recommendation of any numbers of a network."""

from __future__ import annotations

import math

from vegasfluid.cli.measured_rows import add_measured_rows, show_caveats
from vegasfluid.cli.next_steps import show_tries
from vegasfluid.cli.output import console, table
from vegasfluid.tuning import NumberRecommendation, ShareRatio

__all__ = ["show_numbers"]


def show_numbers(title: str, result: NumberRecommendation) -> None:
    """Print recommended numbers of a network as a table and sentences.

    Args:
        title: title of the model; empty: `model` is printed.
        result: the recommendation.
    """
    out, document = console(), result.as_json()
    out.print(title or "model", style="bold")
    values = ", ".join(f"{number.name} = {number.value:.6g}" for number in result.numbers)
    out.print(f"{values}\n", style="bold")
    rows = table("", "before", "recommended")
    for number in result.numbers:
        rows.add_row(number.name, f"{number.before:.6g}", f"{number.value:.6g}")
    add_measured_rows(rows, document)
    out.print(rows)
    out.print(f"\n{goal(result)}")
    means = result.after.packets.means()
    for constraint in result.constraints.each:
        out.print(f"Constraint: {constraint.text_with(means)}.")
    for note in result.notes:
        out.print(note)
    show_caveats(document)
    if result.reached:
        out.print("Goal reached.")
    else:
        out.print(f"Goal not reached: {result.reason}.", style="bold")
        show_tries(["a wider range after the name, such as NAME=LOW:HIGH", "looser constraints"])
    seconds = result.seconds
    out.print(
        f"Computed in {seconds['total']:.1f} s: fluid {seconds['fluid']:.1f} s, "
        f"packets {seconds['packets']:.1f} s."
    )


def goal(result: NumberRecommendation) -> str:
    """A sentence on the goal, with its value in packet runs before and after.

    A ratio has its 95 % interval; other goals have their unit.
    """
    before, after = (result.objective_value(run) for run in (result.before, result.after))
    objective = result.objective
    if not isinstance(objective, ShareRatio):
        size = "smallest" if objective.target == "smallest" else "largest"
        name = objective.key.removesuffix("_s").replace("_", " ")
        return f"Goal: {size} {name} ({objective.unit}): {after:.4g}, before {before:.4g}."
    others = " or ".join(result.others) or "another class"
    low, high = result.after.packets.interval
    interval = f", 95 % interval {low:.3f} to {high:.3f}" if math.isfinite(high) else ""
    return (
        f"Goal: goodput of a {result.tuned} flow / goodput of a flow of {others} = "
        f"{objective.ratio:g}: {after:.3f}{interval}, before {before:.3f}."
    )
