"""The closed forms and published formulas that `vegasfluid analyse` prints."""

from __future__ import annotations

from typing import Any

from vegasfluid.analysis.applicable_formulas import ApplicableFormula
from vegasfluid.analysis.literature import PublishedValue
from vegasfluid.analysis.report import Analysis
from vegasfluid.cli.output import console, table

__all__ = ["show_formulas", "show_latex"]

FORMULA_WIDTH = 36
"""Largest number of characters of a formula in the table; `--latex` prints all of it."""


def show_formulas(analysis: Analysis) -> None:
    """Print tables of the closed forms and published formulas of an analysis, if any."""
    out = console()
    if analysis.formulas:
        out.print()
        out.print(formula_table(analysis.formulas))
    if analysis.published:
        out.print()
        out.print(published_table(analysis.published))


def formula_table(formulas: tuple[ApplicableFormula, ...]) -> Any:
    """Table of the closed forms: name, value, and formula as text of at most 36 characters."""
    rows = table("closed form", "value", "formula", texts=("formula",))
    for form in formulas:
        text = form.formula.text()
        shown = text if len(text) <= FORMULA_WIDTH else text[: FORMULA_WIDTH - 4] + " ..."
        rows.add_row(form.name, f"{form.value:.7g}", shown)
    return rows


def published_table(formulas: tuple[PublishedValue, ...]) -> Any:
    """Table of published formulas: value, the model's value, unit, and whether it is valid here."""
    rows = table(
        "published formula", "source", "value", "model", "unit", "valid", texts=("source",)
    )
    for formula in formulas:
        values = (f"{formula.value:.4g}", f"{formula.model_value:.4g}")
        valid = "yes" if formula.valid else "no"
        rows.add_row(formula.name, formula.source, *values, formula.unit, valid)
    return rows


def show_latex(analysis: Analysis) -> None:
    """Print the closed forms of an analysis as LaTeX, each with its meaning and value."""
    out = console()
    for form in analysis.formulas:
        out.print(f"% {form.name}: {form.formula.description}", soft_wrap=True)
        out.print(f"\\[ {form.formula.latex()} = {form.value:.10g} \\]", soft_wrap=True)
