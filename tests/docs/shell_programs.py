"""Programs that pages type in a shell and that are not run: what they name has to be there."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

from tests.paths import ROOT

__all__ = ["KNOWN"]


def pip(words: list[str]) -> None:
    """`pip install`: it asks for this package, its sources, a wheel, or an extra that it has."""
    assert words[:2] == ["pip", "install"], words
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for asked in words[2:]:
        found = re.fullmatch(r"vegasfluid(?:\[(\w+)\])?|\./vegasfluid-.*\.whl|\.", asked)
        assert found, asked
        assert found[1] is None or found[1] in extras, asked


def make(words: list[str]) -> None:
    """`make`: the targets are there."""
    text = (ROOT / "Makefile").read_text()
    for target in words[1:]:
        assert re.search(rf"^{re.escape(target)}:", text, re.M) or is_result(target), target


def is_result(target: str) -> bool:
    """Whether a target is a result of a benchmark."""
    name = Path(target).stem
    return target == f"benchmarks/results/{name}.json" and bool(
        importlib.util.find_spec(f"benchmarks.{name}")
    )


def python(words: list[str]) -> None:
    """`python -m`: the module is there."""
    assert words[1] == "-m", words
    assert importlib.util.find_spec(words[2]), words[2]


def git(words: list[str]) -> None:
    """`git`: anything."""


KNOWN: dict[str, Callable[[list[str]], None]] = {
    "git": git,
    "make": make,
    "pip": pip,
    "python": python,
    "python3": python,
}
"""What is not run, and how it is looked at."""
