"""The page docs/validation/formulas.md: the table of formulas as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.formulas.cases import ENGINES, Comparison, Row
from benchmarks.formulas.remarks import remarks_on
from benchmarks.formulas.table import figures_of, first_of

__all__ = ["markdown"]

LONG = 150
"""Length of LaTeX, characters, above which a formula is printed below the table."""
NONE = "—"
"""Content of a cell without a value."""

HEAD = """\
# Formulas compared with solver, fluid and packets

% Written by `python -m benchmarks.formulas --markdown{full} > docs/validation/formulas.md`:
% do not edit.

Each closed form of `vegasfluid.analysis` is compared, on one network, with three engines:

- **solver**: `equilibrium(network, options)`;
- **fluid**: the last quarter of a long run of `simulate_fluid`, with the same options;
- **packets**: `simulate_packets`, mean over {seeds} seeds; ± is the standard error.

Formulas in p, R or q are evaluated with the values that each engine measured; where the packet
simulator's values give another result, the "of" column shows it. The options are `THEORY` with the
loss process in the table (`iid` where none is given), or `FluidOptions()` for single flows and
timeouts. The targets are differences of at most 10⁻⁶ for the solver, 1 % for the fluid and 10 % for
packets, wherever the formula's conditions are met. A difference in **bold** misses its target; one
in *italics* has no target, because the theory does not apply there. Numbers in brackets refer to
the remarks below.

"""
"""Start of the page."""


def markdown(table: Sequence[Row], full: bool) -> str:
    """Return the page docs/validation/formulas.md."""
    remarks: dict[str, int] = {}
    lines = [
        HEAD.format(full=" --full" if full else "", seeds=10 if full else 3),
        "| formula | where | value | solver | | fluid | | packets | | |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(line_of(row, remarks) for row in table),
        "\n## Remarks\n",
        *(f"{number}. {text}" for text, number in remarks.items()),
        "\n## Long formulas\n",
        *(f"`{name}`:\n\n$$\n{latex}\n$$\n" for name, latex in long_ones(table).items()),
    ]
    missed = figures_of(table).missed()
    lines.insert(1, f"{len(table)} rows; {len(missed)} differences miss their target.\n")
    return "\n".join(lines)


def line_of(row: Row, remarks: dict[str, int]) -> str:
    """Return a row as a line of the table; new remarks get numbers."""
    cells = [notation(row), row.relation.words, five_digits(first_of(row).formula)]
    for engine in ENGINES:
        found = row.comparisons.get(engine)
        if found is None:
            cells += [NONE, ""] if engine != "packets" else [NONE, "", ""]
            continue
        marks = ""
        for text in remarks_on(row, engine):
            marks += f" [{remarks.setdefault(text, len(remarks) + 1)}]"
        cells.append(five_digits(found.value))
        if engine == "packets":
            differs = five_digits(found.formula) != five_digits(first_of(row).formula)
            cells.append(f"of {five_digits(found.formula)}" if differs else "")
        cells.append(difference_text(row, engine, found) + marks)
    return "| " + " | ".join(cells) + " |"


def notation(row: Row) -> str:
    """Return the name of a row with its formula in LaTeX."""
    relation = row.relation
    if relation.formula is None:
        return f"`{relation.name}` {relation.plain}"
    latex = relation.formula.latex()
    return f"`{relation.name}` " + (f"${latex}$" if len(latex) <= LONG else "(below)")


def five_digits(value: float) -> str:
    """Return a number with five significant digits."""
    return f"{value:.5g}"


def difference_text(row: Row, engine: str, found: Comparison) -> str:
    """Return a difference: bold where it misses its target, italics where it has none."""
    bound, size = row.bound(engine), abs(found.difference)
    text = f"{found.difference:.0e}" if size < 1e-4 else f"{100 * found.difference:+.2g} %"
    if found.error > 0:
        text += f" ± {100 * found.error:.1g}"
    if bound is None:
        return f"*{text}*"
    return text if size <= bound else f"**{text}**"


def long_ones(table: Sequence[Row]) -> dict[str, str]:
    """Return the LaTeX of formulas that are too long for a cell, by name."""
    formulas = {
        formula.name: formula.latex()
        for row in table
        if (formula := row.relation.formula) is not None
    }
    return {name: latex for name, latex in formulas.items() if len(latex) > LONG}
