"""Whether files generated from the code are still up to date."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path

import vegasfluid

__all__ = ["is_up_to_date"]


def is_up_to_date(generated: Iterable[Path], *scripts: Path) -> bool:
    """Whether all generated files exist and are newer than the package and the given scripts."""
    package = Path(str(inspect.getsourcefile(vegasfluid))).parent
    newest = max(path.stat().st_mtime for path in (*package.rglob("*.py"), *scripts))
    return all(path.is_file() and path.stat().st_mtime >= newest for path in generated)
