"""`vegasfluid export`: a model as files for another system, shown or written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vegasfluid import modelfile
from vegasfluid.cli.next_steps import after_export, show_next
from vegasfluid.cli.output import console, print_json, progress
from vegasfluid.errors import InvalidInput
from vegasfluid.export import Exported, OperatingPoint, export_model, needs_points
from vegasfluid.model import Model

__all__ = ["run"]


def run(name: str, *, system: str, out: Path | None, seed: int, as_json: bool) -> None:
    """Export a model file; show the files, or write them and say what was written."""
    check_folder(out)
    model = modelfile.read_model(name)
    exported = export_model(model, system, points=points(model, system, seed), seed=seed)
    targets = targets_of(exported, out)
    for target, text in zip(targets, exported.files.values(), strict=False):
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")
    if as_json:
        from vegasfluid.version import package_version

        head = {"model": name, "version": package_version(), "seed": seed}
        print_json(head | exported.as_json() | {"written": [str(target) for target in targets]})
    elif targets:
        show(model, exported, targets)
        show_next(after_export(system, targets[0]))
    else:
        print(shown(exported.files), end="")


def check_folder(out: Path | None) -> None:
    """Refuse a target that could not be written, before the work."""
    if out is not None and not out.resolve().parent.is_dir():
        raise InvalidInput("export", "--out", "in a folder that exists", str(out))


def points(model: Model, system: str, seed: int) -> Mapping[str, OperatingPoint]:
    """Where the flows are whose parameters have to be translated; nothing runs if none have."""
    classes = needs_points(model, system)
    if not classes:
        return {}
    from vegasfluid.tuning import operating_points

    with progress("export (packets)"):
        return operating_points(model, classes, seed)


def targets_of(exported: Exported, out: Path | None) -> list[Path]:
    """Where the files go: into a folder, or the first one into a file; none: nowhere.

    Raises:
        InvalidInput: for several files and a target that is a file.
    """
    if out is None:
        return []
    names = list(exported.files)
    first = Path(names[0])
    if out.suffix == first.suffix and not out.is_dir():
        return [out, *(out.with_name(f"{out.stem}-{name}") for name in names[1:])]
    if out.exists() and not out.is_dir():
        allowed = f"a folder, or a file named *{first.suffix}"
        raise InvalidInput("export", "--out", allowed, str(out))
    return [out / name for name in names]


def shown(files: Mapping[str, str]) -> str:
    """The files one after another; a single one as it is."""
    if len(files) == 1:
        return next(iter(files.values()))
    return "\n".join(f"# ==> {name} <==\n{text}" for name, text in files.items())


def show(model: Model, exported: Exported, targets: list[Path]) -> None:
    """What was written, and what differs."""
    out = console()
    out.print(model.title or "model", style="bold")
    for target in targets:
        out.print(f"Written: {target}", soft_wrap=True)
    for name, of in exported.vegas.items():
        values = ", ".join(f"{key} = {value:g}" for key, value in of.values.items())
        out.print(f"Vegas of {name}: {values}; {of.told}.")
    for note in exported.notes:
        out.print(f"Note: {note}")
