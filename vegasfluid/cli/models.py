"""`vegasfluid models`: list, show or copy the built-in models."""

from __future__ import annotations

import difflib
import shlex
from pathlib import Path
from typing import Any

from vegasfluid.bundled import bundled_models, purpose
from vegasfluid.cli.next_steps import show_next, show_written
from vegasfluid.cli.output import console, print_json, table
from vegasfluid.cli.targets import check_target
from vegasfluid.errors import InvalidInput, Words
from vegasfluid.output_files import write_text

__all__ = ["run"]


def run(name: str | None, *, out: Path | None, as_json: bool) -> None:
    """List the built-in models (`name` is None), print one as it is, or copy it to the file `out`.

    Raises:
        InvalidInput: for an unknown name, a file that exists, or a file without a name.
    """
    if name is None:
        if out is not None:
            raise InvalidInput("models", "NAME", "given with --out", Words("missing"))
        show_all(as_json)
        return
    path = path_of(name)
    text = path.read_text(encoding="utf-8")
    if out is not None:
        copy(text, out)
    if as_json:
        print_json(entry(name, path) | {"text": text, "written": None if out is None else str(out)})
    elif out is None:
        print(text, end="")
    else:
        show_written(out)
        show_next(f"vegasfluid check {shlex.quote(str(out))}")


def path_of(name: str) -> Path:
    """Path of the TOML file of built-in model `name`; folders and `.toml` in the name are ignored.

    Raises:
        InvalidInput: for an unknown name; the message suggests a similar one.
    """
    known = bundled_models()
    wanted = Path(name).name.removesuffix(".toml")
    if wanted in known:
        return known[wanted]
    close = difflib.get_close_matches(wanted, known, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    raise InvalidInput("models", "NAME", f"one of {', '.join(known)}{hint}", name)


def copy(text: str, out: Path) -> None:
    """Write the text of a model to the new file `out`; InvalidInput if it exists."""
    if out.is_file():
        raise InvalidInput("models", "--out", "a new file", str(out))
    check_target("models", "--out", out, (".toml",))
    write_text(out, text)


def entry(name: str, path: Path) -> dict[str, Any]:
    """JSON entry of built-in model `name`: title, purpose, source, flows by class, and path."""
    from vegasfluid import modelfile

    model = modelfile.load(path)
    return {
        "name": name,
        "title": model.title,
        "shows": purpose(path),
        "source": model.source,
        "flows": {name: flows.count for name, flows in model.network.flows.items()},
        "path": str(path),
    }


def show_all(as_json: bool) -> None:
    """Print names and purposes of the built-in models, as a table or one JSON document."""
    known = bundled_models()
    if as_json:
        print_json({"models": [entry(name, path) for name, path in known.items()]})
        return
    rows = table("model", "what it shows", texts=["what it shows"])
    for name, path in known.items():
        rows.add_row(name, purpose(path))
    out = console()
    out.print(rows)
    out.print("\nEvery command accepts these names in place of a file.")
    out.print("Start your own: vegasfluid models NAME --out mine.toml", soft_wrap=True)
