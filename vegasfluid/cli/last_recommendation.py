"""The last recommendation, kept so that `recommend --last` writes it without a second search."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import typer

from vegasfluid.caches import cache_root
from vegasfluid.cli.next_steps import after_recommend, show_next, show_written
from vegasfluid.cli.output import console, print_json
from vegasfluid.cli.targets import check_target
from vegasfluid.errors import InvalidInput, Unsupported, Words
from vegasfluid.output_files import write_text
from vegasfluid.private_folders import private_folder

__all__ = ["keep", "write_last"]

FILE = "last.json"
"""Name of the file, in a folder that only the user can write to."""


class Kept(NamedTuple):
    """A recommendation that was kept.

    Args:
        command: the command line that found it.
        model: text of the model file with the recommended parameters.
        systems: systems that have equivalent settings.
    """

    command: str
    model: str
    systems: list[str]


def folder() -> Path:
    """The folder of the file, in the folder of all caches."""
    return cache_root() / "recommend"


def keep(command: str, model: str, systems: Collection[str]) -> bool:
    """Keep a recommendation in place of the one before; returns whether it could be written.

    Args:
        command: the command line that found it.
        model: text of the model file with the recommended parameters.
        systems: systems that have equivalent settings.
    """
    usable = private_folder(folder())
    if usable is None:
        return False
    kept = Kept(command, model, sorted(systems))
    try:
        write_text(usable / FILE, json.dumps(kept._asdict()))
    except OSError:  # a full disk: the result is printed all the same
        return False
    return True


def last() -> Kept:
    """The recommendation that was kept last.

    Raises:
        InvalidInput: if there is none, or its file is damaged.
    """
    usable = private_folder(folder())
    try:
        if usable is None:
            raise FileNotFoundError(folder())
        kept = json.loads((usable / FILE).read_text(encoding="utf-8"))
        return Kept(str(kept["command"]), str(kept["model"]), list(map(str, kept["systems"])))
    except (OSError, ValueError, KeyError, TypeError):
        allowed = "given after a first recommendation"
        raise InvalidInput("recommend", "--last", allowed, Words("given before it")) from None


def write_last(context: typer.Context, out: Path | None, *, force: bool, as_json: bool) -> None:
    """Write the last recommendation to a model file, as `recommend --last --out FILE`.

    Args:
        context: Click context of the command, which has the options that were given.
        out: the model file to write.
        force: whether a file that vegasfluid has not written is replaced.
        as_json: whether to print JSON.

    Raises:
        InvalidInput: if `out` is None or may not be written, or no recommendation was kept.
        Unsupported: if the command line has a model, or an option other than `--last`, `--out`,
            `--force` and `--json`.
    """
    allowed = {"last", "out", "force", "as_json"}
    for name in context.params:
        source = context.get_parameter_source(name)
        if name not in allowed and source is not None and source.name == "COMMANDLINE":
            given = "MODEL" if name == "model" else f"--{name.replace('_', '-')}"
            reason = "it writes the last recommendation as it is"
            raise Unsupported("recommend", f"--last with {given}", reason)
    if out is None:
        raise InvalidInput("recommend", "--last", "given with --out FILE", Words("given alone"))
    check_target("recommend", "--out", out, (".toml",), force=force)
    kept = last()
    write_text(out, kept.model)
    if as_json:
        print_json({"command": kept.command, "out": str(out)})
        return
    console().print(f"Recommended by: {kept.command}", soft_wrap=True)
    show_written(out)
    show_next(*after_recommend(kept.command, out, kept.systems))
