"""The source files of `vegasfluid_dde`: copies of `vegasfluid.dde` and of what it imports.

`vegasfluid.dde` becomes the package itself, and the other modules that it needs become its
submodules, with the same names: `vegasfluid.dde.solution` is `vegasfluid_dde.solution`,
`vegasfluid.errors` is `vegasfluid_dde.errors`. Only imports are changed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ["NAME", "files", "needed_modules", "renamed"]

NAME = "vegasfluid_dde"
"""Import name of the distribution."""
ROOT = Path(__file__).resolve().parents[2]
"""The repository."""
CHANGES = (
    (re.compile(r"\bfrom vegasfluid import dde\b"), f"import {NAME} as dde"),
    (re.compile(r"\bvegasfluid\.dde\b"), NAME),
    (re.compile(r"\bvegasfluid\.(?=[a-z])"), f"{NAME}."),
)
"""Patterns of a module's text and what replaces them, in this order."""


def files(root: Path = ROOT) -> dict[str, str]:
    """The text of each file of the package by its path in a wheel.

    Args:
        root: the repository.

    Raises:
        ValueError: if two modules would get the same path.
    """
    found = {f"{NAME}/py.typed": ""}
    for module, path in sorted(needed_modules(root).items()):
        target = renamed(module).replace(".", "/")
        target += "/__init__.py" if path.name == "__init__.py" else ".py"
        if target in found:
            raise ValueError(f"two modules would be {target}; one of them is {module}")
        found[target] = renamed(path.read_text(encoding="utf-8"))
    return found


def renamed(text: str) -> str:
    """Source text, or the name of a module, with this distribution's names of modules.

    >>> renamed("from vegasfluid.dde.solution import check")
    'from vegasfluid_dde.solution import check'
    >>> renamed("from vegasfluid.errors import InvalidInput")
    'from vegasfluid_dde.errors import InvalidInput'
    """
    for pattern, replacement in CHANGES:
        text = pattern.sub(replacement, text)
    return text


def needed_modules(root: Path = ROOT) -> dict[str, Path]:
    """All modules of `vegasfluid.dde` and those that they import, with their files.

    The package `vegasfluid` itself is not among them: it has the names of everything else.
    """
    folder = root / "vegasfluid" / "dde"
    names = {module_of(path, root) for path in folder.rglob("*.py")}
    found: dict[str, Path] = {}
    while names:
        name = names.pop()
        path = file_of(name, root)
        if path is None or name in found or name == "vegasfluid":
            continue
        found[name] = path
        names.update(imported(path))
        names.add(name.rpartition(".")[0])
    return found


def module_of(path: Path, root: Path) -> str:
    """The name of the module in a file."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def file_of(name: str, root: Path) -> Path | None:
    """The file of a module; None if there is no module of this name."""
    path = root.joinpath(*name.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.exists():
            return candidate
    return None


def imported(path: Path) -> Iterator[str]:
    """Names that a file imports from vegasfluid: of modules, or of what may be one."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("vegasfluid."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("vegasfluid"):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
