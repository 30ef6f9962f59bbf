"""All rows of the table of formulas, and its figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.formulas.cases import ENGINES, Block, Found, Row
from benchmarks.formulas.losses import loss_blocks
from benchmarks.formulas.papers import paper_blocks
from benchmarks.formulas.red import red_block
from benchmarks.formulas.teeth import teeth_blocks
from benchmarks.formulas.vegas import vegas_blocks
from benchmarks.harness import Figures
from vegasfluid.caches import keep_compiled_equations

__all__ = ["blocks", "figures_of", "first_of", "measure", "rows"]


def blocks() -> list[Block]:
    """All networks, those of one structure together."""
    return [*loss_blocks(), red_block(), *vegas_blocks(), *paper_blocks(), *teeth_blocks()]


def rows(full: bool, engines: Sequence[str] = ENGINES) -> list[Row]:
    """The whole table."""
    wanted = [block for block in blocks() if full or not block.long]
    return [row for block in wanted for row in block.rows(full, engines)]


def measure(full: bool) -> Figures:
    """The whole table as figures."""
    keep_compiled_equations()
    return figures_of(rows(full))


def figures_of(table: Iterable[Row]) -> Figures:
    """Values and differences of rows, with the targets of the latter."""
    figures = Figures()
    for row in table:
        name = f"formulas.{row.relation.name}"
        figures.add(f"{name}.formula", first_of(row).formula)
        for engine, found in row.found.items():
            figures.add(f"{name}.{engine}", found.value)
            figures.add(
                f"{name}.{engine}.difference", abs(found.difference), at_most=row.bound(engine)
            )
    return figures


def first_of(row: Row) -> Found:
    """What the first engine has that applies: with it the formula's value is shown."""
    return next(iter(row.found.values()))
