"""Output files of commands: checked before a long computation, and never anybody else's.

A command replaces files that vegasfluid has written, which have its name in them, so that it can be
repeated. It replaces other files with `--force` only, and its model file never.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from vegasfluid.errors import InvalidInput
from vegasfluid.output_files import write_bytes
from vegasfluid.version import package_version

__all__ = ["PICTURES", "check_target", "save_picture"]

PICTURES = (".png", ".svg", ".pdf")
"""File name endings of the pictures that matplotlib writes here."""
BINARY = (*PICTURES, ".nc")
"""Endings of binary files, which are searched in full for the name `vegasfluid`."""
HEAD = 4096
"""Bytes at the start of a text file that are searched for its origin."""
ORIGINS = (b"written by vegasfluid", b'"software": "vegasfluid', b",goodput_mbps.")
"""Marks of text files: models and exports, certificates, and tables of sweeps; in lower case."""


def check_target(
    command: str,
    option: str,
    target: Path | None,
    endings: tuple[str, ...] = (),
    *,
    model: str = "",
    force: bool = False,
) -> None:
    """Check before a long computation that an output file can be written, or may be replaced.

    Args:
        command: the command, for the message.
        option: the option, such as `--out`.
        target: the file; None: no file was requested.
        endings: allowed file name endings; empty: any.
        model: the model on the command line, which is never replaced; empty: none.
        force: whether a file that vegasfluid has not written may be replaced.

    Raises:
        InvalidInput: if the file's folder does not exist, the path is a folder, its ending is
            wrong, or the file is that of the model or, without `force`, not from vegasfluid.
    """
    if target is None:
        return
    if not target.resolve().parent.is_dir():
        raise InvalidInput(command, option, "in an existing folder", str(target))
    if target.is_dir():
        raise InvalidInput(command, option, "a file", str(target))
    if endings and target.suffix.lower() not in endings:
        raise InvalidInput(command, option, "named *" + ", *".join(endings), str(target))
    if not target.is_file():
        return
    if model and Path(model).exists() and target.samefile(model):
        raise InvalidInput(command, option, "a file other than MODEL", str(target))
    if not force and not is_ours(target):
        allowed = "a new file, or one that vegasfluid wrote (--force overwrites any file)"
        raise InvalidInput(command, option, allowed, str(target))


def is_ours(path: Path) -> bool:
    """Whether vegasfluid has written a file, by a mark in its content, or the file is empty."""
    with open(path, "rb") as file:
        if path.suffix.lower() in BINARY:
            content = file.read()
            return not content or b"vegasfluid" in content
        head = file.read(HEAD).lower()
    return not head or any(origin in head for origin in ORIGINS)


def save_picture(figure: Any, target: Path) -> None:
    """Save a matplotlib figure at 150 dots per inch, with this package as its origin.

    The ending of `target` (.png, .svg or .pdf) selects the format.
    """
    ending, picture = target.suffix.lower()[1:], BytesIO()
    origin = {"Software" if ending == "png" else "Creator": f"vegasfluid {package_version()}"}
    figure.savefig(picture, dpi=150, format=ending, metadata=origin)
    write_bytes(target, picture.getbuffer())
