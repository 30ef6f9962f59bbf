"""The project's rules that a test can check: layers, sizes, names and docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import vegasfluid
from tests.paths import ROOT

PACKAGE = Path(vegasfluid.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = [
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for file in FILES
]
EDGE = ["typer", "click", "rich", "pydantic", "tomli_w", "h5netcdf", "h5py", "matplotlib"]
LONGEST_FILE, LONGEST_FUNCTION = 400, 60
TESTS_OF_OTHERS = {"agreement", "docs", "hardening", "notebooks", "packaging", "paper_repro"}
"""Folders of tests that no folder of the package corresponds to."""


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def test_contracts_of_import_linter():
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


RUN_WITHOUT_THE_EDGE = f"""
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EDGE!r}:
            raise ImportError(name + " belongs to the edge")

sys.meta_path.insert(0, Refuse())
from vegasfluid import Flows, Link, Network, Red, Reno, Vegas, metrics, recommend
from vegasfluid import simulate_fluid, simulate_packets

laws = {{"reno": Reno(), "vegas": Vegas(dialect="ns2")}}
flows = {{name: Flows(1, law, base_rtt=0.04) for name, law in laws.items()}}
network = Network(Link(500.0, 50, Red(min_thresh=10, max_thresh=40)), flows)
for run in (simulate_packets(network, 5.0), simulate_fluid(network, 5.0)):
    assert float(metrics.utilisation(run)[0]) > 0.3
"""


@pytest.mark.slow
def test_numerics_run_without_the_libraries_of_the_edge():
    done = subprocess.run(
        [sys.executable, "-c", RUN_WITHOUT_THE_EDGE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_importing_the_package_imports_nothing_heavy():
    code = (
        "import sys, vegasfluid\n"
        "vegasfluid.mbps, vegasfluid.Network, vegasfluid.Vegas, vegasfluid.Red\n"
        "print(sorted({'jax', 'numba', 'numpy', 'scipy', 'xarray'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def imports_of(module: str, file: Path) -> set[str]:
    """The modules of the package that a module imports when it is imported itself."""
    found: set[str] = set()
    nodes: list[ast.AST] = [tree(file)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in MODULES else str(node.module) for name in names}
        nodes += ast.iter_child_nodes(node)
    return found & set(MODULES)


def test_no_module_is_in_an_import_cycle():
    imports = {
        module: imports_of(module, file) for module, file in zip(MODULES, FILES, strict=True)
    }
    while free := [module for module, needs in imports.items() if not needs]:
        for module in free:
            del imports[module]
        for needs in imports.values():
            needs.difference_update(free)
    assert not imports


@pytest.mark.parametrize("module", MODULES)
def test_module_and_its_public_names_have_docstrings(module):
    loaded = importlib.import_module(module)
    assert loaded.__doc__
    if not module.endswith("__main__"):
        assert "__all__" in vars(loaded), f"{module} has no __all__"
    for name in getattr(loaded, "__all__", []):
        value = getattr(loaded, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            own = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
            assert own, f"{module}.{name} has no docstring"


@pytest.mark.parametrize("folder", ["vegasfluid", "tests", "benchmarks", "paper_repro", "docs"])
def test_files_and_functions_are_short(folder):
    for file in (ROOT / folder).rglob("*.py"):
        assert len(file.read_text().splitlines()) <= LONGEST_FILE, file
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = node.end_lineno - node.lineno + 1
                assert length <= LONGEST_FUNCTION, f"{file}: {node.name} has {length} lines"


def test_tests_lie_where_the_package_has_what_they_test():
    folders = {
        path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")
    }
    for folder in folders:
        if folder.parts and folder.parts[0] not in TESTS_OF_OTHERS:
            assert (PACKAGE / folder).is_dir(), f"tests/{folder} tests no folder of the package"


def test_public_names_of_the_package_are_all_there():
    for name in vegasfluid.__all__:
        assert getattr(vegasfluid, name).__doc__
    assert dir(vegasfluid) == sorted(vegasfluid.__all__)
    with pytest.raises(AttributeError, match="attribute nothing"):
        _ = vegasfluid.nothing
