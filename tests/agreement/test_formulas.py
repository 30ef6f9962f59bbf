"""Each closed form against the equilibrium solver; samples against long runs and packets."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import pytest

from benchmarks.formulas.cases import Block, Row
from benchmarks.formulas.page import markdown
from benchmarks.formulas.table import blocks, figures_of
from benchmarks.formulas.vegas import linux_block
from vegasfluid.analysis import closed_forms
from vegasfluid.congestion.vegas import Vegas

IN_EQUILIBRIUM = ("windows.periodic", "timeouts", "red", "lossless", "lossy", "linux", "deaf")
IN_EQUILIBRIUM += ("papers", "persistent")
"""Blocks that the solver has an answer for. Not `windows.iid`: the periodic one with another
factor, half a minute of compiling; the benchmark has it."""


@cache
def block_of_name() -> dict[str, Block]:
    """Made when a test wants it: deriving all formulas takes ten seconds."""
    return {block.name: block for block in blocks()}


def named(names: Iterable[str], quick: set[str]) -> pytest.MarkDecorator:
    """Blocks of networks; those that are not quick to compile are a study."""
    marks = {name: [] if name in quick else [pytest.mark.study] for name in names}
    params = [pytest.param(name, marks=mark) for name, mark in marks.items()]
    return pytest.mark.parametrize("name", params)


def misses(rows: list[Row]) -> list[str]:
    """The differences that are larger than theory allows."""
    assert rows
    return figures_of(rows).missed()


def formula_names(block: Block) -> set[str]:
    return {relation.formula.name for relation in block.relations if relation.formula is not None}


@named(IN_EQUILIBRIUM, set())
def test_equilibria_of_the_solver_agree_with_the_formulas(name: str) -> None:
    """To 1e-6, on networks of many kinds."""
    assert misses(block_of_name()[name].rows(False, ("solver",))) == []


def test_a_long_run_of_the_fluid_ends_where_the_formulas_say() -> None:
    """To 1 %; the block is made alone, as deriving all formulas takes ten seconds."""
    assert misses(linux_block(Vegas).rows(False, ("fluid",))) == []


@named(["windows.periodic", "lossless", "linux"], set())
def test_long_runs_of_the_fluid_end_where_the_formulas_say(name: str) -> None:
    """To 1 %."""
    assert misses(block_of_name()[name].rows(False, ("fluid",))) == []


@named(["lossless", "lossy", "persistent"], set())
def test_packets_have_what_the_formulas_say(name: str) -> None:
    """To 10 %, where theory claims to hold."""
    assert misses(block_of_name()[name].rows(False, ("packets",))) == []


@pytest.mark.slow
@pytest.mark.unoptimised
def test_no_block_is_left_out() -> None:
    solved = {name for name, each in block_of_name().items() if each.needs_solver and not each.long}
    assert solved == {*IN_EQUILIBRIUM, "windows.iid"}


@pytest.mark.slow
@pytest.mark.unoptimised
def test_no_closed_form_is_left_out() -> None:
    """Every formula of the catalogue stands in the table."""
    listed = set().union(*map(formula_names, block_of_name().values()))
    assert set(closed_forms.catalogue()) - listed == set()


@pytest.mark.slow
@pytest.mark.unoptimised
def test_the_page_tells_a_miss() -> None:
    """A formula that is wrong by 2 % is shown in bold."""
    (row, *_) = block_of_name()["linux"].rows(False, ("solver",))
    found = row.comparisons["solver"]
    wrong = Row(row.relation, {"solver": found._replace(formula=1.02 * found.formula)})
    assert "**-2 %**" in markdown([wrong], False)
    assert "**" not in markdown([row], False).partition("| formula |")[2]
