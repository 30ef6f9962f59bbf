"""What a shell may complete: models, classes to tune, goals. Files are read, nothing is computed.

A completion must come at once and must never fail: what cannot be read completes to nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from vegasfluid.bundled import bundled_models, model_path, purpose

__all__ = ["flow_classes", "goals", "models", "shipped", "vegas_classes"]

Item = tuple[str, str]
"""What is completed, and a word on it."""

GOALS = {
    "ratio": "as much goodput as another flow, or --ratio times as much",
    "jain": "the largest Jain index",
    "proportional": "proportional fairness",
    "worst-flow": "the largest goodput of the worst flow",
    "alpha-fair=": "alpha fairness, such as alpha-fair=2",
}
MOST_FILES = 200


def models(incomplete: str) -> list[Item]:
    """Shipped models by name, and model files here, in the folder that is typed, and below it."""
    return [*shipped(incomplete), *((path, "") for path in files(incomplete))]


def shipped(incomplete: str) -> list[Item]:
    """Shipped models by name."""
    paths = bundled_models().items()
    return [(name, purpose(path)) for name, path in paths if name.startswith(incomplete)]


def files(incomplete: str) -> list[str]:
    """Files that end with .toml, as they would be typed."""
    folder, slash, begun = incomplete.rpartition("/")
    home = Path(folder or ("/" if slash else "."))
    found = []
    for path in candidates(home, begun):
        found.append(f"{folder}{slash}{path.relative_to(home)}")
        if len(found) == MOST_FILES:
            break
    return found


def candidates(home: Path, begun: str) -> Iterator[Path]:
    """Model files in a folder, and in those of its folders that may be meant."""
    try:
        for path in sorted(home.iterdir()):
            if path.name.startswith(begun) and not path.name.startswith("."):
                if path.suffix == ".toml":
                    yield path
                elif begun and path.is_dir():
                    yield from sorted(path.glob("*.toml"))
    except OSError:
        return


def goals(incomplete: str) -> list[Item]:
    """What `--goal` takes."""
    return [item for item in GOALS.items() if item[0].startswith(incomplete)]


def flow_classes(ctx: typer.Context, incomplete: str) -> list[Item]:
    """The classes of flows of the model that is typed already."""
    return [(name, law) for name, law in laws_of(ctx).items() if name.startswith(incomplete)]


def vegas_classes(ctx: typer.Context, incomplete: str) -> list[Item]:
    """Those of them whose law is Vegas."""
    return [(name, law) for name, law in flow_classes(ctx, incomplete) if law == "vegas"]


def laws_of(ctx: typer.Context) -> dict[str, str]:
    """The law of each class of a model, as far as its file says it.

    While the value of an option is missing, Click does not say which words are arguments.
    """
    words = [word for word in (ctx.params.get("model"), *ctx.args) if word]
    try:
        path = next(path for word in words if (path := model_path(word)) is not None)
        document: Any = tomllib.loads(path.read_text(encoding="utf-8"))
        return {name: str(of["law"]["name"]) for name, of in document["flows"].items()}
    except Exception:  # whatever is wrong with the file: the command says it, not the completion
        return {}
