"""The models that come with vegasfluid: where they lie and what they show. Nothing is read yet."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

__all__ = ["bundled_models", "model_path", "purpose"]

PACKAGE = Path(__file__).parent
HOMES = (PACKAGE / "models", PACKAGE.parent / "models")
"""Where the models lie: in an installed package, and beside the package in its sources."""


@cache
def bundled_models() -> Mapping[str, Path]:
    """The models that come with vegasfluid: their files by their names.

    >>> "weigle_feng_network2" in bundled_models()
    True
    """
    home = next((home for home in HOMES if home.is_dir()), HOMES[0])
    return {path.stem: path for path in sorted(home.glob("*.toml"))}


def model_path(name: str) -> Path | None:
    """The file of a model: a path that exists wins over a shipped model; None: neither.

    >>> model_path("no_such_model") is None
    True
    """
    return Path(name) if os.path.lexists(name) else bundled_models().get(name)


def purpose(path: Path) -> str:
    """What a shipped model shows: its first line, a comment."""
    with path.open(encoding="utf-8") as lines:
        return lines.readline().lstrip("#").strip()
