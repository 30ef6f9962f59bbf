"""Output files that are complete or not there: written beside their place, then moved into it."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from vegasfluid.interruption import at_interruption

__all__ = ["new_file", "write_bytes", "write_text"]


@contextlib.contextmanager
def new_file(path: str | Path) -> Iterator[Path]:
    """Context with a temporary path; the file that was written there replaces `path` at the end.

    The body must create the file. If an error or a signal ends the context, the temporary file is
    deleted, and what was at `path` stays. The temporary file has the same folder, ending and mode.
    If `path` is a device or a pipe, which cannot be replaced, it is the temporary path itself.
    """
    target = Path(os.path.realpath(path))  # the file that a symbolic link points to
    if Path(path).exists() and not stat.S_ISREG(os.stat(path).st_mode):
        yield Path(path)
        return
    temporary = target.with_name(f".{uuid.uuid4().hex[:12]}{target.suffix}")
    delete = partial(temporary.unlink, missing_ok=True)
    with at_interruption(delete):
        try:
            yield temporary
            flush_to_disk(temporary)
            if target.exists():
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
        finally:
            delete()


def flush_to_disk(path: Path) -> None:
    """Wait until the content of a file is on the disk, so that a power cut cannot lose it."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def write_text(path: str | Path, text: str) -> None:
    """Write a text to a file as UTF-8, completely or not at all.

    A file at `path` is replaced; if an error or a signal stops the writing, it stays as it was.
    """
    with new_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_bytes(path: str | Path, content: bytes | memoryview) -> None:
    """Write bytes to a file, completely or not at all.

    A file at `path` is replaced; if an error or a signal stops the writing, it stays as it was.
    Libraries should write to memory, and this to the file: some of them fail on a full disk with
    errors of many kinds, or open the file once more when they are cleaned up.
    """
    with new_file(path) as temporary:
        temporary.write_bytes(content)
