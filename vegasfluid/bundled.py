"""The bundled models and notebooks. Importing this module reads no file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

__all__ = ["bundled_models", "bundled_notebooks", "model_path", "purpose", "question"]

PACKAGE = Path(__file__).parent
"""Folder of this package."""


def bundled_files(folder: str, ending: str) -> Mapping[str, Path]:
    """Paths of the bundled files of a folder by name: the file name without its ending.

    The folder is in an installed package, or next to it in the sources.

    Args:
        folder: `models` or `notebooks`.
        ending: ending of the files' names, with the dot.

    Returns:
        The paths, sorted; empty if there is no such folder.
    """
    places = (PACKAGE / folder, PACKAGE.parent / folder)
    place = next((each for each in places if each.is_dir()), places[0])
    return {path.stem: path for path in sorted(place.glob(f"*{ending}"))}


@cache
def bundled_models() -> Mapping[str, Path]:
    """Paths of the bundled model files (TOML), by model name: the file name without `.toml`.

    >>> "weigle_feng_network2" in bundled_models()
    True
    """
    return bundled_files("models", ".toml")


@cache
def bundled_notebooks() -> Mapping[str, Path]:
    """Paths of the bundled Jupyter notebooks, by name: the file name without `.ipynb`.

    >>> "01_two_flows_one_queue" in bundled_notebooks()
    True
    """
    return bundled_files("notebooks", ".ipynb")


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


def question(path: Path) -> str:
    """Question that a bundled notebook answers: the title in the first cell of its file `path`."""
    first = json.loads(path.read_text(encoding="utf-8"))["cells"][0]
    return "".join(first["source"]).partition("\n")[0].lstrip("#").strip()
