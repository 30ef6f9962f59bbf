"""The bundled models: their files and their purposes. Importing this module reads no file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

__all__ = ["bundled_models", "model_path", "purpose"]

PACKAGE = Path(__file__).parent
FOLDERS = (PACKAGE / "models", PACKAGE.parent / "models")
"""Folders of the bundled models: in an installed package, and next to it in the sources."""


@cache
def bundled_models() -> Mapping[str, Path]:
    """The files of the bundled models by name.

    >>> "weigle_feng_network2" in bundled_models()
    True
    """
    folder = next((each for each in FOLDERS if each.is_dir()), FOLDERS[0])
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def model_path(name: str) -> Path | None:
    """The file of a model; None if there is none.

    Args:
        name: path of a model file, or name of a bundled model. An existing path takes precedence.

    >>> model_path("no_such_model") is None
    True
    """
    return Path(name) if os.path.lexists(name) else bundled_models().get(name)


def purpose(path: Path) -> str:
    """The purpose of a bundled model, from the comment in its first line."""
    with path.open(encoding="utf-8") as lines:
        return lines.readline().lstrip("#").strip()
