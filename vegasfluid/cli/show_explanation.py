"""`vegasfluid recommend --explain`: why alpha has its value, in sentences and two tables."""

from __future__ import annotations

from typing import Any

from vegasfluid.cli.output import console, table
from vegasfluid.tuning import Recommendation
from vegasfluid.tuning.explanation import Explanation, MeasuredSetting
from vegasfluid.tuning.explanation_text import measured_lines, term_rows, theory_lines
from vegasfluid.tuning.rules_of_thumb import RULES
from vegasfluid.tuning.theory import EquilibriumTheory

__all__ = ["show_explanation"]


def show_explanation(result: Recommendation, why: Explanation) -> None:
    """Print why a recommended alpha has its value, and what packet runs of other settings measure.

    Without a theory for the network, the table of terms is left out.
    """
    out = console()
    out.print(f"\nWhy alpha = {result.after.law.alpha:.6g}\n", style="bold")
    if why.theory is not None:
        out.print(terms_table(result, why.theory))
        out.print()
    for line in theory_lines(result, why):
        out.print(line)
    out.print("\nPacket simulation of the recommendation and of published rules:\n")
    out.print(rules_table(why))
    out.print()
    for line in measured_lines(result, why):
        out.print(line)


def terms_table(result: Recommendation, why: EquilibriumTheory) -> Any:
    """Table of the terms whose sum is the recommended alpha, in packets."""
    rows = table("alpha is the sum of", "packets")
    for name, packets in term_rows(result, why):
        rows.add_row(name, f"{packets:+.2f}")
    rows.add_row("alpha", f"{result.after.law.alpha:.6g}")
    return rows


def rules_table(why: Explanation) -> Any:
    """Table of packet runs with the recommended, rule-of-thumb and default parameters.

    Columns: alpha, beta (packets), goodput ratio and interval, Jain index, queueing delay (ms).
    """
    rows = table("rule", "alpha", "beta", "ratio", "95 % interval", "Jain", "delay, ms")
    rows.add_row("recommended", *measured_cells(why.recommended))
    for name, tried in why.rules.items():
        rows.add_row(RULES[name], *measured_cells(tried))
    rows.add_row("defaults", *measured_cells(why.defaults))
    return rows


def measured_cells(tried: MeasuredSetting) -> tuple[str, ...]:
    """Table cells of one setting's packet runs.

    Alpha, beta (packets), ratio, its 95 % interval, Jain index, queueing delay (ms).
    """
    means, (low, high) = tried.packets.means(), tried.packets.interval
    return (
        f"{tried.law.alpha:.6g}",
        f"{tried.law.beta:.6g}",
        f"{means['ratio']:.3f}",
        f"{low:.3f} to {high:.3f}",
        f"{means['jain_index']:.3f}",
        f"{means['queueing_delay_s'] * 1e3:.1f}",
    )
