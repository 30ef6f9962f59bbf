"""A new congestion control, queue discipline or traffic source is one file.

Generic code reads members of the abstract classes, never the name or a field of a known class. Here
unknown classes have the abstract members of Vegas, RED and bulk transfers, but neither their names
nor their fields: every result has to stay the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tests.paths import ROOT
from vegasfluid import (
    Bulk,
    Flows,
    Link,
    Network,
    Red,
    Reno,
    UniformStart,
    Vegas,
    ms,
    simulate_fluid,
    simulate_packets,
)
from vegasfluid.analysis.equilibria.equilibrium import equilibrium
from vegasfluid.aqm import QueueDiscipline, queue_disciplines
from vegasfluid.congestion import CongestionControl, congestion_controls
from vegasfluid.disagreement import disagreements
from vegasfluid.errors import InvalidInput
from vegasfluid.traffic import TrafficSource, traffic_sources

UNTIL = 5.0
CONCRETE = {
    kind.__name__: kind
    for registry in (congestion_controls(), queue_disciplines(), traffic_sources())
    for kind in registry.values()
}
NAMES = {kind.name for kind in CONCRETE.values()}
FIELDS = {field.name for kind in CONCRETE.values() for field in fields(kind)} | {"implementation"}
GENERIC = ("fluid", "packet", "network", "sweep", "modelfile", "cli")
GENERIC += ("analysis/equilibria", "analysis/linear_stability")
GENERIC_FILES = sorted(
    file for folder in GENERIC for file in (ROOT / "vegasfluid" / folder).rglob("*.py")
)
GENERIC_FILES += [ROOT / f"vegasfluid/{name}.py" for name in ("disagreement", "metrics")]
IMPORTS = {
    "network/link.py": {"DropTail"},
    "network/flows.py": {"Bulk"},
    "cli/next_steps.py": {"Vegas"},
    "sweep/summary.py": {"Vegas"},
    "analysis/equilibria/fair_alpha.py": {"Vegas"},
}
"""Concrete classes that generic files may import: defaults, and Vegas, which is what is tuned."""


def forwarded(value: Any, name: str, member: Any) -> Any:
    """A member of an abstract class as `value` has it."""
    if isinstance(member, property):
        return property(lambda self: getattr(value, name))
    if callable(member):
        return lambda self, *args: getattr(value, name)(*args)
    return getattr(value, name)


def foreign(base: type[Any], value: Any) -> Any:
    """An instance of an unknown subclass of `base`, without fields, that behaves as `value`."""
    members = {name: member for name, member in vars(base).items() if not name.startswith("_")}
    space = {name: forwarded(value, name, member) for name, member in members.items()}
    kind: Any = dataclass(frozen=True)(type("Foreign", (base,), space | {"name": "foreign"}))
    return kind()


def network(*, known: bool, **red: Any) -> Network:
    """ACKs share the buffer, which counts bytes; RED marks; Vegas starts at random."""
    aqm: Any = Red(min_thresh=10, max_thresh=60, ecn=True, in_bytes=True, **red)
    vegas: Any = Vegas(2, 4, dialect="ns2")
    bulk: Any = Bulk()
    if not known:
        aqm, vegas = foreign(QueueDiscipline, aqm), foreign(CongestionControl, vegas)
        bulk = foreign(TrafficSource, bulk)
    flows = {
        "reno": Flows(2, Reno(), base_rtt=ms(40), direction="reverse"),
        "vegas": Flows(2, vegas, base_rtt=ms(40), traffic=bulk, start=UniformStart(1.0)),
    }
    return Network(Link(1000.0, 50, aqm), flows)


@pytest.fixture(scope="module")
def packets() -> list[xr.Dataset]:
    return [simulate_packets(network(known=known), UNTIL) for known in (True, False)]


@pytest.fixture(scope="module")
def fluid() -> list[xr.Dataset]:
    return [simulate_fluid(network(known=known), UNTIL) for known in (True, False)]


def test_packets_are_the_same(packets: list[xr.Dataset]) -> None:
    known, unknown = packets
    xr.testing.assert_equal(known.drop_vars("control"), unknown.drop_vars("control"))
    assert unknown["control"].values.tolist() == ["reno", "foreign"]


def test_the_fluid_is_the_same(fluid: list[xr.Dataset]) -> None:
    known, unknown = fluid
    plain = [run.drop_vars("control") for run in (known, unknown)]
    xr.testing.assert_allclose(*plain, rtol=1e-6)


def test_warnings_are_the_same() -> None:
    warnings = network(known=True).warnings()
    assert "upper threshold" in warnings[-1]
    assert network(known=False).warnings() == warnings


def test_reasons_are_the_same(packets: list[xr.Dataset], fluid: list[xr.Dataset]) -> None:
    known, unknown = network(known=True), network(known=False)
    assert disagreements(unknown, fluid[1], packets[1]) == disagreements(
        known, fluid[0], packets[0]
    )


def one_way(*, known: bool, **red: Any) -> Network:
    """Both classes in one direction."""
    whole = network(known=known, **red)
    reno = replace(whole.flows["reno"], direction="forward")
    return replace(whole, flows={**whole.flows, "reno": reno})


@pytest.mark.slow
@pytest.mark.unoptimised
def test_the_equilibrium_is_the_same() -> None:
    rates = [equilibrium(one_way(known=known)).values.goodput for known in (True, False)]
    np.testing.assert_allclose(*rates, rtol=1e-6)


@pytest.mark.parametrize("known", [True, False])
def test_there_is_no_equilibrium_where_a_queue_discipline_adapts(known: bool) -> None:
    with pytest.raises(InvalidInput, match="aqm"):
        equilibrium(one_way(known=known, adaptive=True))


def literals(node: ast.AST) -> set[str]:
    """The strings in an expression."""
    return {
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }


def violations(tree: ast.Module, allowed: set[str]) -> Iterator[str]:
    """Code that depends on one known class: its import, its name, or a field of it by name."""
    for node in ast.walk(tree):
        bad: set[str] = set()
        if isinstance(node, ast.ImportFrom):
            bad = {alias.name for alias in node.names} & (set(CONCRETE) - allowed)
        elif isinstance(node, ast.Compare) and "_fields" in ast.unparse(node):
            bad = literals(node)
        elif isinstance(node, ast.Compare) and ".name" in ast.unparse(node):
            bad = literals(node) & NAMES
        elif isinstance(node, ast.Call):
            function = ast.unparse(node.func)
            if function in ("getattr", "hasattr"):
                bad = literals(node) & FIELDS
            elif function.endswith(".name.startswith"):
                bad = {name for name in NAMES if name.startswith(tuple(literals(node)))}
        if bad:
            yield ast.unparse(node)


@pytest.mark.parametrize("file", GENERIC_FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_generic_code_depends_on_no_known_class(file: Any) -> None:
    allowed = IMPORTS.get(str(file.relative_to(ROOT / "vegasfluid")), set())
    assert not list(violations(ast.parse(file.read_text()), allowed))


@pytest.mark.parametrize(
    "code",
    [
        "from vegasfluid import Red",
        'learns = "base_rtt" in state._fields',
        'bulk = flows.traffic.name == "bulk"',
        'vegas = law.name.startswith("vegas")',
        'weight = getattr(aqm, "weight", 0.0)',
        'cubic = hasattr(law, "beta")',
    ],
)
def test_what_depends_on_a_known_class_is_found(code: str) -> None:
    assert list(violations(ast.parse(code), set()))
