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
    """Paths of the bundled model files (TOML), by model name: the file name without `.toml`.

    >>> "weigle_feng_network2" in bundled_models()
    True
    """
    folder = next((each for each in FOLDERS if each.is_dir()), FOLDERS[0])
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def model_path(name: str) -> Path | None:
    """Path of a model file, given its path or the name of a bundled model.

    Args:
        name: path of a model file, or name of a bundled model. An existing path takes precedence.

    Returns:
        The path; None if no such file and no such bundled model exists.

    >>> model_path("no_such_model") is None
    True
    """
    return Path(name) if os.path.lexists(name) else bundled_models().get(name)


def purpose(path: Path) -> str:
    """Purpose of a bundled model: the text of the comment in the first line of its file `path`."""
    with path.open(encoding="utf-8") as lines:
        return lines.readline().lstrip("#").strip()
