"""Machine code on disk: Numba's cache files, verified before they are loaded, complete or absent.

Numba unpickles what it finds and runs it. A file that a power cut or a full disk left empty or cut
short raises errors of many kinds, and a changed one gives other machine code. So each folder has
the digests of its files, and is built under a temporary name and renamed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numba

from vegasfluid.interruption import at_interruption
from vegasfluid.packet.jit.deferred_codegen import without_timers

__all__ = ["kept_in"]

DIGESTS = "digests.json"
"""File with the SHA-256 digest of each other file of a folder."""
NEW = ".new-"
"""Start of the names of unfinished folders."""
LEFT_OVER = 3600.0
"""Age from which an unfinished folder is left over, s; compiling takes seconds."""


def kept_in(folder: Path, build: Callable[[bool], Any], signature: tuple[Any, ...]) -> Any:
    """A function compiled by Numba, whose machine code is loaded from a folder or kept there.

    A damaged folder is replaced. If the code cannot be kept, as on a full disk, the function is
    compiled all the same.

    Args:
        folder: folder of this function only; the folder above it exists.
        build: returns the function for Numba to compile; its argument is `njit`'s option `cache`.
        signature: types of the arguments, for Numba.
    """
    if intact(folder):
        with contextlib.suppress(Exception):  # whatever another version of a library raises
            return loaded(folder, build, signature)
    shutil.rmtree(folder, ignore_errors=True)
    delete_left_over(folder.parent)
    try:
        new = Path(tempfile.mkdtemp(prefix=NEW, dir=folder.parent))
    except OSError:
        return build(False)
    discard = partial(shutil.rmtree, new, ignore_errors=True)
    with at_interruption(discard):
        try:
            function = compiled_into(new, build, signature)
            with contextlib.suppress(OSError):  # another process was first, or the disk is full
                new.rename(folder)
            return function
        finally:
            discard()


def delete_left_over(parent: Path) -> None:
    """Delete folders that processes which were killed left unfinished, an hour ago or earlier."""
    for folder in parent.glob(f"{NEW}*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > LEFT_OVER:
                shutil.rmtree(folder, ignore_errors=True)


def loaded(folder: Path, build: Callable[[bool], Any], signature: tuple[Any, ...]) -> Any:
    """The function with machine code from an intact folder.

    If the package's files have other times, Numba compiles the function again, and its machine code
    replaces that in the folder.

    Args:
        folder: folder of this function only.
        build: returns the function for Numba to compile; its argument is `njit`'s option `cache`.
        signature: types of the arguments, for Numba.
    """
    function = compiled_into(folder, build, signature, keep=False)
    if not function.stats.cache_hits:
        seal(folder)
    return function


def compiled_into(
    folder: Path, build: Callable[[bool], Any], signature: tuple[Any, ...], keep: bool = True
) -> Any:
    """The function, compiled with Numba's cache in a folder, or without it if it cannot be written.

    Args:
        folder: folder of this function only.
        build: returns the function for Numba to compile; its argument is `njit`'s option `cache`.
        signature: types of the arguments, for Numba.
        keep: whether to write the digests of the files.
    """
    function = None
    with numba_cache_in(folder), contextlib.suppress(RuntimeError):  # no folder can be written
        function = build(True)
    if function is None or not Path(function.stats.cache_path).is_relative_to(folder):
        # Where Numba cannot create a folder, it writes beside the source, here into the package.
        shutil.rmtree(folder, ignore_errors=True)
        return build(False)
    try:
        with without_timers():
            function.compile(signature)
    except OSError:  # from writing: the function is compiled
        shutil.rmtree(folder, ignore_errors=True)
    else:
        if keep:
            seal(folder)
    return function


@contextlib.contextmanager
def numba_cache_in(folder: Path) -> Iterator[None]:
    """Context in which functions that Numba decorates are cached on disk in `folder`."""
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


def digests_in(folder: Path) -> dict[str, str]:
    """The SHA-256 digest of each file in a folder and its subfolders, by its path in the folder."""
    return {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != DIGESTS
    }


def seal(folder: Path) -> None:
    """Write the digests of a folder's files, by which `intact` checks them later.

    An OSError, such as a full disk, is ignored: the digests are then not written.
    """
    new = folder / f"{DIGESTS}.new"
    with contextlib.suppress(OSError):
        new.unlink(missing_ok=True)
        digests = digests_in(folder)
        new.write_text(json.dumps(digests), encoding="utf-8")
        new.replace(folder / DIGESTS)


def intact(folder: Path) -> bool:
    """Whether a folder has files of machine code, and all have the digests that were written."""
    try:
        digests = json.loads((folder / DIGESTS).read_text(encoding="utf-8"))
        return bool(digests) and digests == digests_in(folder)
    except (OSError, ValueError):
        return False
