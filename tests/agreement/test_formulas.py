"""Each closed form against the solver of rest; samples of them against long runs and packets."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from benchmarks.formulas.cases import Block, Row
from benchmarks.formulas.page import markdown
from benchmarks.formulas.table import blocks, figures_of
from vegasfluid.analysis import closed_forms

BLOCKS = {block.name: block for block in blocks()}
ALIKE = "windows.iid"
"""The periodic one with another factor, half a minute of compiling; the benchmark has it."""


def named(names: Iterable[str], quick: set[str]) -> pytest.MarkDecorator:
    """Blocks of networks; those that are not quick to compile are a study."""
    marks = {name: [] if name in quick else [pytest.mark.study] for name in names}
    params = [pytest.param(name, marks=of) for name, of in marks.items()]
    return pytest.mark.parametrize("name", params)


def misses(rows: list[Row]) -> list[str]:
    """The differences that are larger than theory allows."""
    assert rows
    return figures_of(rows).missed()


def told(block: Block) -> set[str]:
    return {of.formula.name for of in block.relations if of.formula is not None}


@named(
    (name for name, of in BLOCKS.items() if of.rests and not of.long and name != ALIKE),
    {"timeouts", "linux"},
)
def test_solver_rests_where_the_formulas_say(name: str) -> None:
    """To 1e-6, on networks of many kinds."""
    assert misses(BLOCKS[name].rows(False, ("solver",))) == []


@named(["windows.periodic", "lossless", "linux"], {"linux"})
def test_long_runs_of_the_fluid_end_where_the_formulas_say(name: str) -> None:
    """To 1 %."""
    assert misses(BLOCKS[name].rows(False, ("fluid",))) == []


@named(["lossless", "lossy", "persistent"], {"persistent"})
def test_packets_have_what_the_formulas_say(name: str) -> None:
    """To 10 %, where theory claims to hold."""
    assert misses(BLOCKS[name].rows(False, ("packets",))) == []


def test_no_closed_form_is_left_out() -> None:
    """Every formula of the catalogue stands in the table."""
    listed = set().union(*map(told, BLOCKS.values()))
    assert set(closed_forms.catalogue()) - listed == set()


def test_the_page_tells_a_miss() -> None:
    """A formula that is wrong by 2 % is told in bold."""
    (row, *_) = BLOCKS["linux"].rows(False, ("solver",))
    found = row.found["solver"]
    wrong = Row(row.relation, {"solver": found._replace(formula=1.02 * found.formula)})
    assert "**-2 %**" in markdown([wrong], False)
    assert "**" not in markdown([row], False).partition("| formula |")[2]
