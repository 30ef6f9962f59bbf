"""`vegasfluid notebooks`: list the notebooks, or copy them into a folder."""

from __future__ import annotations

import shlex
from pathlib import Path

from vegasfluid.bundled import bundled_notebooks, question
from vegasfluid.cli.next_steps import show_next, show_written
from vegasfluid.cli.output import console, print_json, table
from vegasfluid.errors import InvalidInput
from vegasfluid.output_files import write_bytes

__all__ = ["run"]


def run(out: Path | None, *, as_json: bool, force: bool) -> None:
    """List the notebooks, or copy them into the folder `out`, which is made if it is missing.

    Args:
        out: the folder; None: the notebooks are listed.
        as_json: whether to print one JSON document.
        force: whether files with the name of a notebook but other contents are replaced.

    Raises:
        InvalidInput: if the folder cannot be made, or has a changed notebook and `force` is False.
    """
    written = [] if out is None else copy(out, force)
    if as_json:
        notebooks = [
            {"name": name, "question": question(path)} for name, path in bundled_notebooks().items()
        ]
        print_json({"notebooks": notebooks, "written": [str(path) for path in written]})
    elif out is None:
        show_all()
    else:
        show_written(*written)
        show_next(f"jupyter lab {shlex.quote(str(out))}")
        console().print("JupyterLab comes with pip install 'vegasfluid[notebooks]'.")


def copy(out: Path, force: bool) -> list[Path]:
    """Copy the notebooks into the folder `out`; returns their paths there.

    All are checked before the first is written. A copy without changes is written again.

    Raises:
        InvalidInput: if the folder cannot be made, or a file with the name of a notebook has other
            contents and `force` is False.
    """
    sources = bundled_notebooks().values()
    if not out.resolve().parent.is_dir():
        raise InvalidInput("notebooks", "--out", "in an existing folder", str(out))
    if out.exists() and not out.is_dir():
        raise InvalidInput("notebooks", "--out", "a folder", str(out))
    targets = [out / path.name for path in sources]
    for source, target in zip(sources, targets, strict=True):
        if target.is_dir():
            allowed = "a folder in which the names of the notebooks are not those of folders"
            raise InvalidInput("notebooks", "--out", allowed, str(target))
        changed = target.exists() and target.read_bytes() != source.read_bytes()
        if changed and not force:
            allowed = "a folder without changed notebooks (--force replaces them)"
            raise InvalidInput("notebooks", "--out", allowed, str(target))
    out.mkdir(exist_ok=True)
    for source, target in zip(sources, targets, strict=True):
        write_bytes(target, source.read_bytes())
    return targets


def show_all() -> None:
    """Print names and questions of the notebooks as a table."""
    rows = table("notebook", "question", texts=["question"])
    for name, path in bundled_notebooks().items():
        rows.add_row(name, question(path))
    console().print(rows)
    show_next("vegasfluid notebooks --out notebooks")
