"""Whether what was made from the code, and takes its time, has to be made anew."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path

import vegasfluid

__all__ = ["fresh"]


def fresh(made: Iterable[Path], *scripts: Path) -> bool:
    """Whether what was made is all there, and younger than the package and these scripts."""
    package = Path(str(inspect.getsourcefile(vegasfluid))).parent
    youngest = max(path.stat().st_mtime for path in (*package.rglob("*.py"), *scripts))
    return all(path.is_file() and path.stat().st_mtime >= youngest for path in made)
