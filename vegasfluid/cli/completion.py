"""Shell completion of models, classes and goals; it reads files but computes nothing.

Completion must be fast and must never fail: an unreadable file completes to nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from vegasfluid.bundled import bundled_models, model_path, purpose

__all__ = ["bundled", "flow_classes", "goals", "models", "references", "vegas_classes"]

Item = tuple[str, str]
"""A completion and its description."""

GOALS = {
    "ratio": "equal goodput, or --ratio times another flow's",
    "jain": "largest Jain index",
    "proportional": "proportional fairness",
    "worst-flow": "largest goodput of the worst flow",
    "alpha-fair=": "alpha fairness, such as alpha-fair=2",
    "delay": "smallest queueing delay, with --min-utilisation",
    "throughput": "largest goodput of all flows, with --max-delay-ms",
    "ratio=": "ratio of two classes, such as ratio=cubic/reno",
}
"""Values of `--goal`, with their meaning."""
REFERENCES = {
    "ns2": "the simulator ns-2",
    "ns3": "the simulator ns-3",
    "linux": "a Linux kernel: --kernel, or this machine's as root",
}
"""Values of `--with`, with their meaning."""
MOST_FILES = 200
"""Largest number of model files offered, so that large folders stay fast."""


def models(incomplete: str) -> list[Item]:
    """Completions of a model: built-in names, and model files that start with `incomplete`.

    Files are searched in the folder that was typed (else the current one), and in those of its
    subfolders whose names match. Files have an empty description.
    """
    return [*bundled(incomplete), *((path, "") for path in files(incomplete))]


def bundled(incomplete: str) -> list[Item]:
    """Completions of a built-in model: names that start with `incomplete`, and their purpose."""
    paths = bundled_models().items()
    return [(name, purpose(path)) for name, path in paths if name.startswith(incomplete)]


def files(incomplete: str) -> list[str]:
    """Paths of at most 200 .toml files that start with `incomplete`, as a user would type them."""
    folder, slash, prefix = incomplete.rpartition("/")
    folder_path = Path(folder or ("/" if slash else "."))
    paths = []
    for path in candidates(folder_path, prefix):
        paths.append(f"{folder}{slash}{path.relative_to(folder_path)}")
        if len(paths) == MOST_FILES:
            break
    return paths


def candidates(folder_path: Path, prefix: str) -> Iterator[Path]:
    """Paths of .toml files in a folder whose names start with `prefix`, in order of names.

    If `prefix` is not empty, also all .toml files of the subfolders whose names start with it.
    Hidden files are left out; a folder that cannot be read has none.
    """
    try:
        for path in sorted(folder_path.iterdir()):
            if path.name.startswith(prefix) and not path.name.startswith("."):
                if path.suffix == ".toml":
                    yield path
                elif prefix and path.is_dir():
                    yield from sorted(path.glob("*.toml"))
    except OSError:
        return


def goals(incomplete: str) -> list[Item]:
    """Completions of `--goal`: values that start with `incomplete`, and their meaning."""
    return [item for item in GOALS.items() if item[0].startswith(incomplete)]


def references(incomplete: str) -> list[Item]:
    """Completions of `--with`: names that start with `incomplete`, and their meaning."""
    return [item for item in REFERENCES.items() if item[0].startswith(incomplete)]


def flow_classes(ctx: typer.Context, incomplete: str) -> list[Item]:
    """Completions of a flow class: names in the given model that start with `incomplete`.

    The descriptions are the congestion controls. Empty without a readable model.
    """
    return [(name, law) for name, law in laws_of(ctx).items() if name.startswith(incomplete)]


def vegas_classes(ctx: typer.Context, incomplete: str) -> list[Item]:
    """Completions of a Vegas class: names in the given model that start with `incomplete`."""
    return [(name, law) for name, law in flow_classes(ctx, incomplete) if law == "vegas"]


def laws_of(ctx: typer.Context) -> dict[str, str]:
    """Congestion control of each class in the model that is on the command line; empty on error.

    The first word that names a model is taken: while the value of an option is missing, Click does
    not state which words are arguments.
    """
    words = [word for word in (ctx.params.get("model"), *ctx.args) if word]
    try:
        path = next(path for word in words if (path := model_path(word)) is not None)
        document: Any = tomllib.loads(path.read_text(encoding="utf-8"))
        return {name: str(table["law"]["name"]) for name, table in document["flows"].items()}
    except Exception:  # the command reports what is wrong with the file
        return {}
