"""The page docs/validation/formulas.md: the table of formulas as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.formulas.cases import ENGINES, Found, Row
from benchmarks.formulas.remarks import remarks_on
from benchmarks.formulas.table import figures_of, first_of

__all__ = ["markdown"]

LONG = 150
"""A formula with more characters of LaTeX is printed below the table."""
NONE = "—"

HEAD = """\
# Formulas compared with solver, fluid and packets

Written by `python -m benchmarks.formulas --markdown{full} > docs/validation/formulas.md`:
do not edit.

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


def markdown(table: Sequence[Row], full: bool) -> str:
    """The page docs/validation/formulas.md."""
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
    """A row as a line of the table; new remarks are numbered."""
    cells = [notation(row), row.relation.words, shown(first_of(row).formula)]
    for engine in ENGINES:
        found = row.found.get(engine)
        if found is None:
            cells += [NONE, ""] if engine != "packets" else [NONE, "", ""]
            continue
        marks = ""
        for text in remarks_on(row, engine):
            marks += f" [{remarks.setdefault(text, len(remarks) + 1)}]"
        cells.append(shown(found.value))
        if engine == "packets":
            again = shown(found.formula) != shown(first_of(row).formula)
            cells.append(f"of {shown(found.formula)}" if again else "")
        cells.append(judged(row, engine, found) + marks)
    return "| " + " | ".join(cells) + " |"


def notation(row: Row) -> str:
    """The formula as its name and LaTeX."""
    of = row.relation
    if of.formula is None:
        return f"`{of.name}` {of.plain}"
    latex = of.formula.latex()
    return f"`{of.name}` " + (f"${latex}$" if len(latex) <= LONG else "(below)")


def shown(value: float) -> str:
    """Five digits."""
    return f"{value:.5g}"


def judged(row: Row, engine: str, found: Found) -> str:
    """A difference, in bold where it misses its target, in italics where it has none."""
    bound, size = row.bound(engine), abs(found.difference)
    text = f"{found.difference:.0e}" if size < 1e-4 else f"{100 * found.difference:+.2g} %"
    if found.error > 0:
        text += f" ± {100 * found.error:.1g}"
    if bound is None:
        return f"*{text}*"
    return text if size <= bound else f"**{text}**"


def long_ones(table: Sequence[Row]) -> dict[str, str]:
    """LaTeX of the formulas that no cell holds, by name."""
    formulas = {of.name: of.latex() for row in table if (of := row.relation.formula) is not None}
    return {name: latex for name, latex in formulas.items() if len(latex) > LONG}
