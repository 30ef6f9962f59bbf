"""`vegasfluid observe --before FILE --after FILE`: whether a change did what it should."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.table import Table

from vegasfluid.cli.next_steps import show_notes
from vegasfluid.cli.output import console, print_json, progress, table
from vegasfluid.errors import InvalidInput, Words
from vegasfluid.observe import BeforeAfter, Estimated, compare, read_files

__all__ = ["run"]

TITLES = {
    "ratio": ("Vegas / other flow, goodput", 1.0),
    "throughput_packets_per_s": ("throughput, packets/s", 1.0),
    "queueing_delay_s": ("queueing delay, ms", 1e3),
    "retransmit_share": ("packets sent again, %", 100.0),
    "jain_index": ("Jain's index", 1.0),
}
"""Title of each row, and the factor from the JSON's unit to that of the table."""


def run(
    before: list[Path],
    after: list[Path],
    others: Mapping[str, object],
    *,
    goal: float,
    as_json: bool,
) -> bool:
    """Compare measurements before and after a change, and print the verdict.

    Args:
        before: files measured at the same time, before the change.
        after: files measured at the same time, after the change.
        others: values of the options that do not go with a comparison, by option; each must be
            None or empty.
        goal: goodput of a Vegas flow over that of another flow that was to be reached, above 0.
        as_json: whether to print one JSON document instead of text.

    Returns:
        Whether the goal is reached; False also if the measurements cannot decide it.

    Raises:
        InvalidInput: if `before` or `after` is empty, for a value in `others`, a wrong goal, or
            files that cannot be read or have too few packets and samples.
    """
    for option, other, given in (("--before", "--after", before), ("--after", "--before", after)):
        if not given:
            raise InvalidInput("observe", option, f"given with {other}", Words("missing"))
    for option, given in others.items():
        if given:
            raise InvalidInput("observe", option, "left out with --before and --after", str(given))
    if not goal > 0:
        raise InvalidInput("observe", "--ratio", "greater than 0", goal)
    with progress("observe") as report:
        report("reading")
        first, second = read_files(before), read_files(after)
        report("comparing")
        found = compare(first, second, goal)
    notes = [*first.notes, *second.notes]
    if as_json:
        names = {"before": list(map(str, before)), "after": list(map(str, after))}
        print_json({"files": names, **found.document(), "notes": notes})
    else:
        show(found)
        show_notes(notes)
    return found.verdict == "reached"


def show(found: BeforeAfter) -> None:
    """Print the verdict, the means before and after, and what else differs."""
    out = console()
    out.print(sentence(found), style="bold", soft_wrap=True)
    out.print()
    out.print(means_table(found))
    out.print("\nIn brackets: 90 % intervals, from the variation within each measurement.")
    if found.differences:
        out.print("\nAlso different, and perhaps the cause:")
        for difference in found.differences:
            out.print(f"- {difference}", soft_wrap=True)


def sentence(found: BeforeAfter) -> str:
    """Sentence on the verdict: ratio after the change, and the range that counts as the goal."""
    ratio = found.after.ratio
    goal = "{:.3g} to {:.3g}".format(*found.goal_range)
    if not ratio.is_known:
        return f"No verdict: after the change {ratio.how}."
    value = f"a Vegas flow has {text(ratio)} times the goodput of another"
    if found.verdict == "undecided":
        return f"Not decided: {value}; the goal is {goal}. Measure for longer."
    return f"Goal {found.verdict}: {value}; the goal is {goal}."


def means_table(found: BeforeAfter) -> Table:
    """Table of the means before and after the change, with intervals, and of after / before.

    The last column is empty where one of the two means is not known, or was 0 before.
    """
    rows = table("", "before", "after", "after / before")
    for each in found.quantities:
        title, factor = TITLES[each.name]
        both = (text(value.scaled(factor)) for value in (each.before, each.after))
        change = each.factor
        rows.add_row(title, *both, "" if change.value is None else f"{change.value:.3g}")
    return rows


def text(number: Estimated) -> str:
    """Text of a number with its 90 % interval, such as `1.2 (1 to 1.4)`, or `not known`."""
    if number.value is None:
        return "not known"
    return f"{number.value:.3g} ({number.low:.3g} to {number.high:.3g})"
