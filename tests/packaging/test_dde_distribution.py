"""The distribution of the delay equations alone: its files, its requirements, and that it works."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.paths import ROOT

PROJECT = ROOT / "tools" / "dde_distribution"
USER = """
import sys
from importlib.abc import MetaPathFinder


class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("vegasfluid", "scipy", "numba", "pydantic", "xarray"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Missing())

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import vegasfluid_dde as dde

jax.config.update("jax_enable_x64", True)


def decay(t, y, history, rate):
    return -rate * history(t - 1.0)


accurate = diffrax.PIDController(rtol=1e-9, atol=1e-9)
options = {"stepsize_controller": accurate, "max_steps": 256}
adaptive = dde.solve(decay, diffrax.Tsit5(), 0.0, 2.0, None, jnp.ones(1), 1.0, **options)
fixed = dde.solve_fixed(
    decay, jnp.ones(1), 1.0, ts=np.array([0.0, 2.0]), dt0=0.05, longest_lag=1.0
)
print(float(adaptive.ys[-1, 0]), float(fixed.ys[-1, 0]))
"""


@pytest.fixture(scope="module")
def sources():
    spec = importlib.util.spec_from_file_location("sources", PROJECT / "sources.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def files(sources) -> dict[str, str]:
    return sources.files()


def declared(project: Path) -> dict:
    return tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_its_version_and_requirements_are_those_of_the_whole():
    alone, whole = declared(PROJECT), declared(ROOT)
    assert alone["version"] == whole["version"]
    assert alone["requires-python"] == whole["requires-python"]
    assert set(alone["dependencies"]) < set(whole["dependencies"])


def test_it_declares_the_libraries_that_it_imports(files):
    imported = set()
    for text in files.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                imported.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module)
    tops = {name.partition(".")[0] for name in imported} - sys.stdlib_module_names
    names = {re.split(r"[<>=\[ ]", each)[0] for each in declared(PROJECT)["dependencies"]}
    assert tops - {"vegasfluid_dde"} == {name.replace("-", "_") for name in names}


def test_nothing_in_it_refers_to_the_modules_of_the_whole(files, sources):
    assert "vegasfluid_dde/__init__.py" in files
    assert "vegasfluid_dde/adaptive/solve.py" in files
    assert not any("network" in name or "packet" in name for name in files)
    for name, text in files.items():
        assert not re.search(r"\bvegasfluid\.[a-z]", text), name


def test_two_modules_of_one_name_are_an_error(sources, tmp_path):
    (tmp_path / "vegasfluid" / "dde").mkdir(parents=True)
    for name in ("__init__.py", "errors.py", "dde/errors.py"):
        (tmp_path / "vegasfluid" / name).touch()
    own = tmp_path / "vegasfluid" / "dde" / "__init__.py"
    own.write_text("from vegasfluid.errors import InvalidInput", encoding="utf-8")
    with pytest.raises(ValueError, match=r"two modules would be vegasfluid_dde/errors\.py"):
        sources.files(tmp_path)


@pytest.mark.slow
def test_it_solves_where_the_whole_is_not_installed(files, tmp_path):
    """The equation y' = -y(t - 1), y = 1 before 0: y(2) = 1 - 2 + 1/2 by the method of steps."""
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "user.py").write_text(USER, encoding="utf-8")
    command = [sys.executable, "-W", "error", "user.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert [float(value) for value in ended.stdout.split()] == pytest.approx([-0.5, -0.5], abs=1e-8)
