"""All rows of the table of formulas, and its figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.formulas.cases import ENGINES, Block, Comparison, Row
from benchmarks.formulas.losses import loss_blocks
from benchmarks.formulas.papers import paper_blocks
from benchmarks.formulas.red import red_block
from benchmarks.formulas.sawteeth import sawtooth_blocks
from benchmarks.formulas.vegas import vegas_blocks
from benchmarks.harness import Figures
from vegasfluid.caches import keep_compiled_equations

__all__ = ["blocks", "figures_of", "first_of", "measure", "rows"]


def blocks() -> list[Block]:
    """Return all blocks of networks."""
    return [*loss_blocks(), red_block(), *vegas_blocks(), *paper_blocks(), *sawtooth_blocks()]


def rows(full: bool, engines: Sequence[str] = ENGINES) -> list[Row]:
    """Return all rows of the table."""
    wanted = [block for block in blocks() if full or not block.long]
    return [row for block in wanted for row in block.rows(full, engines)]


def measure(full: bool) -> Figures:
    """Return the table as figures."""
    keep_compiled_equations()
    return figures_of(rows(full))


def figures_of(table: Iterable[Row]) -> Figures:
    """Return values and differences of rows, with the targets of the differences."""
    figures = Figures()
    for row in table:
        name = f"formulas.{row.relation.name}"
        figures.add(f"{name}.formula", first_of(row).formula)
        for engine, found in row.comparisons.items():
            figures.add(f"{name}.{engine}", found.value)
            figures.add(
                f"{name}.{engine}.difference", abs(found.difference), at_most=row.bound(engine)
            )
    return figures


def first_of(row: Row) -> Comparison:
    """Return the comparison of the first engine that applies; the page shows its formula value."""
    return next(iter(row.comparisons.values()))
