"""Checkpoints of the benchmark, so that an interrupted run of an hour can be resumed.

They are kept with the compiled code (`vegasfluid.caches`) under a hash of the sources that they
depend on: a change of the package or of this benchmark makes them invalid.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import vegasfluid
from vegasfluid.caches import cache_root

__all__ = ["kept"]

T = TypeVar("T")

ABOVE = {"cli", "plot", "sweep"}
"""Parts of the package that do not affect recommendations."""


def sources() -> str:
    """A digest of the package below its front ends and of this benchmark."""
    digest = hashlib.sha256()
    package, here = Path(vegasfluid.__file__).parent, Path(__file__).parent
    for root in (package, here):
        for file in sorted(root.rglob("*.py")):
            if file.relative_to(root).parts[0] not in ABOVE:
                digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


SOURCES = sources()
"""Digest when this module is imported; edits during a run belong to the next run."""


def kept(name: str, make: Callable[[], T]) -> T:
    """Return what `make` returns, or its stored result of an earlier run.

    Args:
        name: name of the case and of its file.
        make: function that computes the result.
    """
    file = cache_root() / "benchmarks" / SOURCES / f"{name}.pickle"
    if file.is_file():
        return pickle.loads(file.read_bytes())
    result = make()
    file.parent.mkdir(parents=True, exist_ok=True)
    partial_file = file.with_suffix(".half")
    partial_file.write_bytes(pickle.dumps(result))
    partial_file.replace(file)
    return result
