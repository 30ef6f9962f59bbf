"""`vegasfluid export`: write a model as files for another system."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vegasfluid import modelfile
from vegasfluid.cli.next_steps import after_export, show_next, show_written
from vegasfluid.cli.output import console, print_json, progress
from vegasfluid.cli.targets import check_target
from vegasfluid.errors import InvalidInput
from vegasfluid.export import Exported, OperatingPoint, export_model, needs_points
from vegasfluid.model import Model
from vegasfluid.output_files import write_text

__all__ = ["run"]


def run(
    name: str, *, system: str, out: Path | None, seed: int, as_json: bool, force: bool = False
) -> None:
    """Export model `name` to a system; write the files to `out`, or print them.

    `system` is a name of `--format`, such as `linux` or `ns2`. `out` is a folder or the path of the
    first file; None: the files are printed. `seed` starts the random numbers of a scenario. With
    `as_json` one JSON document is printed. With `force` files that vegasfluid has not written are
    replaced.
    """
    check_folder(out)
    model = modelfile.read_model(name)
    exported = export_model(
        model, system, points=operating_points_for(model, system, seed), seed=seed
    )
    targets = targets_of(exported, out)
    for target in filter(Path.exists, targets):
        check_target("export", "--out", target, model=name, force=force)
    for target, text in zip(targets, exported.files.values(), strict=False):
        target.parent.mkdir(exist_ok=True)
        write_text(target, text)
    if as_json:
        from vegasfluid.version import package_version

        head = {"model": name, "version": package_version(), "seed": seed}
        print_json(head | exported.as_json() | {"written": [str(target) for target in targets]})
    elif targets:
        show(model, exported, targets)
        show_next(after_export(system, targets[0]))
    else:
        print(joined_text(exported.files), end="")


def check_folder(out: Path | None) -> None:
    """Raise InvalidInput if the folder in which `out` lies does not exist; None is accepted."""
    if out is not None and not out.resolve().parent.is_dir():
        raise InvalidInput("export", "--out", "in an existing folder", str(out))


def operating_points_for(model: Model, system: str, seed: int) -> Mapping[str, OperatingPoint]:
    """Operating points, by name, of the classes whose Vegas parameters `system` needs translated.

    They are means of one run of the fluid model or the packet simulator (with `seed`). If no class
    needs translation, nothing is run and the mapping is empty.
    """
    classes = needs_points(model, system)
    if not classes:
        return {}
    from vegasfluid.caches import keep_compiled_equations
    from vegasfluid.tuning.operating_point import engine_of_points, operating_points

    engine = engine_of_points(model)
    if engine == "fluid":
        keep_compiled_equations()
    with progress(f"export ({engine})"):
        return operating_points(model, classes, seed)


def targets_of(exported: Exported, out: Path | None) -> list[Path]:
    """Paths to which the files of an export are written, in the order of the files.

    If `out` has the ending of the first file, it is the path of that file, and the other files lie
    beside it, with its name in front of theirs. Otherwise `out` is the folder of all files. None:
    no paths.

    Raises:
        InvalidInput: if `out` is an existing file with another ending.
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


def joined_text(files: Mapping[str, str]) -> str:
    """Texts of all files in one, each below a line with its name; a single file as it is."""
    if len(files) == 1:
        return next(iter(files.values()))
    return "\n".join(f"# ==> {name} <==\n{text}" for name, text in files.items())


def show(model: Model, exported: Exported, targets: list[Path]) -> None:
    """Print the written files, their Vegas parameters (packets), and notes on differences."""
    out = console()
    out.print(model.title or "model", style="bold")
    show_written(*targets)
    for name, vegas in exported.vegas.items():
        values = ", ".join(f"{key} = {value:g}" for key, value in vegas.values.items())
        out.print(f"Vegas class {name}: {values}; {vegas.origin}.")
    for note in exported.notes:
        out.print(f"Note: {note}")
